"""Pages that are another post's than was asked for."""

from __future__ import annotations

import pytest

from crawl_tasks.errors import Gone, ParseError
from crawl_tasks.model import Stage
from tests.unit.pages import COMMENT, LIST, POST, answer, ask, site_parser

PAGE = "<h1>Title</h1><div class=body>text</div><div class=c data-id=1><p class=say>x</p></div>"
NAMED = POST.replace("title: h1", "title: h1, post_id: {css: h1, attr: data-id}")


@pytest.mark.parametrize("stage", [Stage.POST, Stage.COMMENT])
def test_a_redirect_to_another_post_asks_for_that_one_and_stores_nothing(stage: Stage) -> None:
    request = ask(stage, "7", 2 if stage is Stage.COMMENT else 1, revision="r")

    parsed = site_parser().parse(request, answer(request, PAGE, url="https://forum.example/post/8"), 0)

    assert not parsed.items
    assert [(one.stage, one.key, one.page, one.revision) for one in parsed.children] == [(Stage.POST, "8", 1, "r")]
    assert parsed.notes == ("is post 8, not 7: it is read there",)


@pytest.mark.parametrize(
    "url",
    [
        "https://forum.example/post/7",
        "https://forum.example/post/7?lang=en",
        "https://forum.example/topic/a-slug",
        "https://forum.example/list/8/1",
        "https://elsewhere.example/post/8",
    ],
)
def test_any_other_redirect_is_the_post_that_was_asked_for(url: str) -> None:
    request = ask(Stage.POST, "7")

    parsed = site_parser().parse(request, answer(request, PAGE, url=url), 0)

    assert [post.post_id for post in parsed.items.posts] == ["7"]


@pytest.mark.parametrize(("shown", "children"), [("8", ["8"]), ("7", []), ("", [])])
def test_the_id_on_the_page_decides(shown: str, children: list[str]) -> None:
    request = ask(Stage.POST, "7")
    page = answer(request, PAGE.replace("<h1>", f'<h1 data-id="{shown}">'))

    parsed = site_parser(stages=(LIST, NAMED, COMMENT)).parse(request, page, 0)

    assert [child.key for child in parsed.children] == children
    assert bool(parsed.items) is not bool(children)


def test_without_a_guard_pages_that_name_each_other_end() -> None:
    request = ask(Stage.POST, "7")

    parsed = site_parser(head="guard: 'off'").parse(
        request, answer(request, PAGE, url="https://forum.example/post/8"), 0
    )

    assert (bool(parsed.items), parsed.children) == (False, ())


def test_a_redirect_to_another_post_is_seen_whatever_title_stands_in_its_address() -> None:
    titled = POST + "  identity: '^/post/(?P<post>\\d+)(?:-[^/]*)?$'\n"
    request = ask(Stage.POST, "7")

    parsed = site_parser(stages=(LIST, titled, COMMENT)).parse(
        request, answer(request, PAGE, url="https://forum.example/post/8-merged"), 0
    )

    assert [(child.key, child.address) for child in parsed.children] == [("8", "https://forum.example/post/8")]


@pytest.mark.parametrize(
    ("url", "fate"),
    [
        ("https://forum.example/list/8/1", Gone),
        ("https://forum.example/index", Gone),
        ("https://forum.example/login", ParseError),
        ("https://forum.example/post/7", ParseError),
    ],
)
@pytest.mark.parametrize("stage", [Stage.POST, Stage.COMMENT])
def test_a_thread_is_gone_where_the_forum_answers_with_a_list(stage: Stage, url: str, fate: type[Exception]) -> None:
    parser = site_parser(head="boards: [8, {id: front, kind: front, address: /index}]")
    request = ask(stage, "7", page=1 if stage is Stage.POST else 2)

    with pytest.raises(fate):
        parser.parse(request, answer(request, "<p>All boards</p>", url=url), 0)
