"""Sites behind a login: one session for all workers, renewed when a guest's page comes, and never shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Literal

import pytest
import redis

from crawl_tasks.errors import ConfigError, LoginRefused
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.login_sessions import Sessions
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import HttpRequest, LoginTurn, Request, Stage, TurnState
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.registry.site_registry import SiteRegistry, compile_site
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.worker.page_task import PageTask
from tests.frontier.small_crawl import SmallCrawl, SmallForum
from tests.members_forum import LOGIN, PASSWORD, SESSION, MembersForum
from tests.unit.hostile_server import HostileServer, Visit

KEY = "k" * 32
DAY_MS = 86_400_000


@pytest.fixture
def forum() -> Iterator[MembersForum]:
    forum = MembersForum()
    yield forum
    forum.server.stop()


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORUM_DEMO_PASSWORD", PASSWORD)


class Members(SmallCrawl):
    """A worker process that crawls as a member."""

    def __init__(self, client: redis.Redis, frontier: Frontier, forum: MembersForum, key: str = KEY) -> None:
        super().__init__(client, frontier, SmallForum(forum.server.base))
        fetcher = Fetcher(build_client("curl"), sessions=Sessions(frontier.logins, key))
        self.pages = PageTask(frontier, SiteRegistry(frontier, None), fetcher)
        self.members = forum

    def begin(self, login: str = LOGIN, more: str = "") -> None:
        publish_site(self.frontier, parse_site(self.members.rules(login) + more, "demo.yaml"), contact=None)

    def crawl(self) -> None:
        """Scan, and work until nothing is open but what is parked."""
        self.scan()
        for _ in range(50):
            if not Inspector(self.frontier).count_requests("demo").open:
                return
            self.client.zadd("test:due", {"demo": 0})
            time.sleep(0.05)
            self.frontier.tick("here")
            self.work()

    def titles(self) -> list[str]:
        return sorted(post.title or "" for items in self.items() for post in items.posts if post.is_page)

    def parked(self) -> list[tuple[str, str]]:
        return [(one.reason, one.details) for one in Admin(self.frontier).failed.requests.list(Selection("demo"))]


@pytest.fixture
def worker(client: redis.Redis, frontier: Frontier, forum: MembersForum) -> Members:
    return Members(client, frontier, forum)


ALL = ["thread 1", "thread 2", "thread 3"]


def test_members_boards_are_read_with_one_login_and_marked(worker: Members, forum: MembersForum) -> None:
    worker.begin()

    worker.crawl()

    posts = [post for items in worker.items() for post in items.posts]
    assert sorted(post.title or "" for post in posts if post.is_page) == ALL
    assert {(post.extra or {}).get("behind_login") for post in posts} == {"true"}
    assert "text 1 of Asia/Shanghai" in [post.body for post in posts]
    assert forum.logins == [PASSWORD]


def test_another_process_takes_the_session_and_logs_in_no_second_time(
    worker: Members, forum: MembersForum, client: redis.Redis, frontier: Frontier
) -> None:
    worker.begin()
    worker.crawl()
    forum.threads.append("4")
    other = Members(client, frontier, forum)

    other.crawl()

    assert other.titles() == ["thread 1", "thread 2", "thread 3", "thread 4"]
    assert forum.logins == [PASSWORD]


def test_the_cookies_of_a_session_are_as_secret_in_another_process(
    worker: Members, forum: MembersForum, client: redis.Redis, frontier: Frontier
) -> None:
    worker.begin()
    worker.crawl()
    other = Members(client, frontier, forum)
    forum.threads.append("4")
    other.crawl()

    hidden = [one.pages._fetcher.login_fetch._sessions._open["demo"][1].hidden() for one in (worker, other)]

    assert sorted(hidden[0]) == sorted(hidden[1])
    assert any(text.startswith(SESSION) for text in hidden[1])


def test_a_session_that_expires_in_the_middle_is_renewed_and_no_thread_counts_as_gone(
    worker: Members, forum: MembersForum
) -> None:
    worker.begin()
    forum.after_page = lambda target: forum.log_all_out() if target in ("/list/1/1", "/post/2") else None

    worker.crawl()

    posts = [post for items in worker.items() for post in items.posts]
    assert sorted(post.title or "" for post in posts if post.is_page) == ALL
    assert [post.post_id for post in posts if post.state == "deleted"] == []
    assert 2 <= len(forum.logins) <= 3


def test_a_thread_that_ends_each_session_never_counts_as_gone(
    worker: Members, frontier: Frontier, forum: MembersForum
) -> None:
    def ends(visit: Visit) -> None:
        forum.log_all_out()
        visit.reply(b"<a href=/login>Log in</a>", "404 Not Found", Content_Type="text/html")

    worker.begin(LOGIN + "  most_a_day: 5\n")
    forum.server.routes["/post/2"] = ends

    worker.scan()

    posts = [post for items in worker.items() for post in items.posts]
    assert [post.post_id for post in posts if post.state == "deleted"] == []
    assert Inspector(frontier).count_requests("demo").delayed >= 1
    assert len(forum.logins) <= 5


def test_a_session_that_ends_within_a_request_and_answers_400_costs_no_thread(
    worker: Members, forum: MembersForum
) -> None:
    def ends(visit: Visit) -> None:
        del forum.server.routes["/post/2"]
        forum.log_all_out()
        visit.reply(b"<h1>Bad Request</h1>", "400 Bad Request", Content_Type="text/html")

    worker.begin()
    forum.server.routes["/post/2"] = ends

    worker.crawl()

    assert worker.titles() == ALL
    assert worker.parked() == []


def test_two_workers_at_once_make_one_login(
    worker: Members, forum: MembersForum, client: redis.Redis, frontier: Frontier
) -> None:
    worker.begin()
    barrier = threading.Barrier(2)
    states: list[TurnState] = []

    def turn(caller: str) -> None:
        barrier.wait()
        states.append(frontier.logins.begin("demo", caller, "", fingerprint="f", most=9, lost_s=60).state)

    threads = [threading.Thread(target=turn, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(states) == [TurnState.GRANTED, TurnState.BUSY]


def test_a_page_waits_while_another_worker_logs_in(worker: Members, frontier: Frontier, forum: MembersForum) -> None:
    worker.begin()
    frontier.logins.begin("demo", "another", "", fingerprint="f", most=9, lost_s=60)

    worker.scan()

    counts = Inspector(frontier).count_requests("demo")
    assert (counts.delayed, counts.parked, forum.logins) == (1, 0, [])


def test_the_login_of_a_worker_that_died_is_lost_and_its_late_session_refused(
    worker: Members, frontier: Frontier, client: redis.Redis, forum: MembersForum
) -> None:
    worker.begin()
    died = frontier.logins.begin("demo", "died", "", fingerprint="f", most=9, lost_s=0.001)
    time.sleep(0.01)

    worker.crawl()

    assert worker.titles() == ALL
    assert int(client.hget("test:s:demo:session", "token") or 0) > int(died.token)
    assert not frontier.logins.end("demo", died.token, "opened", sealed=b"late")
    assert client.hget("test:s:demo:session", "sealed") != b"late"


def test_a_call_that_is_sent_twice_begins_one_login(worker: Members, frontier: Frontier) -> None:
    worker.begin()

    first, again = (frontier.logins.begin("demo", "me", "", fingerprint="f", most=1, lost_s=60) for _ in range(2))

    assert (first.state, first.token) == (again.state, again.token) == (TurnState.GRANTED, first.token)


def refusal(frontier: Frontier) -> str:
    """Return what the problem of a refused login says, empty without one. No second problem has the same cause."""
    found = {one.name: one.text for one in find_problems(take_snapshot(frontier))}
    assert "CrawlSiteRefuses" not in found
    return found.get("CrawlLoginRefused", "")


def probe(worker: Members, client: redis.Redis) -> None:
    """Let the next probe of a list page go, as time does."""
    since, _, rid, reason = str(client.hget("test:s:demo", "breaker:list"), "ascii").split(" ", 3)
    client.hset("test:s:demo", "breaker:list", f"{since} 0 {rid} {reason}")
    client.hset("test:s:demo", "next_at", 0)
    client.zadd("test:due", {"demo": 0})
    worker.frontier.tick("here")
    worker.work()


def test_a_changed_password_stops_the_site_with_a_clear_word_until_it_is_mended(
    worker: Members, frontier: Frontier, client: redis.Redis, forum: MembersForum, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.begin()
    worker.crawl()
    worker.items()
    forum.password = "planted-password-2"
    forum.threads += ["4", "5", "6", "7"]
    forum.log_all_out()

    worker.scan()
    for _ in range(3):
        probe(worker, client)
    wrong, said, counts = list(forum.logins), refusal(frontier), Inspector(frontier).count_requests("demo")
    monkeypatch.setenv("FORUM_DEMO_PASSWORD", "planted-password-2")
    probe(worker, client)
    worker.crawl()

    assert wrong == [PASSWORD, PASSWORD]  # the wrong one is not tried again and again
    assert (counts.parked, counts.dead, counts.open) == (0, 0, 1)
    assert "without the sign of success" in said
    assert "planted" not in said
    assert forum.logins[2:] == ["planted-password-2"]
    assert worker.titles() == ["thread 4", "thread 5", "thread 6", "thread 7"]
    assert refusal(frontier) == ""


def test_a_login_that_is_refused_in_the_middle_of_a_crawl_counts_against_no_page(
    client: redis.Redis, frontier: Frontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    forum = MembersForum(threads=12)
    worker = Members(client, frontier, forum)
    text = forum.rules().replace("delay_s: 0", "delay_s: 0, max_attempts: 1")
    publish_site(frontier, parse_site(text, "demo.yaml"), contact=None)

    def change(target: str) -> None:
        if target == "/post/8":
            forum.password = "planted-password-2"
            forum.log_all_out()

    forum.after_page = change
    worker.scan()
    counts = Inspector(frontier).count_requests("demo")
    monkeypatch.setenv("FORUM_DEMO_PASSWORD", "planted-password-2")
    client.hdel("test:s:demo", "breaker:post")
    client.hset("test:s:demo", "next_at", 0)
    worker.crawl()
    forum.server.stop()

    assert (counts.dead, counts.parked) == (0, 0)
    assert len(worker.titles()) == 12


def test_the_first_stage_that_is_let_in_again_opens_the_others(
    worker: Members, client: redis.Redis, forum: MembersForum, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(target: str) -> None:
        if target == "/list/1/1":
            forum.password = "planted-password-2"
            forum.log_all_out()

    worker.begin()
    forum.after_page = change
    worker.scan()
    forum.after_page = lambda _: None
    assert client.hexists("test:s:demo", "breaker:post")
    # The probes of lists are an hour apart by now, and the one of posts goes at once.
    late = int(client.time()[0]) * 1000 + 3_600_000
    client.hset(
        "test:s:demo", mapping={"breaker:list": f"1 {late} 0 login", "breaker:post": "1 2 0 login", "next_at": 0}
    )
    monkeypatch.setenv("FORUM_DEMO_PASSWORD", "planted-password-2")
    worker.crawl()

    assert worker.titles() == ALL
    assert not client.hexists("test:s:demo", "breaker:list")


def test_a_refused_login_is_tried_again_after_a_while_and_then_after_longer(
    worker: Members, frontier: Frontier, client: redis.Redis
) -> None:
    worker.begin()
    rests = []

    for _ in range(3):
        turn = frontier.logins.begin("demo", "me", "", fingerprint="f", most=9, lost_s=60)
        frontier.logins.end("demo", turn.token, "refused", reason="wrong", rest_s=900)
        refused = frontier.logins.begin("demo", "me", "", fingerprint="f", most=9, lost_s=60)
        rests.append(round(refused.wait_s, -2))
        client.hset("test:s:demo:session", "rest_until", 0)

    assert (refused.state, refused.reason, rests) == (TurnState.REFUSED, "wrong", [900, 1800, 3600])


def test_a_new_version_of_the_file_ends_the_word_of_a_refused_login(worker: Members, frontier: Frontier) -> None:
    worker.begin()
    turn = frontier.logins.begin("demo", "me", "", fingerprint="f", most=9, lost_s=60)
    frontier.logins.end("demo", turn.token, "refused", reason="wrong", rest_s=900)
    before = refusal(frontier)

    worker.begin("")

    assert "wrong" in before
    assert refusal(frontier) == ""


def test_no_more_logins_a_day_than_the_file_says(
    worker: Members, frontier: Frontier, client: redis.Redis, forum: MembersForum
) -> None:
    worker.begin(LOGIN + "  most_a_day: 2\n")
    forum.after_page = lambda target: forum.log_all_out() if target.startswith(("/list", "/post")) else None

    worker.scan()

    assert len(forum.logins) == 2
    assert "no login is left today" in refusal(frontier)
    assert Inspector(frontier).count_requests("demo").parked == 0
    client.hincrby("test:s:demo:session", "day", -1)  # as it is tomorrow
    forum.after_page = lambda target: None
    client.hdel("test:s:demo", "breaker:post")
    client.hset("test:s:demo", "next_at", 0)
    worker.crawl()
    assert worker.titles() == ALL


def test_an_emptied_redis_costs_one_login(
    worker: Members, client: redis.Redis, frontier: Frontier, forum: MembersForum
) -> None:
    worker.begin()
    worker.crawl()
    worker.items()

    client.flushall()
    worker.begin()
    worker.crawl()
    alone = len(forum.logins)
    other = Members(client, frontier, forum)
    forum.log_all_out()
    other.crawl()
    worker.crawl()

    assert alone == 1  # the process has the session still
    assert worker.titles() == ALL
    assert len(forum.logins) == 2


@pytest.mark.parametrize("ahead_s", [-400 * 86_400, 400 * 86_400])
def test_the_clock_of_the_forum_may_be_wrong(worker: Members, forum: MembersForum, ahead_s: int) -> None:
    there = time.time() + ahead_s
    forum.expires = formatdate(there + 3600, usegmt=True)
    forum.server.date = formatdate(there, usegmt=True)

    worker.begin()
    worker.crawl()

    assert worker.titles() == ALL
    assert len(forum.logins) == 1


def test_a_login_page_that_is_down_makes_the_site_wait_and_costs_no_login_of_the_day(
    worker: Members, client: redis.Redis, forum: MembersForum
) -> None:
    worker.begin(LOGIN + "  most_a_day: 1\n")
    forum.before_login = lambda visit: visit.reply(b"", "503 Service Unavailable") or True

    worker.scan()
    state = client.hgetall("test:s:demo:session")
    forum.before_login = lambda visit: False
    client.hset("test:s:demo", "next_at", 0)
    client.hdel("test:s:demo", "breaker:list")
    worker.crawl()

    assert state[b"logins"] == b"0"
    assert worker.titles() == ALL


def test_a_login_page_that_is_slow_costs_an_attempt_and_is_tried_again(worker: Members, forum: MembersForum) -> None:
    text = forum.rules().replace("gate: {delay_s: 0", "gate: {deadline_s: 1, delay_s: 0")
    publish_site(worker.frontier, parse_site(text, "demo.yaml"), contact=None)
    slow = [1]
    forum.before_login = lambda visit: bool(slow) and (slow.pop(), visit.hang()) is not None

    worker.crawl()

    assert worker.titles() == ALL
    assert len(forum.logins) == 1


def test_a_page_that_members_may_not_see_is_parked_and_costs_no_login(worker: Members, forum: MembersForum) -> None:
    worker.begin()
    forum.server.routes["/post/2"] = lambda visit: visit.reply(b"for moderators", "403 Forbidden")

    worker.crawl()

    assert worker.titles() == ["thread 1", "thread 3"]
    assert [reason for reason, _ in worker.parked()] == ["access_denied"]
    assert len(forum.logins) == 1


def test_a_thread_that_is_gone_is_gone_for_members_too(worker: Members, forum: MembersForum) -> None:
    worker.begin()
    forum.server.routes["/post/2"] = lambda visit: visit.reply(b"gone", "404 Not Found")

    worker.crawl()

    posts = [post for items in worker.items() for post in items.posts]
    assert [post.post_id for post in posts if post.state == "deleted"] == ["2"]
    assert len(forum.logins) == 1


def test_a_command_that_looks_at_pages_logs_in_once_and_is_refused_once(
    forum: MembersForum, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = compile_site(parse_site(forum.rules(), "demo.yaml"), None).policy
    asked = [Request("demo", Stage.POST, n, f"{forum.server.base}/post/{n}") for n in forum.threads]
    command, other = Fetcher(build_client("requests")), Fetcher(build_client("requests"))

    pages = [command.fetch(one, policy) for one in asked]
    monkeypatch.setenv("FORUM_DEMO_PASSWORD", "planted-wrong-one")
    for one in asked:
        with pytest.raises(LoginRefused, match="without the sign of success"):
            other.fetch(one, policy)

    assert [page.is_behind_login for page in pages] == [True] * 3
    assert forum.logins == [PASSWORD, "planted-wrong-one"]


def test_a_session_of_another_password_is_not_taken(
    worker: Members, client: redis.Redis, frontier: Frontier, forum: MembersForum, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.begin()
    worker.crawl()
    forum.password = "planted-password-2"
    monkeypatch.setenv("FORUM_DEMO_PASSWORD", "planted-password-2")

    Members(client, frontier, forum).crawl()

    assert forum.logins == [PASSWORD, "planted-password-2"]


def test_a_session_of_another_key_is_not_taken(
    worker: Members, client: redis.Redis, frontier: Frontier, forum: MembersForum
) -> None:
    worker.begin()
    worker.crawl()
    other = Members(client, frontier, forum, key="another key, of more than 32 characters")

    other.crawl()

    assert len(forum.logins) == 2
    assert other.titles() == ALL


@pytest.mark.parametrize("key", ["", "short"])
def test_a_site_with_a_login_needs_a_key(
    client: redis.Redis, frontier: Frontier, forum: MembersForum, key: str
) -> None:
    worker = Members(client, frontier, forum, key=key)
    worker.begin()

    worker.scan()

    assert "set CRAWL_SESSION_KEY" in refusal(frontier)
    assert (worker.parked(), forum.logins) == ([], [])


def test_a_form_that_leads_elsewhere_gets_no_password(worker: Members, forum: MembersForum) -> None:
    elsewhere = MembersForum()
    form = f"<form action={elsewhere.server.base}/login method=post><input name=user><input name=pass></form>"
    forum.before_login = lambda visit: visit.reply(form.encode(), Content_Type="text/html") or True
    place = elsewhere.server.place
    text = forum.rules().replace("private_hosts: [", f'hosts: ["{place}"]\nprivate_hosts: ["{place}", ')
    publish_site(worker.frontier, parse_site(text, "demo.yaml"), contact="test@forum.example")

    worker.scan()
    elsewhere.server.stop()

    assert elsewhere.server.visits == []
    assert "no POST to its own origin" in refusal(worker.frontier)


def test_a_captcha_in_the_form_of_a_login_that_fails_is_named_with_the_remedy(
    worker: Members, forum: MembersForum
) -> None:
    form = "<form method=post><input name=user><input name=pass><div class=h-captcha data-sitekey=x></div></form>"
    forum.before_login = lambda visit: visit.reply(form.encode(), Content_Type="text/html") or True
    worker.begin()

    worker.scan()

    assert "hCaptcha stands in its form: log in with a browser, and take its cookies" in refusal(worker.frontier)


def log_in(send: Callable[[HttpRequest], object]) -> dict[str, str]:
    """Log in as a function of a site does."""
    return {"Authorization": f"Bearer {PASSWORD}"}


@pytest.mark.parametrize(
    "kind", ["bearer: FORUM_DEMO_PASSWORD", "function: tests.frontier.test_login:log_in"], ids=["bearer", "function"]
)
def test_a_token_and_a_function_log_in(worker: Members, kind: str) -> None:
    worker.begin(f"login: {{{kind}, success: a.logout}}\n")

    worker.crawl()

    assert worker.titles() == ALL


def test_a_cookie_file_of_a_browser_logs_in(
    worker: Members, forum: MembersForum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "cookies.txt"
    forum._members.add(f"{SESSION}-of-a-browser")
    jar.write_text(
        "# Netscape HTTP Cookie File\n"
        f"#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t{SESSION}-of-a-browser\n"
        "elsewhere.example\tFALSE\t/\tFALSE\t0\tother\tvalue\n"
    )
    monkeypatch.setenv("FORUM_DEMO_COOKIES_FILE", str(jar))
    worker.begin("login: {cookie_file: FORUM_DEMO_COOKIES, success: a.logout}\n")

    worker.crawl()

    assert worker.titles() == ALL
    assert not [visit for visit in forum.server.visits if "other" in visit.headers.get("cookie", "")]


def test_a_broken_cookie_file_is_named_and_not_shown(
    worker: Members, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (jar := tmp_path / "cookies.txt").write_text(f"# Netscape HTTP Cookie File\nsid {SESSION}\n")
    monkeypatch.setenv("FORUM_DEMO_COOKIES_FILE", str(jar))
    worker.begin("login: {cookie_file: FORUM_DEMO_COOKIES, success: a.logout}\n")

    worker.scan()

    assert "line 2: is no line of a Netscape cookie file" in str(worker.parked())
    assert "planted" not in str(worker.parked())


def test_no_secret_is_in_redis_in_pages_or_in_reasons(
    worker: Members, client: redis.Redis, frontier: Frontier, forum: MembersForum, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    echo = f"<a class=logout>x</a><p>{PASSWORD} ".encode()
    forum.server.routes["/echo"] = lambda visit: visit.reply(echo + visit.headers["cookie"].encode())
    forum.server.routes["/post/2"] = lambda visit: visit.reply(
        b"", "302 Found", Location="/echo?" + next(one for one in visit.headers["cookie"].split("; ") if "sid=" in one)
    )
    worker.begin()

    worker.crawl()

    kept = frontier.kept_pages.kept("demo", Stage.POST)
    assert b"***" in kept[0].page.body
    assert kept[0].page.url.endswith("/echo?sid=***")
    assert "planted" not in caplog.text + str(worker.parked()) + str([one.page for one in kept])
    shown = [key for key in client.scan_iter("*") if b"planted" in (client.dump(key) or b"")]
    assert shown == []
    assert client.hget("test:s:demo:session", "sealed")


def test_a_short_password_cuts_no_words_out_of_posts(
    worker: Members, forum: MembersForum, monkeypatch: pytest.MonkeyPatch
) -> None:
    forum.password = "thread"
    monkeypatch.setenv("FORUM_DEMO_PASSWORD", "thread")
    worker.begin()

    worker.crawl()

    assert worker.titles() == ALL


def test_a_secret_that_one_worker_of_two_lacks_is_named_and_costs_no_page(
    worker: Members, frontier: Frontier, client: redis.Redis, forum: MembersForum, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.begin()
    other = Members(client, frontier, forum)
    other.crawl()
    forum.threads.append("4")

    monkeypatch.delenv("FORUM_DEMO_PASSWORD")
    worker.scan()
    said, parked = refusal(frontier), worker.parked()
    monkeypatch.setenv("FORUM_DEMO_PASSWORD", PASSWORD)
    probe(other, client)
    other.crawl()

    assert "FORUM_DEMO_PASSWORD is not set in this process" in said
    assert parked == []
    assert other.titles() == [*ALL, "thread 4"]
    assert (forum.logins, refusal(frontier)) == ([PASSWORD], "")


def test_a_worker_with_the_password_of_before_spends_one_login_and_ends_no_session(
    worker: Members, frontier: Frontier
) -> None:
    worker.begin()

    def begin(fingerprint: str, ended: str = "") -> LoginTurn:
        return frontier.logins.begin("demo", f"{fingerprint}{ended}", ended, fingerprint=fingerprint, most=9, lost_s=60)

    wrong = begin("before")
    frontier.logins.end("demo", wrong.token, "refused", reason="wrong password", rest_s=900)
    right = begin("after")
    frontier.logins.end("demo", right.token, "opened", sealed=b"sealed")
    again = begin("before")

    assert (again.state, again.reason) == (TurnState.REFUSED, "wrong password")
    assert (begin("after").state, begin("after").token) == (TurnState.OPEN, right.token)


def test_a_site_that_is_removed_leaves_no_session(worker: Members, client: redis.Redis, frontier: Frontier) -> None:
    worker.begin()
    worker.crawl()

    Admin(frontier).restore.wipe("demo")

    assert client.exists("test:s:demo:session") == 0
    worker.begin()


def test_an_unknown_site_has_no_turn(frontier: Frontier) -> None:
    with pytest.raises(ConfigError, match="not published"):
        frontier.logins.begin("none", "me", "", fingerprint="f", most=1, lost_s=1)


@pytest.mark.parametrize("client_name", ["requests", "curl"])
@pytest.mark.parametrize(
    "login",
    [LOGIN, "login: {bearer: FORUM_DEMO_PASSWORD, success: a.logout}\n",
     "login: {function: tests.frontier.test_login:log_in, success: a.logout}\n"],
    ids=["cookies", "bearer", "function"],
)  # fmt: skip
def test_a_session_and_the_secrets_of_a_site_go_to_its_own_origin_only(
    forum: MembersForum, login: str, client_name: Literal["requests", "curl"], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sister_page(visit: Visit) -> None:
        visit.reply(b"<a class=logout>out</a><h1>thread 9</h1><div class=body>x</div>", Content_Type="text/html")

    sister = HostileServer(otherwise=sister_page)
    forum.server.routes["/post/9"] = lambda visit: visit.reply(
        b"", "302 Found", Location=f"{sister.base}/post/9", Set_Cookie="wide=1; Domain=127.0.0.1"
    )
    monkeypatch.setenv("FORUM_DEMO_KEY", "planted-key-of-the-forum")
    more = f"hosts: ['{sister.place}']\nsecret_headers: {{X-Key: FORUM_DEMO_KEY}}\ncookies: true\n"
    rules = (forum.rules(login) + more).replace("private_hosts: [", f'private_hosts: ["{sister.place}", ')
    policy = compile_site(parse_site(rules, "demo.yaml"), None).policy

    page = Fetcher(build_client(client_name)).fetch(
        Request("demo", Stage.POST, "9", f"{forum.server.base}/post/9"), policy
    )

    sister.stop()
    heard = [visit.headers for visit in sister.visits if visit.target == "/post/9"]
    own = [visit.headers for visit in forum.server.visits if visit.target == "/post/9"]
    assert b"thread 9" in page.body
    assert len(heard) == 1
    assert heard[0].keys() & {"cookie", "authorization", "x-key", "referer"} == set()
    assert own[-1]["x-key"] == "planted-key-of-the-forum"
    assert "cookie" in own[-1] or "authorization" in own[-1]


def test_a_session_that_ends_right_after_its_login_is_no_refusal(worker: Members, forum: MembersForum) -> None:
    ends = iter([True])

    def end_once(target: str) -> None:
        if target == "/" and forum.logins and next(ends, False):
            forum.log_all_out()

    forum.after_page = end_once
    worker.begin()

    worker.crawl()

    assert worker.titles() == ALL
    assert forum.logins == [PASSWORD] * 2


def test_a_check_page_that_never_shows_the_sign_is_a_refusal_after_two_logins(
    worker: Members, forum: MembersForum
) -> None:
    forum.server.routes["/check"] = lambda visit: visit.reply(b"<p>nothing", Content_Type="text/html")
    worker.begin(LOGIN.replace("check: /", "check: /check"))

    worker.crawl()

    assert forum.logins == [PASSWORD] * 2


@pytest.mark.parametrize(
    ("metas", "header", "field"),
    [
        ("<meta name=csrf-token content=token-12345><meta name=csrf-param content=auth>", "x-csrf-token", "auth="),
        ("<meta name=_csrf content=token-12345><meta name=_csrf_header content=X-XSRF>", "x-xsrf", ""),
        ("<meta name=_csrf content=token-12345><meta name=_csrf_header content=Host>", "x-csrf-token", ""),
    ],
)
def test_a_csrf_token_in_the_head_of_the_page_goes_with_the_form(
    worker: Members, forum: MembersForum, metas: str, header: str, field: str
) -> None:
    def answer(visit: Visit) -> bool:
        form = "<form method=post><input name=user><input type=password name=pass></form>"
        if visit.method == "GET":
            visit.reply(f"{metas}{form}".encode(), Content_Type="text/html")
        elif visit.headers.get(header) == "token-12345" and f"{field}{'token-12345' if field else ''}" in str(
            visit.body
        ):
            forum._members.add("planted-session-9")
            visit.reply(b"", "302 Found", Location="/", Set_Cookie="sid=planted-session-9; Path=/; HttpOnly")
        else:
            visit.reply(b"no token", "403 Forbidden", Content_Type="text/html")
        return True

    forum.before_login = answer
    worker.begin()

    worker.crawl()

    assert worker.titles() == ALL
