"""The watchdog of a crawl's progress: notices that nothing moves, and whether anything will move by itself."""

from __future__ import annotations

from crawl_tasks.monitor.problems.site_conditions import login_refused
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot

STILL_MS = 3_000
"""Time without any step from which on a crawl stands still, in milliseconds."""

GIVE_UP_MS = 60_000
"""Time for which a crawl stands still, with nothing that will move by itself, before it is given up."""

COOLDOWN_WAITED_S = 300.0
"""The longest cooldown of a site that is waited for, in seconds. Quiet hours and a spent budget are longer."""


class ProgressWatchdog:
    """The watchdog of one crawl, which is shown every snapshot."""

    def __init__(self) -> None:
        self._steps: tuple[int, ...] = ()
        self._since_ms = 0

    def note(self, snapshot: Snapshot) -> None:
        """Compare a snapshot with the last one."""
        counts = [site.counts for site in snapshot.sites]
        # The probes of a refused login are no steps: each finds that there is no session.
        trying = [site.counts for site in snapshot.sites if login_refused(site) is None]
        steps = (
            snapshot.outbox,
            snapshot.health.oldest_item_at_ms,
            *(count.count("attempts") for count in trying),
            *(count.admitted for count in counts),
            *(count.delayed for count in trying),
            *(count.leased for count in trying),
            *(count.done for count in counts),
        )
        if steps != self._steps:
            self._steps, self._since_ms = steps, snapshot.at_ms

    def is_still(self, snapshot: Snapshot) -> bool:
        """Return whether nothing has moved for a moment."""
        return snapshot.at_ms - self._since_ms >= STILL_MS

    def gives_up(self, snapshot: Snapshot) -> bool:
        """Return whether nothing has moved for long, and nothing will by itself."""
        return snapshot.at_ms - self._since_ms >= GIVE_UP_MS and not any(
            _moves(site, snapshot.at_ms) for site in snapshot.sites if not site.is_paused
        )


def _moves(site: SiteSnapshot, now_ms: int) -> bool:
    """Return whether pages of a site move by themselves: in hand, to be tried again, or behind a short cooldown."""
    # The next login comes after a quarter of an hour, or with another secret.
    if login_refused(site) is not None:
        return False
    # A gate with a long delay lets a page through once in a delay.
    waited_s = max(COOLDOWN_WAITED_S, 2 * max(map(site.counts.count, ("delay_ms", "crawl_delay_ms"))) / 1000)
    is_soon = site.moving > 0 and 0 < site.rests_s(now_ms) <= waited_s
    return bool(site.counts.leased or site.counts.delayed or is_soon)
