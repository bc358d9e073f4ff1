"""robots.txt: read as RFC 9309 has it, remembered, and asked for once at a time."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator

import pytest

from crawl_tasks.errors import (
    BadRedirect,
    RedirectRefused,
    RobotsRefused,
    RobotsUnavailable,
    Unreachable,
)
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.robots import PARSED_BYTES, Robots
from crawl_tasks.fetch.throttle import Clock
from crawl_tasks.model import Request, Stage
from tests.unit.hostile_server import Answer, HostileServer, Visit, page, redirect

ORIGIN = "https://forum.example"
POLICY = FetchPolicy(user_agent="testbot/1.0 (+https://example.com)", allowed_hosts=frozenset({"forum.example"}))
DENY = b"User-agent: *\nDisallow: /"


class Site:
    """A robots.txt that can change, and a clock."""

    def __init__(self, body: bytes = b"", status: int = 200) -> None:
        self.answer: tuple[int, bytes] | Exception = (status, body)
        self.asked: list[str] = []
        self.now = 1_000.0
        self.robots = Robots(self._ask, lambda: self.now)

    def _ask(self, url: str, policy: FetchPolicy, clock: Clock) -> tuple[int, bytes]:
        self.asked.append(url)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def allows(self, path: str, policy: FetchPolicy = POLICY) -> bool:
        try:
            self.robots.check(ORIGIN + path, policy, Clock(time.monotonic() + 30))
        except RobotsRefused:
            return False
        return True


RULES = {
    "nothing": (b"", "/x", True),
    "everything": (DENY, "/x", False),
    "a directory": (b"User-agent: *\nDisallow: /admin/", "/admin/x", False),
    "not the directory's namesake": (b"User-agent: *\nDisallow: /admin/", "/administrator", True),
    "the longest match wins": (b"User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
    "allow wins a tie": (b"User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
    "our group before the star": (b"User-agent: *\nDisallow: /\n\nUser-agent: testbot\nDisallow: /a", "/x", True),
    "our group in capitals": (b"User-agent: TestBot\nDisallow: /", "/x", False),
    "groups of one name are merged": (
        b"User-agent: testbot\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: testbot\nDisallow: /b",
        "/b",
        False,
    ),
    "several names on one group": (b"User-agent: a\nUser-agent: testbot\nDisallow: /", "/x", False),
    "another's group": (b"User-agent: otherbot\nDisallow: /", "/x", True),
    "what the user agent says besides its name": (b"User-agent: example\nDisallow: /", "/x", True),
    "a star within": (b"User-agent: *\nDisallow: /*/print", "/thread/1/print", False),
    "a dollar at the end": (b"User-agent: *\nDisallow: /*.php$", "/a.php", False),
    "a dollar that does not match": (b"User-agent: *\nDisallow: /*.php$", "/a.php?x=1", True),
    "a query": (b"User-agent: *\nDisallow: /*?mod=", "/forum.php?mod=viewthread", False),
    "an encoded path": ("User-agent: *\nDisallow: /中".encode(), "/%E4%B8%AD", False),
    "lines that end in CR": (b"User-agent: *\rDisallow: /", "/x", False),
    "lines that end in CRLF": (b"User-agent: *\r\nDisallow: /\r\n", "/x", False),
    "a byte order mark": (b"\xef\xbb\xbfUser-agent: *\nDisallow: /", "/x", False),
    "comments and blanks": (b"# hello\n  User-agent : *  # all\n\tDisallow:/  # no\n", "/x", False),
    "a rule before any agent": (b"Disallow: /\nUser-agent: *\nDisallow: /a", "/x", True),
    "NUL bytes": (b"User-agent: *\nDisallow: /\0a\nDisallow: /b", "/b", False),
    "not UTF-8": (b"User-agent: *\nDisallow: /\xff\xfe\nDisallow: /b", "/b", False),
    "an HTML page": (b"<html><body>Disallow: /</body></html>", "/x", True),
    "a sitemap within the group": (b"User-agent: *\nSitemap: https://x.example/\nDisallow: /a", "/a", False),
}


@pytest.mark.parametrize(("body", "path", "allowed"), RULES.values(), ids=RULES.keys())
def test_rules_are_read(body, path, allowed):
    assert Site(body).allows(path) is allowed


def test_half_a_megabyte_is_read_and_a_cut_line_is_not():
    filler = b"#" + b"x" * 78 + b"\n"
    early = b"User-agent: *\nDisallow: /early\n"
    cut = early + filler * ((PARSED_BYTES - len(early)) // len(filler))
    cut += b"Disallow: /" + b"y" * (PARSED_BYTES - len(cut) - 11)

    site = Site(cut[:PARSED_BYTES])

    assert not site.allows("/early")
    assert site.allows("/" + "y" * 100)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_file_that_is_not_there_allows_all(status):
    assert Site(DENY, status).allows("/x")


@pytest.mark.parametrize("answer", [(500, DENY), (503, b""), (429, b""), (304, b""), Unreachable("gone")])
def test_file_that_cannot_be_had_allows_nothing_for_now(answer):
    site = Site()
    site.answer = answer

    with pytest.raises(RobotsUnavailable) as failed:
        site.allows("/x")

    assert failed.value.retry_after_s == 60.0
    assert "robots.txt" in str(failed.value)


def test_too_many_redirects_are_as_no_file():
    site = Site()
    site.answer = BadRedirect("more than 5")

    assert site.allows("/x")


def test_failure_is_remembered_for_a_minute_and_then_asked_again():
    site = Site(status=500)
    for _ in range(3):
        with pytest.raises(RobotsUnavailable):
            site.allows("/x")
    site.now += 61
    site.answer = (200, b"")

    assert site.allows("/x")
    assert len(site.asked) == 2


def test_file_is_read_once_a_day_per_origin():
    site = Site(b"")
    for path in ("/a", "/b"):
        site.allows(path)
    site.now += 86_401
    site.answer = (200, DENY)

    assert not site.allows("/a")
    assert site.asked == [f"{ORIGIN}/robots.txt"] * 2


def test_a_file_that_cannot_be_had_for_a_month_is_as_none():
    site = Site(status=500)
    with pytest.raises(RobotsUnavailable):
        site.allows("/x")

    site.now += 29 * 86_400
    with pytest.raises(RobotsUnavailable):
        site.allows("/x")

    site.now += 2 * 86_400
    assert site.allows("/x")


def test_a_month_begins_anew_when_the_file_is_had_in_between():
    site = Site(status=500)
    with pytest.raises(RobotsUnavailable):
        site.allows("/x")
    site.answer, site.now = (200, DENY), site.now + 20 * 86_400
    assert not site.allows("/x")

    site.answer, site.now = (500, b""), site.now + 20 * 86_400
    assert not site.allows("/x")


def test_old_rules_hold_while_the_file_cannot_be_had_for_a_month():
    site = Site(b"User-agent: *\nDisallow: /a")
    site.allows("/x")
    site.now += 86_401
    site.answer = (500, b"")

    assert site.allows("/x")
    assert not site.allows("/a")

    site.now += 31 * 86_400
    assert site.allows("/a")


def test_policy_may_turn_it_off():
    site = Site(DENY)
    off = FetchPolicy(user_agent="testbot", allowed_hosts=frozenset(), robots=False)

    assert site.allows("/x", off)
    assert site.asked == []


@pytest.mark.parametrize(
    ("user_agent", "product"),
    [
        ("testbot/1.0 (+https://example.com)", "testbot"),
        ("crawl_tasks/0.1", "crawl_tasks"),
        ("Mozilla/5.0 (compatible; ForumBot/2.0; +https://example.com)", "ForumBot"),
        ("Mozilla/5.0 (X11; Linux)", "Mozilla"),
        ("论坛", "论坛"),
    ],
)
def test_product_name_is_found_in_the_user_agent(user_agent, product):
    assert FetchPolicy(user_agent=user_agent, allowed_hosts=frozenset()).product == product


def test_crawl_delay_is_told_once_the_file_was_read():
    site = Site(b"User-agent: *\nCrawl-delay: 2.5")
    before = site.robots.crawl_delay_s(f"{ORIGIN}/x", POLICY)

    site.allows("/x")

    assert before is None
    assert site.robots.crawl_delay_s(f"{ORIGIN}/x", POLICY) == 2.5


def test_thread_that_waits_for_anothers_fetch_waits_within_its_own_time():
    asked = threading.Event()
    go_on = threading.Event()

    def ask(url: str, policy: FetchPolicy, clock: Clock) -> tuple[int, bytes]:
        asked.set()
        go_on.wait(30)
        return 200, b""

    robots = Robots(ask)
    first = threading.Thread(target=robots.check, args=(f"{ORIGIN}/x", POLICY, Clock(time.monotonic() + 30)))
    first.start()
    asked.wait(30)

    with pytest.raises(RobotsUnavailable, match="another thread"):
        robots.check(f"{ORIGIN}/y", POLICY, Clock(time.monotonic() + 0.01))
    go_on.set()
    first.join()


@pytest.fixture
def server() -> Iterator[HostileServer]:
    server = HostileServer({"/x": page(b"page"), "/y": page(b"page")})
    yield server
    server.stop()


def fetch(name: str, server: HostileServer, path: str = "/x") -> bytes:
    fetcher = Fetcher(build_client(name))
    policy = FetchPolicy(
        user_agent="testbot/1.0",
        allowed_hosts=frozenset({"127.0.0.1"}),
        private_hosts=frozenset({server.place}),
        deadline_s=20.0,
    )
    try:
        return fetcher.fetch(Request("site", Stage.LIST, "1", server.base + path), policy).body
    finally:
        fetcher.close()


OVER_THE_WIRE: dict[str, tuple[Answer, bool]] = {
    "plain": (page(DENY), False),
    "packed": (page(gzip.compress(DENY), Content_Encoding="gzip"), False),
    "too long": (page(DENY + b"\n" + b"# more\n" * 200_000), False),
    "too long and packed": (
        page(gzip.compress(DENY + b"\n" + b"# more\n" * 200_000), Content_Encoding="gzip"),
        False,
    ),
    "endless": (lambda visit: (visit.send(b"HTTP/1.1 200 OK\r\n\r\n" + DENY + b"\n"), visit.flood(b"#\n"))[0], False),
    "redirected": (redirect("/rules"), False),
    "redirected in a loop": (redirect("/robots.txt"), True),
    "missing, with a packed page": (page(gzip.compress(DENY)[:20], "404 No", Content_Encoding="gzip"), True),
}


@pytest.mark.parametrize("name", ["requests", "curl"])
@pytest.mark.parametrize(("answer", "allowed"), OVER_THE_WIRE.values(), ids=OVER_THE_WIRE.keys())
def test_file_is_read_over_the_wire(server, name, answer, allowed):
    server.routes.update({"/robots.txt": answer, "/rules": page(DENY)})

    if allowed:
        assert fetch(name, server) == b"page"
    else:
        with pytest.raises(RobotsRefused):
            fetch(name, server)

    assert server.paths().count("/x") == allowed


@pytest.mark.parametrize("name", ["requests", "curl"])
@pytest.mark.parametrize(
    "answer",
    [
        Visit.reset,
        page(b"", "500 Oops"),
        page(gzip.compress(DENY)[:-10], Content_Encoding="gzip"),
        page(DENY, Content_Encoding="br"),
        redirect("http://127.0.0.1:1/robots.txt"),
        redirect("http://169.254.169.254/robots.txt"),
    ],
    ids=["reset", "500", "cut gzip", "brotli", "redirect inside", "redirect to metadata"],
)
def test_file_that_fails_over_the_wire_keeps_us_out(server, name, answer):
    server.routes["/robots.txt"] = answer

    with pytest.raises(RobotsUnavailable):
        fetch(name, server)

    assert server.paths() == []


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_rules_are_asked_again_for_the_target_of_a_redirect(server, name):
    server.routes.update({"/robots.txt": page(b"User-agent: *\nDisallow: /y"), "/x": redirect("/y")})

    with pytest.raises(RedirectRefused, match=r"/x redirects to .*/y"):
        fetch(name, server)

    assert server.paths() == ["/x"]


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_many_threads_ask_for_the_file_once(server, name):
    fetcher = Fetcher(build_client(name, threads=8))
    policy = FetchPolicy(
        user_agent="testbot", allowed_hosts=frozenset({"127.0.0.1"}), private_hosts=frozenset({server.place})
    )
    bodies: list[bytes] = []

    def work() -> None:
        for path in ("/x", "/y") * 5:
            bodies.append(fetcher.fetch(Request("site", Stage.LIST, "1", server.base + path), policy).body)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fetcher.close()

    assert bodies == [b"page"] * 80
    assert [visit.target for visit in server.visits].count("/robots.txt") == 1
    assert server.connections <= 9
