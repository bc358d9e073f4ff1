"""Date samples: texts of dates on the pages that were tried, beside the moments that the site file reads in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.note_checks import notes_on
from crawl_tasks.discovery.proof.read_pages import ReadPages
from crawl_tasks.discovery.proof.site_check import SiteCheck
from crawl_tasks.errors import PageError
from crawl_tasks.model import Stage
from crawl_tasks.parse.context import ParseContext
from crawl_tasks.parse.date_checks import UNREAD
from crawl_tasks.parse.date_order import OPEN, OTHER_ORDER, DateOrders, Decision
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.rules.compile import Where, compile_rule
from crawl_tasks.sites.field_rules import As, Rule, kind_of
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import Format, StageSpec

_MOST = 3
_LONGEST = 60


class DateSample(NamedTuple):
    """The text of a date, and the moment in it, None where it is left open."""

    text: str
    at: int | None

    def line(self, zone: ZoneInfo) -> str:
        """Return the text and the moment for people: `24/08/07(Wed)11:00  =  Wednesday 7 August 2024, 11:00 UTC`."""
        if self.at is None:
            return f"{self.text}  =  left open"
        moment = datetime.fromtimestamp(self.at, zone)
        return f"{self.text}  =  {moment:%A} {moment.day} {moment:%B %Y, %H:%M} {zone.key}"


def samples_of(site: Site, trials: Sequence[DryRun], order: Decision) -> list[DateSample]:
    """Return up to three different dates of posts, threads first."""
    samples: dict[str, DateSample] = {}
    read = [trial for trial in trials if trial.page is not None and trial.parsed is not None]
    for stage in (Stage.POST, Stage.LIST):
        for trial in read:
            if trial.request.stage is stage:
                for sample in _samples_on(site, trial, stage, order):
                    samples.setdefault(sample.text, sample)
        if len(samples) >= _MOST:
            break
    return list(samples.values())[:_MOST]


def _samples_on(site: Site, trial: DryRun, stage: Stage, order: Decision) -> Iterator[DateSample]:
    spec = site.stages[stage]
    if trial.page is None or spec.parser is not None or spec.embedded is not None:
        return
    document = Document(trial.page, site.encoding, site.drop_params)
    DateOrders(order.order).begin(document)
    for scope, rule, at_page in _rules_of(site, spec, document, stage):
        context = ParseContext(site)
        want = replace(context.want(As.DATE), kind=kind_of("created_at", rule))
        try:
            read = compile_rule(rule, want, at_page=at_page)
            write = compile_rule(rule, replace(want, as_written=True), at_page=at_page)
            text, at = write.read(scope, document), read.read(scope, document)
        except PageError:
            return
        if isinstance(text, str) and len(text) <= _LONGEST:
            yield DateSample(" ".join(text.split()), at if isinstance(at, int) else None)


def _rules_of(site: Site, spec: StageSpec, document: Document, stage: Stage) -> Iterator[tuple[Where, Rule, bool]]:
    """Yield the rules of dates, with what they are read on: the page, or its first records."""
    is_html = spec.format is Format.HTML
    if stage is Stage.POST and "created_at" in spec.fields and spec.format is not Format.JSON_LD:
        yield (document.root if is_html else document.json), spec.fields["created_at"], True
    record = site.post.comments.record if stage is Stage.POST and site.post.comments else getattr(spec, "record", None)
    fields = site.post.comments.fields if stage is Stage.POST and site.post.comments else spec.fields
    if is_html and isinstance(record, str):
        for name in ("created_at", "last_reply_at"):
            if name in fields:
                yield from ((node, fields[name], False) for node in find_all(document.root, record)[:_MOST])


def dates_are_clear(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield the refutations of dates that no order fits, or several, and of those that cannot be read."""
    notes = list(notes_on(pages.read))
    names = {
        "dates tell the day from the month": OPEN, "dates have one order": OTHER_ORDER, "dates can be read": UNREAD
    }  # fmt: skip
    for name, sign in names.items():
        note, address = next((row for row in notes if sign in row[0]), ("", ""))
        if note:
            yield SiteCheck(name, False, f"{note} on {address}")
