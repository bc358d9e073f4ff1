"""One look after the other: what fires, what of it is news, and to whom it is told."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Sequence

from crawl_tasks.alerts.conditions import (
    AT_ONCE,
    OF_WINDOW,
    WINDOW_MS,
    Alert,
    Marks,
    Severity,
    find_alerts,
    marks_of,
)
from crawl_tasks.alerts.receivers import News, NotDelivered, Receiver
from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.alarms import Alarms, Change, Notice
from crawl_tasks.monitor.snapshot import Snapshot

log = logging.getLogger(__name__)

HOLD_MS = 120_000
"""What is over sooner is not worth a message."""

BLIND = Alert(
    "CrawlExporterDown",
    "",
    Severity.CRITICAL,
    "Redis does not answer: the crawl stands still, and no other alert can be judged",
    "is it running, and is CRAWL_REDIS_URL right? crawl-tasks doctor",
)


class Herald:
    """Looks, and tells the receivers. Thread-confined."""

    def __init__(
        self,
        take: Callable[[], Snapshot],
        alarms: Alarms,
        receivers: Sequence[Receiver],
        installation: str,
        repeat_ms: int,
        *,
        hold_ms: int = HOLD_MS,
    ) -> None:
        self._take = take
        self._alarms = alarms
        self._receivers = receivers
        self._installation = installation
        self._repeat_ms = repeat_ms
        self._hold_ms = hold_ms
        self._memory: deque[Marks] = deque()
        self._since: dict[str, int] = {}
        self._is_blind = False

    def look(self) -> list[News]:
        """Look once and tell what is news; give what was told."""
        try:
            snapshot = self._take()
            self._end_blindness(snapshot.at_ms)
            before = self._before(snapshot)
            found = {alert.key: alert for alert in find_alerts(snapshot, before)}
            firing = self._held(found, snapshot.at_ms)
            judged = AT_ONCE + OF_WINDOW if before else AT_ONCE
            notices = self._alarms.claim(sorted(firing), found.keys() - firing, judged, self._repeat_ms)
        except BackendError as error:
            return self._tell_blindness(str(error))
        news = [News(notice.change, found.get(notice.key) or _ended(notice), notice.since_ms) for notice in notices]
        if news and not self._tell(news):
            for notice in notices:
                self._alarms.undo(notice)
            return []
        return news

    def _before(self, snapshot: Snapshot) -> Marks | None:
        """Give the youngest memory that is a window old, and remember this look."""
        memory = self._memory
        memory.append(marks_of(snapshot))
        while len(memory) > 1 and snapshot.at_ms - memory[1].at_ms >= WINDOW_MS:
            memory.popleft()
        return memory[0] if snapshot.at_ms - memory[0].at_ms >= WINDOW_MS else None

    def _held(self, found: Collection[str], now_ms: int) -> set[str]:
        """Give those that have fired for a while."""
        self._since = {key: self._since.get(key, now_ms) for key in found}
        return {key for key in found if now_ms - self._since[key] >= self._hold_ms}

    def _tell_blindness(self, why: str) -> list[News]:
        log.error("cannot look for alerts", extra={"error": why})
        if self._is_blind:
            return []
        news = [News(Change.BEGINS, BLIND, 0)]
        self._is_blind = self._tell(news)
        return news if self._is_blind else []

    def _end_blindness(self, now_ms: int) -> None:
        if self._is_blind:
            self._is_blind = not self._tell([News(Change.ENDED, BLIND, now_ms)])

    def _tell(self, news: Sequence[News]) -> bool:
        """Tell every receiver; say whether any took it. Those that did not are logged, and hear of the next change."""
        taken = 0
        for receiver in self._receivers:
            try:
                receiver.deliver(news, self._installation)
                taken += 1
            except NotDelivered as error:
                log.error("alert not delivered", extra={"error": str(error)})
        return taken > 0 or not self._receivers


def _ended(notice: Notice) -> Alert:
    name, _, subject = notice.key.partition(" ")
    return Alert(name, subject, Severity.WARNING, f"{notice.key} is over", "")
