"""A page that only links to threads (a front page, a feed, a sitemap) into a request for each thread."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from lxml import etree

from crawl_tasks.errors import ParseError, RefusedAddress
from crawl_tasks.model import Items, Parsed, Post, Request, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.kit import Kit, tidy
from crawl_tasks.sites.address import Target
from crawl_tasks.sites.schema import BoardKind
from crawl_tasks.surrogates import whole_xml

MOST_LINKS = 10_000
"""Threads one page enters; a sitemap may name 50,000, which would hold up everybody in one script."""
MOST_SITEMAPS = 1000
_GZIP = b"\x1f\x8b"
_ENTRIES = frozenset({"item", "entry", "url"})
_DATES = ("updated", "lastmod", "pubDate", "published", "date")


class Link(NamedTuple):
    """An address on the page, and when it says that what is there changed."""

    address: str
    changed: str = ""


class HubReader:
    """Reads the boards of one site that are hubs, feeds or sitemaps."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self.kinds = {board.id: board.kind for board in kit.site.boards if board.kind is not BoardKind.LIST}
        # Beside lists, whose revision is another, a hub only says which threads there are.
        self._has_revisions = len(self.kinds) == len(kit.site.boards)

    def read(self, request: Request, document: Document) -> Parsed:
        """Read one page.

        Raises:
            ParseError: it is no feed or sitemap, or none of its links is a post's.
        """
        kind = self.kinds[request.key]
        if kind is BoardKind.HUB:
            return self._parsed(request, document, list(_anchors(document)))
        root = _xml(request, document, self._kit.site.gate.max_body_bytes)
        if kind is BoardKind.SITEMAP and _name(root) == "sitemapindex":
            return self._index(request, root)
        wanted = {"urlset"} if kind is BoardKind.SITEMAP else {"rss", "feed", "RDF"}
        if _name(root) not in wanted:
            raise _fail(request, f"the page is no {kind.value}: its root is <{_name(root)}>")
        return self._parsed(request, document, list(_links(root)))

    def _parsed(self, request: Request, document: Document, links: list[Link]) -> Parsed:
        found: dict[str, str] = {}
        seen_as: dict[str, str] = {}
        for link in links:
            target = self._thread_in(link.address)
            if target is not None:
                key = target.key
                if target.stage is Stage.POST:
                    seen_as.setdefault(key, self._kit.addresses.absolute(link.address))
                changed = _revision(link.changed) if self._has_revisions else ""
                found[key] = max(found.get(key, ""), changed)
        if links and not found:
            raise _fail(request, f"none of {len(links)} links is a post's; see post.identity")
        entered = list(found.items())[:MOST_LINKS]
        note = (f"{len(found) - MOST_LINKS} links above {MOST_LINKS} were left out",) if len(found) > MOST_LINKS else ()
        rank, seen_at = self._kit.rank(request, Stage.POST), document.page.seen_at
        children = tuple(
            Request(request.site, Stage.POST, key, address, revision=revision, priority=rank, source=request.key)
            for key, revision in entered
            if (address := self._address(key, seen_as.get(key))) is not None
        )
        posts = tuple(
            Post(child.key, seen_at, url=child.address, revision=child.revision or None)
            for child in children
            if self._kit.addresses.is_own_key(Stage.POST, child.key)
        )
        return Parsed(Items(request.site, (), posts), children, notes=note)

    def _address(self, key: str, seen_as: str | None) -> str | None:
        """Return where a post is; a link to a reply, which does not name its post, is followed as it stands."""
        if not self._kit.addresses.is_own_key(Stage.POST, key):
            return seen_as
        return self._kit.addresses.of(Stage.POST, key) or seen_as

    def _thread_in(self, address: str) -> Target | None:
        """Return what a link leads to if it is a post or a page of its comments."""
        try:
            target = self._kit.addresses.read(address)
        except RefusedAddress:
            return None
        return target if target is not None and target.stage is not Stage.LIST else None

    def _index(self, request: Request, root: etree._Element) -> Parsed:
        """Enter the sitemaps of an index; one that says when it changed is fetched again only then."""
        if request.page > 1:
            raise _fail(request, "a sitemap index stands in a sitemap index")
        children = []
        for page, link in enumerate(list(_links(root, "sitemap"))[:MOST_SITEMAPS], 2):
            try:
                address = self._kit.addresses.absolute(link.address)
            except RefusedAddress:
                continue
            if self._kit.addresses.is_ours(address):
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


def _xml(request: Request, document: Document, most_bytes: int) -> etree._Element:
    """Parse a body that may be packed, without entities, DTDs or network."""
    body = document.page.body
    if body.startswith(_GZIP):
        unpack = zlib.decompressobj(31)
        try:
            body = unpack.decompress(body, most_bytes)
        except zlib.error as error:
            raise _fail(request, f"it is no gzip file: {error}") from None
        if unpack.unconsumed_tail:
            raise _fail(request, f"it unpacks to more than {most_bytes} bytes (gate.max_body_bytes)")
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
        if _name(entry) in wanted:
            said: dict[str, str] = {}
            for part in entry:
                if _name(part) == "link" and part.get("rel", "alternate") != "alternate":
                    continue
                said.setdefault(_name(part), (part.get("href") or part.text or "").strip())
            address = said.get("loc") or said.get("link") or said.get("guid") or said.get("id") or ""
            if address:
                yield Link(address, next((said[name] for name in _DATES if said.get(name)), ""))


def _name(element: etree._Element) -> str:
    tag: object = element.tag  # comments and instructions have a function here
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _revision(changed: str) -> str:
    """Write a moment as seconds since the epoch, so that a feed and a sitemap agree on it."""
    if not changed:
        return ""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(changed)
            return str(int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()))
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return tidy(changed)


def _fail(request: Request, what: str) -> ParseError:
    return ParseError(f"{request.site}: board {request.key}: {what}; {request.address}")
