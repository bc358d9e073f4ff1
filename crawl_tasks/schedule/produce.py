"""The producer: admits scans of due boards while their site is under its backlog limit. One script decides and acts."""

from __future__ import annotations

import logging

from crawl_tasks.frontier.frontier import Frontier

log = logging.getLogger(__name__)


def admit_due(frontier: Frontier) -> str:
    """Admit scans of the boards that are due, and return the counts as a text.

    Beat calls this. A board has one scan at a time, so a second beat changes nothing.
    """
    admitted, held, busy = frontier.produce()
    if admitted or held:
        log.info("produced", extra={"admitted": admitted, "held_back": held, "busy": busy})
    return f"{admitted} scans admitted, {held} held back, {busy} still running"
