"""Hub pages (front pages, RSS and Atom feeds, sitemaps): one request for each thread that a page links to."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from lxml import etree

from crawl_tasks.errors import ParseError, RefusedAddress
from crawl_tasks.model import Items, Parsed, Post, Request, Stage
from crawl_tasks.model.surrogates import whole_xml
from crawl_tasks.parse.board_index import FrontReader
from crawl_tasks.parse.context import ParseContext, tidy
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.addresses import Target
from crawl_tasks.sites.schema import LISTS, BoardKind

MOST_LINKS = 10_000
"""Threads that one page enters. A sitemap may name 50,000: one Redis script of that size would hold up all workers."""
MOST_SITEMAPS = 1000
_GZIP = b"\x1f\x8b"
_ENTRIES = frozenset({"item", "entry", "url"})
_DATES = ("updated", "lastmod", "pubDate", "published", "date")


class Link(NamedTuple):
    """A link of the page. `changed` is the target's last change as the page writes that moment, or empty."""

    address: str
    changed: str = ""
    title: str = ""


class HubReader:
    """Reader of the boards of one site that are no lists: front pages, hubs, feeds and sitemaps."""

    def __init__(self, context: ParseContext) -> None:
        self._context = context
        self.kinds = {board.id: board.kind for board in context.site.own_boards if board.kind not in LISTS}
        self._front = FrontReader(context, context.site.front)
        # A list writes the revision of a thread in another way. Beside lists a hub therefore only names threads, or
        # each of the two would take the other's revision for news.
        self._has_revisions = len(self.kinds) == context.site.board_count

    def read(self, request: Request, document: Document) -> Parsed:
        """Return the posts and requests of one hub page.

        Raises:
            ParseError: The page is no feed or sitemap, or no link leads to a post.
        """
        kind = self.kinds[request.key]
        if kind is BoardKind.FRONT:
            return self._front.read(request, document)
        if kind is BoardKind.HUB:
            return self._parsed(request, document, list(_anchors(document)))
        root = _xml(request, document.page.body, self._context.site.gate.max_body_bytes)
        if kind is BoardKind.SITEMAP and _name(root) == "sitemapindex":
            return self._index(request, root)
        wanted = {"urlset"} if kind is BoardKind.SITEMAP else {"rss", "feed", "RDF"}
        if _name(root) not in wanted:
            raise _fail(request, f"the page is no {kind.value}: its root is <{_name(root)}>")
        return self._parsed(request, document, list(_links(root)))

    def _parsed(self, request: Request, document: Document, links: list[Link]) -> Parsed:
        revisions: dict[str, str] = {}
        seen_as: dict[str, str] = {}
        for link in links:
            target = self._thread_in(link.address)
            if target is not None:
                key = target.key
                if target.stage is Stage.POST:
                    seen_as.setdefault(key, self._context.addresses.absolute(link.address))
                changed = _revision(link.changed) if self._has_revisions else ""
                revisions[key] = max(revisions.get(key, ""), changed)
        if links and not revisions:
            raise _fail(request, f"none of {len(links)} links is a post's; see post.identity")
        entered = list(revisions.items())[:MOST_LINKS]
        above = len(revisions) - MOST_LINKS
        note = (f"{above} links above {MOST_LINKS} were left out",) if above > 0 else ()
        rank, seen_at = self._context.rank(request, Stage.POST), document.page.seen_at
        children = tuple(
            Request(request.site, Stage.POST, key, address, revision=revision, priority=rank, source=request.key)
            for key, revision in entered
            if (address := self._address(key, seen_as.get(key))) is not None
        )
        posts = tuple(
            Post(child.key, seen_at, url=child.address, revision=child.revision or None)
            for child in children
            if self._context.addresses.is_own_key(Stage.POST, child.key)
        )
        # Lists and sitemaps name all threads: beside them, nothing is missed.
        is_alone = self._has_revisions and BoardKind.SITEMAP not in self.kinds.values()
        items = Items(request.site, (), posts)
        return Parsed(items, children, notes=note, is_cut=bool(note), extent="newest" if is_alone else "")

    def _address(self, key: str, seen_as: str | None) -> str | None:
        """Return the address of a post. A link to a reply, which does not name the post, is followed unchanged."""
        if not self._context.addresses.is_own_key(Stage.POST, key):
            return seen_as
        return self._context.addresses.of(Stage.POST, key) or seen_as

    def _thread_in(self, address: str) -> Target | None:
        """Return the target of a link to a post or a comment page, None for other links."""
        try:
            target = self._context.addresses.read(address)
        except RefusedAddress:
            return None
        return target if target is not None and target.stage is not Stage.LIST else None

    def _index(self, request: Request, root: etree._Element) -> Parsed:
        """Return a request for each sitemap of an index. One with a moment of change is fetched only after changes."""
        # An index may name itself. Sitemaps within an index within an index would never end.
        if request.page > 1:
            raise _fail(request, "a sitemap index stands in a sitemap index")
        children = []
        for page, link in enumerate(list(_links(root, "sitemap"))[:MOST_SITEMAPS], 2):
            try:
                address = self._context.addresses.absolute(link.address)
            except RefusedAddress:
                continue
            if self._context.addresses.is_ours(address):
                revision = _revision(link.changed) or request.revision
                children.append(
                    Request(request.site, Stage.LIST, request.key, address, page, revision, request.priority)
                )
        return Parsed(Items(request.site), tuple(children))


