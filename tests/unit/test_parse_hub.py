"""Pages that only link to threads: front pages, feeds, sitemaps."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from crawl_tasks.errors import ParseError, SiteError
from crawl_tasks.model import Parsed, Request, Stage
from crawl_tasks.parse.hub import MOST_LINKS
from crawl_tasks.registry.site_publisher import board_terms
from tests.unit.pages import BASE, answer, site_parser

HEAD = (
    "boards: [{id: front, kind: hub, address: /}, {id: news, kind: feed, address: /feed.xml},"
    " {id: map, kind: sitemap, address: /sitemap.xml}]\ngate: {max_body_bytes: 100000}"
)
PARSER = site_parser(head=HEAD)
PATHS = {"front": "/", "news": "/feed.xml", "map": "/sitemap.xml"}
RSS = """<?xml version="1.0"?><rss version="2.0"><channel><link>https://forum.example/</link>
<item><title>a</title><link>https://forum.example/post/1</link><pubDate>Wed, 19 Jun 2024 10:00:00 GMT</pubDate></item>
<item><guid>https://forum.example/post/2</guid></item>
<item><link>https://elsewhere.example/post/3</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><id>x</id><link href="https://forum.example/"/>
<entry><link rel="replies" href="https://forum.example/post/9"/><link href="https://forum.example/comment/1/3"/>
<published>2024-01-01T00:00:00Z</published><updated>2024-06-19T12:00:00+02:00</updated></entry></feed>"""
URLS = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://forum.example/post/1</loc><lastmod>2024-06-19T10:00:00Z</lastmod></url>
<url><loc>https://forum.example/list/1/1</loc></url></urlset>"""
INDEX = """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>https://forum.example/s1.xml.gz</loc><lastmod>2024-06-19</lastmod></sitemap>
<sitemap><loc>https://elsewhere.example/s2.xml</loc></sitemap>
<sitemap><loc>https://forum.example/s3.xml</loc></sitemap></sitemapindex>"""


def read(board: str, body: str | bytes, page: int = 1) -> Parsed:
    request = Request("forum", Stage.LIST, board, BASE + PATHS[board], page, "7")
    return PARSER.parse(request, answer(request, body), 0)


def posts_of(parsed: Parsed) -> list[tuple[str, str, str]]:
    return [(child.key, child.address, child.revision) for child in parsed.children]


def test_a_hub_gives_each_thread_once_however_it_links_to_it() -> None:
    links = (
        "/post/1",
        "post/1?x#p5",
        "/comment/1/4",
        "https://forum.example/post/2",
        "/list/1/1",
        "//other.example/post/3",
    )
    body = "".join(f"<a href='{link}'>t</a>" for link in (*links, "javascript:void(0)", "mailto:a@b.example"))

    parsed = read("front", body.replace("?x", ""))

    assert posts_of(parsed) == [("1", f"{BASE}/post/1", ""), ("2", f"{BASE}/post/2", "")]
    assert [post.post_id for post in parsed.items.posts] == ["1", "2"]
    assert all(child.stage is Stage.POST for child in parsed.children)


@pytest.mark.parametrize(
    ("board", "body", "found"),
    [
        ("news", RSS, [("1", "1718791200"), ("2", "")]),
        ("news", ATOM, [("1", "1718791200")]),
        ("map", URLS, [("1", "1718791200")]),
        ("map", gzip.compress(URLS.encode()), [("1", "1718791200")]),
        ("news", "<rss><channel></channel></rss>", []),
    ],
)
def test_feeds_and_sitemaps_agree_on_what_changed_when(board: str, body: str | bytes, found: list[object]) -> None:
    assert [(key, revision) for key, _, revision in posts_of(read(board, body))] == found


def test_an_index_leads_to_its_sitemaps_by_their_own_revision() -> None:
    parsed = read("map", INDEX)

    assert [(one.stage, one.key, one.page, one.address, one.revision) for one in parsed.children] == [
        (Stage.LIST, "map", 2, f"{BASE}/s1.xml.gz", "1718755200"),
        (Stage.LIST, "map", 4, f"{BASE}/s3.xml", "7"),
    ]


@pytest.mark.parametrize(
    ("board", "body", "page", "said"),
    [
        ("front", "<a href=/list/1/1>x</a>", 1, "none of 1 links is a post's"),
        ("news", "<html><body>please log in", 1, "no feed: its root is <html>"),
        ("news", "nothing", 1, "it is no XML"),
        ("map", RSS, 1, "no sitemap: its root is <rss>"),
        ("map", INDEX, 2, "an index|stands in a sitemap index"),
        ("map", b"\x1f\x8b broken", 1, "no gzip file"),
        ("map", gzip.compress(b" " * 200_000), 1, "unpacks to more than 100000 bytes"),
    ],
)
def test_what_is_no_hub_parks_the_page(board: str, body: str | bytes, page: int, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        read(board, body, page)


def test_entities_are_neither_expanded_nor_fetched(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("9")
    inside = f'<!DOCTYPE rss [<!ENTITY in "8"><!ENTITY out SYSTEM "file://{tmp_path}/secret">]>'
    items = "".join(f"<item><link>{BASE}/post/{id_}</link></item>" for id_ in ("1", "&in;", "&out;"))

    parsed = read("news", f"{inside}<rss><channel>{items}</channel></rss>")

    assert [child.key for child in parsed.children] == ["1"]


@pytest.mark.parametrize("half", ["&#xD83C;", "&#x0dfff;", "&#55296;", "&#57343;"])
def test_half_a_character_in_a_feed_costs_no_entry(half: str) -> None:
    items = f"<item><title>party {half}</title><link>{BASE}/post/1</link></item>"

    parsed = read("news", f"<rss><channel>{items}</channel></rss>")

    assert [child.key for child in parsed.children] == ["1"]


def test_a_bomb_of_entities_is_refused() -> None:
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 9}">' for n in range(1, 30))
    bomb = f'<!DOCTYPE rss [<!ENTITY l0 "9">{levels}]>'

    with pytest.raises(ParseError):
        read("news", f"{bomb}<rss><channel><item><link>{BASE}/post/&l29;</link></item></channel></rss>")


def test_a_page_enters_no_more_threads_than_one_script_should() -> None:
    urls = "".join(f"<url><loc>{BASE}/post/{n}</loc></url>" for n in range(MOST_LINKS + 5))

    parser = site_parser(head=HEAD.replace("gate: {max_body_bytes: 100000}", ""))
    request = Request("forum", Stage.LIST, "map", f"{BASE}/sitemap.xml")
    parsed = parser.parse(request, answer(request, f"<urlset>{urls}</urlset>"), 0)

    assert (len(parsed.children), parsed.notes) == (MOST_LINKS, ("5 links above 10000 were left out",))


def test_a_hub_is_scheduled_as_any_board() -> None:
    lines = {terms.board: terms.line for terms in board_terms(PARSER.site)}

    assert f" {BASE}/feed.xml " in lines["news"]


def test_a_hub_needs_an_address() -> None:
    with pytest.raises(SiteError, match=r"boards\.0: is a feed without an address; give it one"):
        site_parser(head="boards: [{id: news, kind: feed}]")
