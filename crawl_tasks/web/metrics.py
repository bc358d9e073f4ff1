"""The metrics of the exporter in one table: name, type, labels, help text, and how a snapshot is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from crawl_tasks.errors import AccessDenied, ArchiveFailed, Challenged, Hung, LoginRefused, ParseError
from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.frontier.inspect.request_counts import UnwatchedState
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.model import Kind, Stage, State
from crawl_tasks.model.own_counters import OWN_FAILURES
from crawl_tasks.monitor.freshness import Freshness
from crawl_tasks.monitor.problems.watch_conditions import fails_all
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.web.exposition import Family, MetricKind, Sample, escaped, labels

C, G, H = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM
# For counters of scrapy-redis' exporters. As counters, newer parsers would add _total to the names.
U = MetricKind.UNTYPED
Reader = Callable[[Snapshot], Iterable[Sample]]
Rows = Callable[[SiteSnapshot], Iterable[Sample]]
SPIDER = 'service="crawl_tasks",spider="'
"""The beginning of labels as scrapy-redis' exporters have them."""
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
FOR_ALL = [(one, labels(reason=one)) for one in (AccessDenied.reason, ParseError.reason, ArchiveFailed.reason)]
OWN_NOTHING: list[Sample] = [(labels(name=name), 0) for name in OWN_FAILURES]
CHANGES = ("new", "filled", "changed", "unchanged")
ITEM_LABELS = [
    (f"{kind.value}:{change}", labels(kind=kind.value, change=change)) for kind in Kind for change in CHANGES
]


def one(value: Callable[[Snapshot], float]) -> Reader:
    """Return a reader for a metric without labels."""
    return lambda snapshot: [("", value(snapshot))]


def by(name: str, values: Callable[[SiteSnapshot], Mapping[str, int]]) -> Rows:
    """Return a reader for a metric of a site with one further label."""
    return lambda site: [(f'{name}="{escaped(label)}"', value) for label, value in values(site).items()]


def _own(site: SiteSnapshot) -> list[Sample]:
    if "own_names" not in site.counts.fields:
        return OWN_NOTHING
    return [(labels(name=name), count) for name, count in (OWN_ALERTED | site.own).items()]


def _states(site: SiteSnapshot) -> list[Sample]:
    return [(text, getattr(site.counts, name)) for text, name in STATES]


def _backlog(site: SiteSnapshot) -> list[Sample]:
    counts = site.counts.stages.values()
    return [(text, count.ready + count.released) for (_, text), count in zip(STAGES, counts, strict=True)]


def _pages(site: SiteSnapshot) -> Iterator[Sample]:
    fields = site.counts.fields
    for (ok, went, gone_field, let_go_field), count in zip(OUTCOMES, site.counts.stages.values(), strict=True):
        # The ledger counts a page that is gone as done, too.
        gone = int(fields.get(gone_field, "0"))
        # So does it a page that was let go.
        yield ok, count.done - gone - int(fields.get(let_go_field, "0"))
        if gone:
            yield went, gone


def _fails_all(site: SiteSnapshot) -> list[Sample]:
    return [(text, int(fails_all(site, reason))) for reason, text in FOR_ALL]


def _open_breakers(site: SiteSnapshot) -> list[Sample]:
    breakers = site.open_breakers
    return [(text, int(stage in breakers)) for stage, text in STAGES]


def _refusing(site: SiteSnapshot) -> list[Sample]:
    breakers = site.open_breakers
    return [(text, int(stage in breakers and breakers[stage].is_refusal)) for stage, text in STAGES]


def _given_up(site: SiteSnapshot) -> Iterator[Sample]:
    for (fate, reason), count in site.fates.items():
        if fate != "delayed":
            yield labels(state=fate, reason=reason), count


def _retries(site: SiteSnapshot) -> dict[str, int]:
    return {reason: count for (fate, reason), count in site.fates.items() if fate == "delayed"}


def _refusals(site: SiteSnapshot) -> dict[str, int]:
    return {name: count for field, name in GATE if (count := site.stat(field))}


def _items(site: SiteSnapshot) -> list[Sample]:
    stats = site.counts.stats
    return [(text, stats.get(name, 0)) for name, text in ITEM_LABELS]


