"""Kinds of problems of the whole installation while the crawl runs."""

from __future__ import annotations

from collections.abc import Iterator

from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.kinds import AlertRule, Fields, Kind, Severity
from crawl_tasks.monitor.problems.rule_queries import TAKES_WRITES, of_installation
from crawl_tasks.monitor.problems.window import Window
from crawl_tasks.monitor.problems.worker_kinds import WORKER_KINDS
from crawl_tasks.queues import CONTROL_QUEUE, LIST_QUEUE

MEMORY_SHARE = 0.8
OUTBOX_LEAST = 1000

FULL_SHARE = 0.9
"""The share of the limit from which on the outbox counts as full: at the limit itself it moves up and down."""

STORE_LATE_S = 120
"""Age of the oldest waiting page, in seconds, from which on the store counts as failing.

A page waits half a second for the store, and the pages of a store worker that died wait for 60 s.
"""

WAIT_S = 1
"""Median wait of a released request for a thread, in seconds, from which on the threads are too few."""

WAITS_LEAST = 50


def _halted(window: Window) -> Iterator[tuple[str, Fields]]:
    if reason := window.snapshot.health.halted:
        yield "", {"reason": reason}


def _memory(window: Window) -> Iterator[tuple[str, Fields]]:
    health = window.snapshot.health
    if health.max_memory_bytes and health.memory_bytes > MEMORY_SHARE * health.max_memory_bytes:
        yield "", {"share": f"{health.memory_bytes / health.max_memory_bytes:.0%}"}


def _outbox_grows(window: Window) -> Iterator[tuple[str, Fields]]:
    before, outbox = window.before, window.snapshot.outbox
    # A few hundred pages are a normal queue before the next transaction.
    if before is not None and outbox > max(OUTBOX_LEAST, before.outbox):
        yield "", {"count": outbox}


def _outbox_full(window: Window) -> Iterator[tuple[str, Fields]]:
    health = window.snapshot.health
    if health.outbox_max and health.outbox >= FULL_SHARE * health.outbox_max:
        yield "", {"count": health.outbox}


def _store_fails(window: Window) -> Iterator[tuple[str, Fields]]:
    if (age_s := window.snapshot.outbox_age_s) > STORE_LATE_S:
        yield "", {"duration": duration(age_s)}


def _redis_refuses(window: Window) -> Iterator[tuple[str, Fields]]:
    if reason := window.snapshot.health.refusal:
        yield "", {"reason": reason}


def _rejected(window: Window) -> Iterator[tuple[str, Fields]]:
    if count := window.snapshot.health.rejected:
        yield "", {"count": count}


def _beat_silent(window: Window) -> Iterator[tuple[str, Fields]]:
    if not window.snapshot.is_beat_alive:
        yield "", {}


def _unserved(window: Window) -> Iterator[tuple[str, Fields]]:
    for queue in window.snapshot.queues:
        # Workers of `list` serve `control` too, so the remedy of both is a worker of `list`.
        if not window.snapshot.workers_of(queue):
            yield queue, {"queue": LIST_QUEUE if queue == CONTROL_QUEUE else queue}


def _threads_few(window: Window) -> Iterator[tuple[str, Fields]]:
    for stage, before in (window.before.waits if window.before is not None else {}).items():
        waits = window.snapshot.times("wait", stage).since(before)
        wait_s = (waits.quantile(0.5) or 0) / 1000
        if waits.count >= WAITS_LEAST and wait_s > WAIT_S:
            yield stage.value, {"duration": duration(wait_s)}


def _no_site(window: Window) -> Iterator[tuple[str, Fields]]:
    snapshot = window.snapshot
    # A cell that does not answer may hold all of them.
    if not (snapshot.sites or snapshot.health.halted or snapshot.down):
        yield "", {}


def _start_keys_differ(window: Window) -> Iterator[tuple[str, Fields]]:
    keys = window.snapshot.start_keys
    # Only the leader reads start entries, and any worker may become the leader.
    if len(keys) > 1:
        yield "", {"keys": ", ".join(keys)}


