"""The board index: from a forum's front page to the boards on that page, by the index rules of a preset."""

from __future__ import annotations

from dataclasses import dataclass

from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import Fetched, Stage
from crawl_tasks.parse.context import ParseContext, is_key
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.rules.compile import compile_rule
from crawl_tasks.parse.rules.table import TableReader
from crawl_tasks.sites.board_index_spec import IndexSpec
from crawl_tasks.sites.field_rules import As, Plain, Rule
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import Format


@dataclass(frozen=True, slots=True)
class FoundBoard:
    """A board on a front page. `url` is the address as the page links it, `parent_id` the id of the board above."""

    board_id: str
    title: str | None = None
    url: str | None = None
    parent_id: str | None = None


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
        columns = {
            name: compile_rule(rule, self._context.want(_kind_of(name, rule), stage=Stage.LIST), at_page=False)
            for name, rule in spec.fields.items()
        }
        self._table = TableReader(spec.record, columns, nested=False)
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
        table = self._table.read(where, document)
        found: dict[str, FoundBoard] = {}
        left_out: list[str] = []
        for place in range(len(table.records)):
            row = {name: _text(column[place]) for name, column in table.columns.items()}
            key = row.get("board") or self._key_in(row.get("url"))
            if key is not None and is_key(key):
                found.setdefault(key, FoundBoard(key, row.get("title"), row.get("url"), row.get("parent")))
            elif row.get("url"):
                left_out.append(str(row["url"]))
        zone = None if self._zone_apart else self._zone_in(document)
        return FrontPage(tuple(found.values()), tuple(left_out), zone)

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

    def _key_in(self, url: str | None) -> str | None:
        try:
            target = self._context.addresses.read(url) if url else None
        except RefusedAddress:
            return None
        return target.key if target is not None and target.stage is Stage.LIST else None


def _kind_of(name: str, rule: Rule) -> As:
    return rule.as_ or (As.URL if name == "url" else As.TEXT)


def _text(value: Plain) -> str | None:
    return None if value is None else str(value)
