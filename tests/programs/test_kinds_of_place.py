"""Kinds of place that are no forum of boards and threads: each is read right, or refused with the true reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Items
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import load_site
from tests.frontier.small_crawl import SmallCrawl
from tests.programs.host import Answer, Ask, Host, page, served
from tests.programs.test_places import Place
from tests.programs.test_unknown import QUICK
from tests.unit.command_line import run

NAMES = ("ann", "Bob Stone", "carl", "dee", "eva")
DAYS = range(1, 22)
Scan = Callable[[Host], tuple[SmallCrawl, str]]


def words(number: int) -> str:
    return f"The lamp of house {number} glows when rain falls on the {number % 7}th street, and nobody knows why."


def said(number: int, mark: str = "post") -> str:
    day = 1 + number // 20 % 27
    return (
        f"<div class={mark} id=p{number}><b class=who>{NAMES[number % 5]}</b> "
        f"<time datetime=2024-03-{day:02d}T10:{number % 60:02d}:00Z>day {day}</time><p class=text>{words(number)}</p></div>"
    )


def thread_alone(ask: Ask) -> Answer:
    """Show one thread, whose forum no link names."""
    posts = "".join(said(n) for n in range(1, 40))
    return page(f"<title>x</title><h1>Lamps</h1>{posts}") if ask.path == "/t/1.html" else page("no", 404)


def guest_book(ask: Ask, newest: int = 60) -> Answer:
    first = newest - 20 * (ask.number("page", 1) - 1)
    more = f"<a href='/?page={ask.number('page', 1) + 1}'>older</a>" if first > 20 else ""
    entries = "".join(said(n, "entry") for n in range(first, first - 20, -1))
    return page(f"<title>Guest book</title><h1>Guest book</h1>{entries}{more}") if ask.path == "/" else page("no", 404)


def image_board(ask: Ask) -> Answer:
    part = ask.path.strip("/").split("/")
    if ask.path == "/":
        return page("<title>chan</title><ul><li><a href=/b/>Random</a><li><a href=/lamps/>Lamps</a></ul>")
    if len(part) == 1 and part[0] in ("b", "lamps"):
        start = 100 if part[0] == "b" else 500
        threads = [
            f"<div class=thread>{said(n)}<a href=/{part[0]}/res/{n}.html>Reply</a>{said(n + 1, 'reply')}</div>"
            for n in range(start, start + 100, 10)
        ]
        return page(f"<title>{part[0]}</title>{'<hr>'.join(threads)}")
    if len(part) == 3 and part[1] == "res":
        n = int(part[2].removesuffix(".html"))
        return page(
            f"<title>{part[0]}</title>{said(n)}{''.join(said(n + turn, 'reply') for turn in range(1, 2 + n % 7))}"
        )
    return page("no", 404)


def feed_only(ask: Ask) -> Answer:
    items = "".join(f"<item><title>Lamp {n}</title><link>{ask.base}/a/{n}</link></item>" for n in DAYS)
    if ask.path == "/":
        return page(
            "<title>Notes</title><link rel=alternate type=application/rss+xml href=/feed.xml><h1>Notes</h1><p>By ann."
        )
    if ask.path == "/feed.xml":
        return Answer(
            f"<?xml version='1.0'?><rss version='2.0'><channel><title>x</title>{items}</channel></rss>",
            kind="application/rss+xml",
        )
    return (
        page(f"<h1>Lamp {ask.path.split('/')[-1]}</h1>{said(int(ask.path.split('/')[-1]))}")
        if ask.path.startswith("/a/")
        else page("no", 404)
    )


def rows(days: bool, of: range = DAYS) -> str:
    lines = []
    for n in of:
        when = f"10:{n:02d}" if days else f"<time>2024-03-{n:02d} 10:{n:02d}</time>"
        lines.append(
            f"<h3>{n} March 2024</h3>" * days
            + f"<li><a href=/t/{n}.html>Lamps of the house {n}</a> by <b>{NAMES[n % 5]}</b> <i>{when}</i></li>"
        )
    return f"<title>Lamps</title><h1>Lamps</h1><div class=list>{''.join(lines)}</div>"


def thread_of(ask: Ask) -> Answer:
    n = int(ask.path.split("/")[-1].removesuffix(".html"))
    posts = "".join(said(n * 20 + turn) for turn in range(1 + n % 6))
    return page(f"<title>x</title><h1>Lamps of the house {n}</h1>{posts}")


def frames(ask: Ask) -> Answer:
    if ask.path == "/":
        return page("<title>Forum</title><frameset cols=20,80><frame src=/menu.html><frame src=/list.html></frameset>")
    if ask.path == "/menu.html":
        return page("<a href=/list.html target=main>Lamps</a>")
    return (
        page(rows(days=False))
        if ask.path == "/list.html"
        else thread_of(ask)
        if ask.path.startswith("/t/")
        else page("no", 404)
    )


def below_root(ask: Ask) -> Answer:
    foot = "<div><a href=/rules/>Rules</a> <a href=/contact/>Contact</a></div>"
    if ask.path == "/":
        boards = "<li><h3><a href=/cats/>Cats</a></h3><li><h3><a href=/dogs/>Dogs</a></h3>"
        return page(f"<title>Lamps</title><ul>{boards}</ul>{foot}")
    if ask.path in ("/cats/", "/dogs/"):
        return page(rows(days=False, of=DAYS[ask.path == "/dogs/" :: 2]) + foot)
    return thread_of(ask) if ask.path.startswith("/t/") else page("no", 404)


def days_as_headings(ask: Ask) -> Answer:
    return (
        page(rows(days=True)) if ask.path == "/" else thread_of(ask) if ask.path.startswith("/t/") else page("no", 404)
    )


def tree(ask: Ask) -> Answer:
    def below(n: int, depth: int) -> str:
        inner = f"<ul>{below(n + 1, depth + 1)}</ul>" if depth < n % 4 else ""
        return f"<li><a href=/m/{n}.html>{'Re: ' * bool(depth)}Lamps {n - depth}</a> <i>{NAMES[n % 5]}</i>{inner}</li>"

    if ask.path == "/":
        return page(f"<title>Archive by thread</title><ul>{''.join(below(10 * n, 0) for n in DAYS)}</ul>")
    n = int(ask.path.split("/")[-1].removesuffix(".html") or 0) if ask.path.startswith("/m/") else 0
    return page(f"<h1>Lamps {n - n % 10}</h1>{said(n)}") if n else page("no", 404)


def feed_of_threads(ask: Ask) -> Answer:
    """Show a feed of the eight newest threads, and a sitemap of all."""
    if ask.path == "/":
        return page(
            "<title>Lamps</title><link rel=alternate type=application/atom+xml href=/atom.xml><h1>Lamps</h1><p>Feed."
        )
    if ask.path == "/atom.xml":
        items = "".join(
            f"<entry><title>Lamps of the house {n}</title><link href='{ask.base}/t/{n}.html'/>"
            f"<updated>2024-04-{n:02d}T10:00:00Z</updated></entry>"
            for n in DAYS[:-9:-1]
        )
        return Answer(f"<feed xmlns='http://www.w3.org/2005/Atom'>{items}</feed>", kind="application/atom+xml")
    if ask.path == "/sitemap.xml":
        listed = "".join(f"<url><loc>{ask.base}/t/{n}.html</loc></url>" for n in DAYS)
        return Answer(f"<urlset>{listed}</urlset>", kind="application/xml")
    return thread_of(ask) if ask.path.startswith("/t/") else page("no", 404)


REFUSED: dict[Callable[[Ask], Answer], str] = {
    feed_only: "threads have comments: none was read in 2",
    tree: "threads have comments: none was read in 2",
}
READ = {
    feed_of_threads: "no list of threads was found: only threads that the feed",
    frames: "its forum begins at {}/list.html",
    days_as_headings: "boards    1",
    below_root: "boards    2",
}


@pytest.fixture
def scanned(tmp_path: Path, client: redis.Redis, frontier: Frontier) -> Scan:
    """Return a function that has `new` write a file for a place, and scans it once. It returns what `new` said too."""

    def scan(host: Host) -> tuple[SmallCrawl, str]:
        result = run("new", host.url, "--name", "demo", home=tmp_path)
        assert result.exit_code == Exit.OK, result.stderr
        crawl = SmallCrawl(client, frontier, host)
        site = load_site(tmp_path / "sites" / "demo.yaml")
        publish_site(frontier, site.model_copy(update={"gate": QUICK}), contact=None)
        crawl.scan()
        return crawl, result.stderr

    return scan


@pytest.mark.parametrize("answer", REFUSED, ids=lambda one: one.__name__)
def test_a_place_of_another_kind_is_refused_with_its_reason(answer: Callable[[Ask], Answer], tmp_path: Path) -> None:
    with served(Place(answer)) as host:
        result = run("new", host.url, "--name", "place", home=tmp_path)

    assert result.exit_code == Exit.FAILURES
    assert REFUSED[answer].format(host.url) in result.stderr


def test_a_thread_whose_forum_no_link_names_is_no_guest_book(tmp_path: Path) -> None:
    with served(Place(thread_alone)) as host:
        result = run("new", f"{host.url}/t/1.html", "--name", "place", home=tmp_path)

    assert result.exit_code == Exit.FAILURES
    assert "no boards and no list of threads" in result.stderr


def test_entries_of_a_guest_book_are_posts_without_pages(scanned: Scan) -> None:
    newest = [60]
    with served(Place(lambda ask: guest_book(ask, newest[0]))) as host:
        crawl, _ = scanned(host)
        first, asked = crawl.items(), len(host.asked)
        crawl.scan()
        unchanged = len(host.asked) - asked
        newest[0] = 63
        crawl.scan()
        later = crawl.items()

    def entries(items: list[Items]) -> set[tuple[str, str | None, str | None]]:
        return {(one.post_id, one.author, one.body) for page in items for one in page.posts}

    assert entries(first) == {(f"{n}", NAMES[n % 5], words(n)) for n in range(1, 61)}
    assert unchanged == 1
    assert entries(later) >= {(f"{n}", NAMES[n % 5], words(n)) for n in range(61, 64)}


def test_an_image_board_without_titles_is_read_with_ids_that_name_the_board(scanned: Scan) -> None:
    with served(Place(image_board)) as host:
        crawl, _ = scanned(host)

    items = crawl.items()
    starts = [(board, n) for board, first in (("b", 100), ("lamps", 500)) for n in range(first, first + 100, 10)]
    posts = {(one.post_id, one.title, one.author, one.body) for page in items for one in page.posts if one.body}
    replies = {(one.post_id, one.author, one.body) for page in items for one in page.comments}
    assert posts == {(f"{board}/res/{n}", None, NAMES[n % 5], words(n)) for board, n in starts}
    assert replies == {
        (f"{board}/res/{n}", NAMES[(n + turn) % 5], words(n + turn))
        for board, n in starts for turn in range(1, 2 + n % 7)
    }  # fmt: skip


@pytest.mark.parametrize("answer", READ, ids=lambda one: one.__name__)
def test_a_list_in_a_frame_below_days_or_right_below_the_root_is_read_right(
    answer: Callable[[Ask], Answer], scanned: Scan
) -> None:
    with served(Place(answer)) as host:
        crawl, told = scanned(host)

    assert READ[answer].format(host.url) in told
    items = crawl.items()
    posts = {(one.title, one.author, one.body) for page in items for one in page.posts if one.body}
    replies = {(one.post_id, one.author, one.body) for page in items for one in page.comments}
    assert posts == {(f"Lamps of the house {n}", NAMES[0], words(n * 20)) for n in DAYS}
    assert replies == {
        (str(n), NAMES[(n * 20 + turn) % 5], words(n * 20 + turn)) for n in DAYS for turn in range(1, 1 + n % 6)
    }
