"""The texts that hold a request in Redis: entries, held entries and lines, their fields, and Lua's patterns of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class TextField(NamedTuple):
    """A field of a text, and the pattern of Lua that matches it. Blanks are between the fields."""

    name: str
    pattern: str
    meaning: str


_REQUEST: Final = (
    TextField("address", "%S+", "address of the page"),
    TextField("payload", ".*", "JSON array [key, page, revision, reach if any]"),
)
_STAGE: Final = TextField("stage", "%a+", "list, post or comment")
_PRIORITY: Final = TextField("priority", "%d", "0 to 9")
_WORK: Final = (_STAGE, _PRIORITY, TextField("attempt", "%d+", "number of attempts"), *_REQUEST)
_FLAG: Final = TextField("flag", "%p", "one of the flags")

TEXTS: Final = {
    "entry": (TextField("rid", "%d+", "number of the request"), *_WORK),
    "held": (TextField("token", "%d+", "token of the lease, 0 for a request that is released"), *_WORK),
    "line": (
        TextField("word", "%S+", "word by which the guard knows the request"),
        _FLAG,
        _STAGE,
        _PRIORITY,
        *_REQUEST,
    ),
    "work": _WORK,
    "wish": (_FLAG, _STAGE, _PRIORITY, *_REQUEST),
    "request": _REQUEST,
}
"""The texts. An entry is a request, a held entry is one in `open`, a line asks for admission. The others are parts."""

_ENDS: Final = {"work": "stage", "request": "address"}
"""The names of several fields up to the end, by the first of them."""


class Flag(StrEnum):
    """The flag of a line: which lines the guard lets pass."""

    NEW = "!"
    WALK = "?"
    FULL = "~"
    ECHO = "="
    HIDDEN = "-"
    STORED = "*"
    STORED_OTHERWISE = "/"
    AGAIN = "+"
    PING = "^"
    KNOWN = "."
    GONE = ":"


FLAG_MEANINGS: Final = {
    Flag.NEW: "if the guard admits it",
    Flag.WALK: "if the guard admits it and the walk goes on",
    Flag.FULL: "as part of a full pass",
    Flag.ECHO: "an echo, only if its thread was named before",
    Flag.HIDDEN: "its list calls the page deleted",
    Flag.STORED: "the database has the page with that revision",
    Flag.STORED_OTHERWISE: "the database has the page with another revision, or as gone",
    Flag.AGAIN: "whatever the guard says",
    Flag.PING: "never: a ping of a front page",
    Flag.KNOWN: "never: only the guard is asked or told",
    Flag.GONE: "never: the guard is told that the page is gone",
}


def pattern(text: str, names: str) -> str:
    """Return the pattern of Lua that captures fields of a text, given as `stage_address`.

    Raises:
        KeyError: the text has no such field.
    """
    fields, wanted = TEXTS[text], names.split("_")
    starts = [_ENDS.get(name, name) for name in wanted]
    places = [field.name for field in fields]
    if missing := [name for name in starts if name not in places]:
        raise KeyError(f"{text} has no field {missing[0]}")
    last = max(map(places.index, starts))
    parts = [_captured(field, wanted) for field in fields[: last + 1]]
    if wanted[-1] in _ENDS:
        return f"^{' '.join([*parts[:-1], '(.*)'])}$"
    if not any(name in _ENDS for name in wanted) and last + 1 < len(fields):
        return f"^{' '.join(parts)}"
    rest = [field.pattern for field in fields[last + 1 :]]
    return f"^{' '.join([*parts, *rest])}{')' * sum(name in _ENDS for name in wanted)}$"


def _captured(field: TextField, wanted: Sequence[str]) -> str:
    opened = "(" * sum(_ENDS.get(name) == field.name for name in wanted)
    return opened + (f"({field.pattern})" if field.name in wanted else field.pattern)


def patterns_in(codes: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the patterns that some Lua names, as WIRE.entry.stage_address, by text and fields.

    Raises:
        KeyError: a text has no such field.
    """
    patterns: dict[str, dict[str, str]] = {text: {} for text in TEXTS}
    for code in codes:
        for text, names in re.findall(rf"\bWIRE\.({'|'.join(TEXTS)})\.(\w+)", code):
            patterns[text][names] = pattern(text, names)
    return patterns
