"""Faults of a forum: which fault meets which request. Pure. injection.py performs them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any

_SETTINGS: dict[str, type[int | float | str]] = {
    "times": int, "probability": float, "retry_after_s": int, "duration_s": float, "target": str,
}  # fmt: skip


class FaultKind(StrEnum):
    """Kinds of faults."""

    TOO_MANY = "too_many"
    UNAVAILABLE = "unavailable"
    ERROR = "error"
    SLOW_HEADERS = "slow_headers"
    SLOW_BODY = "slow_body"
    TRUNCATED = "truncated"
    ENDLESS = "endless"
    HANG_UP = "hang_up"
    REDIRECT_LOOP = "redirect_loop"
    REDIRECT_PRIVATE = "redirect_private"
    MOVED = "moved"
    CHANGED_MARKUP = "changed_markup"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault for all requests whose path (without query) the regular expression `pattern` matches as a whole.

    A fault strikes the first `times` requests of each path, or all. Of these only the share `probability` is struck,
    drawn from the forum's seed, so that runs are alike. `retry_after_s` is sent with too_many and unavailable if set.
    `duration_s` is the length of the slow ones. `target` is the address of redirect_private.
    """

    kind: FaultKind
    pattern: str
    times: int | None = None
    probability: float = 1.0
    retry_after_s: int | None = None
    duration_s: float = 60.0
    target: str = "http://169.254.169.254/latest/meta-data/"

    def __post_init__(self) -> None:
        """Refuse impossible values.

        Raises:
            ValueError: Names the field and the reason.
        """
        try:
            re.compile(self.pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"pattern {self.pattern!r} is no regular expression: {error}") from error
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability {self.probability} is not between 0 and 1")
        if self.times is not None and self.times < 1:
            raise ValueError(f"times {self.times} is not 1 or more; leave it out for always")
        if not 0 <= self.duration_s <= 86_400:
            raise ValueError(f"duration_s {self.duration_s} is not between 0 and 86400")

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read `KIND PATTERN [name=value ...]`, such as `too_many /post/.* times=1 retry_after_s=2`.

        Raises:
            ValueError: Names the wrong part and a right one.
        """
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise ValueError(f"fault {text!r}: {error}; close the quotation or leave it out") from error
        if len(words) < 2:
            raise ValueError(
                f"fault {text!r}: give a kind and a pattern for paths, such as 'too_many /post/.* times=1'"
            )
        kind, pattern, *settings = words
        if kind not in set(FaultKind):
            raise ValueError(f"fault {text!r}: unknown kind {kind!r}; known are {', '.join(FaultKind)}")
        try:
            return cls(FaultKind(kind), pattern, **dict(map(_setting, settings)))
        except ValueError as error:
            raise ValueError(f"fault {text!r}: {error}") from error


class FaultPlan:
    """Decides about each request, and counts the requests of each path."""

    def __init__(self, seed: int, faults: Iterable[Fault] = ()) -> None:
        self._seed = seed
        self._faults = [(fault, re.compile(fault.pattern)) for fault in faults]
        self._seen: Counter[tuple[int, str]] = Counter()

    def pick(self, path: str) -> Fault | None:
        """Return the first fault that strikes this request, if any."""
        for index, (fault, pattern) in enumerate(self._faults):
            if pattern.fullmatch(path) and self._strikes(index, fault, path):
                return fault
        return None

    def _strikes(self, index: int, fault: Fault, path: str) -> bool:
        self._seen[index, path] += 1
        nth = self._seen[index, path]
        if fault.times is not None and nth > fault.times:
            return False
        # By path and rank: the order in which a crawl asks for pages must not change the faults.
        chance = Random(f"{self._seed}:{index}:{path}:{nth}")  # repeatable, not secret
        return fault.probability >= 1 or chance.random() < fault.probability


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    if name not in _SETTINGS:
        raise ValueError(f"unknown setting {name!r}; known are {', '.join(_SETTINGS)}")
    return name, _SETTINGS[name](value)
