"""The document: one page in every form that rules ask for, each made at most once and only on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import orjson
from lxml import etree, html
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from crawl_tasks.errors import ParseError, RefusedAddress
from crawl_tasks.model import Fetched
from crawl_tasks.parse.json_ld import Json, flaw_of, linked_data, loads, loads_exactly
from crawl_tasks.parse.markup_limits import check_markup
from crawl_tasks.parse.values.charset import PageText, decoded
from crawl_tasks.parse.values.charset_detector import CharsetDetector
from crawl_tasks.parse.values.numeric_dates import NumericDate
from crawl_tasks.sites.site_terms import DateOrder
from crawl_tasks.urls import normalize

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_T = TypeVar("_T")
# Nobody listens to the tree's events, which are 4% of building it.
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)


class Document:
    """A page while one thread reads it. Never shared between threads."""

    __slots__ = (
        "_base", "_declared", "_decoded", "_detector", "_dropped", "_is_utf8", "_json", "_json_text", "_linked",
        "_loads", "_source", "_tree", "_xml", "cut", "days", "is_proven", "is_rounded", "notes", "order", "page",
        "tables", "unread", "years",
    )  # fmt: skip

    def __init__(
        self, page: Fetched, declared: str | None = None, dropped: tuple[str, ...] = (),
        detector: CharsetDetector | None = None,
    ) -> None:  # fmt: skip
        self.page = page
        self._dropped = dropped
        self._declared = declared
        self._detector = detector
        self._decoded: PageText | None = None
        self._source: str | None = None
        self._is_utf8 = False
        self._tree: LexborHTMLParser | None = None
        self._xml: etree._Element | None = None
        self._json: list[Json] = []
        self._json_text = ""
        self._loads = loads
        self._linked: list[Json] | None = None
        self._base: str | None = None
        self.cut = 0
        """The number of its texts that were longer than any that is read."""
        self.is_rounded = False
        """Whether a rule met a number that may be an integer of more than 64 bits, which are read as floats."""
        self.notes: tuple[str, ...] = ()
        """Notes on the response itself."""
        self.order: DateOrder | None = None
        """The order of its dates in figures."""
        self.is_proven = False
        """Whether its own dates prove the order, against a format that says another."""
        self.days: list[tuple[str, NumericDate, DateOrder | None]] = []
        """Its dates in figures as they were read: text, figures, and the order that the rule's format says."""
        self.years: list[str] = []
        """Its texts that a year begins, which are ISO 8601 until a day behind the year is above 12."""
        self.unread: list[str] = []
        """Its texts with a figure, in place of dates, that cannot be read."""
        self.tables: dict[tuple[str, ...], dict[str, Json]] = {}
        """Lookup tables of a JSON page, by the three JMESPaths of a rule: from the id of an entry to a value."""

    @property
    def source(self) -> str:
        """The decoded text of the response."""
        if self._source is None:
            # Browsers leave NUL out. Our parser makes a character of it that stands for a lost one.
            text, is_utf8 = self.decoded.text, self.decoded.is_utf8
            # A look at bytes takes a twentieth of that at a text.
            has_nul = b"\0" in self.page.body if is_utf8 else "\0" in text
            self._source, self._is_utf8 = text.replace("\0", "") if has_nul else text, is_utf8 and not has_nul
        return self._source

    @property
    def decoded(self) -> PageText:
        """The text of the response with its charset, and what was lost or guessed."""
        if self._decoded is None:
            self._decoded = decoded(self.page, self._declared, self._detector)
        return self._decoded

    @property
    def markup_bytes(self) -> bytes:
        """The response in a charset that writes markup in ASCII, which all but UTF-16 do."""
        return self.source.encode() if self.decoded.charset.startswith("utf-16") else self.page.body

    def _markup(self) -> bytes:
        """Return the page as UTF-8, within the limits of the parsers."""
        source = self.source
        # The parser wants UTF-8: bytes that are it already need no second encoding.
        raw = self.page.body if self._is_utf8 else source.encode("utf-8", "replace")
        check_markup(raw, self.page.url)
        return raw

    @property
    def root(self) -> LexborNode:
        """The root element of the HTML tree, built as browsers build the tree."""
        if self._tree is None:
            self._tree = LexborHTMLParser(self._markup(), options=_OPTIONS)
        return must(self._tree.root)

    @property
    def xml(self) -> etree._Element:
        """The page as an lxml tree, for XPath rules."""
        if self._xml is None:
            # A character reference or a declaration that XML cannot hold makes lxml refuse text, not bytes.
            raw = self._markup() or b"<html></html>"
            try:
                self._xml = html.document_fromstring(
                    raw, parser=html.HTMLParser(encoding="utf-8"), ensure_head_body=True
                )
            except etree.ParserError:
                # lxml refuses a page without any element, such as one comment.
                self._xml = html.document_fromstring(b"<html></html>", ensure_head_body=True)
        return self._xml

    @property
    def soup(self) -> BeautifulSoup:
        """A new tree of BeautifulSoup, which its user may change."""
        # 50 ms and 10 MB that only sites with a Python function need.
        from bs4 import BeautifulSoup  # noqa: PLC0415

        self._markup()
        return BeautifulSoup(self.source, "lxml")

    @property
    def json(self) -> Json:
        """The page as JSON, or the JSON on the page.

        Raises:
            ParseError: The page is not JSON.
        """
        if not self._json:
            self.embed_json(self.source)
        return self._json[0]

    def embed_json(self, text: str) -> None:
        """Take the JSON of a text on the page in place of the page's own.

        Raises:
            ParseError: The text is not JSON.
        """
        try:
            self._json, self._json_text = [self._loads(text)], text
        except orjson.JSONDecodeError as error:
            raise ParseError(f"{self.page.url}: is not JSON, {flaw_of(text, error)}") from None

    def read_exactly(self) -> None:
        """Read the JSON again, with all digits of each integer, and forget what was met in the first reading."""
        self.is_rounded = False
        self.cut = 0
        for met in (self.days, self.years, self.unread, self.tables):
            met.clear()
        self._loads, self._linked = loads_exactly, None
        if self._json:
            self.embed_json(self._json_text)

    def embed_html(self, text: str) -> None:
        """Take a text of the page's JSON as its HTML. The JSON stays."""
        self._source, self._is_utf8, self._tree, self._xml = _without_nul(text), False, None, None

    @property
    def linked(self) -> list[Json]:
        """The things that the JSON-LD of the page describes."""
        if self._linked is None:
            self._linked = linked_data(self.root, self._loads)
        return self._linked

    def absolute(self, href: str) -> str | None:
        """Return a link of the page as an absolute address, None for an address that the crawler refuses."""
        if self._base is None:
            self._base = self._find_base()
        # Browsers write a query in the charset of the page it is on.
        encoding = "utf-8" if href.isascii() else self.decoded.charset
        try:
            return normalize(href, self._base, drop_params=self._dropped, encoding=encoding)
        except RefusedAddress:
            return None

    def _find_base(self) -> str:
        # A base element is in the head. Searching 8 KB of text spares nearly all pages a query.
        if "<base" not in self.source[:8192]:
            return self.page.url
        element = self.root.css_first("base[href]")
        href = element.attributes.get("href") if element is not None else None
        try:
            return normalize(href, self.page.url) if href else self.page.url
        except RefusedAddress:
            return self.page.url


def _without_nul(text: str) -> str:
    """Return a text without NUL, as browsers read it. Our parser makes a character of it that stands for a lost one."""
    # Without NUL it is the same object.
    return text.replace("\0", "") if "\0" in text else text


def must(value: _T | None) -> _T:
    """Return a value that every parsed document has.

    Raises:
        ParseError: The value is None.
    """
    if value is None:
        raise ParseError("the parser gave no document")
    return value


def find_all(scope: LexborNode, css: str) -> list[LexborNode]:
    """Return the matches of a selector, each once: the parser reports one for each selector of a list that fits it."""
    nodes = scope.css(css)
    return list({node.mem_id: node for node in nodes}.values()) if "," in css else nodes


def matches(node: LexborNode, css: str) -> bool:
    """Return whether a selector finds an element itself. `css_matches` asks the elements within, too."""
    match = node.css_first(css)
    return match is not None and match.mem_id == node.mem_id
