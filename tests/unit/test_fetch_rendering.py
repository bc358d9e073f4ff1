"""Pages drawn by a real Chromium: what a hostile page asks for reaches nobody, limits hold, and rules wait as told."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from asyncio import Future
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from crawl_tasks.errors import BrowserFailed, DeadlineExceeded, NoTurn, ParseError, SlowDown, TooLarge
from crawl_tasks.fetch import browser, browser_page, browser_process, browser_requests, page_requests, request_pool
from crawl_tasks.fetch.browser_page import AskedRequest, BrowserPage, PageRequest
from crawl_tasks.fetch.fetch_policy import FetchPolicy, RenderPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.throttle import Clock, Throttle
from crawl_tasks.model import Fetched, Request, Stage
from tests.unit.hostile_server import HostileServer, Visit, page, redirect
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())

ROOT = Path(__file__).parents[2]
AGENT = "testbot/1.0 (+https://example.com)"
DRAW = """<!doctype html><meta charset=utf-8><body><p id=told></p><script>
const tell = text => { document.getElementById('told').append(text + ';') };
%s
</script>"""

Draw = Callable[..., Fetched]


@pytest.fixture(scope="module")
def fetcher() -> Iterator[Fetcher]:
    fetcher = Fetcher(build_client("requests"))
    yield fetcher
    fetcher.close()


@pytest.fixture
def forum() -> Iterator[HostileServer]:
    server = HostileServer()
    yield server
    server.stop()


@pytest.fixture
def canary() -> Iterator[HostileServer]:
    """A server of somebody else, also on loopback, that no page may reach."""
    server = HostileServer(otherwise=page(b"secret", Access_Control_Allow_Origin="*"))
    yield server
    server.stop()


@pytest.fixture
def draw(fetcher: Fetcher, forum: HostileServer) -> Draw:
    """Draw a page of the forum whose script is given."""

    def one(script: str = "", /, *, markup: str = "", robots: bool = False, **settings: object) -> Fetched:
        rules = {name: settings.pop(name) for name in RenderPolicy._fields if name in settings}
        forum.routes["/"] = page((DRAW % script + markup).encode(), Content_Type="text/html")
        policy = {
            "allowed_hosts": frozenset({"127.0.0.1"}),
            "private_hosts": frozenset({forum.place}),
            "deadline_s": 30.0,
            "robots": robots,
            "render": {Stage.POST: RenderPolicy(**{"quiet_s": 0.2, **rules})},
            **settings,
        }
        request = Request("forum", Stage.POST, "1", f"{forum.base}/")
        turn = policy.pop("turn", None)
        return fetcher.fetch(request, FetchPolicy(AGENT, **policy), **({"turn": turn} if turn else {}))

    return one


def told(drawn: Fetched) -> list[str]:
    """Return the words that the script of a page told."""
    text = drawn.body.decode("utf-8-sig")
    return text.partition('<p id="told">')[2].partition("</p>")[0].strip(";").split(";")


# ---- Nobody else is reached ------------------------------------------------------------------------------------

ATTEMPTS = {
    "fetch": "fetch(there + '/fetch').catch(() => tell('refused'))",
    "post": "fetch(there + '/post', {method: 'POST', body: 'x', mode: 'no-cors'}).catch(() => tell('refused'))",
    "beacon": "navigator.sendBeacon(there + '/beacon', 'x')",
    "picture": "new Image().src = there + '/picture'",
    "script": "document.head.append(Object.assign(document.createElement('script'), {src: there + '/script'}))",
    "style": "document.head.insertAdjacentHTML('beforeend', `<link rel=stylesheet href='${there}/style'>`)",
    "frame": "document.body.insertAdjacentHTML('beforeend', `<iframe src='${there}/frame'></iframe>`)",
    "form": "document.body.insertAdjacentHTML('beforeend', `<form id=f action='${there}/form'>`), f.submit()",
    "hints": "document.head.insertAdjacentHTML('beforeend', ['preconnect', 'dns-prefetch', 'prefetch', 'preload',"
    " 'prerender', 'modulepreload'].map(rel => `<link rel=${rel} as=script href='${there}/${rel}'>`).join(''))",
    "speculation": "document.head.append(Object.assign(document.createElement('script'), {type: 'speculationrules',"
    " text: JSON.stringify({prerender: [{urls: [there + '/speculation']}], prefetch: [{urls: [there + '/sp']}]})}))",
    "events": "new EventSource(there + '/events').onerror = () => tell('refused')",
    "websocket": "new WebSocket(there.replace('http', 'ws')).onerror = () => tell('refused')",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('${there}/worker').catch(() => 0);"
    " new WebSocket('${there}'.replace('http', 'ws'))`])))",
    "shared worker": "new SharedWorker(URL.createObjectURL(new Blob([`fetch('${there}/shared')`])))",
    "service worker": "navigator.serviceWorker.register('/service.js').catch(() => tell('refused'))",
    "window": "open(there + '/window'); document.body.insertAdjacentHTML('beforeend',"
    " `<a id=a target=_blank href='${there}/blank'>x</a>`), a.click()",
    "clean window": "document.body.insertAdjacentHTML('beforeend', '<iframe id=i></iframe>');"
    " i.contentWindow.open.call(window, there + '/clean')",
    "location": "location.href = there + '/location'",
    "refresh": "document.head.insertAdjacentHTML('beforeend',"
    " `<meta http-equiv=refresh content='0;url=${there}/refresh'>`)",
    "download": "document.body.insertAdjacentHTML('beforeend',"
    " `<a id=a download href='${there}/file.zip'>x</a>`), a.click()",
    "webrtc": "const make = window.RTCPeerConnection || document.body.appendChild(document.createElement('iframe'))"
    ".contentWindow.RTCPeerConnection; const peer = new make({iceServers: [{urls: `stun:${there.slice(7)}`},"
    " {urls: `turn:${there.slice(7)}?transport=tcp`, username: 'u', credential: 'c'}]});"
    " peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer))",
    "webtransport": "new WebTransport(there.replace('http:', 'https:')).ready.catch(() => tell('refused'))",
}


HOSTS = ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "127.0.0.1.nip.io")
"""Spellings of the canary's address, and a name that leads there."""


