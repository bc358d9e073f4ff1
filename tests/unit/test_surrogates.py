"""Halves of characters, as they stand in JSON, XML and texts."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_tasks.model import Stage
from crawl_tasks.model.surrogates import whole_text, whole_xml
from crawl_tasks.parse.json_ld import loads
from tests.unit.pages import COMMENT, LIST, POST, answer, ask, site_parser

ANY_TEXT = st.text(st.characters(codec=None), max_size=20) | st.text('\\\\u\ud83c\udf89dD8"', max_size=12)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("party", "party"),
        ("\u805a\u4f1a\U0001f389", "\u805a\u4f1a\U0001f389"),
        ("a\ud83c", "a\ufffd"),
        ("\udf89\ud83c", "\ufffd\ufffd"),
        ("\ud83c\udf89", "\U0001f389"),
    ],
)
def test_half_a_character_is_replaced_and_two_are_joined(text: str, whole: str) -> None:
    assert whole_text(text) == whole


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r'"\ud83c\udf89"', "\U0001f389"),
        (r'"\uD83C\uDF89 and \ud83c"', "\U0001f389 and \ufffd"),
        (r'"\ud83c"', "\ufffd"),
        (r'"\udf89"', "\ufffd"),
        (r'"\ud83cx"', "\ufffdx"),
        (r'"\ud83c\n"', "\ufffd\n"),
        (r'"\udf89\ud83c"', "\ufffd\ufffd"),
        (r'"\ud83c\ud83c\udf89"', "\ufffd\U0001f389"),
        (r'"\\ud83c \ud83c"', "\\ud83c \ufffd"),
        (r'"\\\ud83c"', "\\\ufffd"),
        (r'"\"\ud83c\""', '"\ufffd"'),
    ],
)
def test_json_with_half_a_character_is_read(written: str, read: str) -> None:
    assert loads(written) == read


@given(ANY_TEXT)
def test_any_text_that_javascript_writes_is_read(text: str) -> None:
    assert loads(json.dumps({"title": text})) == {"title": whole_text(text)}


@pytest.mark.parametrize("written", ["", "<html>", r'{"a": "\ud83c"', r'"\ud83"', r'"\x41"'])
def test_what_is_no_json_is_none_after_the_repair(written: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        loads(written)


@pytest.mark.parametrize("reference", [b"&#xd7ff;", b"&#xe000;", b"&#55295;", b"&#57344;", b"&#128009;", b"&#x1d83c;"])
def test_references_to_whole_characters_stay(reference: bytes) -> None:
    assert whole_xml(reference) == reference


def test_half_a_character_costs_a_json_page_nothing() -> None:
    listing = """
  address: /list/{board}/{page}
  format: json
  record: {json: topics}
  fields: {post_id: {json: id}, title: {json: title}, url: {json: link}}
"""
    parser = site_parser(listing="", stages=(listing, POST, COMMENT))
    request = ask(Stage.LIST)
    half = r'{"id": 1, "title": "party \ud83c", "link": "/post/1"}'
    pair = r'{"id": "2\ud83c", "title": "\ud83c\udf89", "link": "/p/\udf89"}'

    parsed = parser.parse(request, answer(request, f'{{"topics": [{half}, {pair}]}}'), 0)

    assert [(post.post_id, post.title) for post in parsed.items.posts] == [
        ("1", "party \ufffd"),
        ("2\ufffd", "\U0001f389"),
    ]
    orjson.dumps([list(post) for post in parsed.items.posts])


def test_half_a_character_costs_a_page_none_of_its_linked_data() -> None:
    post = """
  address: /post/{post}
  format: json-ld
  record: {json: "[?headline]"}
  fields: {title: {json: headline}, body: {json: text}}
"""
    block = r'<script type="application/ld+json">{"headline": "party \ud83c", "text": "\ud83c\udf89"}</script>'
    request = ask(Stage.POST)

    parsed = site_parser(stages=(LIST, post, COMMENT)).parse(request, answer(request, block), 0)

    assert [(one.title, one.body) for one in parsed.items.posts] == [("party \ufffd", "\U0001f389")]


def test_half_a_character_in_a_site_file_is_replaced_and_two_are_joined() -> None:
    rule = r'{css: h1, default: "\ud83c\udf89 \ud83c"}'

    site = site_parser(stages=(LIST, POST.replace("title: h1", f"title: {rule}"), COMMENT)).site

    assert site.post.fields["title"].default == "\U0001f389 \ufffd"


@pytest.mark.parametrize("title", ["h1", "{xpath: //h1/text()}", "{css: h1, attr: title}", "{regex: '<h1.*?>(.*?)<'}"])
def test_half_a_character_in_html_is_replaced(title: str) -> None:
    parser = site_parser(stages=(LIST, POST.replace("title: h1", f"title: {title}"), COMMENT))
    request = ask(Stage.POST)
    body = "<h1 title='a&#xD83C;'>a&#55356;</h1><p class=body>b&#xdf89;</p>"

    parsed = parser.parse(request, answer(request, body), 0)

    orjson.dumps([list(post) for post in parsed.items.posts])
    assert parsed.items.posts[0].body == "b\ufffd"
