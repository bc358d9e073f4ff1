"""Forums that only scripts draw, where no browser is there: `new` reads their JSON, or says what a person can write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import load_site
from tests.frontier.small_crawl import SmallCrawl
from tests.programs.content import expected, small_forum
from tests.programs.host import served
from tests.programs.json_forum import PAGERS, JsonForum, in_attribute, in_script, in_variable
from tests.programs.test_programs import MOST_PAGES, QUICK, Case, stored
from tests.unit.command_line import run

CONTENT = small_forum()
READ = {
    "state in a script, by page": JsonForum(CONTENT, PAGERS["pages"], in_script),
    "state in an attribute, by cursor": JsonForum(CONTENT, PAGERS["a cursor"], in_attribute),
    "state in a variable, by link": JsonForum(CONTENT, PAGERS["next links"], in_variable),
} | {f"an API by {name}": JsonForum(CONTENT, pager) for name, pager in PAGERS.items()}
READ["an API by pages that no script names"] = JsonForum(CONTENT, PAGERS["pages"], is_named=False)
READ["an API by a cursor that no script names"] = JsonForum(CONTENT, PAGERS["a cursor"], is_named=False)


@pytest.fixture(autouse=True)
def without_a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize("forum", READ.values(), ids=READ)
def test_a_forum_that_scripts_draw_is_read_from_its_json(
    forum: JsonForum, client: redis.Redis, frontier: Frontier, tmp_path: Path
) -> None:
    with served(forum) as host:
        result = run("new", host.url, "--name", "demo", home=tmp_path)
        assert result.exit_code == Exit.OK, result.output
        asked = len(host.log)
        crawl = SmallCrawl(client, frontier, host)
        site = load_site(tmp_path / "sites" / "demo.yaml")
        publish_site(frontier, site.model_copy(update={"gate": QUICK}), contact=None)
        crawl.scan()
        items = crawl.items()

    rows, count = stored(items, Case("", lambda _: forum))
    assert rows == {place: replace(row, parent=None) for place, row in expected(CONTENT).items()}
    assert max(count.values()) == 1
    assert asked <= MOST_PAGES


@pytest.mark.parametrize(
    ("forum", "reason"),
    [
        (JsonForum(CONTENT, PAGERS["pages"], method="POST"), "its scripts ask by POST, as `body` in a site file does"),
        (JsonForum(CONTENT, PAGERS["pages"], is_html=True), "`embedded: {json: html}` reads the HTML in /api/boards/1/threads"),
    ],
    ids=["by POST", "HTML in JSON"],
)  # fmt: skip
def test_json_that_no_rule_is_proposed_for_is_refused_with_what_to_write(
    forum: JsonForum, reason: str, tmp_path: Path
) -> None:
    with served(forum) as host:
        result = run("new", host.url, "--name", "demo", home=tmp_path)

    assert result.exit_code == Exit.FAILURES
    assert reason in result.output
    assert "see docs/site-files.md#json; `render` needs" in result.output