def _expected(value: Callable[[Freshness], float | None]) -> Reader:
    return lambda snapshot: [
        (labels(site=site.name), read)
        for site in snapshot.sites
        if site.expected and (read := value(site.expected)) is not None
    ]


def _restored(site: SiteSnapshot) -> list[Sample]:
    return [(text, site.stat(name)) for text, name in RESTORED]


def _boards(site: SiteSnapshot) -> dict[str, int]:
    boards = site.boards
    states = {"on_time": boards.on_time, "late": boards.late, "parked": boards.parked, "dead": boards.dead}
    rare = {"held": boards.held, "waiting": boards.waiting}
    return states | {state: count for state, count in rare.items() if count}


def _overdue(snapshot: Snapshot) -> list[Sample]:
    return [(labels(site=site.name), site.late_s(snapshot.at_ms)) for site in snapshot.sites]


def _by_stage(kind: str) -> Callable[[Snapshot], Iterable[tuple[str, Histogram]]]:
    return lambda snapshot: [(labels(stage=stage.value), snapshot.times(kind, stage)) for stage in Stage]


def _freshness(site: SiteSnapshot) -> Histogram | None:
    return site.freshness if site.freshness.count else None


def _cells_up(snapshot: Snapshot) -> Iterator[Sample]:
    for names, is_up in (((part.cell for part in snapshot.parts), 1), ((cell.name for cell in snapshot.down), 0)):
        yield from ((labels(cell=name), is_up) for name in names)


