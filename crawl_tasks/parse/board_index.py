"""Front pages: the boards there, by the index rules of a preset, and a ping of each board from its row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from crawl_tasks.errors import ParseError, RefusedAddress
from crawl_tasks.model import Fetched, Items, Parsed, Request, Stage
from crawl_tasks.parse.context import ParseContext, is_key, tidy
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.rules.compile import compile_rule
from crawl_tasks.parse.rules.table import Table, TableReader
from crawl_tasks.sites.board import BoardKind
from crawl_tasks.sites.board_index_spec import COUNTS, FrontSpec, IndexSpec
from crawl_tasks.sites.field_rules import As, Plain
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import Format

MOST_SHOWN = 1000
"""Boards that one front page tells of: Redis compares so many in 6 ms."""
NO_COUNTS = "0|"
_KINDS = {"url": As.URL, "below": As.URL, "last_post_at": As.DATE}


@dataclass(frozen=True, slots=True)
class FoundBoard:
    """A board on a front page. `url` is the address as the page links it, `parent_id` the id of the board above."""

    board_id: str
    title: str | None = None
    url: str | None = None
    parent_id: str | None = None
    kind: BoardKind = BoardKind.LIST


@dataclass(frozen=True, slots=True)
class FrontPage:
    """The boards of a front page, and the text that names the forum's time zone.

    `left_out` holds the addresses of records that are no board of this site.
    """

    boards: tuple[FoundBoard, ...]
    left_out: tuple[str, ...] = ()
    zone: str | None = None


class IndexReader:
    """Reader of the front pages of one site."""

    def __init__(self, site: Site, spec: IndexSpec) -> None:
        self._site = site
        self._context = ParseContext(site)
        self._is_json = spec.format is Format.JSON
        self._rows = _reader_of(self._context, spec)
        self._zone = compile_rule(spec.timezone, self._context.want(), at_page=True).read if spec.timezone else None
        self._zone_apart = spec.timezone_at
        self._zone_is_json = spec.timezone is not None and spec.timezone.json_path is not None

    def read(self, page: Fetched) -> FrontPage:
        """Return the boards of one front page.

        Raises:
            ParseError: The page is not JSON although the preset says so, or is too deep or too large to be read.
        """
        document = Document(page, self._site.encoding, self._site.drop_params)
        where = document.json if self._is_json else document.root
        boards: dict[str, FoundBoard] = {}
        left_out: list[str] = []
        for row in _rows_of(self._rows.read(where, document)):
            key = row.get("board") or _key_in(self._context, row.get("url"))
            if key is not None and is_key(key):
                boards.setdefault(key, FoundBoard(key, row.get("title"), row.get("url"), row.get("parent")))
            elif row.get("url"):
                left_out.append(str(row["url"]))
        zone = None if self._zone_apart else self._zone_in(document)
        return FrontPage(tuple(boards.values()), tuple(left_out), zone)

    def zone(self, page: Fetched) -> str | None:
        """Return the time zone text of the page that the preset names for that text (`timezone_at`).

        Raises:
            ParseError: The page is not JSON although the preset says so.
        """
        return self._zone_in(Document(page, self._site.encoding, self._site.drop_params))

    def _zone_in(self, document: Document) -> str | None:
        if self._zone is None:
            return None
        return _text(self._zone(document.json if self._zone_is_json else document.root, document))


class FrontReader:
    """Reader of the boards of kind front of one site. Without rules it reads which boards the page links."""

    def __init__(self, context: ParseContext, spec: FrontSpec | None) -> None:
        self._context = context
        self._is_json = spec is not None and spec.format is Format.JSON
        self._rows = _reader_of(context, spec) if spec is not None else None
        self._others = {board.id for board in context.site.own_boards if board.kind is not BoardKind.LIST}

    def read(self, request: Request, document: Document) -> Parsed:
        """Return a ping for each board of the page: the counts of its row, or of the row that counts it too.

        Raises:
            ParseError: No row names a board, or without rules no link.
        """
        if self._rows is None:
            return self._pings(request, dict.fromkeys(self._linked(document), NO_COUNTS), ())
        table = self._rows.read(document.json if self._is_json else document.root, document)
        own: dict[str, str] = {}
        below: dict[str, str] = {}
        for row in _rows_of(table):
            counts = tidy("|".join(row[name] or "" for name in COUNTS if name in row))
            revision = f"{row.get('last_post_at') or 0}|{counts}"
            key = row.get("board") or _key_in(self._context, row.get("url"))
            if key is not None and is_key(key) and counts.strip("|"):
                own.setdefault(key, revision)
                keys = (_key_in(self._context, url) for url in (row.get("below") or "").split())
                below.update((board_id, revision) for board_id in keys if board_id is not None)
        return self._pings(request, below | own if own else {}, table.notes)

    def _linked(self, document: Document) -> Iterator[str]:
        for node in document.root.css("a[href]"):
            key = _key_in(self._context, document.absolute(node.attributes.get("href") or ""))
            if key is not None and key not in self._others:
                yield key

    def _pings(self, request: Request, revisions: Mapping[str, str], notes: tuple[str, ...]) -> Parsed:
        if not revisions:
            what = (
                "no row shows counts of a board, mend it" if self._rows else "no link leads to a board, give it rules"
            )
            raise ParseError(f"{request.site}: front: {what}; {request.address}")
        rows = list(revisions.items())
        if len(rows) > MOST_SHOWN:
            notes += (f"{len(rows)} boards on one page: only the first {MOST_SHOWN} are looked at",)
        pings = (request._replace(key=key, revision=revision, is_ping=True) for key, revision in rows[:MOST_SHOWN])
        return Parsed(Items(request.site), tuple(pings), notes=notes, is_cut=bool(notes))


def _reader_of(context: ParseContext, spec: IndexSpec | FrontSpec) -> TableReader:
    columns = {
        name: compile_rule(rule, context.want(rule.as_ or _KINDS.get(name, As.TEXT), stage=Stage.LIST), at_page=False)
        for name, rule in spec.fields.items()
    }
    return TableReader(spec.record, columns, nested=False)


def _rows_of(table: Table) -> Iterator[dict[str, str | None]]:
    for place in range(len(table.records)):
        yield {name: _text(column[place]) for name, column in table.columns.items()}


def _key_in(context: ParseContext, url: str | None) -> str | None:
    """Return the board that an address names, None for another address."""
    try:
        target = context.addresses.read(url) if url else None
    except RefusedAddress:
        return None
    return target.key if target is not None and target.stage is Stage.LIST else None


def _text(value: Plain) -> str | None:
    return None if value is None else str(value)
