"""Requests as a site wants them: POST, headers by stage, and the site's own functions, with each client."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawl_tasks.errors import (
    AccessDenied,
    BadRedirect,
    Crashed,
    Gone,
    RefusedAddress,
    RobotsRefused,
    SiteError,
    SlowDown,
    Unreachable,
)
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.model import Fetched, Post, Request, Stage
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site
from tests.unit.hostile_server import HostileServer, Visit, page, redirect

RULES = """\
name: demo
base: {base}
private_hosts: ["{place}"]
list:
  address: /list?board={{board}}&page={{page}}
  record: .row
  fields: {{post_id: {{attr: data-id}}}}
  next: .next
post: {{address: "/post/{{post}}", fields: {{title: h1}}}}
"""
ROOT = Path(__file__).parents[2]
FUNCTIONS = "tests.unit.request_functions"

Fetch = Callable[..., Fetched]


@pytest.fixture
def server() -> Iterator[HostileServer]:
    server = HostileServer(otherwise=page(b"<p>page</p>"))
    yield server
    server.stop()


@pytest.fixture(params=["requests", "curl"])
def fetch(request: pytest.FixtureRequest, server: HostileServer) -> Iterator[Fetch]:
    fetcher = Fetcher(build_client(request.param))

    def one(path: str = "/list?board=3&page=2", more: str = "", stage: Stage = Stage.LIST, **changed: str) -> Fetched:
        text = RULES.format(base=server.base, place=server.place)
        for key, value in changed.items():
            text = text.replace(f"{key}:\n", f"{key}:\n{value}")
        policy = compile_site(parse_site(text + more, "demo.yaml"), None).policy
        return fetcher.fetch(Request("demo", stage, "3", server.base + path, page=2), policy)

    yield one
    fetcher.close()


def asked(server: HostileServer) -> list[Visit]:
    return [visit for visit in server.visits if visit.target != "/robots.txt"]


def test_form_is_posted_and_the_parameters_that_tell_pages_apart_are_not_sent(fetch, server):
    body = '  body: {form: {fid: "{board}", from: "{offset:20}", q: "a&b ü"}}\n'

    got = fetch("/list?board=3&page=2&lang=en", list=body)

    [visit] = asked(server)
    assert (visit.method, visit.target) == ("POST", "/list?lang=en")
    assert visit.body == b"fid=3&from=20&q=a%26b+%C3%BC"
    assert visit.headers["content-type"] == "application/x-www-form-urlencoded"
    assert got.url == server.base + "/list?board=3&page=2&lang=en"


def test_json_is_posted_with_numbers_where_a_placeholder_is_one(fetch, server):
    body = '  body: {json: {query: "query { a }", variables: {board: "{board}", page: "{page}", tag: "p{page}"}}}\n'

    fetch(list=body)

    [visit] = asked(server)
    told = {"query": "query { a }", "variables": {"board": "3", "page": 2, "tag": "p2"}}
    assert json.loads(visit.body) == told
    assert visit.headers["content-type"] == "application/json"


def test_a_get_after_a_post_has_neither_body_nor_type(fetch, server):
    body = '  body: {form: {fid: "{board}"}}\n'

    for stage in (Stage.LIST, Stage.POST, Stage.LIST, Stage.POST):
        fetch(stage=stage, list=body)

    assert [visit.method for visit in asked(server)] == ["POST", "GET", "POST", "GET"]
    assert [visit.body for visit in asked(server)] == [b"fid=3", b"", b"fid=3", b""]
    assert ["content-type" in visit.headers for visit in asked(server)] == [True, False, True, False]
    assert server.connections == 1


@pytest.mark.parametrize("client", ["requests", "curl"])
def test_a_post_takes_one_slot(client, server, pace):
    fetcher = Fetcher(build_client(client))
    text = RULES.format(base=server.base, place=server.place)
    text = text.replace("list:\n", 'list:\n  body: {form: {fid: "{board}"}}\n') + "robots: false\n"
    policy = compile_site(parse_site(text, "demo.yaml"), None).policy

    for _ in range(2):
        fetcher.fetch(Request("demo", Stage.LIST, "3", f"{server.base}/list?board=3"), policy, "", pace)
    fetcher.close()

    assert pace.said == ["begin", "confirm", "sent"] * 2


@pytest.mark.parametrize(
    ("status", "method", "body"),
    [(301, "GET", b""), (302, "GET", b""), (303, "GET", b""), (307, "POST", b"fid=3"), (308, "POST", b"fid=3")],
)
def test_redirected_post(fetch, server, status, method, body):
    server.routes["/list"] = redirect("/elsewhere", status)

    fetch(list='  body: {form: {fid: "{board}"}}\n')

    visit = asked(server)[-1]
    assert (visit.target, visit.method, visit.body) == ("/elsewhere", method, body)
    assert ("content-type" in visit.headers) == (method == "POST")


def test_body_goes_to_no_other_origin(fetch, server):
    other = HostileServer()
    server.routes["/list"] = redirect(f"{other.base}/list", 307)

    with pytest.raises(BadRedirect, match="no other origin"):
        fetch(list='  body: {form: {fid: "{board}"}}\n', more=f'hosts: ["{other.place}"]\n')
    other.stop()

    assert other.visits == []


def test_headers_of_a_stage_stand_above_those_of_the_site(fetch, server):
    more = "headers: {ACCEPT: text/html, X-All: all}\n"

    for stage in (Stage.LIST, Stage.POST):
        fetch(stage=stage, list="  headers: {Accept: application/json, X-List: yes}\n".replace("yes", "'1'"), more=more)

    told = [[visit.headers.get(name) for name in ("accept", "x-all", "x-list")] for visit in asked(server)]
    assert told == [["application/json", "all", "1"], ["text/html", "all", None]]


def blocks(kind: str) -> list[str]:
    text = (ROOT / "docs" / "hooks.md").read_text("utf-8").partition("## Requests and answers")[2].partition("\n## ")[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("client", ["requests", "curl"])
def test_the_signed_api_of_the_docs(client, server, monkeypatch):
    module = types.ModuleType("signed_api")
    exec(compile(blocks("python")[0], "hooks.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "signed_api", module)
    monkeypatch.setenv("FORUM_API_KEY", "a-key")
    server.routes["/threads"] = signed_threads
    text = blocks("yaml")[0].replace("https://api.forum.example", server.base)
    opened = compile_site(parse_site(f'{text}private_hosts: ["{server.place}"]\n', "signed.yaml"), None)
    fetcher = Fetcher(build_client(client))

    first = Request("signed", Stage.LIST, "3", f"{server.base}/threads?board=3&page=1")
    parsed = opened.parser.parse(first, fetcher.fetch(first, opened.policy), 0)
    [follower] = [child for child in parsed.children if child.stage is Stage.LIST]
    last = opened.parser.parse(follower, fetcher.fetch(follower, opened.policy), 0)
    server.routes["/threads"] = page(b'{"error":"busy"}')
    with pytest.raises(SlowDown, match="busy"):
        fetcher.fetch(first, opened.policy)
    fetcher.close()

    assert [post.post_id for post in (*parsed.items.posts, *last.items.posts)] == ["3001", "3002"]
    assert [child.stage for child in last.children] == [Stage.POST]


def signed_threads(visit: Visit) -> None:
    told = json.loads(visit.body)
    expected = hmac.new(b"a-key", f"{visit.headers['x-time']} {visit.target}".encode(), hashlib.sha256)
    if visit.target != "/threads" or visit.headers["x-signature"] != expected.hexdigest() or told["limit"] != 20:
        visit.reply(b"", "401 Unauthorized")
        return
    row = {"id": f"{told['board']}00{told['page']}", "title": "a thread"}
    visit.reply(json.dumps({"threads": [row], "more": told["page"] < 2 or None}).encode())


def test_no_function_leads_to_an_address_that_a_link_may_not(fetch, server):
    server.routes["/robots.txt"] = page(b"User-agent: *\nDisallow: /closed")

    with pytest.raises(RefusedAddress, match="not a host of this site"):
        fetch(more=f"prepare_request: {FUNCTIONS}:to_elsewhere\n")
    with pytest.raises(RefusedAddress):
        fetch(more=f"prepare_request: {FUNCTIONS}:to_a_file\n")
    with pytest.raises(RobotsRefused):
        fetch("/open", more=f"prepare_request: {FUNCTIONS}:to_a_closed_path\n")

    assert asked(server) == []


def test_what_a_function_puts_into_the_address_is_shown_nowhere(fetch, server):
    more = f"prepare_request: {FUNCTIONS}:token_in_address\n"
    server.routes["/list"] = lambda visit: visit.reset()

    got = fetch("/page", more=more)
    with pytest.raises(Unreachable) as failed:
        fetch("/list", more=more)

    assert {visit.target for visit in asked(server)} == {
        f"{path}?token=planted-in-address" for path in ("/page", "/list")
    }
    assert got.url == server.base + "/page"
    assert "/list" in str(failed.value)
    assert "planted" not in str(failed.value)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("raises", "KeyError: '3'"),
        ("returns_nothing", "returned no request"),
        ("second_length", "may not set Content-Length"),
        ("split_header", "X-A a value that is not printable"),
        ("large_body", "a body that is not bytes"),
    ],
)
def test_a_function_that_fails_costs_its_page_and_sends_nothing(fetch, server, function, why):
    with pytest.raises(Crashed, match=f"prepare_request.*{function}.*{re.escape(why)}"):
        fetch(more=f"prepare_request: {FUNCTIONS}:{function}\n")

    assert asked(server) == []


def test_an_answer_is_seen_before_its_status_is_judged(fetch, server):
    server.routes["/list"] = page(b"board is closed", "403 Forbidden")
    server.routes["/other"] = page(b"go away", "403 Forbidden")
    more = f"on_response: {FUNCTIONS}:closed_board_is_gone\n"

    with pytest.raises(Gone, match="is closed"):
        fetch(more=more)
    with pytest.raises(AccessDenied):
        fetch("/other", more=more)


def test_an_answer_can_be_changed_but_for_its_address(fetch, server):
    server.routes["/list"] = page(b")]}'{}", "500 Not Really")

    got = fetch("/list", more=f"on_response: {FUNCTIONS}:unpacked\n")

    assert (got.status, got.body, got.url) == (200, b"{}", server.base + "/list")


def test_a_function_that_returns_no_page_is_named(fetch):
    with pytest.raises(Crashed, match=r"on_response.*returned no page"):
        fetch(more=f"on_response: {FUNCTIONS}:no_page\n")


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('{form: {a: "{post}"}}', "may not have {post}"),
        ('{json: [{a: "{offset:x}"}]}', "may not have {offset:x}"),
        ('{form: {a: "1"}, json: {a: 1}}', "must be one of form, json"),
        ("{}", "must be one of form, json"),
    ],
)
def test_bodies_that_cannot_be_sent_are_refused_with_the_file(server, body, complaint):
    text = RULES.format(base=server.base, place=server.place).replace("list:\n", f"list:\n  body: {body}\n")

    with pytest.raises(SiteError, match=re.escape(complaint)):
        parse_site(text, "demo.yaml")


def test_the_functions_of_the_guide_for_scrapy_do_what_it_says(fetch, server, monkeypatch):
    guide = (ROOT / "docs" / "coming-from.md").read_text("utf-8")
    module = types.ModuleType("my_site")
    exec(
        compile(re.findall(r"^```python\n(.*?)^```", guide, re.M | re.S)[0], "coming-from.md", "exec"), module.__dict__
    )
    monkeypatch.setitem(sys.modules, "my_site", module)
    monkeypatch.setenv("FORUM_API_TOKEN", "a-token")

    fetch(more="prepare_request: my_site:signed\nitems: [my_site:stripped]\n")

    assert asked(server)[0].headers["x-token"] == "a-token"
    assert module.stripped(Post("1", author=" ann ")).author == "ann"


@pytest.mark.parametrize(
    "line",
    [
        "cookies: true",
        "read_from: s3://bucket/path",
        "hosts: [api.forum.example]",
        "secret_headers: {Authorization: FORUM_TOKEN}",
        "login: {bearer: FORUM_TOKEN, success: {json: user.id}, check: /me}",
        "gate: {daily_budget: 1000, max_redirects: 2}",
        "proxy: direct",
        "user_agent: somebot/1.0",
    ],
)
def test_keys_that_the_guide_for_scrapy_names_are_read(server, line):
    text = RULES.format(base=server.base, place=server.place)

    assert parse_site(f"{text}{line}\n", "demo.yaml").name == "demo"
