"""Pager checks: whether boards and threads end where no next page is found, and whether none is skipped."""

from __future__ import annotations

from collections.abc import Iterable

from crawl_tasks.discovery.probe.json_document import more_told
from crawl_tasks.discovery.probe.page_state import state_of
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.read_pages import ReadPages
from crawl_tasks.discovery.proof.site_check import SiteCheck
from crawl_tasks.discovery.records.next_page import skipped
from crawl_tasks.model import Fetched, Parsed, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.pagination_links import unread_page
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import Format

_NO_NEXT = "pages without a next one end there"


def list_pagers_end(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of a pager that misses a further page of a board."""
    return _first_refutation(pages.site, pages.lists) if pages.is_proposed else None


def thread_pagers_end(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of a pager that misses a further page of a thread."""
    trials = (thread.trial for thread in pages.threads)
    return _first_refutation(pages.site, trials) if pages.is_proposed else None


def _first_refutation(site: Site, trials: Iterable[DryRun]) -> SiteCheck | None:
    for trial in trials:
        if trial.parsed is None or trial.page is None or trial.request.page != 1:
            continue
        following = next((child.address for child in trial.parsed.children if child.page > 1), None)
        if following is not None:
            check = _skips(trial.page, following)
        else:
            check = _goes_on(site, trial, trial.page, trial.parsed) if trial.rows else None
        if check is not None:
            return check
    return None


def _skips(page: Fetched, following: str) -> SiteCheck | None:
    between = skipped(Document(page), following)
    if between is None:
        return None
    return SiteCheck("no page is skipped", False, f"{between} stands before {following}")


def _goes_on(site: Site, trial: DryRun, page: Fetched, parsed: Parsed) -> SiteCheck | None:
    """Return the refutation of a page without a next one that says that there is more, or links it."""
    if more := _more_in_json(site, trial, page, parsed):
        return SiteCheck(_NO_NEXT, False, f"{more} on {page.url}")
    unread = unread_page(site, trial.request, Document(page))
    return None if unread is None else SiteCheck(_NO_NEXT, False, f"{unread} is linked on {page.url}")


def _more_in_json(site: Site, trial: DryRun, page: Fetched, parsed: Parsed) -> str:
    """Return the value by which an answer of an API says that there is more, empty without one."""
    spec = site.stages.get(trial.request.stage)
    if spec is None or spec.format is not Format.JSON:
        return ""
    document = Document(page)
    state = state_of(document) if spec.embedded else None
    if spec.embedded and state is None:
        return ""
    comments = len(parsed.items.comments) if trial.request.stage is Stage.POST else 0
    return more_told(state.value if state else document.json, len(trial.rows) + comments)
