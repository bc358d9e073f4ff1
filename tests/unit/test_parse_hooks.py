"""Python functions in place of rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

import pytest
from bs4 import BeautifulSoup

from crawl_tasks.errors import Gone, ParseError, SiteError
from crawl_tasks.model import Comment, Fetched, Forum, Items, Parsed, Post, Request, Stage
from tests.unit.pages import COMMENT, LIST, answer, ask, site_parser

HERE = "tests.unit.test_parse_hooks"


def reads_soup(request: Request, soup: BeautifulSoup, tail: int) -> Iterator[object]:
    heading = soup.h1
    yield Post(request.key, 7.0, title=heading.text if heading else None)
    yield Comment(request.key, "c1", 7.0)
    yield Request(request.site, Stage.COMMENT, request.key, "https://forum.example/comment/1/3", tail + 1)


def gives_parsed(request: Request, page: Fetched, text: str) -> Parsed:
    return Parsed(Items(request.site), (), 0, (f"{page.status} {text}",))


def breaks(text: str) -> list[object]:
    return [1 / len(text.strip())]


def breaks_in_a_library(text: str) -> list[object]:
    return [json.loads(text)]


def gives_a_moment(request: Request) -> Iterator[object]:
    yield Post(request.key, created_at=datetime(2026, 1, 2))  # type: ignore[arg-type]


def gives_one_id_to_all(request: Request) -> Iterator[object]:
    yield Post(request.key)
    yield from (Comment(request.key, "x", body=text) for text in ("first", "second"))


def gives_another_post(request: Request) -> Iterator[object]:
    yield Post("13")


def finds_nothing(request: Request) -> list[object]:
    raise Gone("no such post")


def gives_odd_things(text: str) -> list[object]:
    return [text]


def gives_a_number(text: str) -> int:
    return len(text)


def gives_halves(request: Request, json: object) -> Iterator[object]:
    yield Forum("\udf89", "\ud83c")
    yield Post(request.key)
    yield Post("\ud83c", 1.0, title="party \ud83c", extra={"\udf89": "\udf89"})
    yield Comment("1", "c\ud83c", 1.0, body="\ud83c\udf89")
    yield request._replace(key="\ud83c", revision="7|\ud83c")


def asks_for_more(request: Request, command: str) -> None: ...


def asks_for_nothing() -> None: ...


def with_hook(name: str) -> str:
    return f"  parser: {HERE}:{name}\n"


def parsed_by(name: str, body: str, tail: int = 0) -> Parsed:
    request = ask(Stage.POST)
    parser = site_parser(post=with_hook(name), stages=(LIST, "\n  address: '/post/{post}'\n", COMMENT))
    return parser.parse(request, answer(request, body), tail)


def test_a_hook_is_given_what_its_parameters_name_and_its_items_are_sorted() -> None:
    parsed = parsed_by("reads_soup", "<h1>Hi</h1>", tail=2)

    assert parsed.items.posts == (Post("1", 1.0, title="Hi", is_page=True),)
    assert [one.comment_id for one in parsed.items.comments] == ["c1"]
    assert ([one.page for one in parsed.children], parsed.tail) == ([3], 3)


def test_half_a_character_that_a_hook_leaves_is_replaced_in_all_that_it_gives() -> None:
    parsed = parsed_by("gives_halves", "{}")

    assert parsed.items.forums == (Forum("\ufffd", "\ufffd"),)
    assert parsed.items.posts[1:] == (Post("\ufffd", 1.0, title="party \ufffd", extra={"\ufffd": "\ufffd"}),)
    assert parsed.items.comments == (Comment("1", "c\ufffd", 1.0, body="🎉"),)
    assert [(one.key, one.revision) for one in parsed.children] == [("\ufffd", "7|\ufffd")]


def test_a_hook_may_give_a_whole_result() -> None:
    assert parsed_by("gives_parsed", "body").notes == ("200 body",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "breaks",
            rf"ZeroDivisionError: .* \(in breaks, line {breaks.__code__.co_firstlineno + 1} of .*_hooks\.py\)",
        ),
        ("breaks_in_a_library", r"JSONDecodeError: .* \(in breaks_in_a_library, line \d+ of .*/test_parse_hooks\.py\)"),
        ("gives_a_moment", "created_at of Post 1 is a datetime without a time zone: give seconds since 1970"),
        ("gives_one_id_to_all", "it gave the comment_id 'x' to different comments; give the forum's own"),
        ("gives_another_post", "it gave the post '13' and not that of the page; give it the post_id '1'"),
        ("gives_odd_things", "it gave a str; give Forum, Post, Comment or Request"),
        ("gives_a_number", "it returned int; return a Parsed or items"),
    ],
)
def test_what_goes_wrong_in_a_hook_parks_the_page(name: str, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        parsed_by(name, " ")


def test_a_hook_may_say_what_has_become_of_a_page() -> None:
    with pytest.raises(Gone):
        parsed_by("finds_nothing", "")


@pytest.mark.parametrize(
    ("parser", "said"),
    [
        (f"{HERE}:asks_for_more", "asks for command; offered: request, page"),
        (f"{HERE}:asks_for_nothing", "asks for nothing"),
        (f"{HERE}:missing", "cannot be imported"),
        (f"{HERE}:HERE", "is not a function"),
        (f"{HERE}:Post", "is not a function"),
        ("no.such.module:f", "cannot be imported"),
        ("os:system", "is not a function"),
        ("os:_exit", "is not a function"),
        ("shutil:rmtree", "asks for path"),
    ],
)
def test_only_functions_that_ask_for_what_we_offer_are_taken(parser: str, said: str) -> None:
    with pytest.raises(SiteError, match=said):
        site_parser(post=f"  parser: {parser}", stages=(LIST, "\n  address: '/post/{post}'\n", COMMENT))


@pytest.mark.parametrize("parser", ["os.system", "a:b:c", "../x:f", "x:", ":f", "x:f()"])
def test_a_hook_must_be_named_as_module_and_function(parser: str) -> None:
    with pytest.raises(SiteError, match=r"post\.parser: String should match"):
        site_parser(post=f"  parser: '{parser}'")
