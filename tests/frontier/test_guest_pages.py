"""Pages that may be a guest's: APIs that hide threads, servers that answer in turn, and pages that do not say."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model.own_counters import take_counted
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.frontier.test_login import ALL, Members, _password  # noqa: F401  # the fixture sets the password
from tests.members_forum import LOGIN, PASSWORD, MembersForum, session_of
from tests.unit.hostile_server import Visit

API = """\
name: demo
base: {base}
private_hosts: ["{place}"]
robots: false
boards: [1]
gate: {{window: 1, delay_s: 0, retry_base_s: 0.1}}
list:
  address: /list/{{board}}/{{page}}
  format: json
  record: {{json: threads}}
  fields: {{post_id: {{json: id}}, title: {{json: title}}}}
post:
  address: /post/{{post}}
  format: json
  fields: {{title: {{json: title}}, body: {{json: body}}}}
"""


class ApiForum(MembersForum):
    """The same forum as JSON. A guest gets `for_guest`, and `has_sign` tells whether answers name the member."""

    for_guest = "404"
    has_sign = False

    def rules(self, login: str = LOGIN) -> str:
        return API.format(base=self.server.base, place=self.server.place) + login

    def _page(self, visit: Visit) -> None:
        sid = session_of(visit)
        is_member = sid in self._members
        kind, _, rest = visit.target.strip("/").partition("/")
        if kind in ("", "me"):
            body = json.dumps({"me": "ann" if is_member else None}).encode()
            link = b"<a class=logout>Log out</a>" if is_member else b"<a>Log in</a>"
            visit.reply(body if kind else link, Content_Type="application/json" if kind else "text/html")
            return
        whole = is_member or self.for_guest == "less"
        answer: dict[str, object] = {"me": "ann" if is_member else None} if self.has_sign else {}
        if kind == "list":
            answer["threads"] = [{"id": one, "title": f"thread {one}"} for one in self.threads] if whole else []
        else:
            answer |= {"title": f"thread {rest}", "body": f"text {rest}" if is_member else "log in to read"}
        status = "200 OK" if whole else "404 Not Found"
        visit.reply(json.dumps(answer).encode(), status, Content_Type="application/json")
        self.after_page(visit.target)


@pytest.fixture
def api() -> Iterator[ApiForum]:
    forum = ApiForum()
    yield forum
    forum.server.stop()


@pytest.fixture
def forum() -> Iterator[MembersForum]:
    forum = MembersForum()
    yield forum
    forum.server.stop()


def log_out_once(forum: MembersForum, *after: str) -> None:
    """End all sessions at the first request for each of these pages."""
    left = set(after)

    def after_page(target: str) -> None:
        if target in left:
            left.remove(target)
            forum.log_all_out()

    forum.after_page = after_page


def of(client: redis.Redis, frontier: Frontier, forum: MembersForum, login: str = LOGIN) -> Members:
    worker = Members(client, frontier, forum)
    publish_site(frontier, parse_site(forum.rules(login), "demo.yaml"), contact=None)
    return worker


def read(worker: Members) -> tuple[list[str], list[str]]:
    """Return the titles of the threads that were read, and the ids of those that count as deleted."""
    posts = [post for items in worker.items() for post in items.posts]
    titles = {post.title or "" for post in posts if post.is_page and post.state != "deleted"}
    return sorted(titles), [post.post_id for post in posts if post.state == "deleted"]


def texts(worker: Members) -> list[str]:
    """Return the last text of each thread, in the order of the threads."""
    last = {post.post_id: post.body or "" for items in worker.items() for post in items.posts if post.is_page}
    return [last[key] for key in sorted(last)]


def by_another_server(forum: MembersForum, path: str) -> None:
    """Have a server that knows no session answer the first request for a page."""
    hidden, member = iter([True]), forum._page

    def answer(visit: Visit) -> None:
        if next(hidden, False):
            visit.reply(b"<a href=/login>Log in</a>", "404 Not Found", Content_Type="text/html")
        else:
            member(visit)

    forum.server.routes[path] = answer


@pytest.mark.parametrize("sign", ["a.logout", "{json: me}"])
def test_threads_of_an_api_that_hides_them_from_guests_are_never_deleted(
    client: redis.Redis, frontier: Frontier, api: ApiForum, sign: str
) -> None:
    check = "/me" if "json" in sign else "/"
    worker = of(client, frontier, api, LOGIN.replace("a.logout", sign).replace("check: /", f"check: {check}"))
    log_out_once(api, "/list/1/1", "/post/2")

    worker.crawl()

    assert read(worker) == (ALL, [])
    assert len(api.logins) >= 2


def test_answers_that_name_the_member_show_the_end_of_the_session_themselves(
    client: redis.Redis, frontier: Frontier, api: ApiForum
) -> None:
    api.for_guest, api.has_sign = "less", True
    worker = of(client, frontier, api, LOGIN.replace("a.logout", "{json: me}").replace("check: /", "check: /me"))
    log_out_once(api, "/post/1")

    worker.crawl()

    assert texts(worker) == ["text 1", "text 2", "text 3"]


@pytest.mark.parametrize("last", [2, 7, 9, 12])
def test_pages_that_do_not_say_are_read_again_after_a_session_that_ended_unseen(
    client: redis.Redis, frontier: Frontier, api: ApiForum, last: int
) -> None:
    api.for_guest, api.threads = "less", [str(number) for number in range(1, 13)]
    worker = of(client, frontier, api)
    frontier.sites.run_only(["demo"], 60_000)
    log_out_once(api, f"/post/{last - 1}")

    worker.crawl()

    # The check page is asked for after 1, 2, 4 and 8 pages, and when nothing else is left to do.
    assert texts(worker) == [f"text {key}" for key in sorted(api.threads)]
    assert len(api.logins) == 2


def test_the_last_pages_are_proven_too_where_the_very_last_one_fails(
    client: redis.Redis, frontier: Frontier, api: ApiForum
) -> None:
    api.for_guest, api.threads = "less", [str(number) for number in range(1, 13)]
    worker = of(client, frontier, api)
    frontier.sites.run_only(["demo"], 60_000)
    log_out_once(api, "/post/9")
    api.server.routes["/post/12"] = lambda visit: visit.reply(b"[]", Content_Type="application/json")

    worker.crawl()

    assert texts(worker) == [f"text {key}" for key in sorted(api.threads) if key != "12"]


def test_scans_of_a_site_whose_pages_do_not_say_ask_for_the_check_page_seldom(
    client: redis.Redis, frontier: Frontier, api: ApiForum
) -> None:
    worker = of(client, frontier, api)
    worker.crawl()
    asked = [visit.target for visit in api.server.visits]

    for _ in range(3):
        worker.crawl()

    assert len(api.server.visits) - len(asked) <= 5


def test_a_guests_page_between_two_of_a_member_is_asked_for_again(
    client: redis.Redis, frontier: Frontier, forum: MembersForum
) -> None:
    worker = of(client, frontier, forum)
    by_another_server(forum, "/post/2")
    take_counted()

    worker.crawl()

    assert read(worker) == (ALL, [])
    assert take_counted()["demo"]["flapping_sessions"] == 1
    assert forum.logins == [PASSWORD]


@pytest.mark.parametrize("guests", [3, 6])
def test_a_page_that_stays_a_guests_and_cannot_be_read_is_looked_at_again_later(
    client: redis.Redis, frontier: Frontier, forum: MembersForum, guests: int
) -> None:
    worker = of(client, frontier, forum)
    visits = iter(range(guests))

    def answer(visit: Visit) -> None:
        if next(visits, None) is None:
            forum._page(visit)
        else:
            visit.reply(b"<form><input type=password></form>", Content_Type="text/html")

    forum.server.routes["/post/2"] = answer

    worker.crawl()

    assert read(worker) == (ALL, [])


def test_a_thread_is_not_gone_as_long_as_the_session_shows_guests_pages_too(
    client: redis.Redis, frontier: Frontier, forum: MembersForum
) -> None:
    worker = of(client, frontier, forum)
    by_another_server(forum, "/post/1")
    forum.server.routes["/post/2"] = lambda visit: visit.reply(b"log in", "404 Not Found", Content_Type="text/html")

    worker.crawl()

    assert read(worker) == (["thread 1", "thread 3"], [])
    assert [reason for reason, _ in worker.parked()] == ["guest_page"]


def test_a_sign_of_success_that_guests_see_too_is_refused(
    client: redis.Redis, frontier: Frontier, forum: MembersForum
) -> None:
    worker = of(client, frontier, forum, LOGIN.replace("a.logout", "a"))

    worker.scan()

    assert forum.logins == []
    assert worker.titles() == []


THEME = "theme=dark-theme-version2; HttpOnly"


def hidden(frontier: Frontier) -> list[str]:
    frontier.count_own(take_counted())
    return [one.text for one in find_problems(take_snapshot(frontier)) if one.name == "CrawlSecretsHidden"]


@pytest.mark.parametrize(
    ("cookie", "login", "name"),
    [
        ("style=prosilver-v3.3", LOGIN, ""),
        ("username=annabelle_1987", LOGIN, ""),
        ("return_to=%2Fpost%2F1", LOGIN, ""),
        (THEME, LOGIN + "  not_secret: [lang, theme]\n", ""),
        (THEME, LOGIN, "theme"),
        ("remember=9fK3xQ7ZtR2mB8vL5wJ4", LOGIN + "  not_secret: [theme]\n", "remember"),
    ],
)
def test_only_cookies_that_are_secrets_are_cut_out_of_texts_and_each_is_named(
    client: redis.Redis, frontier: Frontier, forum: MembersForum, cookie: str, login: str, name: str
) -> None:
    value = cookie.partition("=")[2].partition(";")[0]
    worker = of(client, frontier, forum, login)

    def post(visit: Visit) -> None:
        body = f"<a class=logout>x</a><h1>thread 1</h1><div class=body>I use {value} here</div>"
        visit.reply(body.encode(), Content_Type="text/html", Set_Cookie=f"{cookie}; Path=/")

    forum.server.routes["/list/1/1"] = lambda visit: visit.reply(
        b"<a class=logout>x</a><div class=row data-id=1><b class=t>thread 1</b></div>",
        Content_Type="text/html", Set_Cookie=f"{cookie}; Path=/",
    )  # fmt: skip
    forum.server.routes["/post/1"] = post
    take_counted()

    worker.crawl()

    assert texts(worker) == [f"I use {'***' if name else value} here"]
    named = [f"1 stored text has *** in the place of a secret of the session: cookie_{name} (1)"]
    assert hidden(frontier) == (named if name else [])
