"""Kinds of problems of worker processes and of the sender of alerts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.problems.kinds import AlertRule, Fields, Kind, Severity
from crawl_tasks.monitor.problems.rule_queries import TAKES_WRITES, of_installation
from crawl_tasks.monitor.problems.window import Window

DIED_LEAST: Final = 3
"""Workers that died within a quarter of an hour from which on they die again and again."""
CLOCK_MS: Final = 5_000
"""Difference of the clocks of a worker and of Redis that is a problem, in milliseconds."""
MOST_NAMED: Final = 5


def _dying(window: Window) -> Iterator[tuple[str, Fields]]:
    if (count := window.snapshot.died) >= DIED_LEAST:
        yield "", {"count": count}


def _clocks(window: Window) -> Iterator[tuple[str, Fields]]:
    apart = [process for process in window.snapshot.processes if abs(process.ahead_ms) > CLOCK_MS]
    if apart:
        worst = max(apart, key=lambda process: abs(process.ahead_ms))
        names = ", ".join(process.name for process in apart[:MOST_NAMED])
        yield "", {"names": names, "duration": duration(abs(worst.ahead_ms) / 1000)}


def _versions(window: Window) -> Iterator[tuple[str, Fields]]:
    versions = sorted({process.version for process in window.snapshot.processes})
    if len(versions) > 1:
        yield "", {"versions": ", ".join(versions)}


def _alerts_silent(window: Window) -> Iterator[tuple[str, Fields]]:
    if silent_s := window.snapshot.alerts_silent_s:
        yield "", {"duration": duration(silent_s)}


def _alerts_unsent(window: Window) -> Iterator[tuple[str, Fields]]:
    if unsent_s := window.snapshot.alerts_unsent_s:
        yield "", {"duration": duration(unsent_s)}


WORKER_KINDS = (
    Kind("CrawlWorkersDie", Severity.CRITICAL,
         "{count} workers died within 15 minutes without ending in order: they are killed, or crash at once",
         "see the log of the worker and of what starts it (kubectl logs --previous, journalctl, dmesg for the memory);"
         " crawl-tasks check shows whether the installation is in order", condition=_dying,
         rule=AlertRule(f"{of_installation('crawl_workers_died')} >= {DIED_LEAST}\n{TAKES_WRITES}", "1m")),
    Kind("CrawlWorkerClock", Severity.WARNING,
         "the clock of {names} is up to {duration} apart from Redis' clock, and so are the times of what it stores",
         "set up NTP on that machine", condition=_clocks,
         rule=AlertRule(f"{of_installation('crawl_worker_clock_seconds')} > {CLOCK_MS / 1000:.0f}", "2m",
                        {"names": "a worker", "duration": "{{ $value | humanizeDuration }}"})),
    Kind("CrawlAlertsSilent", Severity.CRITICAL, "crawl-tasks alerts has not looked for {duration}: no message is sent",
         "start crawl-tasks alerts; one that shall not run any more is ended by Ctrl-C or SIGTERM",
         condition=_alerts_silent,
         rule=AlertRule(f"{of_installation('crawl_alerts_silent_seconds')} > 0\n{TAKES_WRITES}", "1m",
                        {"duration": "{{ $value | humanizeDuration }}"})),
    Kind("CrawlAlertsUnsent", Severity.CRITICAL,
         "no receiver has taken the messages of crawl-tasks alerts for {duration}",
         "its log says why (alert not delivered): mend CRAWL_ALERT_TO or the receiver, and they are sent again",
         condition=_alerts_unsent,
         rule=AlertRule(f"{of_installation('crawl_alerts_unsent_seconds')} > 0", "1m",
                        {"duration": "{{ $value | humanizeDuration }}"})),
    Kind("CrawlVersionsDiffer", Severity.INFO, "the workers have several versions: {versions}",
         "nothing, while they are being replaced; else restart those with the older one", condition=_versions),
)  # fmt: skip
