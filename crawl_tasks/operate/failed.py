"""Dead letters of all cells: which are chosen, their retry and drop, and what is kept of failed pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, cast

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.dead_letters import DeadLetters
from crawl_tasks.frontier.admin.failed import DeadLetter, FailedKind, FailedRequest, Selection
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.model import Stage, State
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.settings import Settings

MOST_NEWEST = 50
"""Failed pages of one state that are looked at for the newest."""


class FailedChoice(NamedTuple):
    """The dead letters of one kind that an operator chose. Pages are those of some sites, or of all."""

    kind: FailedKind
    selection: Selection
    sites: tuple[str, ...] = ()
    start_key: str = ""
    needs_site: bool = True
    """Whether it is an error that no site is published. Messages and items have no site."""


def list_failed(cells: Cells, choice: FailedChoice) -> Iterator[DeadLetter]:
    """Yield the chosen dead letters."""
    for letters, selection in _parts(cells, choice):
        yield from letters.list(selection)


def show_failed(cells: Cells, choice: FailedChoice) -> DeadLetter:
    """Return the dead letter that is chosen by its id.

    Raises:
        ConfigError: there is none.
    """
    [(letters, selection)] = _parts(cells, choice)
    return letters.show(selection)


def retry_failed(cells: Cells, choice: FailedChoice) -> int:
    """Send the chosen dead letters back to where they failed. Return their number."""
    return sum(letters.retry(selection) for letters, selection in _parts(cells, choice))


def drop_failed(cells: Cells, choice: FailedChoice) -> int:
    """Delete the chosen dead letters for good. Return their number."""
    return sum(letters.drop(selection) for letters, selection in _parts(cells, choice))


def kept_pages(cells: Cells, sites: tuple[str, ...], stage: Stage | None) -> Iterator[KeptPage]:
    """Yield the pages of some sites, or of all, that could not be read and are kept."""
    for site, frontier in chosen_sites(cells, sites).items():
        for each in [stage] if stage else Stage:
            yield from frontier.kept_pages.kept(site, each)


def _parts(cells: Cells, choice: FailedChoice) -> Iterator[tuple[DeadLetters, Selection]]:
    """Yield the dead letters with the selection from them: a pair for each cell, of pages for each site."""
    if choice.kind is not FailedKind.PAGE:
        # A start key with {site} is a pattern for many keys, and no key to which entries of no site could go back.
        start_key = choice.start_key if "{" not in choice.start_key else ""
        for frontier in _holding(cells, choice.kind, choice.selection):
            yield Admin(frontier).failed.of(choice.kind, start_key), choice.selection
        return
    for site, frontier in (chosen_sites(cells, choice.sites) if choice.needs_site else cells.sites()).items():
        yield Admin(frontier).failed.requests, choice.selection._replace(site=site)


def _holding(cells: Cells, kind: FailedKind, selection: Selection) -> list[Frontier]:
    """Return the cells that hold letters of a kind, with ids the one that holds these."""
    every = list(cells)
    for frontier in every if selection.ids and len(every) > 1 else ():
        with suppress(ConfigError):
            list(Admin(frontier).failed.of(kind).list(selection))
            return [frontier]
    # Without ids all, and where no cell has them, the first says so.
    return every[:1] if selection.ids else every


def newest_failures(frontier: Frontier, site: str) -> list[FailedRequest]:
    """Return some of the failed pages (dead or parked) of a site, the newest first."""
    requests = Admin(frontier).failed.requests
    failures = [
        failure
        for state in (State.PARKED, State.DEAD)
        for failure in islice(requests.list(Selection(site, state)), MOST_NEWEST)
    ]
    return sorted(failures, key=lambda failure: -failure.at_ms)


def retry_page(frontier: Frontier, site: str, rid: str) -> None:
    """Make a failed page ready again, under the address that it has.

    Raises:
        ConfigError: the page does not wait for a person any more.
    """
    requests = Admin(frontier).failed.requests
    failure = cast(FailedRequest, requests.show(Selection(site, ids=(rid,))))
    requests.readdress([(failure, failure.request.address)])


def kept_fields(cells: Cells, settings: Settings, kept: KeptPage) -> dict[str, str]:
    """Return the fields that the published rules read from a kept page, with their number, or the cause for none."""
    # Compiling a site costs 50 ms and its modules, which most exporters never need.
    from crawl_tasks.discovery import reread  # noqa: PLC0415
    from crawl_tasks.registry.site_registry import SiteRegistry  # noqa: PLC0415
    from crawl_tasks.worker.runtime import grants_of  # noqa: PLC0415

    name = kept.request.site
    try:
        registry = SiteRegistry(cells.of(name), settings.contact, read=grants_of(settings).read)
        trial = reread(registry.latest(name), kept.request, kept.page)
    except ConfigError as error:  # a secret of the site, which only workers have
        return {"nothing": str(error)}
    if trial.error:
        return {"nothing": trial.error}
    fields = (*trial.coverage(), *trial.comments())
    return {row.field: f"{row.filled} of {row.records}{row.sample and ': '}{row.sample}" for row in fields}
