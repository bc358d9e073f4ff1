"""The rule language: what each key of a rule does."""

from __future__ import annotations

import json

import pytest

from crawl_tasks.model import Stage
from crawl_tasks.parse.site_parser import compile_parser
from crawl_tasks.sites.loader import parse_site
from tests.unit.pages import BASE, COMMENT, LIST, POST, SEEN_AT, answer, ask, site_parser

SITE = """\
name: forum
base: {base}
timezone: Asia/Shanghai
list: {{record: .row, fields: {{post_id: .a, url: .a}}}}
post: {{format: {form}, address: "/post/{{post}}", fields: {{x: {rule}}}}}
"""
PAGE = """<html><head><title>T</title><script>var pages = 17;</script></head><body>
<p class="a" title="tip" data-n="1.2万">one <b>two</b></p><p class="a">three</p>
<div class="body">said<blockquote>quoted</blockquote><br>more</div>
<a class="l" href="../post/7?sid=1#x">link</a> <a class="bad" href="javascript:x()">no</a>
<time class="t" datetime="2024-06-19T14:17:05Z">long ago</time><span class="when">昨天 12:30</span>
<span class="empty"> </span><i class="state locked hot"></i></body></html>"""


def value_of(rule: str, body: str = PAGE, form: str = "html") -> str | None:
    parser = compile_parser(parse_site(SITE.format(base=BASE, rule=rule, form=form), "forum.yaml"))
    request = ask(Stage.POST)
    extra = parser.parse(request, answer(request, body), 0).items.posts[0].extra
    return None if extra is None else extra["x"]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (".a", "one two"),
        ("p", "one two"),
        ("{css: .a, text: own}", "one"),
        ("{css: .body, text: own}", "said more"),
        ("{css: .body, text: lines}", "said\nquoted\nmore"),
        ("{css: .body, text: lines, drop: blockquote}", "said\nmore"),
        ("{css: .body, text: lines, drop: 'blockquote, .none'}", "said\nmore"),
        ("{css: .body, drop: 'body blockquote'}", "saidquotedmore"),
        ("{css: .body, as: html}", "said<blockquote>quoted</blockquote><br>more"),
        ("{css: .body, as: html, drop: blockquote}", "said<br>more"),
        ("{css: .a, attr: title}", "tip"),
        ("{css: .a, attr: absent}", None),
        ("{css: .a, attr: absent, default: none}", "none"),
        ("{css: .a, all: true}", "one two, three"),
        ("{css: .a, all: true, join: '|'}", "one two|three"),
        ("{css: .a, all: true, attr: title}", "tip"),
        ("{css: 'a, i', all: true, attr: href, as: url, join: ' '}", "https://forum.example/post/7?sid=1"),
        ("{css: 'a, base', all: true, attr: absent, as: url, default: none}", "none"),
        (".none", None),
        (".empty", None),
        ("{css: .none, default: 7}", "7"),
        ("{css: .a, regex: 'o(n)e'}", "n"),
        ("{css: .a, regex: 'one'}", "one"),
        ("{css: .a, regex: 'absent'}", None),
        ("{css: .a, regex: 'absent', default: x}", "x"),
        ("{regex: 'var pages = (\\d+)'}", "17"),
        ("{regex: 'var pages = (\\d+)', as: int}", "17"),
        ("{css: .a, attr: data-n, as: count}", "12000"),
        ("{css: .l, attr: href, as: url}", f"{BASE}/post/7?sid=1"),
        ("{css: .bad, attr: href, as: url}", None),
        ("{css: .l, attr: href, as: id, regex: '/post/[^?]*'}", "7"),
        ("{css: .t, as: date}", "1718806625"),
        ("{css: .when, as: date}", "1718771400"),
        ("{css: .t, as: date, text: all}", None),
        ("{css: .state, attr: class, regex: '(locked|deleted)', map: {locked: normal}}", "normal"),
        ("{css: .state, attr: class, regex: '(locked|deleted)', map: {deleted: gone}}", "locked"),
        ("{css: .state, attr: class, regex: '(locked)', map: {locked: null}}", None),
        ("{css: .a, as: bool}", "True"),
        ("{first_of: [.none, {css: .a, attr: title}, .a]}", "tip"),
        ("{first_of: [.none, .other], default: d}", "d"),
        ("{first_of: [{css: .none, as: date}, .when], as: date}", "1718771400"),
        ("{xpath: '//p[2]'}", "three"),
        ("{xpath: '//p/@title'}", "tip"),
        ("{xpath: 'count(//p[@class])'}", "2"),
        ("{xpath: '//p', all: true}", "one two, three"),
        ("{xpath: '//div[@class=\"body\"]', text: lines, drop: blockquote}", "said\nmore"),
        ("{xpath: '//h6'}", None),
        ("{xpath: 'string(//title)'}", "T"),
    ],
)
def test_a_rule_reads(rule: str, value: str | None) -> None:
    assert value_of(rule) == value


