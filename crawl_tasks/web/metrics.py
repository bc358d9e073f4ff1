"""Every metric of the exporter, in one table: name, kind, labels, meaning, and where a snapshot has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from crawl_tasks.frontier.frontier import Refusal
from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.model import Kind, Stage
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot
from crawl_tasks.web.families import Family, MetricKind, Sample, escaped, labels

C, G, H = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM
U = MetricKind.UNTYPED  # counters, but without the _total that newer parsers would add to their names
Reader = Callable[[Snapshot], Iterable[Sample]]
Rows = Callable[[SiteSnapshot], Iterable[Sample]]
SPIDER = 'service="crawl_tasks",spider="'
"""How the labels of scrapy-redis' exporters begin."""
REFUSALS = (Refusal.PAUSED, Refusal.WINDOW_FULL, Refusal.TOO_EARLY, Refusal.STORE_BEHIND, Refusal.QUARANTINED)
GATE = [(f"refused:{refusal.value}", refusal.name.lower()) for refusal in REFUSALS]
STAGES = [(stage, f'stage="{stage.value}"') for stage in Stage]

CHANGES = ("new", "filled", "changed", "unchanged")
ITEM_LABELS = [
    (f"{kind.value}:{change}", labels(kind=kind.value, change=change)) for kind in Kind for change in CHANGES
]


def one(value: Callable[[Snapshot], float]) -> Reader:
    """Read a metric without labels."""
    return lambda snapshot: [("", value(snapshot))]


def by(name: str, values: Callable[[SiteSnapshot], Mapping[str, int]]) -> Rows:
    """Read a metric of a site that has one more label."""
    return lambda site: [(f'{name}="{escaped(label)}"', value) for label, value in values(site).items()]


def _states(site: SiteSnapshot) -> dict[str, int]:
    census = site.census
    return {
        "ready": census.ready,
        "released": census.released,
        "leased": census.leased,
        "delayed": census.delayed,
        "parked": census.parked,
        "dead": census.dead,
    }


def _backlog(site: SiteSnapshot) -> dict[str, int]:
    return {stage.value: count.ready + count.released for stage, count in site.census.stages.items()}


def _pages(site: SiteSnapshot) -> Iterator[Sample]:
    for (stage, where), count in zip(STAGES, site.census.stages.values(), strict=True):
        gone = site.census.count(f"gone:{stage.value}")
        yield f'{where},outcome="ok"', count.done - gone
        if gone:
            yield f'{where},outcome="gone"', gone


def _quarantined(site: SiteSnapshot) -> list[Sample]:
    shut = site.quarantined
    return [(text, int(stage in shut)) for stage, text in STAGES]


def _given_up(site: SiteSnapshot) -> Iterator[Sample]:
    for (fate, reason), count in site.fates.items():
        if fate != "delayed":
            yield labels(state=fate, reason=reason), count


def _retries(site: SiteSnapshot) -> dict[str, int]:
    return {reason: count for (fate, reason), count in site.fates.items() if fate == "delayed"}


def _refusals(site: SiteSnapshot) -> dict[str, int]:
    return {name: count for field, name in GATE if (count := site.stat(field))}


def _items(site: SiteSnapshot) -> list[Sample]:
    return [(text, site.stat(name)) for name, text in ITEM_LABELS]


def _restored(site: SiteSnapshot) -> dict[str, int]:
    return {kind.value: site.stat(f"{kind.value}:restored") for kind in Kind}


def _boards(site: SiteSnapshot) -> dict[str, int]:
    return {"on_time": site.boards.on_time, "late": site.boards.late}


def _overdue(snapshot: Snapshot) -> list[Sample]:
    return [(labels(site=site.name), site.late_s(snapshot.at_ms)) for site in snapshot.sites]


def _by_stage(what: str) -> Callable[[Snapshot], Iterable[tuple[str, Histogram]]]:
    return lambda snapshot: [(labels(stage=stage.value), snapshot.times(what, stage)) for stage in Stage]


def _freshness(site: SiteSnapshot) -> Histogram | None:
    return site.freshness if site.freshness.count else None


