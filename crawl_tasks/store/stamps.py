"""Stamps: the times of a row's fields that are older than the row, and where its fields come from, as one text.

Column `stamps` keeps the time of every field that is older than `seen_at`, newest first. The format is `time field
field`, groups parted by semicolons. Without such a field `stamps` is None, which is nearly always so for comments. Each
name of a post's `extra` is a field too, `extra.NAME`. Groups `@BOARD name name` tell which board's list showed these
names: their absence from another board's list proves nothing. A group `! field` names the fields that the post's own
page showed: no list replaces them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

_OWN: Final = "!"
_GIVEN_BY: Final = "@"


class Stamps(NamedTuple):
    """Column `stamps`: times of fields older than their row, fields of the post's own page, and sources of extras."""

    times: dict[str, float]
    own: frozenset[str]
    sources: dict[str, str]


@lru_cache(maxsize=4096)  # forums have few names and boards
def _quoted(name: str) -> str:
    return quote(name, safe="")


def extra_name(name: str) -> str:
    """Return a name of `extra` as a field of the stamps, where blanks and semicolons separate fields."""
    return f"extra.{_quoted(name)}"


def pack(stamps: Stamps) -> str | None:
    """Return the column's text, None without stamps."""
    if not any(stamps):
        return None
    late: dict[float, list[str]] = {}
    for name, time in stamps.times.items():
        late.setdefault(time, []).append(name)
    groups = [" ".join([repr(float(time)), *late[time]]) for time in sorted(late, reverse=True)]
    if stamps.sources:
        given: dict[str, list[str]] = {}
        for name, source in sorted(stamps.sources.items()):
            given.setdefault(source, []).append(_quoted(name))
        groups += [" ".join([_GIVEN_BY + _quoted(source), *names]) for source, names in sorted(given.items())]
    if stamps.own:
        groups.append(" ".join([_OWN, *sorted(stamps.own)]))
    return ";".join(groups)


@lru_cache(maxsize=1024)  # rows of one board's list have one text, and so do those of pages
def unpack(packed: object) -> Stamps:
    """Return the stamps of a column's value, which nobody may change."""
    times: dict[str, float] = {}
    own, sources = frozenset[str](), dict[str, str]()
    if isinstance(packed, str):
        for group in packed.split(";"):
            head, *names = group.split(" ")
            if head == _OWN:
                own = frozenset(names)
            elif head[0] == _GIVEN_BY:
                sources.update(dict.fromkeys(map(unquote, names), unquote(head[1:])))
            else:
                times.update(dict.fromkeys(names, float(head)))
    return Stamps(times, own, sources)


@lru_cache(maxsize=1024)
def sources_text(own: frozenset[str], names: tuple[str, ...], board: str) -> str | None:
    """Return the column's text of a new row: its own fields, and the board whose list showed these names of `extra`."""
    return pack(Stamps({}, own, dict.fromkeys(names, board)))


def stamps_until(now: float, packed: object) -> str | None:
    """Return stamps with no time after `now`."""
    stamps = unpack(packed)
    return pack(stamps._replace(times={name: min(now, time) for name, time in stamps.times.items()}))
