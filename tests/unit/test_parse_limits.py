"""A text that is longer than what is read is named, and no id of JSON is rounded."""

from __future__ import annotations

import json

import pytest
import yaml

from crawl_tasks.model import Parsed, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.site_parser import compile_parser
from crawl_tasks.parse.values.text import LONGEST
from crawl_tasks.sites.loader import parse_site
from tests.unit.pages import answer, ask

CUT = "texts are cut behind 1,000,000 characters of markup"
LONG = "word " * (LONGEST // 5 + 10)


SITE = """
name: forum
base: https://forum.example
boards: [1]
list:
  address: /list/{{board}}/{{page}}
  {listing}
  next: {{{next}, as: url}}
post:
  address: /post/{{post}}
  {post}
  next: {{{next}, as: url}}
comment:
  address: /comment/{{post}}/{{page}}
  first_page: 2
  {comment}
  next: {{{next}, as: url}}
"""
HTML = {
    "listing": "{record: tr, fields: {post_id: {attr: id}, title: a}}",
    "comment": "{record: .c, fields: {comment_id: {attr: id}, body: .say}}",
    "next": "css: .next, attr: href",
}
REPLIES = "record: {json: replies}, fields: {comment_id: {json: id}, parent_id: {json: to}, body: {json: text}}"
JSON = {
    "listing": "{format: json, record: {json: threads}, fields: {post_id: {json: id}, title: {json: t}, n: {json: n}}}",
    "post": f"{{format: json, fields: {{title: {{json: t}}}}, comments: {{{REPLIES}}}}}",
    "comment": f"{{format: json, {REPLIES}}}",
    "next": "json: next",
}


def parsed(parts: dict[str, str], stage: Stage, page: str) -> Parsed:
    """Return a page of a site whose stages are written in one line each."""
    blocks = {name: text if name == "next" else "\n  ".join(lines_of(text)) for name, text in parts.items()}
    parser = compile_parser(parse_site(SITE.format(**blocks), "forum.yaml"))
    return parser.parse(ask(stage), answer(ask(stage), page), 0)


def lines_of(block: str) -> list[str]:
    """Return the entries of a mapping in one line as lines of YAML."""
    entries = yaml.safe_load(block)
    return [f"{name}: {json.dumps(value)}" for name, value in entries.items()]


def cuts(parsed: Parsed) -> list[int]:
    return [int(note.split()[0]) for note in parsed.notes if CUT in note]


@pytest.mark.parametrize(
    "rule",
    [
        "fields: {title: h1, body: .body}",
        "fields: {title: h1, body: {css: .body, drop: .none}}",
        "fields: {title: h1, body: {css: .body, all: true}}",
        "fields: {title: h1, body: {xpath: '//div[@class=\"body\"]'}}",
        "fields: {title: h1, body: .other, body_html: .body}",
    ],
)
def test_a_text_that_is_cut_is_named_however_the_rule_finds_it(rule: str) -> None:
    page = "<h1>t</h1><p class=other>x</p><div class=body>{}</div>"

    parts = HTML | {"post": f"{{{rule}}}"}

    assert cuts(parsed(parts, Stage.POST, page.format(LONG))) == [1]
    assert cuts(parsed(parts, Stage.POST, page.format(LONG[: LONGEST // 2]))) == []


def test_the_cut_comments_of_a_page_are_counted() -> None:
    page = "<h1>t</h1><div class=body>b</div>" + "".join(
        f"<div class=c id={number}><p class=say>{text}</p></div>" for number, text in enumerate((LONG, "short", LONG))
    )

    read = parsed(HTML | {"post": "{fields: {title: h1, body: .body}}"}, Stage.COMMENT, page)

    assert cuts(read) == [2]
    assert [len(comment.body or "") > 5 for comment in read.items.comments] == [True, False, True]


def test_a_cut_text_of_json_is_named() -> None:
    post = "{format: json, fields: {title: {json: t}, body: {json: b, text: lines}}}"

    assert cuts(parsed(JSON | {"post": post}, Stage.POST, json.dumps({"t": "t", "b": f"<p>{LONG}</p>"}))) == [1]


def test_an_integer_above_64_bits_keeps_all_its_digits() -> None:
    ids = [2**64, 2**65, 2**65 + 1, 10**30 + 7, 5]
    threads = {"threads": [{"id": one, "t": f"t{one}", "n": 1.5} for one in ids]}
    replies = [{"id": 2**70 + at, "to": 2**70, "text": "x"} for at in range(3)]

    listed = parsed(JSON, Stage.LIST, json.dumps(threads))
    read = parsed(JSON, Stage.POST, json.dumps({"t": "t \ud83c", "replies": replies}))

    assert [post.post_id for post in listed.items.posts] == [str(one) for one in ids]
    assert {child.address.rpartition("/")[2] for child in listed.children} == {str(one) for one in ids}
    assert [(one.comment_id, one.parent_id) for one in read.items.comments] == [
        (str(2**70 + at), str(2**70)) for at in range(3)
    ]


def test_an_id_of_json_ld_keeps_all_its_digits() -> None:
    comments = "record: {json: '[0].comment'}, fields: {comment_id: {json: identifier}, body: {json: text}}"
    post = f"{{format: json-ld, fields: {{title: {{json: '[0].headline'}}}}, comments: {{{comments}}}}}"
    said = [{"@type": "Comment", "identifier": 2**70 + at, "text": "x"} for at in range(2)]
    thing = {"@type": "DiscussionForumPosting", "headline": "t", "comment": said}
    page = f'<script type="application/ld+json">{json.dumps(thing)}</script>'

    read = parsed(HTML | {"post": post}, Stage.POST, page)

    assert [one.comment_id for one in read.items.comments] == [str(2**70), str(2**70 + 1)]


def test_an_integer_of_64_bits_needs_no_second_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Document, "read_exactly", lambda _: pytest.fail("read twice"))
    ids = [2**64 - 1, 1]

    listed = parsed(JSON, Stage.LIST, json.dumps({"threads": [{"id": one, "t": "t", "n": 7.5} for one in ids]}))

    assert [post.post_id for post in listed.items.posts] == [str(one) for one in ids]
