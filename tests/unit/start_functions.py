"""Functions that make start entries of what other programs push, good and bad ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator


def two_posts(entry: str) -> Iterator[dict[str, object]]:
    for number in entry.split("+"):
        yield {"post_id": number, "dont_filter": True}


def raises(entry: str) -> dict[str, object]:
    raise KeyError(entry)


def hangs(entry: str) -> dict[str, object]:
    threading.Event().wait()
    return {}


def makes_nothing(entry: str) -> list[object]:
    return []


def makes_too_many(entry: str) -> Iterator[dict[str, object]]:
    while True:
        yield {"post": 1}
