"""Two machines before one forum: each has a clock and a memory of pages of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from random import Random

from crawl_tasks.demo.forum import Answer, head
from tests.changing.pages import Shown

KEPT = frozenset({HTTPStatus.OK, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
Make = Callable[[str, float], Shown]


@dataclass(frozen=True, slots=True)
class Copy:
    """What a front end was given, and when, by the clock of the world."""

    shown: Shown
    made_at: float


@dataclass(slots=True)
class FrontEnd:
    """A front end: its clock is `ahead_s` before the world's; pages are kept for `keeps_s`."""

    name: str
    ahead_s: float = 0.0
    keeps_s: float = 0.0
    is_dated: bool = True
    _copies: dict[str, Copy] = field(default_factory=dict)

    def answer(self, path: str, now: float, make: Make) -> tuple[Copy, bool]:
        """Return a page, kept or made now, and whether it was kept."""
        kept = self._copies.get(path)
        if kept is not None and now - kept.made_at < self.keeps_s:
            return kept, True
        copy = Copy(make(path, now + self.ahead_s), now)
        if self.keeps_s and copy.shown.answer.status in KEPT and path != "/robots.txt":
            self._copies[path] = copy
        return copy, False

    def pack(self, answer: Answer, made_at: float, now: float) -> bytes:
        """Write a response: Date is when the page was made, by this machine's clock, and Age how long ago that is."""
        headers = dict(answer.headers)
        if self.is_dated:
            headers["date"] = formatdate(made_at + self.ahead_s, usegmt=True)
        if self.keeps_s:
            headers["age"] = str(int(now - made_at))
        return head(answer.status, headers, len(answer.body)) + answer.body


@dataclass(slots=True)
class Gateway:
    """Sends each request to one of the front ends, drawn from the seed."""

    fronts: tuple[FrontEnd, ...]
    rng: Random

    def next(self) -> FrontEnd:
        """Draw the front end that answers."""
        return self.rng.choice(self.fronts)
