"""`crawl-tasks search`: what is printed for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.search import SHOWN, excerpt
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.upsert import Store
from tests.unit.command_line import run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    posts = (Post("7", 1.0, "1", title="周末去哪里骑车", author="王小明", created_at=1_700_000_000, body="x \x1b[31m"),)
    comments = (Comment("7", "c1", 1.0, body="骑车 to the sea", created_at=1_700_000_060, state="deleted"),)
    with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
        store.write([Items("bikes", posts=posts, comments=comments)])
    return tmp_path


def test_hits_are_shown_the_newest_first_with_place_and_text(home: Path) -> None:
    result = run("search", "骑车", home=home)

    assert result.exit_code == Exit.OK, result.output
    assert result.stdout.splitlines() == [
        "2023-11-14 22:14  bikes  post 7, comment c1  ?  [deleted]",
        "  骑车 to the sea",
        "2023-11-14 22:13  bikes  post 7  王小明",
        "  周末去哪里骑车 x \\x1b[31m",
    ]
    assert result.stderr == "2 rows taken into the index\n"


def test_programs_get_the_rows_of_an_export(home: Path) -> None:
    found = run("search", "骑车", "--json", "--author", "王小明", home=home).stdout
    exported = run("export", "--kind", "posts", home=home).stdout

    assert found == exported
    assert json.loads(found)["created_at"] == "2023-11-14T22:13:20Z"


def test_what_is_stored_later_is_found_by_the_next_search(home: Path) -> None:
    run("search", "sea", home=home)
    with Store(f"sqlite:///{home}/state/crawl.db") as store:
        store.write([Items("bikes", comments=(Comment("7", "c2", 2.0, body="the sea again"),))])

    again = run("search", "sea", "again", home=home)
    nothing = run("search", "mountain", home=home)

    assert ("comment c2" in again.stdout, again.stderr) == (True, "1 rows taken into the index\n")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (Exit.OK, "", "nothing found\n")


@pytest.mark.parametrize(
    ("words", "text"),
    [(("--", "-sea"), "has no word to search for"), (("sea", "--board", "1"), "--board is of one site")],
)
def test_a_search_that_cannot_be_is_refused(home: Path, words: tuple[str, ...], text: str) -> None:
    result = run("search", *words, home=home)

    assert result.exit_code == Exit.USAGE
    assert text in result.stderr


def test_a_long_text_is_shown_around_the_first_word_that_was_found() -> None:
    text = "before " * 100 + "Here it\nis " + "after " * 100

    shown = excerpt(text, ["nowhere", "here it is"])

    assert "Here it is" in shown
    assert (shown[0], shown[-1]) == ("…", "…")
    assert len(shown) == SHOWN + 2
