"""Own counters: functions of a site raise them, and the worker writes them to Redis once a second."""

from __future__ import annotations

import re
import threading
from collections import Counter

MOST_NAMES = 100
"""Counters of a site in one process. A name made of an id would otherwise fill Redis and the exporter."""
HIDDEN_OF = "hidden_of_"
"""The begin of the counters of stored texts in which a secret of the session was replaced, one for each secret."""
OWN_FAILURES = ("hook_failed", "hook_hung", "hook_lost", "priority_failed")
"""Counters of calls of own functions that failed, which count_own.lua notes for monitoring."""
_ODD = re.compile(r"[^a-z0-9_]+")
_lock = threading.Lock()
_counted: dict[str, Counter[str]] = {}


def count(site: str, name: str, by: int = 1) -> None:
    """Raise a counter of a site, which the exporter shows as `crawl_own_total{site, name}`.

    Names have small letters, digits and _, at most 40. Beyond 100 names, the rest is counted as `other`.
    """
    slug = _ODD.sub("_", name.lower()).strip("_")[:40] or "unnamed"
    with _lock:
        names = _counted.setdefault(site, Counter())
        names[slug if slug in names or len(names) < MOST_NAMES else "other"] += by


def take_counted() -> dict[str, dict[str, int]]:
    """Return the counts since the last call, by site and name."""
    with _lock:
        taken = {site: _nonzero(names) for site, names in _counted.items()}
        for names in _counted.values():
            names.subtract({name: names[name] for name in names})
    return {site: names for site, names in taken.items() if names}


def _nonzero(names: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in names.items() if count}


def put_back(counted: dict[str, dict[str, int]]) -> None:
    """Count again the counts that could not be written."""
    with _lock:
        for site, names in counted.items():
            _counted.setdefault(site, Counter()).update(names)
