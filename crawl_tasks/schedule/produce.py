"""Step 1: admit scans of due boards, while their site is under its threshold. One script decides and acts."""

from __future__ import annotations

import logging

from crawl_tasks.frontier.frontier import Frontier

log = logging.getLogger(__name__)


class Producer:
    """What beat calls. Two beats at once, or a late one, change nothing: a board has one scan at a time."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier

    def run(self) -> str:
        """Look for due boards once and say what was admitted."""
        admitted, held, busy = self._frontier.produce()
        if admitted or held:
            log.info("produced", extra={"admitted": admitted, "held_back": held, "busy": busy})
        return f"{admitted} scans admitted, {held} held back, {busy} still running"
