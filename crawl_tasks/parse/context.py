"""The parse context of a site: field compilation, addresses, priorities and record checks for all three stages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Final
from zoneinfo import ZoneInfo

from crawl_tasks.errors import ParseError, RefusedAddress
from crawl_tasks.model import Extra, Priority, Request, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.pager import Pages
from crawl_tasks.parse.pagination_links import is_linked, is_page_of_key
from crawl_tasks.parse.rules.compile import CompiledRule, compile_rule
from crawl_tasks.parse.rules.convert import Want
from crawl_tasks.parse.rules.date_reader import PageClock
from crawl_tasks.parse.rules.table import Column, Table
from crawl_tasks.sites.addresses import Addresses, Target
from crawl_tasks.sites.board import BoardKind
from crawl_tasks.sites.field_rules import As, Plain, Rule, TextMode, kind_of, text_mode_of
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import Format, StageSpec

_IS_TIDY = re.compile(r"[A-Za-z0-9_.:|+-]{0,60}").fullmatch
_HAS_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search
# Fields that forums show for nearly every record. Empty in all records, they point to a wrong rule.
_MAINS = ("title", "author", "created_at", "body")
LONGEST_ID: Final = 200
_IS_KEY = re.compile(rf"[^\x00-\x20\x7f]{{1,{LONGEST_ID}}}").fullmatch


class ParseContext:
    """The compiled parts that all readers of one site share. Immutable."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.addresses = Addresses(site)
        self._boards = frozenset(board.id for board in site.boards)
        self.news = frozenset(board.id for board in site.own_boards if board.kind is BoardKind.NEWS)
        """The boards that list the newest replies over all boards."""
        self._clock = PageClock(ZoneInfo(site.timezone), site.languages)
        ranks = site.priority
        self._paged = {stage: spec.max_pages for stage, spec in site.stages.items() if self._finds_pages(stage, spec)}
        self._ranks = {Stage.LIST: ranks.list, Stage.POST: ranks.post, Stage.COMMENT: ranks.comment}

    def want(self, kind: As = As.TEXT, mode: TextMode = TextMode.ALL, stage: Stage = Stage.POST) -> Want:
        """Return the conversion target of a rule that is no field of the model."""
        return Want(kind, mode, self._clock, partial(self.addresses.key_in, stage))

    def fields(self, rules: Mapping[str, Rule], *, at_page: bool) -> dict[str, CompiledRule]:
        """Compile the field rules of a stage."""
        return {name: self.field(name, rule, at_page=at_page) for name, rule in rules.items()}

    def field(self, name: str, rule: Rule, *, at_page: bool) -> CompiledRule:
        """Compile one field rule, with the type that the field's name implies."""
        stage = Stage.LIST if name == "forum_id" else Stage.POST
        want = self.want(kind_of(name, rule), text_mode_of(name, rule), stage)
        # A post may be edited until a picture or a quote is all that is left.
        return compile_rule(rule, replace(want, keeps_blank=name == "body"), at_page=at_page)

    def rank(self, request: Request, stage: Stage) -> int:
        """Return the priority of a child request, 0 to 9: that of its stage, raised or lowered as the parent's was.

        Pages that backfill finds are backfill, in the order of the stages' own priorities.
        """
        if request.priority <= Priority.BACKFILL < self._ranks[request.stage]:
            return min(request.priority, self._ranks[stage] // 4)
        # A board with a priority of its own passes the difference on to all that its lists find.
        return min(9, max(0, self._ranks[stage] + request.priority - self._ranks[request.stage]))

    def page_shown(self, request: Request, document: Document) -> int:
        """Return the page number of the response, which a redirect may have changed."""
        if document.page.url == request.address:
            return request.page
        try:
            target = self.addresses.read(document.page.url)
        except RefusedAddress:
            return request.page
        if target is None:
            return request.page
        # Forums redirect a page number beyond the end to the last page. That page's own number ends the walk.
        return target.page if (target.stage, target.key) == (request.stage, request.key) else request.page

    def board_shown(self, request: Request, document: Document) -> str:
        """Return the board of a list page, which a redirect may have changed: boards are merged on the forum."""
        if document.page.url == request.address:
            return request.key
        with suppress(RefusedAddress):
            target = self.addresses.read(document.page.url)
            if target is not None and target.stage is Stage.LIST and target.key in self._boards:
                return target.key
        return request.key

    def _finds_pages(self, stage: Stage, spec: StageSpec) -> bool:
        """Return whether further pages are found on pages of HTML, and have addresses by a template."""
        specs = (spec, self.site.post) if stage is Stage.COMMENT else (spec,)
        is_ruled = any(rules.next or rules.pages or rules.total for rules in specs)
        return is_ruled and spec.format is Format.HTML and spec.embedded is None and self.has_pages(stage)

    def has_pages(self, stage: Stage) -> bool:
        """Return whether a template makes the address of any page of a stage. Otherwise links lead to further pages."""
        template = self.addresses.template(stage, 2)
        return template is not None and template.has_page

    def address(self, stage: Stage, key: str, page: int, pages: Pages | None = None) -> str | None:
        """Return the address of a page by template, or the next-page link where the template has no page number.

        None where the next-page link leads to another board, thread or host.
        """
        link = pages.link if pages else None
        if stage is Stage.LIST and page > 1 and key in self.news:
            # The template would make the address of a board of that name.
            return link if link is not None and self.addresses.is_ours(link) else None
        made = self._made(stage, key, page, pages.size if pages else None)
        # `/read-old-2.html` may be read as another thread's, but for the template of pages.
        if page == 1 or link is None or link == made or self._is_below(stage, key, page, link):
            return made or link
        return None if self._leads_elsewhere(key, link) else made or link

    def _made(self, stage: Stage, key: str, page: int, size: int | None) -> str | None:
        """Return the address of a page by template, None where the template has no page number."""
        template = self.addresses.template(stage, page)
        if template is None or not (page == 1 or template.has_page):
            return None
        return self.addresses.of(stage, key, page, size)

    def _is_below(self, stage: Stage, key: str, page: int, link: str) -> bool:
        """Return whether a link is a board's address with the page's number behind, where threads have theirs."""
        first = self.addresses.of(stage, key, 1) if stage is Stage.LIST else None
        return first is not None and link.rstrip("/") == f"{first.rstrip('/')}/{page}"

    def completed(
        self, pages: Pages, request: Request, document: Document, stage: Stage, page: int, *, leads_on: bool = True
    ) -> Pages:
        """Return the pager data of a page with the page size, and with the next page that the rules did not find.

        The next page does not matter where the first one of the thread has entered all, without `leads_on`.

        Where only offsets tell the size, it is taken from the one in the next-page link, or from that of the page's own
        address.
        """
        size = pages.size
        if size is None and pages.link is not None:
            size = self.addresses.size_told(stage, pages.link, page)
        if size is None and page > 1:
            size = self.addresses.size_told(stage, request.address, page - 1)
        pages = pages if size == pages.size else replace(pages, size=size)
        is_over = not leads_on or pages.has_next or pages.is_cut or stage not in self._paged or request.key in self.news
        with suppress(RefusedAddress):
            # The numbers of a pager may end at 10, with an arrow to 11.
            link = None if is_over else self.addresses.plain(stage, request.key, page + 1, size)
            if link is not None and is_linked(document, link):
                return pages.going_on(page, link, self._paged[stage])
        return pages

    def address_beside(
        self, request: Request, document: Document, stage: Stage, page: int, pages: Pages | None
    ) -> str | None:
        """Return the address of another page of the same board or thread, spelled as the forum spelled this one."""
        made = self.address(stage, request.key, page, pages)
        # The forum's own link needs no other spelling.
        if pages is not None and made == pages.link:
            return made
        if made is None or document.page.url == self.addresses.plain(request.stage, request.key, request.page):
            return made
        asked = Target(request.stage, request.key, request.page)
        seen = self.addresses.absolute(document.page.url)
        return self.addresses.as_seen(made, Target(stage, request.key, page), seen, asked)

    def _leads_elsewhere(self, key: str, link: str) -> bool:
        """Return whether a next-page link belongs to another board, thread or host, as in breadcrumbs and adverts."""
        if not self.addresses.is_ours(link):
            return True
        target = self.addresses.read(link)
        # A template of words takes the page's number for a part of the id: /topic-12-page-2.html
        return target is not None and target.key != key and not is_page_of_key(key, target.key)


def places(table: Table, name: str, fail: Callable[[str], ParseError]) -> tuple[list[int], tuple[str, ...]]:
    """Return the indexes of the records to keep, each with an id of its own, and notes on the others.

    The first of several records with one id is kept. The others get a note only where they contradict the first. A
    pinned row that appears twice on a page is no loss. An id rule that finds the same id in every record is a loss.

    Raises:
        ParseError: No record has an id.
    """
    ids = table.columns[name]
    texts = [f"{record_id}" for record_id in ids]
    # Nearly all pages show plain ids, each once. They skip the checks of single ids below.
    if all(ids) and len(set(ids)) == len(ids) and "".join(texts).isalnum() and max(map(len, texts)) <= LONGEST_ID:
        return list(range(len(ids))), ()
    first: dict[Plain, int] = {}
    missing, lost = 0, dict[str, list[Plain]]()
    for place, record_id in enumerate(ids):
        if record_id is None or record_id == "":
            missing += 1
        elif (why := _oddity(str(record_id))) or (
            why := _contradiction(table, first.setdefault(record_id, place), place)
        ):
            lost.setdefault(why, []).append(record_id)
    notes = [f"{missing} of {len(ids)} records without {name} were left out"] if missing else []
    notes += [
        f"{len(those)} of {len(ids)} records were left out: their {name} {why} (the first: {str(those[0])[:40]!r})"
        for why, those in lost.items()
    ]
    if ids and not first:
        raise fail("; ".join([f"{name} found in none of {len(ids)} records, mend the rule", *notes]))
    return list(first.values()), tuple(notes)


def _oddity(text: str) -> str:
    """Return the reason why a text cannot be an id, empty for a valid id."""
    if is_key(text):
        return ""
    if _HAS_CONTROL(text):
        return "holds a control character"
    return "holds a blank" if " " in text else "is longer than 200 characters"


def _contradiction(table: Table, first: int, place: int) -> str:
    """Return a complaint where a record differs in a main field from the first of the same id, else empty."""
    columns = table.columns
    for name in _MAINS if place != first else ():
        if (
            name in columns
            and None not in (pair := (columns[name][first], columns[name][place]))
            and pair[0] != pair[1]
        ):
            return f"is that of a record before, of another {name}"
    return ""


def picked(column: Column, kept: Sequence[int]) -> Column:
    """Return the values at the indexes to keep, or the column itself when no value is left out."""
    return column if len(kept) == len(column) else [column[place] for place in kept]


def required(rules: Mapping[str, Rule]) -> tuple[str, ...]:
    """Return the names of the fields that each record must have."""
    return tuple(name for name, rule in rules.items() if rule.required)


def check_required(names: Iterable[str], table: Table, kept: Iterable[int], fail: Callable[[str], ParseError]) -> None:
    """Raise ParseError for a kept record that lacks a required field."""
    for name in names:
        column = table.columns[name]
        for place in kept:
            if column[place] is None:
                raise fail(f"required {name} is missing in record {place + 1}; mend the rule, or drop `required`")


def mains(rules: Mapping[str, Rule]) -> tuple[str, ...]:
    """Return the names of the main fields among the rules of a stage."""
    return tuple(name for name in _MAINS if name in rules)


def barren(names: Iterable[str], table: Table, stage: str) -> tuple[str, ...]:
    """Return a note for each main field that is empty in all records of a page."""
    count = len(table.records)
    lost = [name for name in names if _is_blank(table.columns[name])]
    # One or two records may lack a field by chance.
    return tuple(f"{stage}.{name}: found in none of {count} records" for name in lost) if count >= 3 else ()


def _is_blank(column: Column) -> bool:
    return all(value in (None, "") for value in column)


def extras(names: Sequence[str], columns: Mapping[str, Column], kept: Sequence[int]) -> list[Extra]:
    """Return the fields that the model lacks, as one mapping for each record."""
    named, rows = [(name, columns[name]) for name in names], list[Extra]()
    for place in kept:
        rows.append({name: str(column[place]) for name, column in named if column[place] is not None})
    return rows


def with_blanks(extra: Extra, alone: frozenset[str]) -> Extra | None:
    """Return an extra with None for each missing name that only this kind of page shows."""
    return extra | {name: None for name in alone if name not in extra} or None


def is_key(text: str) -> bool:
    """Return whether a text can be an id: 1 to 200 characters without blanks and control characters."""
    return (text.isalnum() and len(text) <= LONGEST_ID) or _IS_KEY(text) is not None


def tidy(revision: str) -> str:
    """Return a revision of at most 60 plain characters. A longer or odd revision is replaced by a hash."""
    return revision if _IS_TIDY(revision) else blake2b(revision.encode(), digest_size=8).hexdigest()
