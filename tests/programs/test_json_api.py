"""Forums behind a JSON API, crawled to the last record: pages by link, cursor, offset or POST, and markup in either."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
import redis

from crawl_tasks.errors import ParseError, SiteError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.frontier.small_crawl import SmallCrawl
from tests.programs.host import Host
from tests.unit.command_line import run
from tests.unit.hostile_server import HostileServer, Visit
from tests.unit.pages import answer, ask, site_parser

THREADS, PER_PAGE = 23, 5
REPLIES = {str(number): number % 9 for number in range(1, THREADS + 1)}
Query = dict[str, str]
Page = Callable[[list[dict[str, object]], int, str, Query], object]

SITE = """\
name: demo
base: {base}
private_hosts: ["{place}"]
boards: [7]
gate: {{window: 4, delay_s: 0}}
list:
  address: {lists}
{body}{markup}  record: {record}
  fields: {{post_id: {id}, title: {title}, reply_count: {count}}}
  revision: reply_count
  {pager}
post:
  address: /post/{{post}}
  format: json
  fields: {{title: {{json: title}}, author: {{json: author}}, body: {{json: text, text: lines}}}}
comment:
  address: {comments}
{body}{markup}  record: {record}
  fields: {{comment_id: {id}, author: {author}, body: {title}}}
  empty: {empty}
  {pager}
"""
IN_JSON = {
    "markup": "  format: json\n", "record": "{json: data}", "id": "{json: id}", "title": "{json: title}",
    "count": "{json: replies}", "author": "{json: author}", "body": "",
    "empty": "{json: \"!data && 'empty'\"}",
}  # fmt: skip
IN_HTML = {
    "markup": "  embedded: {json: html}\n", "record": "li", "id": "{attr: data-id}", "title": "b",
    "count": "i", "author": "em", "body": "",
    "empty": "{json: \"!html && 'empty'\"}",
}  # fmt: skip
POSTED = "  body: {json: {board: '%s', skip: '{offset:5}', take: 5}}\n"


def rows_of(path: str) -> list[dict[str, object]]:
    """Return what a list shows: the threads of the board, or the replies of a thread, which are named as threads are."""
    kind, key = path.strip("/").split("/")[:2]
    if kind == "list":
        return [{"id": one, "title": f"thread {one}", "author": "ann", "replies": REPLIES[one]} for one in REPLIES]
    return [
        {"id": f"{key}-{n}", "title": f"reply {n} to {key}", "author": "bob", "replies": 0} for n in range(REPLIES[key])
    ]


def part(rows: list[dict[str, object]], first: int) -> list[dict[str, object]]:
    return rows[first : first + PER_PAGE]


def by_link(rows: list[dict[str, object]], first: int, url: str, _: Query) -> object:
    more = f"{url}?from={first + PER_PAGE}" if first + PER_PAGE < len(rows) else None
    return {"data": part(rows, first), "meta": {"links": {"next": more}}}


def by_relative_link(rows: list[dict[str, object]], first: int, url: str, query: Query) -> object:
    told = json.dumps(by_link(rows, first, urlsplit(url).path, query))
    return json.loads(told)


def by_cursor(rows: list[dict[str, object]], first: int, _: str, __: Query) -> object:
    more = f"c{first + PER_PAGE}" if first + PER_PAGE < len(rows) else None
    return {"data": part(rows, first), "cursor": more}


def by_offset(rows: list[dict[str, object]], first: int, _: str, __: Query) -> object:
    return {"data": part(rows, first), "total": len(rows)}


def by_markup(rows: list[dict[str, object]], first: int, _: str, __: Query) -> object:
    items = [
        f"<li data-id={one['id']}><b>{one['title']}</b> <em>{one['author']}</em> <i>{one['replies']}</i></li>"
        for one in part(rows, first)
    ]
    return {"html": "".join(items), "has_more": first + PER_PAGE < len(rows)}


LINK = "next: {json: meta.links.next, as: url}"
CURSOR = "next: {json: \"cursor && join('', ['?after=', cursor])\", as: url}"
COUNTED = "total: {json: total}\n  per_page: 5"
KINDS: dict[str, tuple[Page, dict[str, str], str, str]] = {
    "absolute links": (by_link, IN_JSON, LINK, ""),
    "relative links": (by_relative_link, IN_JSON, LINK, ""),
    "a cursor": (by_cursor, IN_JSON, CURSOR, ""),
    "offsets": (by_offset, IN_JSON, COUNTED, "?from={offset:5}"),
    "POST bodies": (by_offset, IN_JSON, COUNTED, "?page={page}"),
    "HTML in JSON": (by_markup, IN_HTML, "next: {json: has_more}", "?page={page}"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_json_api_is_crawled_to_its_last_record(
    kind: str, client: redis.Redis, frontier: Frontier, tmp_path: Path
) -> None:
    page, rules, pager, query = KINDS[kind]
    is_posted = kind == "POST bodies"

    def shown(visit: Visit) -> None:
        where = urlsplit(visit.target)
        told = dict(parse_qsl(where.query)) | (json.loads(visit.body) if visit.body else {})
        first = int(str(told.get("skip") or told.get("from") or told.get("after", "c0").lstrip("c")))
        first = first or PER_PAGE * (int(told.get("page", 1)) - 1)
        if where.path.startswith("/post/"):
            key = where.path.removeprefix("/post/")
            said: object = {"title": f"thread {key}", "author": "ann", "text": f"<p>first of {key}</p><p>and more</p>"}
        elif is_posted and (visit.method, told.get("take")) != ("POST", PER_PAGE):
            visit.reply(b"{}", "400 Bad Request")
            return
        else:
            rows = rows_of(where.path)
            said = page(rows, first, f"http://{visit.server.place}{where.path}", told)
        visit.reply(json.dumps(said).encode(), Content_Type="application/json")

    server = HostileServer(otherwise=shown)
    text = SITE.format(
        base=server.base, place=server.place, pager=pager, lists=f"/list/{{board}}/x{query}",
        comments=f"/replies/{{post}}/x{query}", **rules,
    )  # fmt: skip
    if is_posted:
        parts = text.partition("comment:")
        text = parts[0].replace("  format: json\n", POSTED % "{board}" + "  format: json\n", 1)
        text += parts[1] + parts[2].replace("  format: json\n", POSTED % "{post}" + "  format: json\n")
    try:
        crawl = SmallCrawl(client, frontier, Host(server.base))
        publish_site(frontier, parse_site(text, "demo.yaml"), contact=None)
        crawl.scan()
        (tmp_path / "sites").mkdir()
        (tmp_path / "sites" / "demo.yaml").write_text(text)
        tried = run("try", "demo", home=tmp_path)
    finally:
        server.stop()

    assert "holds    the next page lists further threads\n" in tried.output
    items = crawl.items()
    posts = {one.post_id: (one.title, one.author, one.body) for page in items for one in page.posts if one.body}
    replies = sorted((one.post_id, one.comment_id, one.author, one.body) for page in items for one in page.comments)
    assert posts == {key: (f"thread {key}", "ann", f"first of {key}\nand more") for key in REPLIES}
    assert replies == sorted(
        (key, f"{key}-{n}", "bob", f"reply {n} to {key}") for key, count in REPLIES.items() for n in range(count)
    )


STATE = {"board": {"rows": [{"id": 4, "t": "A  <b>", "n": 2}, {"id": 5, "t": "x", "n": 0}], "more": "/list/1/2"}}
ROWS = """
  address: /list/{board}/{page}
  format: json
  embedded: %s
  record: {json: board.rows}
  fields: {post_id: {json: id}, title: {json: t}, reply_count: {json: n}}
