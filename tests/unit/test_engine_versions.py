"""Presets of further programs and versions: one small forum, in pages of ours with each program's own markup."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from crawl_tasks.discovery.probe.fingerprints import LIKELY, suspects
from crawl_tasks.model import Parsed, Request, Stage
from crawl_tasks.parse.document import Document
from tests.unit.pages import BASE, answer, found_extra
from tests.unit.presets import Preset

PAGES = Path(__file__).with_name("engine_pages")
MOMENT = 1718806620
"""19 June 2024, 14:17 UTC: when all was written."""


@dataclass(frozen=True)
class Version:
    """The pages of one program: `front.html`, `list.html` and `thread.html` in a directory, read by a preset.

    Rows 12 (pinned, seven replies) and 13 are threads of board 4, and row 14 was moved away. Thread 12 has the posts
    101 to 103 of ann, bob and cy. The first has a picture, a signature and mostly a note of an edit, the second
    quotes it.
    """

    directory: str
    engine: str
    is_edited: bool = True
    has_parent: bool = False
    dates_rows: bool = True
    views: int | None = 1000
    following: tuple[int, ...] = (2,)
    day: int | None = None
    """The beginning of the day in the site's zone, where lists tell no hour of a thread's beginning."""
    more: str = ""
    boards: tuple[str, ...] = ("4", "5")

    def page(self, name: str) -> str:
        return (PAGES / self.directory / f"{name}.html").read_text("utf-8")

    def preset(self) -> Preset:
        return Preset(self.engine, self.more)


VERSIONS = (
    Version("phpbb30", "phpbb", following=(2, 3)),
    Version("subsilver2", "subsilver2"),
    Version("xenforo1", "xenforo1", has_parent=True, following=(2, 3)),
    Version("vbulletin3", "vbulletin3", has_parent=True, following=(2, 3)),
    Version("ipboard3", "ipboard3", has_parent=True),
    Version("smf1", "smf1", has_parent=True, following=(2, 3)),
    Version("discuz7", "discuz7", has_parent=True, following=(2, 3), day=1718726400),
)
EACH = pytest.mark.parametrize("version", VERSIONS, ids=[one.directory for one in VERSIONS])


def following(parsed: Parsed, stage: Stage) -> list[int]:
    return [child.page for child in parsed.children if child.stage is stage and child.page > 1]


@EACH
def test_the_signs_of_a_version_name_the_preset_that_reads_it(version: Version) -> None:
    for name in ("front", "list", "thread"):
        found = suspects(Document(answer(Request("forum", Stage.LIST, "", f"{BASE}/"), version.page(name))))

        assert [one.name for one in found if one.score >= LIKELY][:1] == [version.engine], name


@EACH
def test_the_front_page_of_a_version_names_its_boards(version: Version) -> None:
    boards = version.preset().boards(version.page("front"))

    assert [board for board, *_ in boards] == list(version.boards)
    assert boards[0][1] == "Board"


@EACH
def test_the_rows_of_a_version_are_threads(version: Version) -> None:
    parsed = version.preset().parse(Stage.LIST, version.boards[0], version.page("list"))

    first, second = parsed.items.posts
    assert (first.post_id, first.title, first.author, first.reply_count) == ("12", "Title 12", "ann", 7)
    assert (second.post_id, second.title, second.author, second.reply_count) == ("13", "Title 13", "Guest", 0)
    assert (first.view_count, bool(first.revision)) == (version.views, True)
    assert MOMENT in (first.created_at, first.last_reply_at) or not version.dates_rows
    assert {first.created_at, first.last_reply_at} <= {MOMENT, None, version.day}
    assert ["pinned" in found_extra(row) for row in (first, second)] == [True, False]
    assert following(parsed, Stage.LIST) == [2]


@EACH
def test_a_thread_of_a_version_is_a_post_and_its_replies(version: Version) -> None:
    parsed = version.preset().parse(Stage.POST, "12", version.page("thread"))

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.created_at) == ("A title", "ann", "say 101", MOMENT)
    assert post.edited_at == (MOMENT + 60 if version.is_edited else None)
    assert found_extra(post).get("images") == f"{BASE}/own.png"
    assert [(one.comment_id, one.author, one.body, one.created_at) for one in parsed.items.comments] == [
        ("102", "bob", "say 102", MOMENT), ("103", "cy", "say 103", MOMENT),
    ]  # fmt: skip
    assert [one.parent_id for one in parsed.items.comments] == ["101" if version.has_parent else None, None]
    assert not any("images" in found_extra(one) for one in parsed.items.comments)
    assert following(parsed, Stage.COMMENT) == list(version.following)


@EACH
def test_a_later_page_of_a_version_is_all_replies(version: Version) -> None:
    parsed = version.preset().parse(Stage.COMMENT, "12", version.page("thread"), page=2)

    assert [one.comment_id for one in parsed.items.comments] == ["101", "102", "103"]
