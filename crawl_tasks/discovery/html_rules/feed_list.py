"""The feed of a site without lists, as a list of its threads, with the sitemap that names the older ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from crawl_tasks.discovery.html_rules.list_rules import Listing
from crawl_tasks.discovery.links.address_shape import path_of
from crawl_tasks.discovery.links.links import links_of
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.records.repeated_records import find_rows
from crawl_tasks.errors import PageError
from crawl_tasks.model import Request, Stage
from crawl_tasks.parse.board_index import FoundBoard
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.hub import Link, links_in
from crawl_tasks.sites.board import BoardKind
from crawl_tasks.urls import origin_of

MOST_FEEDS = 3
_MOST_BYTES = 4_000_000
_FEEDS = "link[rel=alternate][type*=rss], link[rel=alternate][type*=atom], a[href$='.rss'], a[href$='feed.xml']"
_SITEMAP = "/sitemap.xml"


@dataclass(frozen=True, slots=True)
class FeedList:
    """The entries of a feed as a listing, and the boards that bring them: the feed, and the sitemap if there is one."""

    listing: Listing
    boards: tuple[FoundBoard, ...]


def feeds_of(front: Document) -> list[str]:
    """Return the addresses of the feeds that a page names, its own where the page is one."""
    if "<rss" in front.source[:1000] or "<feed" in front.source[:1000]:
        return [front.page.url]
    urls = (front.absolute(node.attributes.get("href") or "") for node in front.root.css(_FEEDS))
    return list(dict.fromkeys(url for url in urls if url is not None and origin_of(url) == origin_of(front.page.url)))


def feed_list(probe: HttpProbe, front: Document) -> FeedList | None:
    """Return the first feed whose entries are pages of one kind, None without one."""
    for url in feeds_of(front)[:MOST_FEEDS]:
        entries = entries_of(probe, url)
        document = _as_page(front, entries)
        rows = find_rows(document)
        if rows is not None and 2 * len(rows.records) > len(entries):
            listing = Listing(document, rows)
            boards = [FoundBoard("feed", None, path_of(url), kind=BoardKind.FEED)]
            return FeedList(listing, (*boards, *_sitemap(probe, front, rows.titles[0].shape)))
    return None


def entries_of(probe: HttpProbe, url: str) -> list[Link]:
    """Return the entries of a feed or sitemap, none where it cannot be read."""
    try:
        return links_in(Request("feed", Stage.LIST, "feed", url), probe.page(url).body, _MOST_BYTES)
    except PageError:
        return []


def _sitemap(probe: HttpProbe, front: Document, shape: str) -> Iterator[FoundBoard]:
    """Yield the sitemap, if it names pages of a shape."""
    url = f"{origin_of(front.page.url)}{_SITEMAP}"
    if shape in links_of(_as_page(front, entries_of(probe, url)), shape):
        yield FoundBoard("sitemap", None, _SITEMAP, kind=BoardKind.SITEMAP)


def _as_page(front: Document, entries: list[Link]) -> Document:
    links = [(escape(entry.address), escape(entry.title or entry.address), escape(entry.changed)) for entry in entries]
    rows = "".join(f"<li><a href='{address}'>{title}</a><i>{changed}</i></li>" for address, title, changed in links)
    body = f"<ul>{rows}</ul>".encode()
    return Document(front.page._replace(headers={"content-type": "text/html; charset=utf-8"}, body=body))
