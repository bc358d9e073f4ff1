"""Forums whose administrators chose other dates: crawled with the file that `crawl-tasks new` writes, unedited."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from html import escape
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.crawl_policy import Gate
from crawl_tasks.sites.loader import load_site
from tests.frontier.small_crawl import SmallCrawl
from tests.programs.content import Board, Content, Topic, small_forum
from tests.programs.host import Answer, Ask, Program, served
from tests.programs.layouts import Layout, Part, by_page
from tests.programs.mybb import MYBB
from tests.unit.command_line import run

Spell = Callable[[datetime], str]
QUICK = Gate(window=50, delay_s=0, retry_base_s=0.1)
DAY_S = 86_400
EASTERN = timezone(timedelta(hours=-5), "EST")
FAR_EAST = timezone(timedelta(hours=9))
SPELLINGS: dict[str, Spell] = {
    "a weekday beside figures, day first": lambda at: f"{at:%a %d/%m/%y %I:%M %p}",
    "the year first": lambda at: f"{at:%y/%m/%d %I:%M %p}",
    "a weekday in brackets": lambda at: f"{at:%m/%d/%y(%a)%H:%M:%S}",
    "month first, with dots": lambda at: f"{at:%m.%d.%Y, %H:%M}",
    "day first, with hyphens": lambda at: f"{at:%d-%m-%y, %H:%M}",
    "day before month, behind the year": lambda at: f"{at:%Y-%d-%m %H:%M:%S}",
    "a zone in letters": lambda at: f"{at.astimezone(EASTERN):%B %d, %Y %I:%M %p} EST",
    "Greek halves of the day": lambda at: f"{at.day} Ιουν {at:%Y, %I:%M} {'μμ' if at.hour > 11 else 'πμ'}",
}


def content(*, spread: bool = True) -> Content:
    """Return the small forum with its threads on different days, or all in one month."""
    whole = small_forum(16)

    def later(topic: Topic) -> Topic:
        away = topic.number * (13 * DAY_S if spread else DAY_S // 8)
        return replace(topic, said=tuple(replace(one, at=one.at - away, edited_at=None) for one in topic.said))

    topics = (later(one) for one in whole.topics if not (one.is_deleted or one.was_in))
    return replace(whole, topics=tuple(topics))


def yard(spell: Spell, lang: str = "en") -> Layout:
    """Return the layout of a program that nobody knows."""

    def when(at: int) -> str:
        return escape(spell(datetime.fromtimestamp(at, UTC)))

    def frame(body: str) -> str:
        head = f"<!doctype html><html lang={lang}><head><title>Yard</title></head>"
        return f"{head}<body><a href=/>Yard</a>{body}</body></html>"

    def front(boards: tuple[Board, ...]) -> str:
        rows = (f"<tr><td><a class=b href=/board/{one.number}>{escape(one.title)}</a></td></tr>" for one in boards)
        return frame(f"<h1>Yard</h1><table class=boards>{''.join(rows)}</table>")

    def pager(address: str, part: Part) -> str:
        return f'<a rel=next href="{address}?page={part.number + 1}">Next</a>' if part.has_more else ""

    def listing(board: Board, part: Part) -> str:
        rows = (
            f"<tr class=t><td><a href=/thread/{one.number}>{escape(one.title)}</a></td><td class=who>"
            f"{one.said[0].author}</td><td class=n>{len(one.said) - 1}</td><td class=last>{when(one.last.at)}</td></tr>"
            for one in part.items
            if isinstance(one, Topic)
        )
        head = "<tr><th>Topic</th><th>Author</th><th>Replies</th><th>Last post</th></tr>"
        whole = "".join(rows) or "<tr><td colspan=4>There are no topics in this board.</td></tr>"
        return frame(
            f"<h1>{escape(board.title)}</h1><table class=ts>{head}{whole}</table>{pager(f'/board/{board.number}', part)}"
        )

    def thread(topic: Topic, part: Part) -> str:
        posts = "".join(
            f"<div class=p id=p{one.number}><b class=who>{one.author}</b> <span class=when>{when(one.at)}</span>"
            f"<div class=say>{'<br>'.join(map(escape, one.lines))}</div></div>"
            for one in part.items
            if not isinstance(one, Topic)
        )
        trail = f"<p class=trail><a href=/board/{topic.board}>Board</a></p>"
        return frame(f"{trail}<h1>{escape(topic.title)}</h1>{posts}{pager(f'/thread/{topic.number}', part)}")

    return Layout(front, listing, thread, r"/board/(?P<board>\d+)", r"/thread/(?P<topic>\d+)", by_page)


def dated(layout: Layout, form: str) -> Layout:
    """Return the layout of MyBB with another date format."""

    def spelled(page: str) -> str:
        return re.sub(
            r"\d\d-\d\d-\d{4}, \d\d:\d\d [AP]M",
            lambda found: datetime.strptime(found[0], "%m-%d-%Y, %I:%M %p").strftime(form),
            page,
        )

    return replace(
        layout,
        listing=lambda board, part: spelled(layout.listing(board, part)),
        thread=lambda topic, part: spelled(layout.thread(topic, part)),
    )


@dataclass(frozen=True)
class Fed:
    """A forum whose pages link a feed of its last threads, with moments that have a zone."""

    program: Program
    shown: Content

    def answer(self, ask: Ask) -> Answer:
        if ask.path != "/feed":
            answer = self.program.answer(ask)
            link = '<link rel=alternate type="application/atom+xml" href=/feed>'
            return replace(answer, body=answer.body.replace("<head>", f"<head>{link}"))
        entries = (
            f"<entry><title>{escape(topic.title)}</title><link href='http://example.com/thread/{topic.number}'/>"
            f"<published>{datetime.fromtimestamp(topic.said[0].at, UTC).isoformat()}</published></entry>"
            for topic in self.shown.topics[:15]
        )
        body = f"<feed xmlns='http://www.w3.org/2005/Atom'>{''.join(entries)}</feed>"
        return Answer(body, kind="application/atom+xml; charset=utf-8")


def read_and_true(
    layout: Layout, shown: Content, client: redis.Redis, frontier: Frontier, home: Path, *, is_fed: bool = False
) -> tuple[dict[str, int | None], dict[str, int], str]:
    """Return the moments that were stored, those of the forum, and what `new` wrote to the terminal."""
    with served(Fed(layout.shown(shown), shown) if is_fed else layout.shown(shown)) as host:
        new = run("new", host.url, "--name", "demo", home=home)
        assert new.exit_code == Exit.OK, new.output
        site = load_site(home / "sites" / "demo.yaml")
        crawl = SmallCrawl(client, frontier, host)
        publish_site(frontier, site.model_copy(update={"gate": QUICK}), contact=None)
        crawl.scan()
        items = crawl.items()
    threads = {f"thread {one.post_id}": one.created_at for page in items for one in page.posts if one.is_page}
    replies = {one.comment_id: one.created_at for page in items for one in page.comments}
    true = {f"{one.number}": one.at for topic in shown.topics for one in topic.said[1:]}
    return threads | replies, {f"thread {one.number}": one.said[0].at for one in shown.topics} | true, new.stderr


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_forum_of_an_unknown_program_has_its_moments_in_each_spelling(
    name: str, client: redis.Redis, frontier: Frontier, tmp_path: Path
) -> None:
    greek = "Greek" in name

    found, true, output = read_and_true(
        yard(SPELLINGS[name], "el" if greek else "en"), content(spread=not greek), client, frontier, tmp_path
    )

    assert found == true
    lines = [line for line in output.splitlines() if line.startswith("date ")]
    assert len(lines) == 3
    assert all("  =  " in line and line.endswith(" UTC") for line in lines)


@pytest.mark.parametrize(
    "form", ["%a %d/%m/%y, %I:%M %p", "%d-%m-%Y, %H:%M", "%m.%d.%y, %I:%M %p", "%y/%m/%d, %I:%M %p"]
)
def test_a_forum_of_mybb_has_its_moments_by_each_choice_of_its_menu(
    form: str, client: redis.Redis, frontier: Frontier, tmp_path: Path
) -> None:
    found, true, _ = read_and_true(dated(MYBB, form), content(), client, frontier, tmp_path)

    assert found == true


def test_the_feed_tells_the_zone_of_times_that_have_none(
    client: redis.Redis, frontier: Frontier, tmp_path: Path
) -> None:
    layout = yard(lambda at: f"{at.astimezone(FAR_EAST):%d %b, %Y %H:%M}")
    shown = content()

    found, true, output = read_and_true(layout, shown, client, frontier, tmp_path, is_fed=True)

    assert "Etc/GMT-9: " in output
    assert found == true


def test_try_refutes_a_zone_that_the_feed_contradicts(tmp_path: Path) -> None:
    shown = content()
    layout = yard(lambda at: f"{at.astimezone(FAR_EAST):%d %b, %Y %H:%M}")
    path = tmp_path / "sites" / "demo.yaml"
    with served(Fed(layout.shown(shown), shown)) as host:
        run("new", host.url, "--name", "demo", home=tmp_path)
        right = run("try", "demo", home=tmp_path)
        path.write_text(re.sub(r"timezone: .*", "timezone: Etc/GMT-3", path.read_text()))
        wrong = run("try", "demo", home=tmp_path)

    assert (right.exit_code, wrong.exit_code) == (Exit.OK, Exit.FAILURES)
    assert "as by 360 min: set timezone: Etc/GMT-9" in wrong.output
