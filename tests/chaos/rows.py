"""What a part of `make chaos` gives: rows of one table, and how large each part is to be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of each fault: `short` is what CI runs."""

    name: str
    kills: int  # at each kill point
    step: int  # every call fails, or every so-manieth
    redis: int  # deaths of Redis, and as many cut files
    repeats: int
    innocents: int  # pages among which others are poisoned, at least
    urls: int
    pages: int
    messages: int
    moments: int  # of a crawl at which each kind of key is deleted
    is_changing: bool = False  # the forum changes while it is crawled


SCALES = {
    "short": Scale(
        "short", kills=2, step=7, redis=2, repeats=1, innocents=1, urls=10_000, pages=1_000, messages=1_000, moments=1
    ),
    "middle": Scale(
        "middle",
        kills=50,
        step=1,
        redis=20,
        repeats=5,
        innocents=1_500,
        urls=100_000,
        pages=10_000,
        messages=10_000,
        moments=10,
    ),
    "long": Scale(
        "long",
        kills=350,
        step=1,
        redis=100,
        repeats=20,
        innocents=10_000,
        urls=1_000_000,
        pages=100_000,
        messages=100_000,
        moments=1000,
    ),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `faults` are empty when the goal is met; `plain` is a plain Celery crawler's figure."""

    figure: str
    size: str
    result: str
    goal: str
    faults: tuple[str, ...] = ()
    plain: str = ""


def table(rows: Iterable[Row]) -> str:
    """Write rows as Markdown."""
    lines = ["| figure | how many | result | goal | plain Celery |", "|---|---|---|---|---|"]
    lines += [f"| {row.figure} | {row.size} | {row.result} | {row.goal} | {row.plain or '-'} |" for row in rows]
    return "\n".join(lines)
