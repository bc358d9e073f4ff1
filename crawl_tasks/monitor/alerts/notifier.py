"""The notifier: judges one snapshot after the other, and sends the alerts that begin, last or end to the receivers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.admin.alert_state import AlertState, Change, Notice
from crawl_tasks.logs import hide_passwords
from crawl_tasks.monitor.alerts.receivers import News, NotDelivered, Receiver
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.installation_kinds import REDIS_DOWN
from crawl_tasks.monitor.problems.kinds import Problem, Severity
from crawl_tasks.monitor.problems.registry import ALERTS, judge
from crawl_tasks.monitor.snapshot import Snapshot

log = logging.getLogger(__name__)

HOLD_MS = 120_000
"""Time for which a problem must hold before its alert is sent, in milliseconds."""


class Notifier:
    """The notifier of one process. Several processes share the state of alerts in Redis. Thread-confined."""

    def __init__(
        self,
        take: Callable[[], Snapshot],
        alert_state: AlertState,
        receivers: Sequence[Receiver],
        installation: str,
        repeat_ms: int,
        *,
        hold_ms: int = HOLD_MS,
        every_ms: int = 0,
    ) -> None:
        """Make a notifier, which says in Redis that it looks every `every_ms`, and is missed when it does not."""
        self._take = take
        self._alert_state = alert_state
        self._receivers = receivers
        self._installation = installation
        self._repeat_ms = repeat_ms
        self._hold_ms = hold_ms
        self._every_ms = every_ms
        self._since: dict[str, int] = {}
        self._is_redis_down = False

    def look(self) -> list[News]:
        """Judge one snapshot, send the news and return the news that were sent."""
        try:
            snapshot = self._take()
            current = judge(snapshot, ALERTS)
            problems = {finding.problem.key: finding.problem for finding in current}
            # What follows from another problem neither begins nor ends an alert.
            firing = self._held({finding.problem.key for finding in current if not finding.is_implied}, snapshot.at_ms)
            # In the first 15 minutes, kinds that need a window are not judged. Their alerts must not end for that, and
            # so the state in Redis is told which kinds were judged.
            judged = [kind.name for kind in ALERTS if snapshot.has_window or not kind.takes_window]
            notices = self._alert_state.claim(
                sorted(firing), problems.keys() - firing, judged, self._repeat_ms, self._every_ms
            )
        except BackendError as error:
            return self._report_redis_down(str(error))
        # Only now: a Redis that refuses writes answers to reads.
        self._report_redis_up(snapshot.at_ms)
        # `claim` gave these notices only to this process, so nobody else sends them.
        news = [News(notice.change, problems.get(notice.key) or _ended(notice), notice.since_ms) for notice in notices]
        # No receiver took them: given back, the next judgement of any process sends them again.
        if news and not self._tell(news):
            for notice in notices:
                self._alert_state.undo(notice)
            return []
        return news

    def _held(self, keys: Collection[str], now_ms: int) -> set[str]:
        """Return the keys that have fired for the hold time."""
        self._since = {key: self._since.get(key, now_ms) for key in keys}
        return {key for key in keys if now_ms - self._since[key] >= self._hold_ms}

    def _report_redis_down(self, why: str) -> list[News]:
        log.error("cannot look for alerts", extra={"error": why})
        # The state of alerts is in the very Redis that is away. So each process remembers this one alert by itself.
        if self._is_redis_down:
            return []
        news = [News(Change.BEGINS, REDIS_DOWN.problem(reason=hide_passwords(why)), 0)]
        self._is_redis_down = self._tell(news)
        return news if self._is_redis_down else []

    def _report_redis_up(self, now_ms: int) -> None:
        if self._is_redis_down:
            self._is_redis_down = not self._tell(
                [News(Change.ENDED, REDIS_DOWN.problem(reason=gettext("it answers")), now_ms)]
            )

    def _tell(self, news: Sequence[News]) -> bool:
        """Send news to every receiver, and return whether any took them. The others hear of the next change."""
        taken = 0
        for receiver in self._receivers:
            try:
                receiver.deliver(news, self._installation)
                taken += 1
            except NotDelivered as error:
                log.error("alert not delivered", extra={"error": str(error)})
        return taken > 0 or not self._receivers


def _ended(notice: Notice) -> Problem:
    name, _, subject = notice.key.partition(" ")
    return Problem(name, Severity.WARNING, subject, gettext("{name} is over", name=name), "")
