"""The status page: what it says of a real ledger, who may act on it, and how a real browser lays it out."""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from http.client import HTTPResponse
from pathlib import Path

import pytest
import redis

from crawl_tasks.errors import RedisUnreachable
from crawl_tasks.frontier.admin.failed import read_failed
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.model import Effort, Fetched, Items, Lease, Parsed, Request, Stage, State
from crawl_tasks.monitor.snapshot import Snapshot, take_snapshot
from crawl_tasks.web.actions import FAILED_ROWS, Actions
from crawl_tasks.web.login import Login
from crawl_tasks.web.server import ExporterServer
from crawl_tasks.web.snapshot_cache import SnapshotCache
from tests.frontier.by_hand import TERMS, released
from tests.serving import NO_DATABASE, serving
from tests.waiting import eventually

EFFORT = Effort(200, 5000, 20_000, 80, 4)
PASSWORD = "sesame <open>"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LONG = "http://127.0.0.1/post/1?" + "x" * 300


def post(site: str, number: int) -> Request:
    return Request(site, Stage.POST, str(number), f"http://127.0.0.1/post/{number}")


def board(site: str, name: str) -> BoardTerms:
    return BoardTerms(name, f'1 ! list 5 http://127.0.0.1/{site}/{name} ["{name}",1,"@SCAN@"]', 60_000, 1, 600_000)


def work(frontier: Frontier, client: redis.Redis, site: str, count: int) -> None:
    """Do some pages of a site; one fails for good, one is set aside, one stays in hand."""
    frontier.sites.publish(
        site, "v1", "{}", TERMS | {"window": 1000}, [board(site, name) for name in ("news", "talk", "日本")]
    )
    frontier.admit(site, [*(post(site, number) for number in range(count)), post(site, 9999)._replace(address=LONG)])
    leases = [frontier.lease(site, rid) for rid in released(client)]
    held = [lease for lease in leases if isinstance(lease, Lease)]
    for lease in held[:-3]:
        frontier.commit(lease, Parsed(Items(site)), effort=EFFORT)
    frontier.fail(held[-1], Verdict(State.DEAD, "status", "it answered <b>418</b>"), EFFORT)
    frontier.fail(held[-2], Verdict(State.PARKED, "parse", "no rule fits"), EFFORT)


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    return populated(client)


def populated(client: redis.Redis) -> Frontier:
    """Four sites: one busy, one paused, one late, one that has done nothing yet."""
    frontier = Frontier(client, "test")
    work(frontier, client, "busy-forum", 50)
    work(frontier, client, "paused-forum", 10)
    frontier.sites.publish("new-forum", "v1", "{}", TERMS, [])
    frontier.sites.publish("late-forum", "v1", "{}", TERMS, [board("late-forum", "slow")])
    frontier.heartbeat("here:1", ["list", "post", "comment", "store"])
    frontier.produce()
    frontier.sites.pause("paused-forum")
    client.zadd("test:s:late-forum:overdue", {"slow": 1})
    client.hset("test:s:late-forum", "breaker:comment", "1 1 0 parse")
    for site in ("busy-forum", "paused-forum"):
        client.hset(f"test:s:{site}:stats", mapping=risen(0))
    return frontier


def an_hour_of(frontier: Frontier) -> Iterator[Snapshot]:
    """Give snapshots a minute apart, the last of now, with counters that rise by fits and starts."""
    now = take_snapshot(frontier)
    for minute in range(60, -1, -1):
        sites = tuple(
            replace(site, counts=replace(site.counts, stats=_earlier(site.counts.stats, minute))) for site in now.sites
        )
        yield Snapshot(sites, replace(now.health, at_ms=now.at_ms - minute * 60_000))


def _earlier(stats: Mapping[str, int], minute: int) -> Mapping[str, int]:
    return {**stats, **risen(minute)} if stats else stats


def risen(minute: int) -> dict[str, int]:
    """Give counters as they were some minutes ago."""
    done = 60 - minute
    rose = {"post:new": done * 7 + done % 9 * 3, "comment:new": done * 31 + done % 7 * 17, "fresh:3": done * 5}
    return {**rose, "fresh:6": done, "fresh:sum": done * 100}


@pytest.fixture
def base(frontier: Frontier) -> Iterator[str]:
    yield from serve(frontier, PASSWORD)


def serve(frontier: Frontier, password: str) -> Iterator[str]:
    look = SnapshotCache(lambda: take_snapshot(frontier))
    for snapshot in an_hour_of(frontier):
        look.history.note(snapshot)
    login, actions = Login(password), Actions(Cells([frontier]), NO_DATABASE, read)
    with serving(ExporterServer(("127.0.0.1", 0), look, actions, login, "http://127.0.0.1:5555")) as url:
        yield url


