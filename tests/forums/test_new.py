"""`crawl-tasks new` finds program, boards and zone of every recorded forum, in a few requests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.presets import load_engine
from tests.forums.recorded import FORUMS, RECORDINGS, Recording, replayed
from tests.unit.command_line import run


@pytest.mark.parametrize("forum", FORUMS.values(), ids=FORUMS.keys())
def test_an_address_is_enough(forum: Recording, tmp_path: Path) -> None:
    if not forum.is_there:
        pytest.skip(
            f"no recording of {forum.name} in {RECORDINGS}; set FORUM_RECORDINGS to the directory of recordings"
        )

    with replayed(forum, tmp_path) as replay:
        result = run("new", replay.base, "--name", "found", home=tmp_path)
        tried = run("try", "found", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output
    site = load_site(tmp_path / "sites" / "found.yaml")
    boards = [board for board in forum.truth()["boards"] if not board["category_only"] and not board["link"]]
    assert site.engine == forum.engine
    assert {str(board["id"]) for board in boards} <= {board.id for board in site.boards}
    assert not [
        board.id for board in site.boards if board.id in {str(b["id"]) for b in forum.truth()["boards"] if b["link"]}
    ]
    assert "program   " in result.stderr
    assert ": certain (" in result.stderr
    assert tried.exit_code == Exit.OK, tried.output
    log = replay.log()
    # A recording need not have the page of all news and the feeds, which are asked for once.
    news = load_engine(forum.engine).index.news
    missed = [one.path for one in log if one.is_miss and one.path not in news]
    assert not [path for path in missed if not re.search("feed|rss|syndication", path)]
    assert len(log) <= 40  # boards below others are looked for on the page of each board, and ten pages are checked