FAMILIES = (
    Family("crawl_cell_up", G, ("cell",), "1 if the cell answers. With several cells, all metrics but those of sites"
           " have the label cell.", _cells_up),
    Family("crawl_queue_messages", G, ("queue",), "Messages on a Celery queue.",
           lambda snap: [(labels(queue=name), size) for name, size in snap.queues.items()]),
    Family("crawl_workers", G, ("queue",), "Worker processes alive that serve a queue.",
           lambda snap: [(labels(queue=name), snap.workers_of(name)) for name in snap.queues]),
    Family("crawl_worker_starts_total", C, (), "Worker processes that have begun.",
           one(lambda snap: snap.health.process_health.starts)),
    Family("crawl_workers_died", G, (), "Worker processes of the last 15 minutes that did not end in order.",
           one(lambda snap: snap.died)),
    Family("crawl_worker_clock_seconds", G, (), "The greatest difference of a worker's clock from that of Redis.",
           one(lambda snap: max((abs(process.ahead_ms) for process in snap.processes), default=0) / 1000)),
    Family("crawl_start_keys", G, (), "Start keys (CRAWL_START_KEY) of the living workers.",
           one(lambda snap: len(snap.start_keys))),
    Family("crawl_alerts_last_look_timestamp_seconds", G, (), "When a sender of alerts looked last, 0 for none.",
           one(lambda snap: snap.health.process_health.alerts_at_ms / 1000)),
    Family("crawl_alerts_silent_seconds", G, (), "For how long a sender of alerts has missed its looks, 0 for none.",
           one(lambda snap: snap.alerts_silent_s)),
    Family("crawl_alerts_unsent_seconds", G, (), "For how long no receiver has taken the messages of a sender of"
           " alerts, 0 where one does.", one(lambda snap: snap.alerts_unsent_s)),
    Family("crawl_outbox_pages", G, (), "Pages whose items are not stored yet.", one(lambda snap: snap.outbox)),
    Family("crawl_outbox_limit_pages", G, (), "Waiting pages from which on nothing is fetched (CRAWL_OUTBOX_MAX).",
           one(lambda snap: snap.health.outbox_max)),
    Family("crawl_outbox_age_seconds", G, (), "For how long the oldest page has waited for the store.",
           one(lambda snap: snap.outbox_age_s)),
    Family("crawl_rejected_pages", G, (), "Pages whose items could not be stored and were rejected.",
           one(lambda snap: snap.health.rejected)),
    Family("crawl_halted", G, (), "1 if all sites stand still: Redis does not hold the ledger, as when it was emptied.",
           one(lambda snap: int(bool(snap.health.halted)))),
    Family("crawl_start_entries_total", C, ("outcome",),
           "Start entries of other programs by outcome: new, known, refused.",
           lambda snap: [(labels(outcome=outcome), count) for outcome, count in snap.starts.items()]),
    Family("crawl_start_entries_in_hand", G, (), "Start entries that were claimed and are not settled yet.",
           one(lambda snap: snap.health.claims)),
    Family("crawl_beat_last_look_timestamp_seconds", G, (), "When due boards were last looked for, 0 for never.",
           one(lambda snap: snap.health.produced_at_ms / 1000)),
    Family("crawl_beat_alive", G, (), "1 if due boards were looked for within the last minute.",
           one(lambda snap: int(snap.is_beat_alive))),
    Family("crawl_redis_memory_bytes", G, (), "Memory that Redis uses.", one(lambda snap: snap.health.memory_bytes)),
    Family("crawl_redis_memory_max_bytes", G, (), "Redis' maxmemory, 0 for no limit.",
           one(lambda snap: snap.health.max_memory_bytes)),
    Family("crawl_redis_refuses_writes", G, (), "1 if Redis takes no writes: full, unable to save, or a replica.",
           one(lambda snap: int(bool(snap.health.refusal)))),
    Family("crawl_fetch_seconds", H, ("stage",), "Time of attempts to fetch, failed ones too.",
           histograms=_by_stage("fetch"), scale=1000),
    Family("crawl_parse_seconds", H, ("stage",), "Time of parsing.", histograms=_by_stage("parse"), scale=1000),
    Family("crawl_queue_wait_seconds", H, ("stage",), "Time from release to lease.",
           histograms=_by_stage("wait"), scale=1000),
    Family("crawl_board_lateness_seconds", H, (), "Time from when boards were due to when their scans were admitted.",
           histograms=lambda snap: [("", snap.lateness())]),
    Family("crawl_site_fails_all", G, ("site", "reason"),
           "1 if all attempts since the last page that came were denied, or brought nothing that can be read.",
           rows=_fails_all),
    Family("crawl_site_paused", G, ("site",), "1 if the site is paused.", each=lambda site: int(site.is_paused)),
    Family("crawl_site_draining", G, ("site",), "1 if the site begins no scan: pause --drain.",
           each=lambda site: int(site.is_draining)),
    Family("crawl_site_stopped_seconds", G, ("site",), "For how long an operator has paused or drained the site.",
           lambda snap: [(f'site="{site.name}"', site.stopped_s(snap.at_ms)) for site in snap.sites
                         if site.stopped_at_ms]),
    Family("crawl_site_withdrawn", G, ("site",), "1 if the directory that published the site has no file of it.",
           lambda snap: [(f'site="{site.name}"', 1) for site in snap.sites if site.is_withdrawn]),
    Family("crawl_ledger_unbalanced", G, ("site",), "1 if the site's requests do not add up.",
           each=lambda site: int(not site.counts.is_balanced)),
    Family("crawl_site_min_items_per_minute", G, ("site",), "Items a minute that the site file expects, 0 for none.",
           each=lambda site: float(site.counts.fields.get("min_items", "0"))),
    Family("crawl_own_total", C, ("site", "name"), "Counters that functions of the site raised"
           " (api.count), and calls of such functions that failed.",
           rows=_own),
    Family("crawl_site_slowdown", G, ("site",),
           "Backoff factor: how many times slower than its file says the site is asked, 1 to 64.",
           each=lambda site: site.slowdown),
    Family("crawl_links_capped_total", C, ("site", "cap"), "Links left out because of a cap of the site file.",
           rows=by("cap", lambda site: site.capped)),
    Family("crawl_site_rest_seconds", G, ("site",),
           "Cooldown left before the next request: Retry-After, quiet hours, a spent budget.",
           lambda snap: [(f'site="{site.name}"', site.rests_s(snap.at_ms)) for site in snap.sites]),
    Family("crawl_threads_short", G, ("site",), "Threads with fewer replies stored than their lists count.",
           lambda snap: [(f'site="{site.name}"', len(site.short_threads)) for site in snap.sites]),
    Family("crawl_site_scan_gap", G, ("site",), "Scans of a day that showed new threads alone, and no older ones.",
           lambda snap: [(f'site="{site.name}"', (site.scan_gap(snap.at_ms) or (0, ""))[0]) for site in snap.sites]),
    Family("crawl_site_mismatch", G, ("site",), "1 if half of the site's last pages contradict their lists.",
           lambda snap: [(f'site="{site.name}"', int(bool(site.mismatch(snap.at_ms)))) for site in snap.sites]),
    Family("crawl_breaker_open", G, ("site", "stage"), "1 if the stage's circuit breaker is open.",
           rows=_open_breakers),
    Family("crawl_site_refuses", G, ("site", "stage"), "1 if the site refuses requests of the stage for now.",
           rows=_refusing),
    Family("crawl_requests", G, ("site", "state"),
           "Requests by state: ready, released, leased, delayed, parked, dead.", rows=_states),
    Family("crawl_backlog_requests", G, ("site", "stage"), "Requests of a stage that are ready or released.",
           rows=_backlog),
    Family("crawl_open_requests", G, ("site",), "Requests that are ready, released, leased or delayed.",
           each=lambda site: site.counts.open),
    Family("crawl_backlog_limit", G, ("site",), "Open requests at which scans are held back (max_backlog).",
           each=lambda site: site.counts.count("max_backlog")),
    Family("crawl_requests_admitted_total", C, ("site",),
           "Requests that were admitted: new to the guard (duplicate filter).",
           each=lambda site: site.counts.admitted),
    Family("crawl_guard_hits_total", C, ("site",), "Requests that the guard (duplicate filter) knew already.",
           each=lambda site: site.counts.count("known")),
    Family("crawl_guard_size", G, ("site",), "Fingerprints in the guard (duplicate filter).",
           each=lambda site: site.counts.guarded),
    Family("crawl_attempts_total", C, ("site",), "Leases given: attempts to fetch a page.",
           each=lambda site: site.counts.count("attempts")),
    Family("crawl_further_requests_total", C, ("site",),
           "Requests beside the first one of an attempt: robots.txt, logins, redirects.",
           each=lambda site: site.stat("further")),
    Family("crawl_pages_total", C, ("site", "stage", "outcome"), "Pages committed: ok, or gone (404, 410).",
           rows=_pages),
    Family("crawl_pages_cut_total", C, ("site", "stage"), "Pages cut by `max_pages` or by too many records.",
           rows=by("stage", lambda site: site.cuts)),
    Family("crawl_responses_total", C, ("site", "status"), "Answers by HTTP status, after redirects.",
           rows=by("status", lambda site: site.statuses)),
    Family("crawl_response_wire_bytes_total", C, ("site",), "Bytes of pages as they were sent.",
           each=lambda site: site.stat("wire")),
    Family("crawl_response_body_bytes_total", C, ("site",), "Bytes of pages after decoding.",
           each=lambda site: site.stat("body")),
    Family("crawl_failures_total", C, ("site", "reason"), "Attempts that failed.",
           rows=by("reason", lambda site: ALERTED | site.failed)),
    Family("crawl_failures_in_a_row", G, ("site",),
           "Failed attempts since the last page that came. 0 while nothing is wanted of the site.",
           each=lambda site: site.failed_in_a_row),
    Family("crawl_retries_total", C, ("site", "reason"), "Failed attempts that are tried again.",
           rows=by("reason", _retries)),
    Family("crawl_given_up_total", C, ("site", "state", "reason"), "Requests that were given up: parked or dead.",
           rows=_given_up),
    Family("crawl_leases_expired_total", C, ("site",), "Leases that ran out: the worker died or was too slow.",
           each=lambda site: site.counts.count("expired")),
    Family("crawl_messages_lost_total", C, ("site",), "Messages that vanished from a queue and were sent again.",
           each=lambda site: site.counts.count("lost")),
    Family("crawl_throttle_seconds_total", C, ("site",), "Total cooldown of the site, after Retry-After or failures.",
           each=lambda site: site.stat("rest_ms") / 1000),
    Family("crawl_late_slots_total", C, ("site",),
           "Throttle slots that were missed, or kept open for more than a tenth of the delay.",
           each=lambda site: site.stat("late_slots")),
    Family("crawl_gate_refusals_total", C, ("site", "reason"), "Leases that were refused, by reason.",
           rows=by("reason", _refusals)),
    Family("crawl_freshness_goal_seconds", G, ("site",), "The goal of the priced schedule.",
           _expected(lambda expected: expected.goal_s)),
    Family("crawl_freshness_expected_share", G, ("site",),
           "The share of new replies that a scan is expected to show within the goal.",
           _expected(lambda expected: None if expected.is_quiet else expected.in_time)),
    Family("crawl_news_hidden_share", G, ("site",), "The share of new replies that the page of all news hid lately.",
           _expected(lambda expected: expected.hidden_share)),
    Family("crawl_items_total", C, ("site", "kind", "change"),
           "Posts and comments stored: new, filled (listed before, the text came now), changed, unchanged.",
           rows=_items),
    Family("crawl_items_restored_total", C, ("site", "kind"),
           "Posts and comments, among those changed, that were deleted and can be read again.",
           rows=_restored),
    Family("crawl_items_dropped_total", C, ("site", "reason"), "Items that were not given to the store, by reason.",
           rows=by("reason", lambda site: site.dropped)),
    Family("crawl_freshness_seconds", H, ("site",),
           "Time from posting to storing, of items posted since the site is watched.", histogram=_freshness),
    Family("crawl_boards", G, ("site", "state"), "Boards by state: on_time, late (overdue for over"
           " a minute), parked or dead (page 1 was given up), held by an operator, waiting (no page comes at all).",
           rows=by("state", _boards)),
    Family("crawl_boards_empty", G, ("site",), "Boards that showed threads, and show none any more.",
           lambda snap: [(f'site="{site.name}"', empty) for site in snap.sites
                         if site.counts.unwatched and (empty := len(site.troubles(UnwatchedState.EMPTY)))]),
    Family("crawl_boards_held_seconds", G, ("site",), "For how long an operator has held a board of the site.",
           lambda snap: [(f'site="{site.name}"', held) for site in snap.sites if (held := site.held_s(snap.at_ms))]),
    Family("crawl_boards_scanning", G, ("site",), "Boards being scanned.", each=lambda site: site.boards.scanning),
    Family("crawl_boards_unscanned", G, ("site",), "Boards whose first scan is not over.",
           each=lambda site: site.boards.unscanned),
    Family("crawl_boards_gone", G, ("site",), "Boards whose first page the forum calls gone.",
           each=lambda site: site.counts.count("gone_boards")),
    Family("crawl_boards_new", G, ("site",), "Boards that a front page began to show, not in the site file.",
           each=lambda site: len(site.new_boards)),
    Family("crawl_board_overdue_seconds", G, ("site",), "How long the board that waits longest has been due.",
           _overdue),
    Family("collector_task_queue_size", G, ("service", "spider"), "Requests of the site on the Celery queues.",
           each=lambda site: site.counts.released, whose=SPIDER),
    Family("collector_request_queue_size", G, ("service", "spider"), "Requests ready or delayed.",
           each=lambda site: site.counts.ready + site.counts.delayed, whose=SPIDER),
    Family("collector_dupefilter_size", G, ("service", "spider"), "As crawl_guard_size.",
           each=lambda site: site.counts.guarded, whose=SPIDER),
    Family("collector_downloader_request_count", U, ("service", "spider"), "As crawl_attempts_total.",
           each=lambda site: site.counts.count("attempts"), whose=SPIDER),
    Family("collector_downloader_response_count", U, ("service", "spider"), "Answers of any status.",
           each=lambda site: sum(site.statuses.values()), whose=SPIDER),
    Family("collector_downloader_response_bytes", U, ("service", "spider"), "As crawl_response_wire_bytes_total.",
           each=lambda site: site.stat("wire"), whose=SPIDER),
    Family("collector_scraped_item_count", U, ("service", "spider"), "Posts and comments given to the store.",
           each=lambda site: site.items, whose=SPIDER),
    Family("collector_downloader_response_status_count", U, ("service", "spider", "status_code"),
           "As crawl_responses_total.", rows=by("status_code", lambda site: site.statuses), whose=SPIDER),
)  # fmt: skip
