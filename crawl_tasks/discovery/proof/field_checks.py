"""Field checks: fields that a rule looks for, and that a whole page or several of its records lack.

A field that is not found is left open: a rule that fits some themes or members alone reads the others without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.read_pages import ReadPages
from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck
from crawl_tasks.model import UNREADABLE, Comment, Post, Stage
from crawl_tasks.parse.date_checks import UNREAD
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.schema import Site

_FIELDS = ("title", "author", "created_at", "body")
_SEVERAL = 5
"""Records from which on one of five without a field is no chance."""


class _FieldRecords(NamedTuple):
    """The records of one kind on a page. The first posts of all threads count as those of the last one's page."""

    trial: DryRun
    stage: Stage
    rows: Sequence[Post | Comment]


def fields_are_found(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield what refutes a rule for a field, and once that fields are found, if no rule is refuted."""
    count, lacking = 0, list[SiteCheck]()
    for records in _records(pages.read):
        for name, rule in _required_rules(pages.site, records):
            count += 1
            check = _lacks(pages.site, records, name, rule)
            if check is not None:
                lacking.append(check)
    # The first page that lacks a field tells of it.
    yield from {check.name: check for check in reversed(lacking)}.values()
    if count and not lacking:
        yield SiteCheck("records have the fields of their rules", True)


def _required_rules(site: Site, records: _FieldRecords) -> Iterator[tuple[str, Rule]]:
    """Yield the rules for fields that each record should have, none for too few records."""
    for name in _FIELDS if len(records.rows) >= FEW else ():
        rule = _rule(site, records.stage, name)
        if rule is not None and rule.required is not False:
            yield name, rule


def _lacks(site: Site, records: _FieldRecords, name: str, rule: Rule) -> SiteCheck | None:
    """Return the refutation of a rule by records without its field, None where few are."""
    trial, stage, rows = records
    lost = sum(getattr(row, name) is None for row in rows)
    # A preset serves themes whose lists show less.
    if lost == len(rows) and site.engine and stage is Stage.LIST and not _stands_there(trial, site, rule):
        return None
    if lost < len(rows) and (len(rows) < _SEVERAL or 5 * lost < len(rows)):
        return None
    where = f"as on {trial.request.address}" if stage is not Stage.POST else "over all threads"
    remedy = _unread(trial, name) or "mend the rule, or say required: false"
    return SiteCheck(
        f"{stage.value}.{name} is found", False, f"{lost} of {len(rows)} records have none, {where}; {remedy}"
    )


def _records(trials: Sequence[DryRun]) -> Iterator[_FieldRecords]:
    """Yield the records of each page, and those of all threads' first posts together."""
    first: list[Post | Comment] = []
    last: DryRun | None = None
    for trial in trials:
        if trial.parsed is None:
            continue
        comments = [row for row in trial.parsed.items.comments if row.state not in UNREADABLE]
        yield _FieldRecords(trial, Stage.COMMENT, comments)
        posts = [row for row in trial.parsed.items.posts if row.state not in UNREADABLE]
        if trial.request.stage is Stage.POST:
            first += posts
            last = trial
        else:
            yield _FieldRecords(trial, Stage.LIST, posts)
    if last is not None:
        yield _FieldRecords(last, Stage.POST, first)


def _unread(trial: DryRun, name: str) -> str:
    """Return the note on dates that the rule finds, and that cannot be read, empty without one."""
    notes = trial.parsed.notes if trial.parsed is not None else ()
    return next((note for note in notes if f" no {name}: {UNREAD}" in note), "")


def _stands_there(trial: DryRun, site: Site, rule: Rule) -> bool:
    """Return whether a row of a list has the element of a rule, whose value cannot be read then."""
    record = site.list.record
    if trial.page is None or record is None or not record.css:
        return False
    selectors = [part.css for part in (rule, *rule.first_of) if part.css]
    rows = find_all(Document(trial.page, site.encoding).root, record.css)
    return any(row.css_first(css) is not None for row in rows for css in selectors)


def _rule(site: Site, stage: Stage, name: str) -> Rule | None:
    """Return the rule for a field of a kind of record, None where the site file has none."""
    if stage is Stage.LIST:
        return site.list.fields.get(name)
    if stage is Stage.POST:
        return site.post.post_fields.get(name)
    spec = site.post.comments or site.comment
    return spec.fields.get(name) if spec is not None else None