def test_a_rule_can_read_no_template_and_no_comment() -> None:
    assert value_of(".a", "<template><p class=a>no</p></template><!-- <p class=a>no</p> --><p class=a>yes") == "yes"


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("{json: a.b}", "7"),
        ("{json: 'a.list[*].n', all: true}", "1, 2"),
        ("{json: 'a.list[*].n'}", "1"),
        ("{json: a.html, text: lines}", "x\ny"),
        ("{json: a.html, as: html}", "<p>x</p><p>y</p>"),
        ("{json: a.when, as: date}", "1718806625"),
        ("{json: a.yes}", "true"),
        ("{json: a.none}", None),
        ("{json: a.none, default: 0}", "0"),
        ("{json: a}", None),
        ("{json: a.text, regex: '(\\d+)', as: int}", "5"),
        ("{first_of: [{json: nothing}, {json: a.b}]}", "7"),
        ("{json: a.said, css: a, attr: href}", "/9"),
        ("{json: a.said, css: p, all: true}", "one, two two"),
        ("{json: a.said, drop: b, text: lines}", "one\ntwo"),
        ("{json: a.said, drop: b, as: html}", '<p>one</p><p>two <a href="/9"></a></p>'),
        ("{json: a.said, css: h6, default: none}", "none"),
        ("{json: a.by, lookup: {in: users, by: id, give: name}}", "ann"),
        ("{json: a.none, lookup: {in: users, by: id, give: name}}", None),
        ("{json: a.b, lookup: {in: users, by: id, give: name}, default: guest}", "guest"),
        ("{json: a.by, lookup: {in: nobody, by: id, give: name}}", None),
        ("{json: a.b, as: count, plus: -1}", "6"),
        ("{json: a.b, as: count, plus: -10}", "0"),
        ("{json: a.text, plus: 1}", "n 5"),
    ],
)
def test_a_json_rule_reads(rule: str, value: str | None) -> None:
    body = {"a": {"b": 7, "list": [{"n": 1}, {"n": 2}], "html": "<p onclick=x>x<p>y", "when": 1718806625000,
                  "yes": True, "none": None, "text": "n 5", "by": 4,
                  "said": "<p>one</p><p>two <b>two</b><a href='/9'></a></p>"},
            "users": [{"id": 3, "name": "bob"}, {"id": 4, "name": "ann"}]}  # fmt: skip

    assert value_of(rule, json.dumps(body), "json") == value


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("{header: content-type}", "text/html; charset=utf-8"),
        ("{header: Content-Type, regex: 'charset=utf-(\\d+)', as: int}", "8"),
        ("{header: X-Total}", None),
        ("{first_of: [{header: X-Total}, .a]}", "one two"),
    ],
)
def test_a_rule_reads_a_header_of_the_response(rule: str, value: str | None) -> None:
    assert value_of(rule) == value


def test_what_is_read_is_ordered_by_its_lease_and_not_by_the_moment_of_the_response() -> None:
    parser = compile_parser(parse_site(SITE.format(base=BASE, rule=".a", form="html"), "forum.yaml"))
    request = ask(Stage.POST)

    assert parser.parse(request, answer(request, PAGE), 0).items.posts[0].seen_at == SEEN_AT


def test_a_base_element_moves_relative_links() -> None:
    page = PAGE.replace("<head>", "<head><base href='https://forum.example/deep/down/'>")

    assert value_of("{css: .l, attr: href, as: url}", page) == f"{BASE}/deep/post/7?sid=1"


LINKED = """<script type="application/ld+json">{"@graph": [{"@type": "BreadcrumbList"}, {"@type": ["QAPage"],
  "mainEntity": {"@type": "Question", "name": "Why?", "text": "Tell me", "author": "ann",
   "acceptedAnswer": {"@id": "/q/7#a1", "text": "So", "author": [{"name": "bob"}],
    "comment": [{"@id": "/q/7#c2", "text": "Thanks"}]}}}]}</script>
  <script type="application/ld+json">no JSON</script><h1>Why?</h1>"""
LINKED_RULES = """
  address: /post/{post}
  format: json-ld
  record: {json: "[?\\"@type\\" == 'Question']"}
  fields: {title: {json: name}, body: {json: text}, author: {json: author.name}}
  comments:
    record: {json: "[?\\"@type\\" == 'Question'].comment[]"}
    fields:
      comment_id: {json: '"@id"', regex: '#(.+)'}
      parent_id: {json: 'parentItem."@id"', regex: '#(.+)'}
      author: {json: author.name}
      body: {json: text}
"""


def test_what_a_page_says_of_itself_in_json_ld_is_read_with_answers_at_any_depth() -> None:
    request, rules = ask(Stage.POST), (LIST, LINKED_RULES, COMMENT)

    parsed = site_parser(stages=rules, post="  next: a.next").parse(request, answer(request, LINKED), 0)

    (post,) = parsed.items.posts
    assert (post.title, post.body, post.author) == ("Why?", "Tell me", "ann")
    assert [(one.comment_id, one.parent_id, one.author, one.body) for one in parsed.items.comments] == [
        ("a1", None, "bob", "So"), ("c2", "a1", None, "Thanks"),
    ]  # fmt: skip


def test_a_record_goes_on_in_what_stands_after_it() -> None:
    rows = "".join(f"<tr class=t><td id=r{n}>title {n}</td></tr><tr><td class=n>{n} replies</td></tr>" for n in (7, 8))
    rules = """
  address: /list/{board}/{page}
  record: tr.t
  siblings: true
  fields: {post_id: {css: 'td[id]', attr: id, regex: 'r(.+)'}, title: 'td[id]', reply_count: .n}
"""

    request = ask(Stage.LIST)

    parsed = site_parser(stages=(rules, POST, COMMENT)).parse(request, answer(request, f"<table>{rows}</table>"), 0)

    assert [(one.post_id, one.title, one.reply_count) for one in parsed.items.posts] == [
        ("7", "title 7", 7), ("8", "title 8", 8),
    ]  # fmt: skip
