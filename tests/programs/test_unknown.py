"""Forums of programs that nobody knows, crawled whole with the file that `crawl-tasks new` proposes, unedited."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.board import BoardKind
from crawl_tasks.sites.crawl_policy import Gate
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Site
from tests.frontier.small_crawl import SmallCrawl
from tests.programs.bylines import BYLINES
from tests.programs.classic import CLASSIC
from tests.programs.content import Content, Row, expected, small_forum
from tests.programs.drupal import DRUPAL
from tests.programs.e107 import E107
from tests.programs.gnuboard import ACTS as GNUBOARD_ACTS
from tests.programs.gnuboard import GNUBOARD, NumberedByBoard
from tests.programs.host import Answer, Ask, page, served
from tests.programs.invision import RESTYLED_INVISION
from tests.programs.jforum import JFORUM
from tests.programs.layouts import LAYOUTS, Layout
from tests.programs.phorum import PHORUM
from tests.programs.query_paths import QUERY_PATHS
from tests.programs.questions import QUESTIONS
from tests.programs.rhymix import RHYMIX
from tests.programs.subsilver import FORK, RESTYLED
from tests.programs.textboard import TEXTBOARD
from tests.programs.ubb import UBB
from tests.programs.v2ex import V2EX
from tests.programs.vanilla import ACTS as VANILLA_ACTS
from tests.programs.vanilla import VANILLA
from tests.programs.woltlab import WOLTLAB
from tests.programs.xmb import XMB
from tests.unit.command_line import run

ALL = LAYOUTS | {
    "signatures, titles and page counts beside it": CLASSIC,
    "links that act among those to threads": GNUBOARD,
    "a front page of threads": V2EX,
    "notices of moved threads": JFORUM,
    "boards beside all discussions": VANILLA,
    "a login form on each page": WOLTLAB,
    "numbers behind commas": PHORUM,
    "boards in a menu below the root": RHYMIX,
    "last posts at addresses as of threads": UBB,
    "a session in each link": RESTYLED,
    "a fork of a program that is known": FORK,
    "a thread's head with the moment of its post": RESTYLED_INVISION,
    "an author beside number and moment": BYLINES,
    "answers in forms, and pages of the newest alone": QUESTIONS,
    "addresses that are queries without names": QUERY_PATHS,
    "posts over three rows, and notes of edits as text": XMB,
    "links to replies at other addresses, and ages of two parts": DRUPAL,
    "numbers around titles, and links to the last replies": TEXTBOARD,
    "a forum behind a link, in a directory with a number": E107,
}
LONG = {layout: [pytest.mark.long] * (place % 3 > 0) for place, layout in enumerate(ALL.values())}
"""The marks of each layout: every third one is read in short runs too."""
ACTING = re.compile(rf"{GNUBOARD_ACTS}|{VANILLA_ACTS}|act=|/(?:signin|signup|login|anmelden)")
"""Addresses of these programs that change something, or ask a guest for a name."""
CONTENT = small_forum(24)
MOST_LINES = 50
ALL_REPLIES = 1000
"""Replies on a page of a program whose threads have a single page."""
QUICK = Gate(window=50, delay_s=0, retry_base_s=0.1)


@dataclass(frozen=True)
class Proposed:
    """What `new` made of a forum in a layout: its output, its file, and the paths that it and `try` asked for."""

    output: str
    code: int
    text: str
    site: Site
    asked: tuple[str, ...]


@cache
def proposed(layout: Layout) -> Proposed:
    """Let `new` propose a file, and `try` it. Several tests crawl with the same file."""
    with TemporaryDirectory() as name, served(layout.shown(CONTENT)) as host:
        home = Path(name)
        new, tried = run("new", host.url, "--name", "demo", home=home), run("try", "demo", home=home)
        file = home / "sites" / "demo.yaml"
        output = new.output + tried.output
        assert file.exists(), output
        return Proposed(
            output, max(new.exit_code, tried.exit_code), file.read_text("utf-8"), load_site(file), tuple(host.asked)
        )


def crawled(site: Site, url: str) -> Site:
    """Return a proposed site at another address, without waits and with full passes."""
    interval = site.interval.model_copy(update={"full_pass_s": 86400.0})
    return site.model_copy(update={"gate": QUICK, "interval": interval}).relocated(url)


def stored(crawl: SmallCrawl, content: Content) -> dict[tuple[int, int], Row]:
    """Return what came to be stored, as the truth has it; which board a post is in only the lists say."""
    numbers = {
        key: board.number for board in content.boards for key in (str(board.number), board.slug, f"cat{board.number}")
    }
    items = crawl.items()
    # A thread's own page decides.
    rows = sorted((post for page in items for post in page.posts if post.forum_id), key=lambda post: post.is_page)
    boards = {post.post_id: numbers[post.forum_id or ""] for post in rows}
    rows = {
        (int(post.post_id), 0): Row(
            post.author or "", post.created_at or 0, post.body or "", post.title or "", boards[post.post_id]
        )
        for page in items for post in page.posts if post.is_page
    }  # fmt: skip
    # Without a number on the page an id is made of the fields.
    made = {(topic.number, said.at): said.number for topic in content.topics for said in topic.said}
    return rows | {
        (
            int(one.post_id),
            int(one.comment_id) if one.comment_id.isdecimal() else made[int(one.post_id), one.created_at or 0],
        ): Row(one.author or "", one.created_at or 0, one.body or "")
        for page in items for one in page.comments
    }  # fmt: skip


@pytest.mark.parametrize("layout", [pytest.param(layout, id=name, marks=LONG[layout]) for name, layout in ALL.items()])
def test_a_proposed_file_gets_a_forum_whole_unedited(layout: Layout, client: redis.Redis, frontier: Frontier) -> None:
    new = proposed(layout)
    with served(layout.shown(CONTENT)) as host:
        crawl = SmallCrawl(client, frontier, host)
        publish_site(frontier, crawled(new.site, host.url), contact=None)
        crawl.scan()
        first, rows = host.log[:], stored(crawl, CONTENT)
        host.log.clear()
        crawl.scan()
        second, later = host.log[:], crawl.items()
        crawl.full_pass()
        again = stored(crawl, CONTENT)

    assert new.code == Exit.OK, new.output
    assert not [path for path in new.asked if ACTING.search(path)]
    assert len([line for line in new.text.splitlines() if not line.startswith("#")]) <= MOST_LINES, new.text
    # Others have elements for notes of edits.
    assert ("(?s)^(.*?)(?:" in new.text) == (layout is XMB)
    assert rows == {place: replace(row, parent=None) for place, row in expected(CONTENT).items()}
    assert again.keys() == rows.keys()
    assert not [one for one in (*first, *second) if one.status >= 300]
    # Its rows say nothing of replies.
    assert any(row.revision for page in later for row in page.posts) or layout is LAYOUTS["JSON-LD alone"]
    assert max(Counter(one.path for one in first).values()) == 1
    assert not [one for one in second if re.match(layout.topic_path, one.path)]


def test_a_board_is_called_by_the_first_line_of_a_link_that_tells_what_it_is_about() -> None:
    boards = proposed(XMB).site.boards

    assert {one.title for one in boards if one.kind is BoardKind.LIST} == {one.title for one in CONTENT.boards}


def test_ages_of_months_tell_when_a_thread_began_and_when_its_last_reply_came(tmp_path: Path) -> None:
    topics = (
        replace(
            one,
            said=tuple(replace(said, at=said.at - (5 * one.number + said.number % 9) * 864_000) for said in one.said),
        )
        for one in CONTENT.topics
    )
    with served(DRUPAL.shown(replace(CONTENT, topics=tuple(topics)))) as host:
        new = run("new", host.url, "--name", "demo", home=tmp_path)

    fields = load_site(tmp_path / "sites" / "demo.yaml").list.fields
    found = {name: fields[name].css for name in ("created_at", "last_reply_at") if name in fields}
    assert found == {"created_at": "span.submitted", "last_reply_at": "td.last-reply > span.submitted"}, new.output


@dataclass(frozen=True)
class Torn:
    """A forum in the layout of phpBB 2 that answers for some threads with another page."""

    answered: Answer
    but: frozenset[str] = frozenset()
    """The threads that are whole, all but `torn` if empty."""
    torn: frozenset[str] = frozenset()

    def answer(self, ask: Ask) -> Answer:
        thread = ask.query.get("t")
        is_torn = thread is not None and (thread in self.torn or (not self.torn and thread not in self.but))
        return self.answered if is_torn else RESTYLED.shown(CONTENT).answer(ask)


@pytest.mark.parametrize("whole", [frozenset({"24"}), frozenset({"24", "23"})])
def test_a_forum_of_which_few_threads_can_be_read_is_refused(whole: frozenset[str], tmp_path: Path) -> None:
    with served(Torn(page("not here", 404), but=whole)) as host:
        result = run("new", host.url, "--name", "demo", home=tmp_path)

    assert result.exit_code == Exit.FAILURES, result.output
    assert re.search(r"refuted +threads can be read: \d+ of \d+ cannot, as http://", result.output), result.output


def test_a_thread_that_no_parser_takes_does_not_stop_new(tmp_path: Path) -> None:
    with served(Torn(page("<div>" * 30_000), torn=frozenset({"24"}))) as host:
        result = run("new", host.url, "--name", "demo", home=tmp_path)
        asked = [path for path in host.asked if "t=24" in path]

    assert asked
    assert load_site(tmp_path / "sites" / "demo.yaml").drop_params == ("sid",)
    assert "nested deeper" not in result.output.splitlines()[0], result.output


@dataclass(frozen=True)
class Spoken:
    """A forum in the layout of phpBB 2 whose pages name a language."""

    language: str

    def answer(self, ask: Ask) -> Answer:
        said = RESTYLED.shown(CONTENT).answer(ask)
        return replace(said, body=said.body.replace("<html", f'<html lang="{self.language}"', 1))


@pytest.mark.parametrize(
    ("language", "written"),
    [("hr-HR", ("hr", "en")), pytest.param("pl", ("zh", "zh-Hant", "en", "ja"), marks=pytest.mark.long)],
)
def test_a_file_names_the_language_whose_dates_are_not_known(
    language: str, written: tuple[str, ...], tmp_path: Path
) -> None:
    with served(Spoken(language)) as host:
        run("new", host.url, "--name", "demo", home=tmp_path)

    assert load_site(tmp_path / "sites" / "demo.yaml").languages == written


@pytest.mark.parametrize("size", [5, 12])
@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(layout, id=name, marks=LONG[layout])
        for name, layout in ALL.items()
        if layout.per_thread < ALL_REPLIES
    ],
)
def test_a_full_pass_reads_all_of_a_forum_whose_pages_hold_another_number_by_now(
    layout: Layout, size: int, client: redis.Redis, frontier: Frontier
) -> None:
    with served(replace(layout, per_thread=size).shown(CONTENT)) as host:
        crawl = SmallCrawl(client, frontier, host)
        publish_site(frontier, crawled(proposed(layout).site, host.url), contact=None)
        crawl.scan()
        first = stored(crawl, CONTENT)
        crawl.full_pass()
        again = stored(crawl, CONTENT)

    truth = expected(CONTENT).keys()
    assert (truth - first.keys(), truth - again.keys()) == (set(), set())


def test_two_boards_with_a_thread_of_one_number_keep_both(
    client: redis.Redis, frontier: Frontier, tmp_path: Path
) -> None:
    # So large that no list page that is looked at has a number of the other board.
    content = small_forum(60)
    with served(NumberedByBoard(content)) as host:
        new = run("new", host.url, "--name", "demo", home=tmp_path)
        assert new.exit_code == Exit.OK, new.output
        site = load_site(tmp_path / "sites" / "demo.yaml")
        crawl = SmallCrawl(client, frontier, host)
        publish_site(frontier, site.model_copy(update={"gate": QUICK}), contact=None)
        crawl.scan()

    texts = {post.post_id: post.body for page in crawl.items() for post in page.posts if post.is_page}
    assert sorted(text or "" for text in texts.values()) == sorted(one.said[0].text for one in content.visible.values())
    assert {"general&wr_id=1", "talk&wr_id=1"} <= texts.keys()
