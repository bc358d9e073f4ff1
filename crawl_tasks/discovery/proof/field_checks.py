"""Field checks: fields that a rule looks for, and that a whole page or several of its records lack.

A field that is not found is left open: a rule that fits some themes or members alone reads the others without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck
from crawl_tasks.model import UNREADABLE, Comment, Post, Stage
from crawl_tasks.parse.date_checks import UNREAD
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.schema import Site

_FIELDS = ("title", "author", "created_at", "body")
_SEVERAL = 5
"""Records from which on one of five without a field is no chance."""


def field_checks(site: Site, pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield what refutes a rule for a field, and once that fields are found, if no rule is refuted."""
    looked_at, lacking = 0, list[SiteCheck]()
    for one, stage, rows in _records(pages):
        for name in _FIELDS:
            rule = _rule(site, stage, name)
            if rule is None or rule.required is False or len(rows) < FEW:
                continue
            looked_at += 1
            lost = sum(getattr(row, name) is None for row in rows)
            # A preset serves themes whose lists show less.
            if lost == len(rows) and site.engine and stage is Stage.LIST and not _stands_there(one, site, rule):
                continue
            if lost == len(rows) or (len(rows) >= _SEVERAL and 5 * lost >= len(rows)):
                where = f"as on {one.request.address}" if stage is not Stage.POST else "over all threads"
                remedy = _unread(one, name) or "mend the rule, or say required: false"
                found = f"{lost} of {len(rows)} records have none, {where}; {remedy}"
                lacking.append(SiteCheck(f"{stage.value}.{name} is found", False, found))
    yield from {check.name: check for check in reversed(lacking)}.values()
    if looked_at and not lacking:
        yield SiteCheck("records have the fields of their rules", True)


def _records(pages: Sequence[DryRun]) -> Iterator[tuple[DryRun, Stage, Sequence[Post | Comment]]]:
    """Yield the records of each page, and those of all threads' first posts together."""
    first: list[Post | Comment] = []
    last: DryRun | None = None
    for one in pages:
        if one.parsed is None:
            continue
        comments = [row for row in one.parsed.items.comments if row.state not in UNREADABLE]
        yield one, Stage.COMMENT, comments
        posts = [row for row in one.parsed.items.posts if row.state not in UNREADABLE]
        if one.request.stage is Stage.POST:
            first, last = [*first, *posts], one
        else:
            yield one, Stage.LIST, posts
    if last is not None:
        yield last, Stage.POST, first


def _unread(trial: DryRun, name: str) -> str:
    """Return the note on dates that the rule finds, and that cannot be read, empty without one."""
    notes = trial.parsed.notes if trial.parsed is not None else ()
    return next((note for note in notes if f" no {name}: {UNREAD}" in note), "")


def _stands_there(trial: DryRun, site: Site, rule: Rule) -> bool:
    """Return whether a row of a list has the element of a rule, whose value cannot be read then."""
    record = site.list.record
    if trial.page is None or record is None or not record.css:
        return False
    selectors = [one.css for one in (rule, *rule.first_of) if one.css]
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