def _anchors(document: Document) -> Iterator[Link]:
    for node in document.root.css("a[href]"):
        href = node.attributes.get("href")
        address = document.absolute(href) if href else None
        if address is not None:
            yield Link(address)


def links_in(request: Request, body: bytes, most_bytes: int) -> list[Link]:
    """Return the entries of a feed or sitemap.

    Raises:
        ParseError: The body is no XML.
    """
    return list(_links(_xml(request, body, most_bytes)))


def _xml(request: Request, body: bytes, most_bytes: int) -> etree._Element:
    """Return the root of an XML body, gzipped or plain, read without entities, DTDs and network."""
    if body.startswith(_GZIP):
        # 31 is the largest window (15) plus 16 for a gzip header (zlib). The limit stops a small file that unpacks to
        # gigabytes.
        unpack = zlib.decompressobj(31)
        try:
            body = unpack.decompress(body, most_bytes)
        except zlib.error as error:
            raise _fail(request, f"it is no gzip file: {error}") from None
        if unpack.unconsumed_tail:
            raise _fail(request, f"it unpacks to more than {most_bytes} bytes (gate.max_body_bytes)")
    # A hostile feed reads local files by external entities (XXE) or fills the memory by nested ones (billion laughs).
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
    try:
        root = etree.fromstring(whole_xml(body), parser)
    except etree.XMLSyntaxError as error:
        raise _fail(request, f"it is no XML: {error}") from None
    if root is None:
        raise _fail(request, "it is no XML")
    return root


def _links(root: etree._Element, *names: str) -> Iterator[Link]:
    wanted = set(names) or _ENTRIES
    for entry in root.iter():
        if _name(entry) not in wanted:
            continue
        texts = _texts_of(entry)
        address = texts.get("loc") or texts.get("link") or texts.get("guid") or texts.get("id") or ""
        if address:
            changed = next((texts[name] for name in _DATES if texts.get(name)), "")
            yield Link(address, changed, texts.get("title", ""))


def _texts_of(entry: etree._Element) -> dict[str, str]:
    """Return the text, or else the address, of the first part of each name."""
    texts: dict[str, str] = {}
    for part in entry:
        # In Atom only the `alternate` link, which is also the default, is the entry's page (RFC 4287, 4.2.7.2).
        if _name(part) != "link" or part.get("rel", "alternate") == "alternate":
            texts.setdefault(_name(part), (part.get("href") or part.text or "").strip())
    return texts


def _name(element: etree._Element) -> str:
    # Comments and processing instructions have a function as tag.
    tag: object = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _revision(changed: str) -> str:
    """Return a moment of change as seconds since the epoch, so that feeds and sitemaps spell the moment alike."""
    at = moment_of(changed)
    return tidy(changed) if at is None else str(at)


def moment_of(changed: str) -> int | None:
    """Return a moment of change as seconds since the epoch, None for one that is not written as feeds should."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(changed)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None


def _fail(request: Request, what: str) -> ParseError:
    return ParseError(f"{request.site}: board {request.key}: {what}; {request.address}")
