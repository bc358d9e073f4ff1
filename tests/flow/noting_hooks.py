"""Hooks that note in a file of the state directory what they are told."""

from __future__ import annotations

import os
from pathlib import Path

FILE = "told"


def _note(line: str) -> None:
    with (Path(os.environ["CRAWL_STATE_DIR"]) / FILE).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def site_idle(site: str) -> None:
    """Note that a site is idle."""
    _note(f"{site} is idle")


def site_finished(site: str, reason: str) -> None:
    """Note that the crawl of a site has ended."""
    _note(f"{site} is finished: {reason}")