def read(kept: KeptPage) -> dict[str, str]:
    return {"title": f"read by {len(kept.page.body)} bytes"}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def ask(url: str, cookie: str = "", form: dict[str, str] | None = None) -> tuple[int, str, HTTPResponse]:
    data = urllib.parse.urlencode(form).encode() if form is not None else None
    request = urllib.request.Request(url, data=data, headers={"Cookie": cookie})
    try:
        answer = urllib.request.build_opener(NoRedirect).open(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.read().decode(), answer


def enter(base: str) -> tuple[str, str]:
    """Log in; give the cookie and the token of the forms."""
    _, _, answer = ask(f"{base}/login", form={"password": PASSWORD})
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    _, page, _ = ask(f"{base}/site/busy-forum", cookie)
    found = re.search(r'name="token" value="(\w+)"', page)
    assert found
    return cookie, found[1]


def test_the_first_page_names_every_site_those_that_need_somebody_first(base: str) -> None:
    _, page, _ = ask(f"{base}/")

    names = re.findall(r'href="/site/([\w-]+)"', page)
    assert names == ["busy-forum", "late-forum", "new-forum", "paused-forum"] or names[-1] == "new-forum"
    assert set(names[:2]) == {"busy-forum", "late-forum"}
    assert "1 page is parked (parse); mend the cause" in page
    assert "paused since 20" in page
    assert "0/1</span>" in page
    assert "48 s / 9 min" in page


def test_the_page_of_a_site_shows_boards_pages_in_hand_and_reasons(base: str) -> None:
    _, page, _ = ask(f"{base}/site/busy-forum")

    assert "日本" in page
    assert "no rule fits" in page
    assert "it answered &lt;b&gt;418&lt;/b&gt;" in page
    assert "http://127.0.0.1/post/48" in page
    assert "<button>pause" not in page
    assert page.index("Last pages") < page.index(">80 ms<") < page.index(">0 items<")
    assert '<span class="bad">parse</span>' in page


def test_thousands_of_failed_requests_are_shown_page_by_page(
    base: str, frontier: Frontier, client: redis.Redis
) -> None:
    [entry] = client.hvals("test:s:busy-forum:dead")
    for begin in range(0, 10_000, 1000):
        client.hset("test:s:busy-forum:dead", mapping={f"{50_000 + begin + more}": entry for more in range(1000)})

    first = ask(f"{base}/site/busy-forum/failed?state=dead")[1]
    last = ask(f"{base}/site/busy-forum/failed?state=dead&page=51")[1]
    other = ask(f"{base}/site/busy-forum/failed?state=dead&reason=parse")[1]

    assert [text.count("it answered &lt;b&gt;418") for text in (first, last, other)] == [FAILED_ROWS, 1, 0]
    assert ("page=2" in first, "page=52" in last, "page=50" in last) == (True, False, True)
    assert ask(f"{base}/site/nowhere/failed")[0] == 404


def test_boards_show_their_titles_and_how_old_their_last_scan_is(base: str, frontier: Frontier) -> None:
    rules = json.dumps({"boards": [{"id": "news", "title": "News <& more>"}, {"id": "talk"}, "日本"]})
    boards = [board("busy-forum", name) for name in ("news", "talk", "日本")]
    frontier.sites.publish("busy-forum", "v2", rules, TERMS | {"window": 1000}, boards)
    now_ms = frontier.clock_ms()
    for name, age in (("news", 1), ("talk", 5)):
        frontier.client.hset(f"test:s:busy-forum:board:{name}", "scanned_at", now_ms - age * 60_000)

    page = ask(f"{base}/site/busy-forum")[1]

    fields = re.findall(r'<li class="(h\d)"><b>(.*?)</b>(.*?)</li>', page)
    assert sorted(fields) == [
        ("h0", "News &lt;&amp; more&gt;", "60 s ago"),
        ("h2", "talk", "5 min ago"),
        ("h3", "日本", "never scanned"),
    ]


def test_failed_requests_are_searched_and_sorted(base: str, client: redis.Redis) -> None:
    [entry] = client.hvals("test:s:busy-forum:dead")
    since, rest = entry.split(b" ", 1)
    for number, (age, reason) in enumerate([(1, b"gone"), (3, b"attempts"), (2, b"zeal")]):
        text = b"%d %b %b" % (int(since) - age * 1000, reason, rest.split(b" ", 1)[1])
        client.hset("test:s:busy-forum:dead", f"{7000 + number}", text.replace(b">418<", b">4%d<" % number))

    def shown(query: str) -> list[str]:
        page = ask(f"{base}/site/busy-forum/failed?state=dead&{query}")[1]
        return re.findall(r'data-name="reason"[^>]*>(\w+)<', page)

    assert shown("") == ["status", "gone", "zeal", "attempts"]
    assert shown("order=oldest") == ["attempts", "zeal", "gone", "status"]
    assert shown("order=reason") == ["attempts", "gone", "status", "zeal"]
    assert shown("words=418") == ["status"]
    assert shown("words=POST+answered+42") == ["zeal"]
    assert shown("words=418+42") == []


def test_a_kept_page_stands_beside_what_the_rules_read_and_is_retried_alone(
    base: str, frontier: Frontier, client: redis.Redis
) -> None:
    [(rid, _)] = client.hgetall("test:s:busy-forum:parked").items()
    path = f"{base}/site/busy-forum/failed/{int(rid)}"
    unread = Fetched("http://127.0.0.1/post/1", 200, {}, "<b>Bücher</b><script>alert(1)</script>".encode(), 0.0)
    request = frontier_request(client, rid)
    before = Inspector(frontier).count_requests("busy-forum")

    assert ask(path)[0] == 403
    cookie, token = enter(base)
    without = ask(path, cookie)[1]
    frontier.kept_pages.keep(KeptPage(int(rid), request, unread, "no rule fits"))
    page = ask(path, cookie)[1]
    answer = ask(f"{base}/site/busy-forum/retry", cookie, {"token": token, "rid": str(int(rid))})

    assert "The page is not kept" in without
    assert "&lt;b&gt;Bücher&lt;/b&gt;&lt;script&gt;" in page
    assert "<script" not in page
    assert "<td>title</td><td>read by 39 bytes</td>" in page
    assert answer[0] == 303, answer[1]
    after = Inspector(frontier).count_requests("busy-forum")
    assert (after.parked, after.dead) == (before.parked - 1, before.dead)
    assert ask(path, cookie)[0] == 404


def frontier_request(client: redis.Redis, rid: bytes) -> Request:
    """Return the request of a parked entry."""
    return read_failed("busy-forum", State.PARKED, client.hget("test:s:busy-forum:parked", rid)).request


def test_the_json_of_a_site_has_its_boards_pages_and_reasons(base: str) -> None:
    row = json.loads(ask(f"{base}/api/site/busy-forum")[1])

    assert row["site"] == "busy-forum"
    assert {one["board"]: one["freshness_s"]["count"] for one in row["board_states"]}["日本"] == 0
    assert {page["outcome"] for page in row["recent_pages"]} == {"0", "parse", "status"}
    assert {one["reason"] for one in row["failed_requests"]} == {"parse", "status"}
    assert {one["request"]["stage"] for one in row["failed_requests"]} == {"post"}
    assert ask(f"{base}/api/site/nowhere")[0] == 404


def test_the_first_page_says_at_its_top_how_many_sites_need_somebody(base: str, client: redis.Redis) -> None:
    _, page, _ = ask(f"{base}/")
    client.set("test:halt", "Redis was <emptied>")

    eventually(lambda: "all sites stand still: Redis was &lt;emptied&gt;" in ask(f"{base}/")[1])

    assert "<title>(2) crawl_tasks</title>" in page
    assert page.index(">2 to act on<") < page.index(">1 to note<") < page.index(">1 in order<")
    assert page.index("1 page is parked") < page.index('class="plots"')
    assert "stand still" not in page
    serves = "control: no worker serves this queue; start one: celery -A crawl_tasks worker -Q list"
    assert f'<p class="said bad">{serves}</p>' in page
    assert "beat is silent" not in page


def test_dropped_items_and_start_entries_show_where_there_are_any(base: str, client: redis.Redis) -> None:
    before = ask(f"{base}/")[1] + ask(f"{base}/site/late-forum")[1]
    client.hset("test:s:busy-forum", "dropped:too_old", 3)
    client.hset("test:starts", mapping={"claimed": 9, "new": 4, "known": 1, "refused": 2})

    eventually(lambda: "too_old" in ask(f"{base}/site/busy-forum")[1])

    assert '<b class="note">7 / 2</b>' in ask(f"{base}/")[1]
    assert "not given to the store" not in before
    assert "start entries" not in before


def test_a_site_that_is_not_there_is_not_found(base: str) -> None:
    assert ask(f"{base}/site/nowhere")[0] == 404
    assert ask(f"{base}/site/%3Cscript%3E")[0] == 404


def test_the_page_of_a_site_says_what_stops_all_sites_and_of_which_moment_it_speaks(
    base: str, frontier: Frontier
) -> None:
    frontier.sites.drain("new-forum")
    eventually(lambda: '<span class="note">draining</span>' in ask(f"{base}/site/new-forum")[1])

    _, page, _ = ask(f"{base}/site/new-forum")

    assert "control: no worker serves this queue; start one: celery -A crawl_tasks worker -Q list" in page
    assert "no new scan begins since 20" in page
    assert re.search(r"as of \d\d:\d\d:\d\d UTC, anew every 20 s", page)


def test_the_page_of_a_site_tells_once_what_holds_all_sites_back(base: str, client: redis.Redis) -> None:
    client.hdel("test:stats", "produced_at")
    eventually(lambda: "beat is silent" in ask(f"{base}/")[1])

    assert ask(f"{base}/site/late-forum")[1].count("beat is silent") == 1


def test_while_redis_is_away_people_get_a_page_that_looks_again_and_programs_a_line(frontier: Frontier) -> None:
    def fail() -> Snapshot:
        raise RedisUnreachable("it is away")

    server = ExporterServer(("127.0.0.1", 0), SnapshotCache(fail), Actions(Cells([frontier]), NO_DATABASE), Login(""))
    with serving(server) as base:
        status, page, _ = ask(f"{base}/")
        told = [ask(f"{base}/{path}") for path in ("metrics", "healthz", "api/snapshot")]

    assert (status, 'http-equiv="refresh"' in page, "Redis does not answer" in page) == (503, True, True)
    assert [(status, text.count("\n"), "<" in text) for status, text, _ in told] == [(503, 1, False)] * 3


def test_a_head_is_answered_like_a_page_without_its_text(base: str) -> None:
    request = urllib.request.Request(f"{base}/", method="HEAD")

    with urllib.request.urlopen(request, timeout=60) as answer:
        assert (answer.status, answer.headers["Content-Type"], answer.read()) == (200, "text/html; charset=utf-8", b"")


def test_a_visitor_that_goes_away_is_no_news(base: str, capfd: pytest.CaptureFixture[str]) -> None:
    place = urllib.parse.urlsplit(base)
    for _ in range(5):
        with socket.create_connection((str(place.hostname), int(str(place.port)))) as visitor:
            visitor.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
            visitor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not an end

    assert ask(f"{base}/")[0] == 200
    assert "Traceback" not in capfd.readouterr().err


def test_nothing_is_loaded_from_elsewhere(base: str) -> None:
    for path in ("/", "/site/busy-forum", "/login"):
        _, page, answer = ask(base + path)

        assert re.findall(r"(?:src|<script|@import|url\()", page) == []
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_whoever_is_logged_in_pauses_resumes_and_retries(base: str, frontier: Frontier) -> None:
    cookie, token = enter(base)

    for verb in ("pause", "retry-dead", "retry-parked"):
        status, _, answer = ask(f"{base}/site/busy-forum/{verb}", cookie, {"token": token})
        assert (status, answer.headers["Location"]) == (303, "/site/busy-forum")

    counts = Inspector(frontier).count_requests("busy-forum")
    assert (counts.fields["paused"], counts.dead, counts.parked) == ("1", 0, 0)
    ask(f"{base}/site/busy-forum/resume", cookie, {"token": token})
    assert Inspector(frontier).count_requests("busy-forum").fields["paused"] == "0"


@pytest.mark.parametrize("case", ["no cookie", "no token", "wrong token", "forged cookie", "token of another session"])
def test_nobody_else_acts(base: str, frontier: Frontier, case: str) -> None:
    cookie, token = enter(base)
    _, other = enter(base)
    given = {
        "no cookie": ("", token),
        "no token": (cookie, ""),
        "wrong token": (cookie, "0" * 64),
        "forged cookie": (cookie[:-1] + ("0" if cookie[-1] != "0" else "1"), token),
        "token of another session": (cookie, other),
    }[case]

    status, _, _ = ask(f"{base}/site/busy-forum/pause", given[0], {"token": given[1]})

    assert status == 403
    assert Inspector(frontier).count_requests("busy-forum").fields.get("paused") is None


def test_a_wrong_password_opens_nothing(base: str) -> None:
    status, page, answer = ask(f"{base}/login", form={"password": "sesame"})

    assert (status, answer.headers["Set-Cookie"]) == (403, None)
    assert "That is not the password" in page


def test_without_a_password_nobody_can_log_in(frontier: Frontier) -> None:
    for base in serve(frontier, ""):
        assert ask(f"{base}/login", form={"password": ""})[0] == 403
        assert "CRAWL_WEB_PASSWORD" in ask(f"{base}/login")[1]
        assert "log in</a>" not in ask(f"{base}/")[1]


def test_a_session_ends_when_one_leaves_or_its_time_is_up(base: str) -> None:
    cookie, token = enter(base)

    left = ask(f"{base}/logout", cookie, {"token": token})[2].headers["Set-Cookie"]
    after = ask(f"{base}/site/busy-forum/pause", cookie, {"token": token})[0]
    now = [0.0]
    login = Login(PASSWORD, lambda: now[0])
    late = login.enter(PASSWORD) or ""
    fresh = login.session(late)
    now[0] = 12 * 3600

    assert "Max-Age=0" in left
    assert after == 403  # a copy of the cookie opens nothing any more
    assert fresh is not None
    assert login.session(late) is None


def test_a_form_that_is_too_large_is_not_read(base: str) -> None:
    assert ask(f"{base}/login", form={"password": "x" * 10_000})[0] == 400


# -- a real browser --------------------------------------------------------------------------------------------


MEASURE = """<script>onload = () => {
  document.title = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument
    const size = getComputedStyle(page.querySelector("h1")).fontSize
    const tables = [...page.querySelectorAll(".sites")].map(table => table.scrollWidth - table.clientWidth)
    const width = page.documentElement.scrollWidth + Math.max(0, ...tables)
    return [width, page.querySelectorAll("svg").length, size].join(" ")
  }).join(",")
}</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; Debian: apt-get install chromium")
def test_a_browser_lays_the_pages_out_within_a_phone_and_a_desktop(base: str, tmp_path: Path) -> None:
    sizes = [(path, width) for path in ("/", "/site/busy-forum", "/login") for width in (390, 1280)]
    frames = "".join(
        f'<iframe width="{width}" height="800" srcdoc="{escape(ask(base + path)[1])}"></iframe>'
        for path, width in sizes
    )
    copy = tmp_path / "page.html"
    copy.write_text(f"<!doctype html><meta charset=utf-8>{frames}{MEASURE}", "utf-8")

    dom = browse("--dump-dom", "--window-size=1400,1000", copy.as_uri())

    found = re.search(r"<title>([^<]+)</title>", dom)
    assert found, dom[-500:]
    laid_out = [measured.split(" ") for measured in found[1].split(",")]
    assert [int(scroll) <= width for (_, width), (scroll, _, _) in zip(sizes, laid_out, strict=True)] == [True] * 6
    assert {size for _, _, size in laid_out} == {"20px"}
    assert [int(charts) >= 3 for _, charts, _ in laid_out] == [True, True, True, True, False, False]


def browse(*options: str) -> str:
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def say(base: str, head: str) -> bytes:
    """Send the head of a request as it stands, and return the answer."""
    place = urllib.parse.urlsplit(base)
    with socket.create_connection((str(place.hostname), int(str(place.port)))) as visitor:
        visitor.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode("latin-1"))
        return b"".join(iter(lambda: visitor.recv(65536), b""))


@pytest.mark.parametrize("path", ["/", "/metrics", "/api/snapshot"])
@pytest.mark.parametrize("host", ["rebound.example", "127.0.0.1.rebound.example:9817", "localhost.example", "a.b."])
def test_a_foreign_name_that_leads_here_gets_nothing(base: str, path: str, host: str) -> None:
    answer = say(base, f"GET {path} HTTP/1.1\r\nHost: {host}")

    assert answer.startswith(b"HTTP/1.1 421 ")
    assert b"set CRAWL_WEB_HOSTS" in answer
    assert b"busy-forum" not in answer


@pytest.mark.parametrize(
    "host", ["127.0.0.1:9817", "[::1]:1", "10.1.2.3", "localhost:1", "exporter:9817", "Web.Example"]
)
def test_addresses_names_without_a_dot_and_named_hosts_are_answered(frontier: Frontier, host: str) -> None:
    snapshots = SnapshotCache(lambda: take_snapshot(frontier))
    server = ExporterServer(
        ("127.0.0.1", 0), snapshots, Actions(Cells([frontier]), NO_DATABASE), Login(""), hosts=["web.example"]
    )

    with serving(server) as url:
        assert say(url, f"GET /healthz HTTP/1.1\r\nHost: {host}").startswith(b"HTTP/1.1 200 ")


def test_a_length_of_odd_digits_is_no_length(base: str, capfd: pytest.CaptureFixture[str]) -> None:
    answer = say(base, "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: \xb2")

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert "Traceback" not in capfd.readouterr().err
