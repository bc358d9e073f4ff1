"""What the readers of all three stages share: how this site's fields are compiled, addressed, ranked and checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from zoneinfo import ZoneInfo

from crawl_tasks.errors import ParseError, RefusedAddress
from crawl_tasks.model import Extra, Request, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.pager import Pages
from crawl_tasks.parse.reading import Compiled, compile_rule
from crawl_tasks.parse.table import Column, Table
from crawl_tasks.parse.values import Clock, Want
from crawl_tasks.sites.address import Addresses, Target
from crawl_tasks.sites.fields import kind_of, text_mode_of
from crawl_tasks.sites.rules import As, Plain, Rule, TextMode
from crawl_tasks.sites.schema import Site

_IS_TIDY = re.compile(r"[A-Za-z0-9_.:|+-]{0,60}").fullmatch
_HAS_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search
_MAINS = ("title", "author", "created_at", "body")
_IS_KEY = re.compile(r"[^\x00-\x20\x7f]{1,200}").fullmatch


class Kit:
    """The compiled common parts of one site; immutable."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.addresses = Addresses(site)
        self._clock = Clock(ZoneInfo(site.timezone), site.languages)
        ranks = site.priority
        self._ranks = {Stage.LIST: ranks.list, Stage.POST: ranks.post, Stage.COMMENT: ranks.comment}

    def want(self, kind: As = As.TEXT, mode: TextMode = TextMode.ALL, stage: Stage = Stage.POST) -> Want:
        """Return what a rule that is no field is to give."""
        return Want(kind, mode, self._clock, partial(self.addresses.key_in, stage))

    def fields(self, rules: Mapping[str, Rule], *, at_page: bool) -> dict[str, Compiled]:
        """Compile the fields of a stage."""
        return {name: self.field(name, rule, at_page=at_page) for name, rule in rules.items()}

    def field(self, name: str, rule: Rule, *, at_page: bool) -> Compiled:
        """Compile one field, with the type its name implies."""
        stage = Stage.LIST if name == "forum_id" else Stage.POST
        want = self.want(kind_of(name, rule), text_mode_of(name, rule), stage)
        return compile_rule(rule, want, at_page=at_page)

    def rank(self, request: Request, stage: Stage) -> int:
        """Return the priority of a child: its stage's, raised or lowered as its parent's was."""
        return min(9, max(0, self._ranks[stage] + request.priority - self._ranks[request.stage]))

    def page_shown(self, request: Request, document: Document) -> int:
        """Return the number of the page that came, which redirects may have changed."""
        if document.page.url == request.address:
            return request.page
        try:
            target = self.addresses.read(document.page.url)
        except RefusedAddress:
            return request.page
        if target is None:
            return request.page
        return target.page if (target.stage, target.key) == (request.stage, request.key) else request.page

    def has_pages(self, stage: Stage) -> bool:
        """Say whether the address of any page of a stage can be made; else pages are reached by links."""
        template = self.addresses.template(stage, 2)
        return template is not None and template.has_page

    def address(self, stage: Stage, key: str, page: int, shown: Pages | None = None) -> str | None:
        """Return the address of a page by template, or the link that was shown where the template knows no pages.

        None where there is no such page: the link that was shown leads to something else.
        """
        if page > 1 and shown is not None and shown.link is not None and self._leads_elsewhere(key, shown.link):
            return None
        template = self.addresses.template(stage, page)
        if template is None or (page > 1 and not template.has_page):
            return shown.link if shown else None
        return self.addresses.of(stage, key, page, shown.size if shown else None)

    def sized(self, shown: Pages, stage: Stage, page: int) -> Pages:
        """Return what a page shows of its fellows, with their size where only the link to the next one tells it."""
        if shown.size is not None or shown.link is None:
            return shown
        return replace(shown, size=self.addresses.size_told(stage, shown.link, page))

    def address_beside(
        self, request: Request, document: Document, stage: Stage, page: int, shown: Pages | None
    ) -> str | None:
        """Return the address of another page of what was asked for, written as the forum writes the one that came."""
        made = self.address(stage, request.key, page, shown)
        if shown is not None and made == shown.link:
            return made
        if made is None or document.page.url == self.addresses.plain(request.stage, request.key, request.page):
            return made
        asked = Target(request.stage, request.key, request.page)
        seen = self.addresses.absolute(document.page.url)
        return self.addresses.as_seen(made, Target(stage, request.key, page), seen, asked)

    def _leads_elsewhere(self, key: str, link: str) -> bool:
        """Say whether a link to a next page is another board's, thread's or host's, as in breadcrumbs and adverts."""
        if not self.addresses.is_ours(link):
            return True
        target = self.addresses.read(link)
        return target is not None and target.key != key