@pytest.mark.parametrize("way", ATTEMPTS)
def test_a_page_reaches_no_server_but_its_own(draw: Draw, canary: HostileServer, way: str) -> None:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", canary.port))
    udp.setblocking(False)
    there = [f"http://{host}:{canary.port}" for host in HOSTS]

    drawn = draw(f"for (const there of {there}) {{ {ATTEMPTS[way]}; tell('tried') }}")

    assert "secret" not in drawn.body.decode()
    assert (canary.connections, canary.visits) == (0, [])
    with udp, pytest.raises(BlockingIOError):
        udp.recv(1)


def test_an_address_that_redirects_to_another_server_is_refused(
    draw: Draw, forum: HostileServer, canary: HostileServer
) -> None:
    forum.routes["/away"] = redirect(f"{canary.base}/away")

    drawn = draw("fetch('/away').then(() => tell('read'), () => tell('refused'))")

    assert told(drawn) == ["refused"]
    assert canary.connections == 0


def test_robots_txt_holds_for_what_a_script_asks_for(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/robots.txt"] = page(b"User-agent: *\nDisallow: /hidden", Content_Type="text/plain")
    forum.routes |= {"/hidden": page(b"no"), "/open": page(b"yes")}

    drawn = draw(
        "fetch('/hidden').catch(() => tell('refused')).then(() => fetch('/open')).then(one => one.text()).then(tell)",
        robots=True,
    )

    assert told(drawn) == ["refused", "yes"]
    assert "/hidden" not in forum.paths()


# ---- The site is asked as politely as without a browser ----------------------------------------------------------


class Turns:
    """A throttle that counts the slots that were asked for."""

    waited_s = 0.0

    def __init__(self) -> None:
        self.begun = self.confirmed = 0

    def begin(self) -> None:
        self.begun += 1

    def confirm(self) -> None:
        self.confirmed += 1

    def step_back(self) -> None:
        raise NoTurn("the next slot is far")

    def sent(self, at: float) -> None:
        pass


def test_each_request_of_a_page_takes_a_slot_of_the_site(draw: Draw, forum: HostileServer) -> None:
    forum.routes |= {"/1": page(b"a"), "/2": page(b"b")}
    turns = Turns()

    drawn = draw("Promise.all([fetch('/1'), fetch('/2')]).then(() => tell('read'))", turn=turns)

    assert told(drawn) == ["read"]
    assert (turns.begun, turns.confirmed) == (3, 3)
    assert sorted(forum.paths()) == ["/", "/1", "/2"]


def test_the_robots_txt_of_another_host_puts_no_drawn_page_off(
    draw: Draw, forum: HostileServer, canary: HostileServer
) -> None:
    hosts = {"private_hosts": frozenset({forum.place, canary.place}), "robots": True}
    draw("", **hosts)  # from now on the forum's own robots.txt is known

    script = (
        f"fetch('{canary.base}/1').then(() => {{ tell('read'); document.body.append(document.createElement('hr')) }})"
    )
    drawn = draw(script, turn=Turns(), wait_for="hr", **hosts)

    assert told(drawn) == ["read"]
    assert [visit.target for visit in canary.visits] == ["/robots.txt", "/1"]
    assert forum.paths() == ["/", "/"]


def test_pictures_media_and_fonts_are_not_asked_for(draw: Draw, forum: HostileServer) -> None:
    fonts = "<style>@font-face { font-family: f; src: url(/font) } p { font-family: f }</style>"

    draw("tell('x')", markup=f"{fonts}<img src=/picture><video src=/video></video><audio src=/audio></audio>")

    assert forum.paths() == ["/"]


def test_a_script_is_asked_for_once_for_many_pages(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/kept.js"] = page(b"tell('kept')", Content_Type="text/javascript")
    forum.routes["/fresh.js"] = page(b"tell('fresh')", Content_Type="text/javascript", Cache_Control="no-store")
    scripts = "<script src=/kept.js></script><script src=/fresh.js></script>"

    drawn = [draw(markup=scripts) for _ in range(2)]

    assert [told(one) for one in drawn] == [["kept", "fresh"]] * 2
    assert (forum.paths().count("/kept.js"), forum.paths().count("/fresh.js")) == (1, 2)


def test_a_site_that_refuses_what_a_script_asks_for_slows_down(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/busy"] = page(b"", "429 Too Many Requests", Retry_After="7")

    with pytest.raises(SlowDown) as raised:
        draw("fetch('/busy')")

    assert raised.value.retry_after_s == 7


def test_scripts_see_our_name_and_the_zone_of_the_site_and_no_cookie(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/sets"] = page(b"", Set_Cookie="seen=1; Path=/")
    forum.routes["/told"] = lambda visit: visit.reply(visit.headers.get("cookie", "none").encode())

    drawn = draw(
        "fetch('/sets').then(() => fetch('/told')).then(one => one.text()).then(told => {"
        "tell(told); tell(navigator.userAgent); tell(new Date(0).getHours()); tell(`[${document.cookie}]`) })",
        timezone="Asia/Shanghai",
        cookies=True,
    )

    assert told(drawn) == ["seen=1", AGENT, "8", "[]"]


@pytest.mark.parametrize("cookies", [False, True])
def test_a_gate_that_a_script_opens_with_a_cookie_lets_the_page_in(
    draw: Draw, forum: HostileServer, *, cookies: bool
) -> None:
    seen: list[str] = []

    def answer(visit: Visit) -> None:
        seen.append(visit.headers.get("cookie", ""))
        is_open = "age=18" in seen[-1]
        gate = b"<script>document.cookie = 'age=18; path=/'; location.reload()</script>"
        visit.reply(b"<h1>thread</h1>" if is_open else gate, Content_Type="text/html", Set_Cookie="sid=1; Path=/")

    forum.routes["/gate"] = answer

    drawn = draw("location.href = '/gate'", cookies=cookies)

    assert b"<h1>thread</h1>" in drawn.body
    assert seen == ["", "age=18; sid=1" if cookies else "age=18"]


def test_secret_headers_go_to_their_origin_alone(draw: Draw, forum: HostileServer, canary: HostileServer) -> None:
    forum.routes["/own"] = page(b"")
    script = f"fetch('/own', {{headers: {{'X-App': '1'}}}}).then(() => fetch('{canary.base}/other'))"

    draw(
        f"{script}.then(() => tell('read'))",
        headers={"X-Key": "planted"},
        origin=forum.base,
        private_hosts=frozenset({forum.place, canary.place}),
    )

    own, other = forum.visits[-1].headers, canary.visits[-1].headers
    assert (own["x-key"], own["x-app"], own["user-agent"]) == ("planted", "1", AGENT)
    assert "x-key" not in other


# ---- Limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        "for (;;) {}",
        pytest.param("const again = () => Promise.resolve().then(again); again()", marks=pytest.mark.long),
        pytest.param("onload = () => { for (;;) alert(1) }", marks=pytest.mark.long),
    ],
)
def test_a_script_without_end_ends_at_the_deadline(draw: Draw, script: str) -> None:
    with pytest.raises(DeadlineExceeded):
        draw(script, deadline_s=4.0)

    assert told(draw("tell('alive')")) == ["alive"]


def test_a_page_that_asks_without_end_is_taken_as_it_stands(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/news"] = page(b"")

    drawn = draw(
        "tell('drawn'); const again = () => fetch('/news').then(() => setTimeout(again, 20), () => 0); again()",
        deadline_s=8.0,
    )

    assert told(drawn) == ["drawn"]
    assert forum.paths().count("/news") < browser_page.MOST_REQUESTS


def test_a_document_over_the_limit_is_refused(draw: Draw) -> None:
    with pytest.raises(TooLarge):
        draw("document.body.append('x'.repeat(300_000))", max_body_bytes=200_000)


def test_a_page_that_eats_memory_is_ended_and_others_go_on(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_process, "MOST_PROCESS_BYTES", 400 << 20)
    eat = (
        "const all = []; const more = () => { all.push(new Uint8Array(20 << 20).fill(1)); setTimeout(more, 5) }; more()"
    )

    with pytest.raises(BrowserFailed, match="the process of the page ended"):
        draw(eat, quiet_s=10.0)

    assert told(draw("tell('alive')")) == ["alive"]


def test_dialogs_downloads_and_windows_hold_nothing_up(draw: Draw) -> None:
    drawn = draw(
        "alert(1); tell(confirm(2)); tell(prompt(3)); onbeforeunload = () => 'stay';"
        "tell(open('/x')); a.click();"
        "navigator.geolocation.getCurrentPosition(() => 0, () => tell('nowhere'))",
        markup="<a id=a download href='data:,x'>x</a>",
    )

    assert told(drawn)[:3] == ["false", "null", "null"]


def test_a_browser_that_is_killed_costs_the_page_and_no_other(draw: Draw, forum: HostileServer) -> None:
    def kill(visit: Visit) -> None:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it ends with the one that was killed before it
                if "chrom" in process.name():
                    process.kill()
        visit.reply(b"")

    forum.routes["/kill"] = kill

    with pytest.raises(BrowserFailed):
        draw("fetch('/kill')", quiet_s=5.0)

    assert told(draw("tell('alive')")) == ["alive"]


def stop_processes(others: set[int], over: threading.Event) -> None:
    """Stop the browser and its driver, so that none answers any more, until it is over."""
    own = psutil.Process().cmdline()
    while not over.wait(0.002):
        for process in children_beside(others):
            with suppress(psutil.Error):
                # A child is a copy of this process until it runs its program, and this process waits for that.
                if process.cmdline() != own:
                    process.suspend()


@pytest.mark.parametrize(
    "is_started", [pytest.param(True, id="at work"), pytest.param(False, id="as it starts", marks=pytest.mark.long)]
)
def test_a_driver_that_answers_no_more_costs_a_page_and_the_next_gets_a_fresh_one(
    draw: Draw, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch, *, is_started: bool
) -> None:
    fetcher.close()
    fetcher._rendering = None
    others = {process.pid for process in children_beside(set())}  # servers and browsers of other tests
    if is_started:
        draw()
    monkeypatch.setattr(browser, "LAUNCH_S", 2.0)
    over = threading.Event()
    stopping = threading.Thread(target=stop_processes, args=(others, over))
    stopping.start()
    try:
        with pytest.raises((DeadlineExceeded, BrowserFailed)):
            draw(deadline_s=3.0)
        eventually(lambda: not any(map(is_stopped, children_beside(others))))
    finally:
        over.set()
        stopping.join()

    eventually(lambda: drawn_again(draw))
    eventually(lambda: len(chromiums() - others) == 1)


def children_beside(others: set[int]) -> list[psutil.Process]:
    """Return the processes below this one but for others."""
    return [process for process in psutil.Process().children(recursive=True) if process.pid not in others]


def is_stopped(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() == psutil.STATUS_STOPPED
    return False


def drawn_again(draw: Draw) -> bool:
    with suppress(DeadlineExceeded, BrowserFailed):
        return told(draw("tell('alive')", deadline_s=10.0)) == ["alive"]
    return False


# Draws a page, and prints of each process of pages whether it has a filter of system calls and processes of its own.
DRAW_ALONE = """
import time, psutil
from crawl_tasks.fetch.browser import Browser
from crawl_tasks.fetch.browser_page import BrowserPage, PageAnswer
from crawl_tasks.fetch.fetch_policy import RenderPolicy
from crawl_tasks.fetch.throttle import NO_THROTTLE, Clock

def answer(request, turn):
    for process in psutil.Process().children(recursive=True):
        if "--type=renderer" in " ".join(process.cmdline()):
            with open(f"/proc/{process.pid}/status") as file:
                said = dict(line.split(":", 1) for line in file)
            print("apart" if said["Seccomp"].split() == ["2"] and len(said["NSpid"].split()) > 1 else "open")
    return PageAnswer(200, {"content-type": "text/html"}, b"<p>drawn")

browser = Browser()
page = BrowserPage("http://forum.test/", "x", RenderPolicy(), Clock(time.monotonic() + 60, NO_THROTTLE), 1 << 20)
print(browser.draw(page, answer))
browser.close()
"""


def test_a_browser_of_a_user_without_rights_has_its_sandbox() -> None:
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if as_nobody and shutil.which("setpriv") is None:
        pytest.skip("root cannot become another user here")
    home = Path(tempfile.mkdtemp(dir="/tmp"))
    home.chmod(0o777)
    environment = os.environ | {"HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": str(ROOT)}

    drawn = subprocess.run(
        [*as_nobody, sys.executable, "-c", DRAW_ALONE], env=environment, cwd=home, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    shutil.rmtree(home, ignore_errors=True)

    reasons = ("finds no sandbox here", "Permission denied", "error while loading shared libraries")
    if any(reason in drawn.stderr for reason in reasons):
        pytest.skip("the kernel, or the place of this checkout or of its Python, gives other users no sandbox")
    assert "drawn" in drawn.stdout, drawn.stderr
    assert "apart" in drawn.stdout
    assert "open" not in drawn.stdout


def chromiums() -> set[int]:
    """Return the main processes of Chromium below this one."""
    found = set()
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "chrom" in one.name() and "--type=" not in " ".join(one.cmdline()):
                found.add(one.pid)
    return found


def test_many_pages_get_a_fresh_browser_in_between(
    draw: Draw, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_process, "MOST_DRAWN", 1)
    seen: list[set[int]] = []

    def note(visit: Visit) -> None:
        seen.append(chromiums())
        visit.reply(b"")

    forum.routes["/note"] = note
    draw("fetch('/note')")
    draw("fetch('/note')")

    assert seen[1] - seen[0]
    eventually(lambda: not seen[0] & chromiums())


# ---- Screenshots -------------------------------------------------------------------------------------------------


def test_a_screenshot_shows_the_document_that_rules_read_and_runs_no_script(
    draw: Draw, fetcher: Fetcher, forum: HostileServer
) -> None:
    drawn = draw("tell('password1'); fetch('/again').catch(() => 0)")
    hidden = drawn._replace(body=drawn.body.replace(b"password1", b"***"))
    asked = forum.paths()
    later = b"<script>document.body.textContent = 'password1'</script>"

    shown, other = fetcher.screenshot(hidden, "forum"), fetcher.screenshot(drawn, "forum")

    assert shown.startswith(b"\xff\xd8\xff")
    assert shown != other
    assert fetcher.screenshot(hidden._replace(body=hidden.body + later), "forum") == shown
    assert forum.paths() == asked


def test_a_page_that_was_not_drawn_and_one_that_is_no_document_have_no_screenshot(draw: Draw, fetcher: Fetcher) -> None:
    drawn = draw("tell('x')")

    assert fetcher.screenshot(drawn._replace(is_rendered=False), "forum") == b""
    assert fetcher.screenshot(drawn._replace(headers={"content-type": "application/json"}), "forum") == b""


# ---- Rules of the site file ----------------------------------------------------------------------------------------

LATE = "setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<i class=late>late</i>'), 1500);"


def test_wait_for_waits_for_an_element_that_comes_late(draw: Draw) -> None:
    assert b"late</i>" not in draw("setTimeout(() => tell('early'), 20)", markup="").body
    assert b'<i class="late">late</i>' in draw(LATE, wait_for=".late, .never").body


def test_a_page_whose_scripts_work_in_pieces_is_complete_after_the_last_one(draw: Draw) -> None:
    piece = "const end = performance.now() + 15; while (performance.now() < end);"
    work = f"let left = 60; const work = () => {{ {piece} --left ? setTimeout(work) : tell('done') }};"

    assert told(draw(f"{work} setTimeout(work);", quiet_s=0.5)) == ["done"]


@pytest.mark.long
def test_a_page_that_works_without_end_is_taken_as_it_stands(draw: Draw) -> None:
    piece = "const end = performance.now() + 15; while (performance.now() < end);"
    work = f"const work = () => {{ {piece} setTimeout(work) }};"

    assert told(draw(f"{work} setTimeout(work); setTimeout(() => tell('late'), 30000);", deadline_s=60.0)) == [""]


def test_an_element_that_never_comes_is_given_up(draw: Draw) -> None:
    assert told(draw("tell('drawn')", wait_for=".never")) == ["drawn"]


def test_scrolling_loads_more_while_the_page_grows(draw: Draw) -> None:
    grow = "let n = 0; onscroll = () => { if (n < 3) tell(++n); document.body.style.height = `${2000 * (n + 1)}px` };"

    assert told(draw(f"document.body.style.height = '2000px'; {grow}", scroll=2)) == ["1", "2"]
    assert told(draw(f"document.body.style.height = '2000px'; {grow}", scroll=50)) == ["1", "2", "3"]


def test_a_button_for_more_is_clicked_while_it_is_there(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/more"] = page(b"more")
    button = "<button id=b class=more>more</button>"
    script = "let n = 0; onclick = () => fetch('/more').then(() => { tell(++n); if (n == 3) b.remove() });"

    assert told(draw(script, markup=button, click_more="button.more")) == ["1", "2", "3"]


def test_the_answer_that_the_site_file_names_is_the_document(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/api/posts"] = page(b'{"posts": []}', Content_Type="application/json")

    drawn = draw("fetch('/api/posts?page=1')", response="/api/posts")

    assert (drawn.body, drawn.headers["content-type"]) == (b'{"posts": []}', "application/json")
    assert drawn.url == f"{forum.base}/"
    with pytest.raises(ParseError, match="did not ask for '/api/other'"):
        draw("fetch('/api/posts')", response="/api/other")


def test_a_page_that_sends_its_reader_on_is_read_where_it_leads(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/there"] = page(b"<h1>there</h1>", Content_Type="text/html")

    drawn = draw("location.replace('/there')")

    assert drawn.url == f"{forum.base}/there"
    assert b"<h1>there</h1>" in drawn.body


# ---- What did not come -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["500 Internal Server Error", "502 Bad Gateway"])
def test_a_request_that_the_server_fails_leaves_a_gap(draw: Draw, forum: HostileServer, status: str) -> None:
    forum.routes["/api"] = lambda visit: visit.reply(b"{}", status)

    drawn = draw("fetch('/api').then(() => tell('came'))")

    assert drawn.gaps == (f"fetch {forum.base}/api: {status[:3]}",)
    assert not drawn.was_denied


def test_an_answer_that_is_cut_off_leaves_a_gap(draw: Draw, forum: HostileServer) -> None:
    def cut(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
        visit.sock.shutdown(socket.SHUT_RDWR)

    forum.routes["/api"] = cut

    drawn = draw("fetch('/api').catch(() => tell('cut'))")

    assert told(drawn) == ["cut"]
    assert drawn.gaps == (f"fetch {forum.base}/api: truncated",)


def test_a_script_that_is_not_there_leaves_a_gap_and_a_picture_does_not(draw: Draw, forum: HostileServer) -> None:
    drawn = draw(markup="<script src=/app.js></script><img src=/none.png>")

    assert drawn.gaps == (f"script {forum.base}/app.js: 404",)


def test_a_script_that_is_missing_for_long_is_missing_to_all(
    draw: Draw, fetcher: Fetcher, forum: HostileServer
) -> None:
    now = 1.0
    fetcher._renderer()._missing = browser_requests.LostScripts(lambda: now)
    markup = "<script src=/app.js></script>"

    gaps = []
    for step in (0.0, browser_requests.LOST_AFTER_S / 2, browser_requests.LOST_AFTER_S):
        now += step
        gaps.append(draw(markup=markup).gaps)
    forum.routes["/app.js"] = page(b"", Cache_Control="no-store", Content_Type="text/javascript")
    gaps.append(draw(markup=markup).gaps)
    del forum.routes["/app.js"]
    gaps.append(draw(markup=markup).gaps)

    assert [len(one) for one in gaps] == [1, 1, 0, 0, 1]


def test_what_other_hosts_are_asked_for_leaves_no_gap(draw: Draw, canary: HostileServer) -> None:
    drawn = draw(f"fetch('http://{canary.place}/count').catch(() => tell('refused'))")

    assert told(drawn) == ["refused"]
    assert drawn.gaps == ()


def test_requests_beyond_the_most_of_a_page_are_told(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_page, "MOST_REQUESTS", 3)
    monkeypatch.setattr(page_requests, "MOST_REQUESTS", 3)

    drawn = draw("for (let n = 0; n < 9; n++) fetch('/api?' + n)")

    assert drawn.gaps == ("7 requests beyond 3 of the page were refused",)


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "404 Not Found"])
def test_a_request_that_is_denied_makes_a_page_that_may_be_a_guests(
    draw: Draw, forum: HostileServer, status: str
) -> None:
    forum.routes["/api"] = lambda visit: visit.reply(b"{}", status)

    assert draw("fetch('/api')").was_denied


def test_a_stylesheet_that_is_missing_says_nothing_of_who_asked(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/old.css"] = lambda visit: visit.reply(b"", "404 Not Found")

    drawn = draw("tell('drawn')", markup="<link rel=stylesheet href=/old.css>")

    assert "/old.css" in [visit.target for visit in forum.visits]
    assert not drawn.was_denied


def test_a_preload_is_answered_and_the_fetch_takes_it(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/api"] = page(b'"words"', Content_Type="application/json")
    head = "<link rel=preload as=fetch crossorigin=anonymous href=/api>"

    drawn = draw("fetch('/api').then(one => one.json()).then(tell, () => tell('failed'))", markup=head)

    assert told(drawn) == ["words"]


class Crowd:
    """Counts the requests that a server has at the same time, and holds each until there are `most` of them."""

    def __init__(self, most: int) -> None:
        self.most, self.now, self.peak = most, 0, 0
        self._lock, self._full = threading.Lock(), threading.Event()

    def __call__(self, visit: Visit) -> None:
        with self._lock:
            self.now += 1
            self.peak = max(self.peak, self.now)
            if self.now >= self.most:
                self._full.set()
        self._full.wait(20)
        with self._lock:
            self.now -= 1
        visit.reply(b"{}")


ALL = "Promise.all(Array.from({length: %d}, (_, n) => fetch('/api?' + n))).then(() => tell('came'))"


def test_a_request_that_the_server_holds_lets_others_go_beside_it(draw: Draw, forum: HostileServer) -> None:
    over = threading.Event()

    def hold_on(visit: Visit) -> None:
        over.wait(20)
        visit.reply(b"{}")

    def release(visit: Visit) -> None:
        over.set()
        visit.reply(b"{}")

    forum.routes |= {"/held": hold_on, "/replies": release}

    drawn = draw("fetch('/held').then(() => tell('held')); fetch('/replies').then(() => tell('replies'))")

    assert (sorted(told(drawn)), drawn.gaps) == (["held", "replies"], ())


def test_requests_that_are_answered_go_one_after_the_other(draw: Draw, forum: HostileServer) -> None:
    crowd = forum.routes["/api"] = Crowd(most=1)

    drawn = draw(ALL % 12)

    assert (told(drawn), crowd.peak) == (["came"], 1)


def test_few_requests_of_a_page_go_beside_each_other(
    draw: Draw, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_pool, "HELD_AFTER_S", 0.05)
    crowd = forum.routes["/api"] = Crowd(request_pool.MOST_BESIDE)

    drawn = draw(ALL % 12)

    assert (told(drawn), crowd.peak) == (["came"], request_pool.MOST_BESIDE)


class OneTurn(Turns):
    """A throttle that is asked by one request at a time, from its wait to its sending."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[int] = []
        self._of = 0

    def begin(self) -> None:
        super().begin()
        self._enter()

    def confirm(self) -> None:
        super().confirm()
        self._enter()

    def _enter(self) -> None:
        own = threading.get_ident()
        if self._of not in (0, own):
            self.others.append(own)
        self._of = own
        time.sleep(0.02)  # a slot that is some way off, in which another request might ask

    def sent(self, at: float) -> None:
        self._of = 0


def test_requests_beside_each_other_take_their_slots_one_by_one(
    draw: Draw, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_pool, "HELD_AFTER_S", 0.0)
    forum.routes["/api"] = page(b"{}")
    turns = OneTurn()

    drawn = draw(ALL % 12, turn=turns)

    assert (told(drawn), turns.confirmed, turns.others) == (["came"], 13, [])


def test_a_request_of_a_page_that_has_ended_is_not_sent() -> None:
    turns, raised = Turns(), list[type[Exception]]()
    ended = BrowserPage("http://forum.test/", "", RenderPolicy(), Clock(time.monotonic() + 9, turns), 1)
    ended.end()
    ended.events.put(AskedRequest(PageRequest("http://forum.test/api", "GET", {}, None, "fetch"), Future()))

    def answer(request: PageRequest, turn: Throttle) -> None:
        turn.begin()

    with pytest.raises(DeadlineExceeded):
        request_pool.RequestPool(ended, answer, lambda future, reply: raised.append(type(reply))).run()

    assert (turns.begun, raised) == (0, [type(None)])


def test_what_a_page_is_refused_is_named(draw: Draw, canary: HostileServer) -> None:
    other = f"http://{canary.place}"

    drawn = draw(
        f"fetch('{other}/count').catch(() => fetch('{other}/again').catch(() => tell('refused')));"
        "fetch('/replies', {method: 'PUT', body: '{}'}).catch(() => tell('refused'))",
        markup=f"<iframe src='{other}/frame'></iframe>",
    )

    assert sorted(drawn.refused) == [
        "PUT 127.0.0.1/replies was refused: only GET and POST of up to 256 KB go (1)",
        f"a frame of {canary.place} was refused (1)",
        f"fetch of {canary.place} was refused: it is not in `hosts`, or not public (2)",
    ]


def test_what_robots_txt_refuses_a_page_is_named(draw: Draw, forum: HostileServer) -> None:
    forum.routes["/robots.txt"] = page(b"User-agent: *\nDisallow: /hidden", Content_Type="text/plain")

    drawn = draw("fetch('/hidden').catch(() => tell('refused'))", robots=True)

    assert drawn.refused == ("fetch 127.0.0.1/hidden was refused: robots.txt forbids it (1)",)


def test_a_script_that_asks_a_slow_address_again_at_once_is_held(
    draw: Draw, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = hold(forum, "/wait", monkeypatch)
    for _ in range(3):
        draw(SLOW % "/wait")
    script = "let n = 0; const again = () => { n++; fetch('/wait').finally(again) }; again();"

    drawn = draw(script + "setTimeout(() => tell(n), 1000)", wait_for="#told:not(:empty)")

    over.set()
    assert told(drawn) == ["2"]
    assert len(drawn.gaps) == 1


SLOW = "fetch('%s').then(() => tell('came'), () => tell('none'))"


def hold(forum: HostileServer, target: str, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Hold the answers to what begins so until an event, beyond the time of a request."""
    monkeypatch.setattr(page_requests, "ANSWER_S", 0.2)
    over = threading.Event()

    def held(visit: Visit) -> None:
        if visit.target.startswith(target):
            over.wait(30)
        visit.reply(b"{}")

    forum.routes[target.partition("?")[0]] = held
    return over


def asked_for(forum: HostileServer, path: str) -> int:
    return sum(visit.target.startswith(path) for visit in forum.visits)


def test_long_polling_holds_one_page_and_leaves_no_gap(
    draw: Draw, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = hold(forum, "/poll", monkeypatch)

    drawn = [draw(SLOW % "/poll?' + Math.random() + '") for _ in range(3)]

    over.set()
    assert [(told(page), page.gaps) for page in drawn] == [(["none"], ()), ([""], ()), ([""], ())]
    assert asked_for(forum, "/poll") == 1


def test_long_polling_that_asks_again_at_once_is_not_refused_again_and_again(
    draw: Draw, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = hold(forum, "/poll", monkeypatch)

    drawn = draw("const poll = () => fetch('/poll').finally(poll); poll(); fetch('/api').then(() => tell('came'))")

    over.set()
    assert (told(drawn), drawn.gaps) == (["came"], ())
    assert asked_for(forum, "/poll") == 1


@pytest.mark.parametrize(
    ("url", "is_poll"),
    [
        ("https://a.example/message-bus/0a/poll", True),
        ("https://a.example/api/longpoll?since=4", True),
        ("https://a.example/api.php?mod=poll", True),
        ("https://a.example/socket.io/?EIO=4&transport=polling", True),
        ("https://poll.example/api/replies", False),
        ("https://a.example/pollution/replies", False),
        ("https://a.example/api/replies?tid=5", False),
    ],
)
def test_an_address_is_long_polling_by_its_name(url: str, is_poll: bool) -> None:
    assert browser_requests.is_long_poll(url) is is_poll


def test_an_address_that_is_always_slow_leaves_a_gap_on_each_page(
    draw: Draw, fetcher: Fetcher, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1.0
    fetcher._renderer()._slow = browser_requests.SlowRequests(lambda: now)
    over = hold(forum, "/slow", monkeypatch)
    drawn = []
    for number in range(10):
        drawn.append(draw(SLOW % f"/slow?tid={number}"))
        now += browser_requests.HELD_S / 2

    over.set()
    assert all(page.gaps for page in drawn)
    assert asked_for(forum, "/slow") == 6


@pytest.mark.long
def test_a_request_that_is_not_sent_as_it_was_slow_leaves_a_gap(
    draw: Draw, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = hold(forum, "/slow", monkeypatch)
    for number in range(3):
        draw(SLOW % f"/slow?tid={number}")
    over.set()

    assert draw(SLOW % "/slow?tid=3").gaps == (f"fetch {forum.base}/slow?tid=3: took too long on the pages before",)

    monkeypatch.setattr(browser_requests, "HELD_S", 0.0)
    quick = draw(SLOW % "/slow?tid=4")
    monkeypatch.undo()
    again = draw(SLOW % "/slow?tid=5")
    assert (told(quick), told(again), again.gaps) == (["came"], ["came"], ())


def test_a_poll_does_not_condemn_the_other_requests_of_its_script(
    draw: Draw, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = hold(forum, "/api.php?mod=poll", monkeypatch)
    for _ in range(4):
        draw(SLOW % "/api.php?mod=poll")

    drawn = draw(SLOW % "/api.php?mod=replies&tid=1")

    over.set()
    assert (told(drawn), drawn.gaps) == (["came"], ())


def test_the_memory_of_slow_addresses_is_bounded() -> None:
    slow = browser_requests.SlowRequests()
    for _ in range(3):
        slow.note_slow("forum", "https://forum.example/poll")
    assert slow.is_held("forum", "https://forum.example/poll")

    for number in range(browser_requests.MOST_ADDRESSES):
        slow.note_slow("forum", f"https://forum.example/{'/'.join(chr(97 + int(figure)) for figure in str(number))}")

    assert not slow.is_held("forum", "https://forum.example/poll")


def test_a_request_that_the_end_of_its_page_cuts_off_is_none_that_is_slow(
    draw: Draw, forum: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = hold(forum, "/cut", monkeypatch)
    monkeypatch.setattr(page_requests, "ANSWER_S", 30.0)
    for _ in range(3):
        with suppress(DeadlineExceeded, BrowserFailed):
            draw(SLOW % "/cut", deadline_s=1.5)
    over.set()

    drawn = draw(SLOW % "/cut")

    assert (told(drawn), drawn.gaps) == (["came"], ())


def test_a_document_that_is_no_html_is_not_drawn(draw: Draw, forum: HostileServer, fetcher: Fetcher) -> None:
    forum.routes["/json"] = page(b"{}", Content_Type="application/json")
    policy = FetchPolicy(
        AGENT,
        frozenset({"127.0.0.1"}),
        private_hosts=frozenset({forum.place}),
        robots=False,
        render={Stage.POST: RenderPolicy()},
    )

    drawn = fetcher.fetch(Request("forum", Stage.POST, "1", f"{forum.base}/json"), policy)

    assert (drawn.body, drawn.is_rendered) == (b"{}", False)


def test_without_a_browser_the_page_waits_for_a_worker_that_has_one(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(NoTurn, match="apt-get install chromium"):
        draw("tell('x')")