def _run_only(window: Window) -> Iterator[tuple[str, Fields]]:
    only = window.snapshot.health.only
    if waiting := [site.name for site in window.snapshot.sites if only and site.name not in only]:
        yield "", {"sites": ", ".join(waiting[:10])}


def _at_rest(window: Window) -> Iterator[tuple[str, Fields]]:
    if window.snapshot.is_at_rest:
        yield "", {}


def _cells_down(window: Window) -> Iterator[tuple[str, Fields]]:
    for cell in window.snapshot.down:
        named = ", ".join(cell.sites[:10]) + (", ..." if len(cell.sites) > 10 else "")
        sites = gettext("its {count} sites ({sites})", count=len(cell.sites), sites=named) if named else "its sites"
        yield cell.name, {"sites": gettext(sites), "reason": cell.reason}


LOST_LEDGER = "Redis does not hold the ledger that the database was filled from"
HALTED = Kind(
    "CrawlHalted", Severity.CRITICAL, "all sites stand still: {reason}",
    "is it the right Redis (CRAWL_REDIS_URL)? does another installation fill the database: set CRAWL_REDIS_PREFIX;"
    " was it emptied: crawl-tasks recover", condition=_halted,
    rule=AlertRule(f"{of_installation('crawl_halted')} == 1", "1m", {"reason": LOST_LEDGER}),
)  # fmt: skip
BEAT_SILENT = Kind(
    "CrawlBeatSilent", Severity.CRITICAL, "beat is silent, no new scans begin",
    "start celery -A crawl_tasks beat; a worker of the queue control must be alive too", condition=_beat_silent,
    rule=AlertRule(f"{of_installation('crawl_beat_alive')} == 0\n{TAKES_WRITES}", "2m"),
)  # fmt: skip
NO_WORKER = Kind(
    "CrawlNoWorker", Severity.CRITICAL, "no worker serves this queue",
    "start one: celery -A crawl_tasks worker -Q {queue}", "queue", _unserved,
    rule=AlertRule(f"{of_installation('crawl_workers')} == 0\n{TAKES_WRITES}", "2m", {"queue": "{{ $labels.queue }}"}),
)  # fmt: skip
NO_SITE = Kind(
    "CrawlNoSite", Severity.WARNING, "no site is published",
    "write config/sites/NAME.yaml, then run crawl-tasks sites check", condition=_no_site,
    is_of_all_cells=True,
)  # fmt: skip
REDIS_DOWN = Kind(
    "CrawlRedisDown", Severity.CRITICAL, "the crawl stands still, and no other problem can be judged: {reason}",
    "look whether Redis runs and whether CRAWL_REDIS_URL is right, then run crawl-tasks check",
)  # fmt: skip
ITEMS_REJECTED = Kind(
    "CrawlItemsRejected", Severity.WARNING, "{count} pages could not be stored and were rejected",
    "crawl-tasks failed list --kind item says why; when it is mended: crawl-tasks failed retry --kind item",
    condition=_rejected, rule=AlertRule(f"{of_installation('crawl_rejected_pages')} > 0", "2m"),
    singular="1 page could not be stored and was rejected",
)  # fmt: skip
INSTALLATION_KINDS = (
    HALTED,
    Kind("CrawlCellDown", Severity.CRITICAL,
         "this cell does not answer: {sites} stand still, those of other cells go on: {reason}",
         "bring its Redis back, and all goes on by itself; if it is lost: name an empty one in its place in"
         " CRAWL_REDIS_URL, then crawl-tasks recover", "cell", _cells_down, is_of_all_cells=True,
         rule=AlertRule(f"{of_installation('crawl_cell_up')} == 0", "1m",
                        {"sites": "its sites", "reason": "crawl-tasks check says why"})),
    Kind("CrawlAtRest", Severity.INFO, "no crawl is running", "nothing; crawl-tasks run goes on", condition=_at_rest),
    Kind("CrawlRunOnly", Severity.INFO, "a run of other sites serves this Redis: {sites} wait for its end",
         "nothing; workers of their own, or a run that names them, fetch them meanwhile", condition=_run_only),
    Kind("CrawlStartKeysDiffer", Severity.WARNING,
         "workers read start entries from different keys ({keys}): one of them at a time is read, and the others wait",
         "give all workers the same CRAWL_START_KEY, and restart them", condition=_start_keys_differ,
         rule=AlertRule(f"{of_installation('crawl_start_keys')} > 1", "5m", {"keys": "crawl-tasks check names them"})),
    Kind("CrawlRedisMemory", Severity.CRITICAL,
         "Redis uses {share} of its memory; full, it refuses writes and the crawl stands still",
         "raise maxmemory, or lower max_backlog; crawl-tasks status shows which site has most", condition=_memory,
         rule=AlertRule(f"{of_installation('crawl_redis_memory_bytes')}"
                        f" / ({of_installation('crawl_redis_memory_max_bytes')} > 0) > {MEMORY_SHARE}", "5m",
                   {"share": "{{ $value | humanizePercentage }}"})),
    Kind("CrawlOutboxGrows", Severity.WARNING, "{count} pages wait to be stored, and they become more",
         "is the database well, is a store worker alive? add store workers", condition=_outbox_grows,
         takes_window=True,
         rule=AlertRule(f"{of_installation('crawl_outbox_pages')} > {OUTBOX_LEAST}"
                        f" and {of_installation('deriv(crawl_outbox_pages[15m])')} > 0", "10m")),
    Kind("CrawlOutboxFull", Severity.CRITICAL,
         "the outbox is full: nothing is fetched while {count} pages wait for the database",
         "is the database in order (crawl-tasks check), is a store worker alive? add store workers",
         condition=_outbox_full,
         rule=AlertRule(f"{of_installation('crawl_outbox_pages')}"
                        f" >= {FULL_SHARE} * {of_installation('crawl_outbox_limit_pages')}", "2m")),
    Kind("CrawlStoreFails", Severity.CRITICAL, "the store fails: the oldest page waits for the database for {duration}",
         "is the database in order (crawl-tasks check), is a store worker alive? its log says why it cannot store",
         condition=_store_fails,
         rule=AlertRule(f"{of_installation('crawl_outbox_age_seconds')} > {STORE_LATE_S}\n{TAKES_WRITES}", "1m",
                   {"duration": "{{ $value | humanizeDuration }}"})),
    Kind("CrawlRedisRefuses", Severity.CRITICAL, "Redis refuses writes, and the crawl stands still: {reason}",
         "free its memory or disk, or name the master in CRAWL_REDIS_URL; then all goes on by itself",
         condition=_redis_refuses,
         rule=AlertRule(f"{of_installation('crawl_redis_refuses_writes')} == 1", "1m",
                        {"reason": "crawl-tasks check says why"})),
    ITEMS_REJECTED,
    BEAT_SILENT, NO_WORKER, *WORKER_KINDS,
    Kind("CrawlThreadsFew", Severity.WARNING,
         "half of the {subject} pages wait longer than {duration} for a thread, though their sites let them go",
         "more threads (-c) or more workers of this queue: sites x (latency + 0.02 s) / the longer of delay and"
         " latency",
         "stage", _threads_few, takes_window=True,
         rule=AlertRule("histogram_quantile(0.5, sum by (stage, le) (rate(crawl_queue_wait_seconds_bucket[15m])))"
                        f" > {WAIT_S}", "10m", {"duration": "{{ $value | humanizeDuration }}"})),
    Kind("CrawlExporterDown", Severity.CRITICAL,
         "the exporter or Redis does not answer: no other alert can be judged",
         "start crawl-tasks exporter; see its log, and whether Redis answers (crawl-tasks check)",
         # Of all alerts only this one can fire without samples: a dead exporter leaves every other expression empty.
         rule=AlertRule('absent(up{job="crawl"} == 1)', "2m")),
    REDIS_DOWN, NO_SITE,
)  # fmt: skip
