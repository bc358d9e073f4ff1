"""The merge rules: how two observations of one row become one, whatever the order of their arrival.

Every field is a register of its own (last writer wins): the newest value that is not None stands. Of two values seen at
the same instant the greater one stands, so that neither the order nor the number of arrivals matters. Both lists and
pages show posts, so each name of a post's `extra` is a register too (stamps.py).
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from itertools import compress
from operator import ne
from typing import NamedTuple

import orjson

from crawl_tasks.model import Extra
from crawl_tasks.store.rows import COMMENTS, CONTENT_HASH, Row, Shape, Value, digest, extra_json
from crawl_tasks.store.stamps import Stamps, extra_name, pack, unpack


@dataclass(frozen=True, slots=True)
class Replaced:
    """A value of a tracked field that is not, or no longer, the current one, and the last time seen."""

    field: str
    value: Value
    seen_at: float


def merge(shape: Shape, one: Row, two: Row) -> tuple[Row, list[Replaced]]:
    """Join two rows of one key. The order of the arguments does not matter.

    Returns:
        The row, and the values of tracked fields that lost to another value.
    """
    at, end, stamps = shape.key_size, shape.end, shape.stamps_at
    (seen_one, first_one), (seen_two, first_two) = times_of(shape, one), times_of(shape, two)
    # From here on `two` is the later row.
    if seen_one > seen_two:
        return merge(shape, two, one)
    old, new, first_seen_at = one[at + 1 : end], two[at + 1 : end], min(first_one, first_two)
    # Without stamps every field has its row's time, so only fields that differ need a decision.
    is_even = one[stamps] is None and two[stamps] is None
    if is_even and old == new:
        return (*two[:end], first_seen_at, *two[stamps:]), []
    of_one, of_two = unpack(one[stamps]), unpack(two[stamps])
    contested: Iterable[int] = compress(range(len(new)), map(ne, old, new))
    if not is_even:
        contested = sorted({*contested, *_uneven(shape, of_one, of_two)})
    values, losers, merged = list(new), list[Replaced](), Stamps({}, of_one.own | of_two.own, {})
    for index in contested:
        value, other, name = old[index], new[index], shape.names[index]
        if name == "extra" and shape.joins_extra:
            values[index] = _join_extra((value, of_one, seen_one), (other, of_two, seen_two), merged)
            continue
        if value is None and not of_two.times:
            continue
        value_at, other_at = of_one.times.get(name, seen_one), of_two.times.get(name, seen_two)
        if value is None or other is None:
            is_older = value is None
        # The post's own page knows better than any list.
        elif (name in of_one.own) != (name in of_two.own):
            is_older = name in of_two.own
        else:
            # At the same instant the greater value wins. Any fixed rule would do: the order of arrival must not decide.
            is_older = (value_at, value) < (other_at, other)
        if is_older:
            value, value_at, other, other_at = other, other_at, value, value_at
        values[index] = value
        if value_at != seen_two and value is not None:
            merged.times[name] = value_at
        if other is not None and other != value and name in shape.tracked:
            losers.append(Replaced(name, other, other_at))
    row = (*two[: at + 1], *values, first_seen_at, pack(merged))
    return (*row, _hash_of(shape, row, one, two)) if shape.tracked else row, losers


def _uneven(shape: Shape, one: Stamps, two: Stamps) -> Iterable[int]:
    """Return the places of fields for which two rows differ in more than their times, whatever their values."""
    names = one.times.keys() | two.times.keys() | (one.own ^ two.own)
    if shape.joins_extra:
        names.add("extra")
    return (shape.place_of[name] for name in names if name in shape.place_of)


_Told = tuple[Value, Stamps, float]
"""A stored extra, the stamps of its row, and when the row was seen."""


class _Said(NamedTuple):
    """The state of one name of `extra` in one row, in the order in which later ones win."""

    at: float
    is_there: bool
    value: str
    source: str


def _join_extra(one: _Told, two: _Told, merged: Stamps) -> Value:
    """Join two extras name by name. `merged` gets the names that are older than the second row, and all sources."""
    (text_one, _, _), (text_two, _, seen_two) = one, two
    if text_one is None and text_two is None:
        return None
    first, second = _said(*one), _said(*two)
    found = first | second
    for name in first.keys() & second.keys():
        older, newer = sorted((first[name], second[name]))
        # Another board's list may lack this name: only the source that showed a name can withdraw that name.
        says_nothing = older.is_there and not newer.is_there and newer.source != older.source
        found[name] = older if says_nothing else newer
    for name in sorted(found):
        if found[name].at != seen_two:
            merged.times[extra_name(name)] = found[name].at
        if found[name].source:
            merged.sources[name] = found[name].source
    # One text stands already, as nearly always.
    if text_one == text_two or (first and not second):
        return text_one
    if second and not first:
        return text_two
    return extra_json({name: said.value if said.is_there else None for name, said in found.items()})


def _said(text: Value, stamps: Stamps, seen_at: float) -> dict[str, _Said]:
    extra: Extra = orjson.loads(text) if isinstance(text, str) else {}
    return {
        name: _Said(
            stamps.times.get(extra_name(name), seen_at), value is not None, value or "", stamps.sources.get(name, "")
        )
        for name, value in extra.items()
    }


def times_of(shape: Shape, row: Row) -> tuple[float, float]:
    """Return seen_at and first_seen_at."""
    return row[shape.key_size], row[shape.end]  # type: ignore[return-value]  # these two columns hold floats


def _hash_of(shape: Shape, row: Row, one: Row, two: Row) -> Value:
    """Return the hash of the tracked values, copied from a source row with the same values."""
    tracked = shape.tracked_of(row)
    for like in (one, two):
        if shape.tracked_of(like) == tracked:
            return like[CONTENT_HASH]
    return digest(*tracked)


def without(shape: Shape, row: Row, covered: Container[float]) -> Row | None:
    """Return a row without the values of covered times, None if no other page showed the row."""
    seen_at, first = times_of(shape, row)
    stamps = unpack(row[shape.stamps_at])
    times: dict[str, float] = {}
    sources: dict[str, str] = {}
    values = list(row[shape.key_size + 1 : shape.end])
    for index, (name, value) in enumerate(zip(shape.names, values, strict=True)):
        if name == "extra" and shape.joins_extra and isinstance(value, str):
            every = stamps.times.get("extra", seen_at)
            extra = orjson.loads(value)
            told = {one: stamps.times.get(extra_name(one), every) for one in extra}
            left = {one: said for one, said in extra.items() if told[one] not in covered}
            values[index] = extra_json(left) if left else None
            times |= {extra_name(one): told[one] for one in left}
            sources = {one: source for one, source in stamps.sources.items() if one in left}
        elif value is not None:
            at = stamps.times.get(name, seen_at)
            if at in covered and not is_mark(shape, name, value):
                values[index] = None
            else:
                times[name] = at
    if seen_at in covered:
        if not times:
            return None
        seen_at = max(times.values())
    older = {name: at for name, at in times.items() if at != seen_at}
    own = frozenset(name for name in stamps.own if name in times)
    first = min(times.values(), default=seen_at) if first in covered else first
    rest = (*row[: shape.key_size], seen_at, *values, first, pack(Stamps(older, own, sources)))
    # The hash stands last, behind the columns that are read for it.
    return (*rest, digest(*shape.tracked_of(rest))) if shape.tracked else rest


def is_mark(shape: Shape, name: str, value: Value) -> bool:
    """Return whether a full pass may have given this value, dated at the first of its pages."""
    return shape is COMMENTS and name == "state" and value == "deleted"