"""
PLACES = {
    "script#state": "<script id=state type=application/json>{}</script>",
    "{css: '#app', attr: data-page}": "<div id=app data-page='{}'></div>",
    "{regex: '__STATE__ = (\\{.+\\});'}": "<script>window.__STATE__ = {};</script>",
}


@pytest.mark.parametrize("rule", PLACES)
def test_state_that_stands_in_a_page_is_read_as_its_json(rule: str) -> None:
    listing = (ROWS % rule, "\n  address: /post/{post}\n  fields: {title: h1}", "\n  address: /c/{post}/{page}\n"
               "  record: li\n  fields: {comment_id: {attr: id}}")  # fmt: skip
    parser = site_parser(stages=listing, listing="  next: {json: board.more}", post="", comment="")
    request = ask(Stage.LIST)

    parsed = parser.parse(request, answer(request, "<h1>x</h1>" + PLACES[rule].format(json.dumps(STATE))), 0)

    assert [(one.post_id, one.title, one.reply_count) for one in parsed.items.posts] == [
        ("4", "A  <b>", 2),
        ("5", "x", 0),
    ]
    assert (Stage.LIST, 2) in [(child.stage, child.page) for child in parsed.children]
    for body in ("<h1>x</h1>", PLACES[rule].format("{not json}")):
        with pytest.raises(ParseError, match=r"embedded found nothing|is not JSON"):
            parser.parse(request, answer(request, body), 0)


@pytest.mark.parametrize(
    "lines", ["format: json\n  embedded: {json: x}", "embedded: script", "format: json-ld\n  embedded: p"]
)
def test_an_embedded_part_of_the_pages_own_format_is_a_mistake(lines: str) -> None:
    text = f"name: x\nbase: http://a.example\nboards: [1]\nlist:\n  address: /l/{{board}}\n  {lines}\n"
    with pytest.raises(SiteError, match=r"embedded is \{json: \.\.\.\} where format is html"):
        parse_site(
            f"{text}  record: {{json: a}}\n  fields: {{post_id: {{json: a}}}}\npost:\n  address: /p/{{post}}\n  fields: {{title: h1}}\n",
            "x",
        )
