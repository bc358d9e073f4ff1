"""The markup limits: pages that cost a parser quadratic time or memory are refused before, in linear time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crawl_tasks.errors import Fate, ParseError
from crawl_tasks.model import Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.markup_limits import check_markup
from tests.unit.pages import answer, ask

PARSERS: dict[str, Callable[[Document], object]] = {
    "css": lambda page: page.root,
    "xpath": lambda page: page.xml,
    "soup": lambda page: page.soup,
}
ATTRIBUTES = b" ".join(b"a%d" % n for n in range(60_000))
BOLD = b"".join(b"<b id=%d>" % n for n in range(900))
DEAR = {
    "attributes": b"<p " + ATTRIBUTES + b">",
    "an end tag of attributes": b"<p>x</p " + ATTRIBUTES + b">",
    "attributes with values of angles": b"<p " + ATTRIBUTES.replace(b" ", b'=">" ') + b">",
    "attributes of the body": b"".join(b"<body a%d=1>" % n for n in range(60_000)),
    "unclosed formatting": b"<p>" + BOLD + b"<p>x" * 2_000,
    "formatting that is closed in comments": b"<p>" + BOLD.replace(b">", b"><!--</b>-->") + b"<p>x" * 2_000,
    "formatting that another name closes": b"<p>" + BOLD.replace(b">", b"></i>") + b"<p>x" * 2_000,
    "nesting": b"<div>" * 30_000,
    "tags": b"<br>" * 1_000_001,
}


@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)
@pytest.mark.parametrize("page", DEAR.values(), ids=DEAR)
def test_a_page_that_is_too_dear_is_parked_and_not_parsed(page: bytes, parser: Callable[[Document], object]) -> None:
    document = Document(answer(ask(Stage.POST), page))

    with pytest.raises(ParseError, match="that is no forum page") as caught:
        parser(document)

    assert caught.value.fate is Fate.PARK


USUAL = {
    "a large thread": b"<div><p>text <b class=x>bold</b> <i class=icon></i><a href='?a=1&b=2'>x</a></p></div>" * 5_000,
    "unclosed formatting of old forums": b"<td><font color=red><b>x<td>" * 300,
    "a script with signs": b"<p>x<script>" + b"for(i=0;i<n;i++){a = b + c;}\n" * 20_000 + b"</script>",
    "a picture of one long attribute": b"<svg><path d='" + b"M 1 2 " * 100_000 + b"'/></svg>",
}  # fmt: skip


@pytest.mark.parametrize("page", USUAL.values(), ids=USUAL)
def test_a_large_page_of_usual_markup_is_parsed(page: bytes) -> None:
    check_markup(page, "https://forum.example/1")
    assert Document(answer(ask(Stage.POST), page)).root is not None