FAMILIES = (
    Family("crawl_queue_messages", G, ("queue",), "Messages on a Celery queue.",
           lambda snap: [(labels(queue=name), size) for name, size in snap.queues.items()]),
    Family("crawl_workers", G, ("queue",), "Worker processes alive that serve a queue.",
           lambda snap: [(labels(queue=name), snap.workers_of(name)) for name in snap.queues]),
    Family("crawl_outbox_pages", G, (), "Pages whose items are not stored yet.", one(lambda snap: snap.outbox)),
    Family("crawl_shelf_pages", G, (), "Pages whose items could not be stored and were laid aside.",
           one(lambda snap: snap.vitals.shelved)),
    Family("crawl_halted", G, (), "1 if all sites stand still: Redis does not hold the ledger, as when it was emptied.",
           one(lambda snap: int(bool(snap.vitals.halted)))),
    Family("crawl_start_entries_total", C, ("outcome",),
           "Start entries of other programs that were settled: new, known, refused.",
           lambda snap: [(labels(outcome=outcome), count) for outcome, count in snap.starts.items()]),
    Family("crawl_start_entries_in_hand", G, (), "Start entries that were taken and are not settled yet.",
           one(lambda snap: snap.vitals.claims)),
    Family("crawl_beat_last_look_timestamp_seconds", G, (), "When due boards were last looked for, 0 for never.",
           one(lambda snap: snap.vitals.produced_at_ms / 1000)),
    Family("crawl_beat_alive", G, (), "1 if due boards were looked for within the last minute.",
           one(lambda snap: int(snap.is_beat_alive))),
    Family("crawl_redis_memory_bytes", G, (), "Memory that Redis uses.", one(lambda snap: snap.vitals.memory_bytes)),
    Family("crawl_redis_memory_max_bytes", G, (), "Redis' maxmemory, 0 for no limit.",
           one(lambda snap: snap.vitals.max_memory_bytes)),
    Family("crawl_fetch_seconds", H, ("stage",), "Time of attempts to fetch, failed ones too.",
           histograms=_by_stage("fetch"), scale=1000),
    Family("crawl_parse_seconds", H, ("stage",), "Time of parsing.", histograms=_by_stage("parse"), scale=1000),
    Family("crawl_queue_wait_seconds", H, ("stage",), "Time from release to lease.",
           histograms=_by_stage("wait"), scale=1000),
    Family("crawl_board_lateness_seconds", H, (), "Time from when boards were due to when their scans were admitted.",
           histograms=lambda snap: [("", snap.lateness())]),
    Family("crawl_site_paused", G, ("site",), "1 if the site is paused.", each=lambda site: int(site.is_paused)),
    Family("crawl_site_slowdown", G, ("site",), "How many times slower than its file says the site is asked: 1 to 64.",
           each=lambda site: site.slowdown),
    Family("crawl_links_capped_total", C, ("site", "cap"), "Links left out because of a cap of the site file.",
           rows=by("cap", lambda site: site.capped)),
    Family("crawl_site_rest_seconds", G, ("site",),
           "For how long the gate lets nothing go: Retry-After, quiet hours, a spent budget.",
           lambda snap: [(f'site="{site.name}"', site.rests_s(snap.at_ms)) for site in snap.sites]),
    Family("crawl_stage_quarantined", G, ("site", "stage"), "1 if the stage is shut: its pages could not be read.",
           rows=_quarantined),
    Family("crawl_requests", G, ("site", "state"),
           "Requests by state: ready, released, leased, delayed, parked, dead.", rows=by("state", _states)),
    Family("crawl_backlog_requests", G, ("site", "stage"), "Requests of a stage that are ready or released.",
           rows=by("stage", _backlog)),
    Family("crawl_open_requests", G, ("site",), "Requests that are ready, released, leased or delayed.",
           each=lambda site: site.census.open),
    Family("crawl_backlog_limit", G, ("site",), "Open requests at which scans are held back (max_backlog).",
           each=lambda site: site.census.count("max_backlog")),
    Family("crawl_requests_admitted_total", C, ("site",), "Requests that passed the guard.",
           each=lambda site: site.census.admitted),
    Family("crawl_guard_hits_total", C, ("site",), "Requests that the guard knew already.",
           each=lambda site: site.census.count("known")),
    Family("crawl_guard_size", G, ("site",), "Fingerprints in the guard.", each=lambda site: site.census.guarded),
    Family("crawl_attempts_total", C, ("site",), "Leases given: attempts to fetch a page.",
           each=lambda site: site.census.count("attempts")),
    Family("crawl_pages_total", C, ("site", "stage", "outcome"), "Pages committed: ok, or gone (404, 410).",
           rows=_pages),
    Family("crawl_pages_cut_total", C, ("site", "stage"), "Pages at which `max_pages` ended a walk that had more.",
           rows=by("stage", lambda site: site.cuts)),
    Family("crawl_responses_total", C, ("site", "status"), "Answers by HTTP status, after redirects.",
           rows=by("status", lambda site: site.statuses)),
    Family("crawl_response_wire_bytes_total", C, ("site",), "Bytes of pages as they were sent.",
           each=lambda site: site.stat("wire")),
    Family("crawl_response_body_bytes_total", C, ("site",), "Bytes of pages after decoding.",
           each=lambda site: site.stat("body")),
    Family("crawl_failures_total", C, ("site", "reason"), "Attempts that failed.",
           rows=by("reason", lambda site: site.failed)),
    Family("crawl_retries_total", C, ("site", "reason"), "Failed attempts that are tried again.",
           rows=by("reason", _retries)),
    Family("crawl_given_up_total", C, ("site", "state", "reason"), "Requests that were parked or buried (dead).",
           rows=_given_up),
    Family("crawl_leases_expired_total", C, ("site",), "Leases that ran out: the worker died or was too slow.",
           each=lambda site: site.census.count("expired")),
    Family("crawl_messages_lost_total", C, ("site",), "Messages that vanished from a queue and were sent again.",
           each=lambda site: site.census.count("lost")),
    Family("crawl_throttle_seconds_total", C, ("site",), "Time the site was let rest because it asked or failed.",
           each=lambda site: site.stat("rest_ms") / 1000),
    Family("crawl_late_turns_total", C, ("site",),
           "Turns at the gate that were missed, or kept open for more than a tenth of the delay.",
           each=lambda site: site.stat("late_turns")),
    Family("crawl_gate_refusals_total", C, ("site", "reason"), "Leases refused, by what the gate said.",
           rows=by("reason", _refusals)),
    Family("crawl_items_total", C, ("site", "kind", "change"),
           "Posts and comments stored: new, filled (listed before, the text came now), changed, unchanged.",
           rows=_items),
    Family("crawl_items_restored_total", C, ("site", "kind"),
           "Posts and comments, among those changed, that were deleted and can be read again.",
           rows=by("kind", _restored)),
    Family("crawl_items_dropped_total", C, ("site", "reason"), "Items that were not given to the store, by reason.",
           rows=by("reason", lambda site: site.dropped)),
    Family("crawl_freshness_seconds", H, ("site",),
           "Time from posting to storing, of what was posted since the site is watched.", histogram=_freshness),
    Family("crawl_boards", G, ("site", "state"), "Boards that are on_time or late (overdue for over a minute).",
           rows=by("state", _boards)),
    Family("crawl_boards_scanning", G, ("site",), "Boards being scanned.", each=lambda site: site.boards.scanning),
    Family("crawl_boards_unscanned", G, ("site",), "Boards whose first scan is not over.",
           each=lambda site: site.boards.unscanned),
    Family("crawl_board_overdue_seconds", G, ("site",), "How long the board that waits longest has been due.",
           _overdue),
    Family("collector_task_queue_size", G, ("service", "spider"), "Requests of the site on the Celery queues.",
           each=lambda site: site.census.released, whose=SPIDER),
    Family("collector_request_queue_size", G, ("service", "spider"), "Requests ready or delayed.",
           each=lambda site: site.census.ready + site.census.delayed, whose=SPIDER),
    Family("collector_dupefilter_size", G, ("service", "spider"), "As crawl_guard_size.",
           each=lambda site: site.census.guarded, whose=SPIDER),
    Family("collector_downloader_request_count", U, ("service", "spider"), "As crawl_attempts_total.",
           each=lambda site: site.census.count("attempts"), whose=SPIDER),
    Family("collector_downloader_response_count", U, ("service", "spider"), "Answers of any status.",
           each=lambda site: sum(site.statuses.values()), whose=SPIDER),
    Family("collector_downloader_response_bytes", U, ("service", "spider"), "As crawl_response_wire_bytes_total.",
           each=lambda site: site.stat("wire"), whose=SPIDER),
    Family("collector_scraped_item_count", U, ("service", "spider"), "Posts and comments given to the store.",
           each=lambda site: site.items, whose=SPIDER),
    Family("collector_downloader_response_status_count", U, ("service", "spider", "status_code"),
           "As crawl_responses_total.", rows=by("status_code", lambda site: site.statuses), whose=SPIDER),
)  # fmt: skip