def places(table: Table, name: str, fail: Callable[[str], ParseError]) -> tuple[list[int], tuple[str, ...]]:
    """Return the places of the records to keep: those with an id of their own; and notes on the others.

    Of records with one id the first is kept. The others have a note only where they contradict it: a pinned row that
    stands twice on a page is no loss, an id rule that finds the same id in each record is.

    Raises:
        ParseError: No record has an id.
    """
    ids = table.columns[name]
    if all(ids) and len(set(ids)) == len(ids) and "".join([f"{one}" for one in ids]).isalnum():
        return list(range(len(ids))), ()  # as on nearly all pages: plain ids, each once
    first: dict[Plain, int] = {}
    missing, lost = 0, dict[str, list[Plain]]()
    for place, one in enumerate(ids):
        if one is None or one == "":
            missing += 1
        elif (why := _oddity(str(one))) or (why := _contradiction(table, first.setdefault(one, place), place)):
            lost.setdefault(why, []).append(one)
    notes = [f"{missing} of {len(ids)} records without {name} were left out"] if missing else []
    notes += [
        f"{len(those)} of {len(ids)} records were left out: their {name} {why} (the first: {str(those[0])[:40]!r})"
        for why, those in lost.items()
    ]
    if ids and not first:
        raise fail("; ".join([f"{name} found in none of {len(ids)} records, mend the rule", *notes]))
    return list(first.values()), tuple(notes)


def _oddity(text: str) -> str:
    """Say why a text can be no id; empty where it can."""
    if is_key(text):
        return ""
    if _HAS_CONTROL(text):
        return "holds a control character"
    return "holds a blank" if " " in text else "is longer than 200 characters"


def _contradiction(table: Table, first: int, place: int) -> str:
    """Say in which main field a record of the same id differs from the first one; empty where in none."""
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
    """Return the values at the places to keep; the column itself when that is all of it."""
    return column if len(kept) == len(column) else [column[place] for place in kept]


def required(rules: Mapping[str, Rule]) -> tuple[str, ...]:
    """Return the names of the fields that each record must have."""
    return tuple(name for name, rule in rules.items() if rule.required)


def check_required(names: Iterable[str], table: Table, kept: Iterable[int], fail: Callable[[str], ParseError]) -> None:
    """Raise ParseError where a record that is kept lacks a required field."""
    for name in names:
        column = table.columns[name]
        for place in kept:
            if column[place] is None:
                raise fail(f"required {name} is missing in record {place + 1}; mend the rule, or drop `required`")


def mains(rules: Mapping[str, Rule]) -> tuple[str, ...]:
    """Return the names of the main fields among those of a stage."""
    return tuple(name for name in _MAINS if name in rules)


def barren(names: Iterable[str], table: Table, stage: str) -> tuple[str, ...]:
    """Return a note for each of the main fields that was found in no record of a full page."""
    count = len(table.records)
    lost = [name for name in names if not any(table.columns[name]) and table.columns[name].count(None) == count]
    return tuple(f"{stage}.{name}: found in none of {count} records" for name in lost) if count >= 3 else ()


def extras(
    names: Sequence[str], columns: Mapping[str, Column], kept: Sequence[int], alone: frozenset[str]
) -> list[Extra | None]:
    """Return what the model has no field for, a mapping for each record.

    Of the names in `alone` no other kind of page tells: where one finds nothing, it is None.
    """
    found: list[Extra | None] = []
    for place in kept:
        values = {name: columns[name][place] for name in names}
        extra = {
            name: None if one is None else str(one) for name, one in values.items() if one is not None or name in alone
        }
        found.append(extra or None)
    return found


def is_key(text: str) -> bool:
    """Say whether a text can be the id of something."""
    return text.isalnum() or _IS_KEY(text) is not None


def tidy(revision: str) -> str:
    """Return a revision of at most 60 plain characters; a longer or odd one as its hash."""
    return revision if _IS_TIDY(revision) else blake2b(revision.encode(), digest_size=8).hexdigest()
