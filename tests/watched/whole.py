"""A state of a whole installation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.watched.places import Installation

Act = Callable[[Installation], None]


def nothing(there: Installation) -> None:
    time.sleep(0)


@dataclass(frozen=True)
class WholeState:
    """A state of an installation. `kinds` are told of it, by name and subject; `also` may be told besides.

    `prepare` runs before any process starts, `before` once all run well. `types` are commands of remedies that mend it.
    """

    name: str
    what: str
    kinds: tuple[str, ...]
    begin: Act
    mend: Act = nothing
    prepare: Act = nothing
    before: Act = nothing
    workers: tuple[str, ...] = ("list", "detail", "store")
    also: tuple[str, ...] = ()
    types: str = ""
    site: str = ""
    is_from_start: bool = False
    ends: bool = True
