"""The samples of metrics: labels and values, as read from a snapshot or from a site of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from crawl_tasks.errors import AccessDenied, ArchiveFailed, Challenged, Hung, LoginRefused, ParseError
from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.model import Kind, Stage, State
from crawl_tasks.model.own_counters import OWN_FAILURES
from crawl_tasks.monitor.freshness import Freshness
from crawl_tasks.monitor.problems.watch_conditions import fails_all
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.web.exposition import Sample, escaped, labels

Reader = Callable[[Snapshot], Iterable[Sample]]
Rows = Callable[[SiteSnapshot], Iterable[Sample]]
REFUSALS = (NoLease.PAUSED, NoLease.WINDOW_FULL, NoLease.TOO_EARLY, NoLease.STORE_BEHIND, NoLease.QUARANTINED)
GATE = [(f"refused:{refusal.value}", refusal.name.lower()) for refusal in REFUSALS]
STAGES = [(stage, f'stage="{stage.value}"') for stage in Stage]
STATES = [(f'state="{state.value}"', state.value) for state in State if state is not State.DONE]
OUTCOMES = [
    (f'stage="{name}",outcome="ok"', f'stage="{name}",outcome="gone"', f"gone:{name}", f"let_go:{name}")
    for name in Stage
]
RESTORED = [(f'kind="{kind.value}"', f"{kind.value}:restored") for kind in Kind]

# An increase counts from the first sample on: a rule would not see the failures with which a counter begins.
ALERTED = {error.reason: 0 for error in (Hung, ParseError, AccessDenied, Challenged, ArchiveFailed, LoginRefused)}
OWN_ALERTED = dict.fromkeys(OWN_FAILURES, 0)
FOR_ALL = [(reason, labels(reason=reason)) for reason in (AccessDenied.reason, ParseError.reason, ArchiveFailed.reason)]
OWN_NOTHING: list[Sample] = [(labels(name=name), 0) for name in OWN_FAILURES]
CHANGES = ("new", "filled", "changed", "unchanged")
ITEM_LABELS = [
    (f"{kind.value}:{change}", labels(kind=kind.value, change=change)) for kind in Kind for change in CHANGES
]


def single(value: Callable[[Snapshot], float]) -> Reader:
    """Return a reader for a metric without labels."""
    return lambda snapshot: [("", value(snapshot))]


def by(name: str, values: Callable[[SiteSnapshot], Mapping[str, int]]) -> Rows:
    """Return a reader for a metric of a site with one further label."""
    return lambda site: [(f'{name}="{escaped(label)}"', value) for label, value in values(site).items()]


def own_counters(site: SiteSnapshot) -> list[Sample]:
    """Return the counters that functions of the site raised, those of failures always."""
    if "own_names" not in site.counts.fields:
        return OWN_NOTHING
    return [(labels(name=name), count) for name, count in (OWN_ALERTED | site.own).items()]


def states(site: SiteSnapshot) -> list[Sample]:
    """Return the numbers of requests by state."""
    return [(text, getattr(site.counts, name)) for text, name in STATES]


def backlog(site: SiteSnapshot) -> list[Sample]:
    """Return the numbers of requests that are ready or released, by stage."""
    counts = site.counts.stages.values()
    return [(text, count.ready + count.released) for (_, text), count in zip(STAGES, counts, strict=True)]


def pages(site: SiteSnapshot) -> Iterator[Sample]:
    """Yield the numbers of committed pages by stage and outcome."""
    fields = site.counts.fields
    for (ok, went, gone_field, let_go_field), count in zip(OUTCOMES, site.counts.stages.values(), strict=True):
        # The ledger counts a page that is gone as done, too.
        gone = int(fields.get(gone_field, "0"))
        # So does it a page that was let go.
        yield ok, count.done - gone - int(fields.get(let_go_field, "0"))
        if gone:
            yield went, gone


def failing_all(site: SiteSnapshot) -> list[Sample]:
    """Return 1 for each reason for which all attempts fail since the last page, else 0."""
    return [(text, int(fails_all(site, reason))) for reason, text in FOR_ALL]


def open_breakers(site: SiteSnapshot) -> list[Sample]:
    """Return 1 for each stage whose circuit breaker is open, else 0."""
    breakers = site.open_breakers
    return [(text, int(stage in breakers)) for stage, text in STAGES]


def refusing(site: SiteSnapshot) -> list[Sample]:
    """Return 1 for each stage that the site refuses for now, else 0."""
    breakers = site.open_breakers
    return [(text, int(stage in breakers and breakers[stage].is_refusal)) for stage, text in STAGES]


def given_up(site: SiteSnapshot) -> Iterator[Sample]:
    """Yield the numbers of parked and dead requests by state and reason."""
    for (fate, reason), count in site.fates.items():
        if fate != "delayed":
            yield labels(state=fate, reason=reason), count


def retries(site: SiteSnapshot) -> dict[str, int]:
    """Return the numbers of requests that wait for a retry, by reason."""
    return {reason: count for (fate, reason), count in site.fates.items() if fate == "delayed"}


def refusals(site: SiteSnapshot) -> dict[str, int]:
    """Return how often a lease was refused, by reason."""
    return {name: count for field, name in GATE if (count := site.stat(field))}


def items(site: SiteSnapshot) -> list[Sample]:
    """Return the numbers of stored items by kind and change."""
    stats = site.counts.stats
    return [(text, stats.get(name, 0)) for name, text in ITEM_LABELS]


def expected(value: Callable[[Freshness], float | None]) -> Reader:
    """Return a reader of a value of each site's expected freshness, without the sites where it is None."""
    return lambda snapshot: [
        (labels(site=site.name), read)
        for site in snapshot.sites
        if site.expected and (read := value(site.expected)) is not None
    ]


def restored(site: SiteSnapshot) -> list[Sample]:
    """Return the numbers of items that were deleted and are readable again, by kind."""
    return [(text, site.stat(name)) for text, name in RESTORED]


def boards(site: SiteSnapshot) -> dict[str, int]:
    """Return the numbers of boards by state, the rare states only where there are some."""
    boards = site.boards
    states = {"on_time": boards.on_time, "late": boards.late, "parked": boards.parked, "dead": boards.dead}
    rare = {"held": boards.held, "waiting": boards.waiting}
    return states | {state: count for state, count in rare.items() if count}


def overdue(snapshot: Snapshot) -> list[Sample]:
    """Return how late the scan of each site's latest board is, in seconds."""
    return [(labels(site=site.name), site.late_s(snapshot.at_ms)) for site in snapshot.sites]


def by_stage(kind: str) -> Callable[[Snapshot], Iterable[tuple[str, Histogram]]]:
    """Return a reader of a kind of times by stage."""
    return lambda snapshot: [(labels(stage=stage.value), snapshot.times(kind, stage)) for stage in Stage]


def freshness(site: SiteSnapshot) -> Histogram | None:
    """Return the times from posting to storing, None without any."""
    return site.freshness if site.freshness.count else None


def cells_up(snapshot: Snapshot) -> Iterator[Sample]:
    """Yield 1 for each cell that answers, 0 for each that does not."""
    for names, is_up in (((part.cell for part in snapshot.parts), 1), ((cell.name for cell in snapshot.down), 0)):
        yield from ((labels(cell=name), is_up) for name in names)
