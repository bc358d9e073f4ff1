"""What a page says of who asked for it: a sign that a post can hold says nothing, and an answer is parsed once."""

from __future__ import annotations

import json

import pytest

from crawl_tasks.fetch.login_sessions import Sign
from crawl_tasks.model import Fetched, Stage
from crawl_tasks.parse import document as documents
from crawl_tasks.registry.login_steps import login_policy
from crawl_tasks.sites.loader import parse_site

RULES = """\
name: demo
base: https://forum.example
boards: [1]
list:
  address: /list/{board}/{page}
  record: .row
  fields: {post_id: {attr: data-id}, title: .t}
  empty: .nothing
  login_when: .wall
post:
  address: /post/{post}
  fields: {title: h1, body: .body}
  pages: .pages
comment:
  address: /comment/{post}/{page}
  first_page: 2
  record: .c
  fields: {comment_id: {attr: data-id}, author: .who, body: .say}
  empty: body
"""
LINK = "<a class=logout href=/logout>Log out</a>"
CHROME = f"<nav>{LINK}</nav>"
HTML, JSON = "text/html; charset=utf-8", "application/json"


def sign(body: str, stage: Stage, success: str = "a.logout", *, kind: str = HTML, status: int = 200) -> Sign:
    text = f"{RULES}login:\n  cookie_file: FORUM_COOKIES\n  success: {success}\n"
    policy = login_policy(parse_site(text, "demo.yaml"), {})
    assert policy is not None
    return policy.signs(Fetched("https://forum.example/1", status, {"content-type": kind}, body.encode(), 1.0), stage)


SUCCESSES = [
    "a.logout",
    "{xpath: '//a[@class=\"logout\"]'}",
    "{regex: 'href=./?logout'}",
    "{first_of: [.none, .logout]}",
]
PAGES = {
    Stage.LIST: "<div class=row data-id=1><b class=t>{}</b></div>",
    Stage.POST: "<h1>x</h1><div class=body>text {}</div><div class=c data-id=2>y</div>",
    Stage.COMMENT: "<div class=c data-id=1>y</div><div class=c data-id=2><p class=say>x</p><i>signature {}</i></div>",
}


@pytest.mark.parametrize("success", SUCCESSES)
@pytest.mark.parametrize("stage", PAGES)
def test_a_sign_that_only_posts_hold_says_nothing(stage: Stage, success: str) -> None:
    page = PAGES[stage]

    assert sign(page.format(LINK), stage, success) is Sign.NONE
    assert sign(CHROME + page.format(LINK), stage, success) is Sign.MEMBER
    assert sign(CHROME + page.format(""), stage, success) is Sign.MEMBER
    assert sign(page.format(""), stage, success) is Sign.GUEST


def test_a_sign_in_a_post_of_a_json_answer_is_none_of_the_answer() -> None:
    text = f"{RULES}login:\n  cookie_file: FORUM_COOKIES\n  success: a.logout\n"
    policy = login_policy(parse_site(text, "demo.yaml"), {})
    assert policy is not None
    body = json.dumps({"posts": [{"html": "<a class='logout'>x</a>"}]}).encode()
    answers = [
        Fetched("https://forum.example/1", 200, {"content-type": JSON}, text, 1.0)
        for text in (body, b"{}", body, b"[]")
    ]

    assert [policy.signs(answer, Stage.POST) for answer in answers] == [Sign.NONE] * 4


def test_a_stage_whose_json_had_the_sign_once_must_have_it() -> None:
    text = f"{RULES}login:\n  cookie_file: FORUM_COOKIES\n  success: {{json: user.id}}\n"
    policy = login_policy(parse_site(text, "demo.yaml"), {})
    assert policy is not None
    answers = [
        Fetched("https://forum.example/1", 200, {"content-type": JSON}, text, 1.0)
        for text in (b"{}", b'{"user": {"id": 7}}', b"{}", b"<p>no JSON")
    ]

    assert [policy.signs(answer, Stage.POST) for answer in answers] == [
        Sign.NONE, Sign.MEMBER, Sign.GUEST, Sign.GUEST
    ]  # fmt: skip


@pytest.mark.parametrize(("status", "has_link"), [(404, True), (404, False), (401, True), (503, True)])
def test_a_refusal_with_the_sign_is_a_members(status: int, has_link: bool) -> None:
    expected = {401: Sign.GUEST, 503: Sign.NONE}.get(status, Sign.MEMBER if has_link else Sign.GUEST)

    assert sign(CHROME if has_link else "gone", Stage.POST, status=status) is expected


def test_a_refusal_whose_sign_only_posts_hold_may_be_a_guests() -> None:
    assert sign(PAGES[Stage.POST].format(LINK), Stage.POST, status=404) is Sign.GUEST


def test_a_page_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parser = documents.LexborHTMLParser
    monkeypatch.setattr(
        documents, "LexborHTMLParser", lambda *args, **kwargs: parsed.append(1) or parser(*args, **kwargs)
    )

    assert sign(CHROME + PAGES[Stage.LIST], Stage.LIST) is Sign.MEMBER

    assert len(parsed) == 1


@pytest.mark.parametrize("success", ["a[href*=logout]", "{xpath: '//a[contains(@href, \"logout\")]'}"])
@pytest.mark.parametrize(
    ("link", "is_member"),
    [("/post/how-to-logout", False), ("/comment/how-to-logout/2", False), ("/logout", True), ("/list/logout/1", True)],
)
def test_a_thread_named_logout_on_the_check_page_makes_nobody_a_member(
    link: str, success: str, *, is_member: bool
) -> None:
    text = f"{RULES}login:\n  cookie_file: FORUM_COOKIES\n  success: {success}\n"
    policy = login_policy(parse_site(text, "demo.yaml"), {})
    assert policy is not None
    body = f"<main><a href='/post/1'>a thread</a> <a href='{link}'>Log out</a></main>"

    assert policy.is_member(Fetched("https://forum.example/", 200, {"content-type": HTML}, body.encode(), 1.0)) is (
        is_member
    )


def test_a_sign_on_a_drawn_page_says_nothing_as_its_session_may_have_ended_meanwhile() -> None:
    text = f"{RULES}login:\n  cookie_file: FORUM_COOKIES\n  success: a.logout\n"
    policy = login_policy(parse_site(text, "demo.yaml"), {})
    assert policy is not None
    page = Fetched("https://forum.example/1", 200, {"content-type": HTML}, CHROME.encode(), 1.0)

    assert policy.signs(page, Stage.POST) is Sign.MEMBER
    assert policy.signs(page._replace(is_rendered=True), Stage.POST) is Sign.NONE
