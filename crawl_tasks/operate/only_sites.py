"""The limit of `run` to its own sites, where no other worker serves this Redis."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Sequence

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.reads import Process

LASTS_MS = 15_000
"""Time after which other sites go on by themselves when a run is killed, in milliseconds."""
RENEW_EVERY_S = 3.0


class OnlySites:
    """The limit to some sites. There is none beside workers of others, whose sites must not stand still for a run."""

    def __init__(self, cells: Iterable[Frontier], sites: Sequence[str], report: Callable[[str], None]) -> None:
        self._cells = cells
        self._sites = sites
        self._report = report
        self._renew_at = 0.0
        self._is_alone = True

    def renew(self, processes: Iterable[Process], own: Iterable[int]) -> None:
        """Keep the limit up, or end it beside workers other than those with the process ids `own`."""
        names = {f"{socket.gethostname()}:{pid}" for pid in own}
        strangers = [process.name for process in processes if process.name not in names]
        if strangers and self._is_alone:
            self._run_only((), 0)
            self._renew_at = 0.0
            self._report(f"workers of others run as well ({', '.join(strangers[:3])}): all published sites are fetched")
        if not strangers and time.monotonic() >= self._renew_at:
            self._run_only(self._sites, LASTS_MS)
            self._renew_at = time.monotonic() + RENEW_EVERY_S
        self._is_alone = not strangers

    def _run_only(self, sites: Sequence[str], for_ms: int) -> None:
        for frontier in self._cells:
            frontier.sites.run_only(sites, for_ms)
