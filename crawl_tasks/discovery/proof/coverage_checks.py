"""Coverage checks: whether proposed rules find all records of a page, and each field within its own record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.read_pages import ReadPages
from crawl_tasks.discovery.proof.record_coverage import (
    first_node,
    folded_link,
    guest_in,
    is_torn,
    is_uneven,
    labels_in,
    more_than,
    nameless_in,
    repeated_quote,
    replies_within,
)
from crawl_tasks.discovery.proof.site_check import SiteCheck
from crawl_tasks.discovery.records.thread_page import ThreadRecords
from crawl_tasks.model import Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import CommentSpec, Format, ListSpec, Records


@dataclass(frozen=True)
class _RecordPage:
    """A page with the rules for its records."""

    site: Site
    trial: DryRun
    document: Document
    rules: ListSpec | CommentSpec | Records
    records: ThreadRecords
    mark: Rule
    """The rule for the time of a record, or for the title of a row."""
    moment: LexborNode | None
    """The moment of the post, where it is apart from the comments."""

    @property
    def stage(self) -> Stage:
        return self.trial.request.stage

    @property
    def where(self) -> str:
        return self.trial.request.address

    @property
    def css(self) -> str:
        """The selector of the mark."""
        return self.mark.css or ""

    def rule(self, name: str) -> Rule | None:
        """Return the rule for a field of the records."""
        return self.rules.fields.get(name)

    @cached_property
    def nodes(self) -> list[LexborNode]:
        """The records."""
        return self.records.nodes(self.document)


def records_are_covered(pages: ReadPages) -> SiteCheck | None:
    """Return what refutes proposed rules of records: a record more on a page, or a text with the time of its record."""
    labels, texts = Counter[str](), dict[str, str]()
    for trial in pages.trials if pages.is_proposed else ():
        page = _record_page(pages.site, trial, texts)
        refutation = next(_refutations(page, labels), None) if page is not None else None
        if refutation is not None:
            return refutation
    return None


def _record_page(site: Site, trial: DryRun, texts: dict[str, str]) -> _RecordPage | None:
    """Return a page of HTML whose records have a mark. `texts` are those of posts, by their threads."""
    stage = trial.request.stage
    rules = {Stage.LIST: site.list, Stage.POST: site.post.comments or site.comment, Stage.COMMENT: site.comment}[stage]
    spec = site.stages.get(stage)
    if rules is None or spec is None or spec.format != Format.HTML or spec.embedded is not None:
        return None
    record, mark = rules.record, rules.fields.get("created_at")
    mark = rules.fields.get("title", mark) if stage is Stage.LIST else mark
    if trial.page is None or trial.parsed is None:
        return None
    if record is None or not record.css or mark is None or not mark.css:
        return None
    document = Document(trial.page)
    # The post itself stands where its comments do, or apart, and perhaps on later pages again.
    node = first_node(document, site.post.fields.get("body"))
    text = node.text() if node is not None else ""
    is_of_post = text == texts.setdefault(trial.request.key, text) and stage is not Stage.LIST
    moment = first_node(document, site.post.fields.get("created_at")) if is_of_post else None
    return _RecordPage(site, trial, document, rules, ThreadRecords(record.css, siblings=rules.siblings), mark, moment)


def _refutations(page: _RecordPage, labels: Counter[str]) -> Iterator[SiteCheck]:
    """Yield what refutes the rules of records on a page. `labels` counts names that all comments of a thread hold."""
    yield from filter(None, [_unread_records(page)])
    if page.stage is Stage.LIST:
        return
    for check in PAGE_CHECKS:
        yield from filter(None, [check(page)])
    labels.update(labels_in(page.trial, page.nodes, page.rule("body")))
    label = next((name for name, times in labels.items() if times > 1), None)
    if label is not None:
        evidence = f"all comments hold {label!r}, also on {page.where}"
        yield SiteCheck("authors of threads are no labels", False, evidence)
    yield from filter(None, [_nameless_record(page)])


def _unread_records(page: _RecordPage) -> SiteCheck | None:
    is_apart = page.moment is None and page.stage is Stage.POST and page.site.post.begins is None
    more = more_than(page.document, page.records, page.css, page.moment) - is_apart
    if more <= 0:
        return None
    return SiteCheck("every record of a page is read", False, f"{more} more look like one on {page.where}")


def _torn_post(page: _RecordPage) -> SiteCheck | None:
    if page.stage is not Stage.POST or not is_torn(page.document, page.site):
        return None
    return SiteCheck("a post's fields stand in one record", False, f"not those of {page.where}")


def _uneven_texts(page: _RecordPage) -> SiteCheck | None:
    if not is_uneven(page.nodes, page.rule("body"), page.mark):
        return None
    return SiteCheck("texts of all comments stand at one place", False, f"not those of {page.where}")


def _replies_within(page: _RecordPage) -> SiteCheck | None:
    count = 0 if page.rules.siblings else replies_within(page.nodes, page.rules.fields, page.css)
    if not count:
        return None
    return SiteCheck("replies within a comment are read", False, f"{count} of a comment are not on {page.where}")


def _folded_replies(page: _RecordPage) -> SiteCheck | None:
    link = folded_link(page.document, page.nodes)
    if not link:
        return None
    return SiteCheck("all replies stand on the page", False, f"{link!r} leads to some on {page.where}")


def _guests(page: _RecordPage) -> SiteCheck | None:
    guest = guest_in(page.nodes, page.rule("author"), page.site.post.fields.get("author"))
    if not guest:
        return None
    return SiteCheck("authors of posts need no page of their own", False, f"{guest!r} has none on {page.where}")


def _quotes(page: _RecordPage) -> SiteCheck | None:
    quote = repeated_quote(page.nodes, page.rule("body"), page.rule("author"))
    if not quote:
        return None
    return SiteCheck("texts of comments are without quotes", False, f"not without {quote!r:.80} on {page.where}")


def _nameless_record(page: _RecordPage) -> SiteCheck | None:
    # An advertisement among the comments has no time.
    timed = [node for node in page.nodes if node.css_first(page.css) is not None]
    name = nameless_in(timed, page.rule("author"))
    return SiteCheck("every author is read", False, f"not {name!r} on {page.where}") if name else None


PAGE_CHECKS = (_torn_post, _uneven_texts, _replies_within, _folded_replies, _guests, _quotes)
