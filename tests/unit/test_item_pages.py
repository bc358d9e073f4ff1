"""The pages of stored items: what they show, to whom, and that no text of a stranger acts in a real browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
import redis

from crawl_tasks.errors import RedisUnreachable
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Comment, Post
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.store.item_reader import PAGE_ROWS, THREAD_ROWS, ItemReader, in_reading_order
from crawl_tasks.store.upsert import Store
from crawl_tasks.web.actions import Actions
from crawl_tasks.web.item_pages import ItemPages
from crawl_tasks.web.layout import STYLE, page_of
from crawl_tasks.web.local_addresses import is_loopback
from crawl_tasks.web.login import Login
from crawl_tasks.web.server import ExporterServer
from crawl_tasks.web.snapshot_cache import SnapshotCache
from tests.serving import NO_DATABASE, serving
from tests.store.rows import page
from tests.unit.test_web_pages import CHROMIUM, PASSWORD, ask, browse
from tests.waiting import eventually

NOW = int(time.time())
HOSTILE = """</div></textarea><script>document.title = "owned"</script><svg onload="document.title='owned'">
<img src="CANARY/img" onerror="document.title='owned'"><style>@import "CANARY/css"; body { display: none }</style>
<link rel=stylesheet href="CANARY/link"><iframe src="CANARY/frame"></iframe><base href="CANARY/base">
<meta http-equiv=refresh content="0;url=CANARY/refresh"><form action="CANARY/form"><button>x</button></form>"""
RIGHT_TO_LEFT = "\u202e\u2067evil"


def fill(store: Store, canary: str = "http://canary.invalid") -> None:
    """Store a thread with an answer of an answer and an edit, a hostile one, and many posts of another site."""
    hostile = HOSTILE.replace("CANARY", canary)
    store.write([
        page(
            Post("7", 1.0, "1", "https://bikes.example/t/7", "Old title", "ann", NOW - 500, "hello", author_id="12"),
            Comment("7", "b", 1.0, "a", "王小明", NOW - 300, "周末一起骑车吧", page=1, position=1),
            Comment("7", "a", 1.0, None, "bob", NOW - 400, "first words", page=1, position=0, author_id="13"),
            Comment("7", "c", 1.0, "nowhere", "ann", NOW - 200, "last", page=1, position=2, author_id="12"),
            Post("x", 1.0, "1", f"javascript:fetch('{canary}/url')", hostile, hostile, NOW - 100, hostile),
            Comment("x", "'><script>", 1.0, None, RIGHT_TO_LEFT, NOW - 90, f"{RIGHT_TO_LEFT}{hostile}"),
            site="bikes",
        ),
        page(
            *(Post(f"n{number}", 1.0, "1", title=f"Boat {number}", created_at=NOW - 1000 - number, body="b",
                   author="cy") for number in range(PAGE_ROWS + 5)),
            Post("ahead", 1.0, "1", title="From the future", created_at=NOW + 10**7, body="b"),
            site="boats",
        ),
    ])  # fmt: skip
    store.write([page(Post("7", 2.0, title="New title", body="hello", is_page=True),
                      Comment("7", "a", 2.0, body="second words"), site="bikes")])  # fmt: skip
    for site in ("bikes", "boats"):
        store.keep(site, "{}", "epoch", "crawl:")


def away() -> Snapshot:
    raise RedisUnreachable("it is away")


def reading(
    client: redis.Redis, directory: Path, *, canary: str = "http://canary.invalid", login: Login
) -> Iterator[str]:
    with Store(f"sqlite:///{directory}/items.db") as store:
        fill(store, canary)
    actions = Actions(Frontier(client, "test"), NO_DATABASE)
    with (
        closing(ItemReader(f"sqlite:///{directory}/items.db", directory / "search.db")) as reader,
        serving(ExporterServer(("127.0.0.1", 0), SnapshotCache(away), actions, login, items=ItemPages(reader))) as url,
    ):
        yield url


@pytest.fixture
def base(client: redis.Redis, tmp_path: Path) -> Iterator[str]:
    yield from reading(client, tmp_path, login=Login(""))


def shown(base: str, path: str) -> str:
    """Return a page, once the search index has all rows."""
    pages: list[str] = []

    def is_whole() -> bool:
        status, text, _ = ask(f"{base}{path}")
        assert status == 200, text
        pages.append(text)
        return "is taking in rows" not in text

    eventually(is_whole)
    return pages[-1]


def titles(text: str) -> list[str]:
    return re.findall(r'<h3 dir="auto"><a [^>]*>([^<]*)</a>', text)


def test_the_newest_posts_of_all_sites_come_first_page_by_page(base: str) -> None:
    first = shown(base, "/posts")
    older = re.search(r'href="(/posts\?[^"]*)">older', first)
    assert older

    second = shown(base, older[1].replace("&amp;", "&"))

    assert titles(first)[1] == "New title"
    assert "From the future" not in first
    assert [*titles(first)[2:], *titles(second)] == [f"Boat {number}" for number in range(PAGE_ROWS + 5)]
    assert "older posts" not in second
    assert set(titles(shown(base, "/posts?site=bikes"))) == {titles(first)[0], "New title"}


def test_a_thread_is_shown_as_a_tree_with_its_former_texts(base: str) -> None:
    text = shown(base, "/posts/thread?site=bikes&id=7")

    assert re.findall(r'<li id="(c\d)" class="item (d\d)">', text) == [("c0", "d0"), ("c1", "d1"), ("c2", "d0")]
    assert text.index("second words") < text.index("周末一起骑车吧") < text.index(">last<")
    assert 'answers <a href="#c0"><bdi>bob</bdi></a>' in text
    assert text.count("former version") == 2
    assert text.index("Old title") > text.index("New title</h2>")
    assert "first words" in text


def test_a_long_thread_has_pages(base: str, tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/items.db") as store:
        said = [
            Comment("7", f"z{place:03}", 3.0, body=f"z{place:03}", page=2, position=place)
            for place in range(THREAD_ROWS)
        ]
        store.write([page(*said, site="bikes")])

    first, second = (shown(base, f"/posts/thread?site=bikes&id=7&page={number}") for number in (1, 2))

    assert ("z196" in first, "z197" in first, "z197" in second, "z199" in second) == (True, False, True, True)
    assert ("page 1 of 2" in first, "more comments" in first, "earlier comments" in second) == (True, True, True)


def test_an_author_has_all_posts_and_comments_under_any_name(base: str) -> None:
    text = shown(base, "/posts/author?site=bikes&key=12")

    assert "<bdi>ann</bdi>" in text
    assert re.findall(r'<div class="text">(\w+)</div>', text) == ["last", "hello"]


def test_the_search_has_filters_and_finds_two_chinese_characters(base: str) -> None:
    assert titles(shown(base, f"/posts/search?q={quote('骑车')}&site=bikes&days=7")) == ["New title"]
    assert titles(shown(base, f"/posts/search?q={quote('骑车')}&site=boats")) == []
    assert titles(shown(base, "/posts/search?q=words&author=bob")) == ["New title"]
    assert "has no word to search for" in shown(base, "/posts/search?q=%22%22")


@pytest.mark.parametrize("path", ["thread?site=bikes&id=none", "thread", "nothing", "thread/7"])
def test_what_is_not_stored_is_not_found(base: str, path: str) -> None:
    assert ask(f"{base}/posts/{path}")[0] == 404


def test_odd_numbers_in_an_address_are_passed_over(base: str) -> None:
    for path in (
        "thread?site=bikes&id=7&page=%C2%B2",
        "thread?site=bikes&id=7&page=99999999999",
        "?at=x&id=1",
        "author?until=-1",
    ):
        assert ask(f"{base}/posts/{path}")[0] == 200


def test_with_a_password_stored_texts_are_for_who_has_logged_in(client: redis.Redis, tmp_path: Path) -> None:
    for base in reading(client, tmp_path, login=Login(PASSWORD)):
        status, text, _ = ask(f"{base}/posts")
        assert (status, "New title" in text, "log in" in text) == (403, False, True)

        cookie = ask(f"{base}/login", form={"password": PASSWORD})[2].headers["Set-Cookie"].partition(";")[0]

        assert "New title" in ask(f"{base}/posts", cookie)[1]


def test_without_a_password_stored_texts_are_shown_on_this_machine_alone() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost")] == [True] * 3
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "exporter")] == [False] * 4


def test_without_a_database_the_page_says_so(client: redis.Redis, tmp_path: Path) -> None:
    items = ItemPages(ItemReader(f"sqlite:///{tmp_path}/none.db", tmp_path / "search.db"))
    actions = Actions(Frontier(client, "test"), NO_DATABASE)
    with serving(ExporterServer(("127.0.0.1", 0), SnapshotCache(away), actions, Login(""), items=items)) as base:
        status, text, _ = ask(f"{base}/posts")

    assert (status, "there is no such file" in text) == (503, True)


def test_answers_stand_behind_what_they_answer_and_circles_end() -> None:
    rows = [("a", "b", 1, 0, 1), ("b", "a", 1, 1, 1), ("c", "c", 1, 2, 1), ("d", "a", 1, 3, 1), ("e", None, 1, 4, 1)]

    assert in_reading_order(rows) == [("c", 0), ("e", 0), ("a", 0), ("b", 1), ("d", 1)]


# -- a real browser --------------------------------------------------------------------------------------------

PAGES = ("", "/thread?site=bikes&id=x", "/thread?site=bikes&id=7", "/search?q=script", "/author?site=bikes&key=12")
MEASURE = """<script>onload = () => {
  document.title = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument
    const wide = page.documentElement.scrollWidth
    const turned = [...page.querySelectorAll(".item > p")].some(line => {
      const name = line.querySelector("bdi"), at = line.querySelector("time")
      return name && at && name.getBoundingClientRect().top === at.getBoundingClientRect().top &&
        name.getBoundingClientRect().right > at.getBoundingClientRect().left + 1
    })
    const strange = page.querySelectorAll("main script, main svg, main img, main style, main iframe, main link").length
    return [wide, page.title === "owned", turned, strange].join(" ")
  }).join(",")
}</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; Debian: apt-get install chromium")
def test_no_text_of_a_stranger_acts_in_a_browser(client: redis.Redis, tmp_path: Path) -> None:
    touched: list[str] = []

    class Canary(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            touched.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Canary)) as canary:
        for base in reading(client, tmp_path, canary=canary, login=Login("")):
            doms = [browse("--dump-dom", f"{base}/posts{path}") for path in PAGES]
            texts = [shown(base, f"/posts{path}") for path in PAGES]
        # Even without the content security policy of the server.
        frames = "".join(f'<iframe width="{width}" height="800" srcdoc="{escape(text)}"></iframe>'
                         for text in texts for width in (390, 1280))  # fmt: skip
        copy = tmp_path / "page.html"
        copy.write_text(f"<!doctype html><meta charset=utf-8>{frames}{MEASURE}", "utf-8")
        measured = re.search(r"<title>([^<]+)</title>", browse("--dump-dom", "--window-size=1400,1000", copy.as_uri()))

    assert touched == []
    assert all("document.title" in dom and "<title>owned" not in dom for dom in doms[:2])
    assert measured
    found = [one.split(" ") for one in measured[1].split(",")]
    assert [int(wide) <= width for (wide, *_), width in zip(found, (390, 1280) * len(PAGES), strict=True)] == [
        True
    ] * len(found)
    assert {tuple(rest) for _, *rest in found} == {("false", "false", "0")}


def test_no_page_and_no_title_turns_the_direction_of_a_line() -> None:
    page = page_of("\u202eevil\u2066", "<p>\u202a\u202b\u202c\u202d\u2067\u2068\u2069</p>")

    assert re.findall("[\u202a-\u202e\u2066-\u2069]", page) == []
    assert "\ufffdevil\ufffd" in page


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    digits = colour.lstrip("#")
    digits = "".join(one * 2 for one in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["text", "quiet", "line", "good", "note", "bad"])
def test_texts_have_the_contrast_of_wcag_aa_on_every_ground(theme: int, name: str) -> None:
    colours = dict(re.findall(r"--(\w+):(#\w{3,6})[;}]", re.findall(r":root\{([^}]*\})", STYLE)[theme]))

    for ground in ("bg", "card"):
        dark, light = sorted((luminance(colours[name]), luminance(colours[ground])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{name} on {ground}"
