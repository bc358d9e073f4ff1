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


_Observation = tuple[Row, Stamps, float]
"""The fields of a row, its stamps, and when the row was seen."""


def merge(shape: Shape, left: Row, right: Row) -> tuple[Row, list[Replaced]]:
    """Join two rows of one key. The order of the arguments does not matter.

    Returns:
        The row, and the values of tracked fields that lost to another value.
    """
    at, end, stamps = shape.key_size, shape.end, shape.stamps_at
    (left_at, left_first), (right_at, right_first) = times_of(shape, left), times_of(shape, right)
    # From here on `right` is the later row.
    if left_at > right_at:
        return merge(shape, right, left)
    old, new, first_seen_at = left[at + 1 : end], right[at + 1 : end], min(left_first, right_first)
    # Without stamps every field has its row's time, so only fields that differ need a decision.
    is_even = left[stamps] is None and right[stamps] is None
    if is_even and old == new:
        return (*right[:end], first_seen_at, *right[stamps:]), []
    of_left, of_right = unpack(left[stamps]), unpack(right[stamps])
    contested: Iterable[int] = compress(range(len(new)), map(ne, old, new))
    if not is_even:
        contested = sorted({*contested, *_uneven(shape, of_left, of_right)})
    values, losers, merged = _decide(shape, contested, (old, of_left, left_at), (new, of_right, right_at))
    row = (*right[: at + 1], *values, first_seen_at, pack(merged))
    return (*row, _hash_of(shape, row, left, right)) if shape.tracked else row, losers


def _decide(
    shape: Shape, contested: Iterable[int], earlier: _Observation, later: _Observation
) -> tuple[list[Value], list[Replaced], Stamps]:
    """Return the values of the merged row, those that lost, and the stamps of the merged row."""
    (old, stamps, seen_at), (new, later_stamps, later_at) = earlier, later
    values, losers, merged = list(new), list[Replaced](), Stamps({}, stamps.own | later_stamps.own, {})
    for index in contested:
        value, other, name = old[index], new[index], shape.names[index]
        if name == "extra" and shape.joins_extra:
            values[index] = _join_extra((value, stamps, seen_at), (other, later_stamps, later_at), merged)
            continue
        if value is None and not later_stamps.times:
            continue
        value_at, other_at = stamps.times.get(name, seen_at), later_stamps.times.get(name, later_at)
        is_own, others_own = name in stamps.own, name in later_stamps.own
        if _is_superseded(value, value_at, is_own, other, other_at, others_own):
            value, value_at, other, other_at = other, other_at, value, value_at
        values[index] = value
        if value_at != later_at and value is not None:
            merged.times[name] = value_at
        if other is not None and other != value and name in shape.tracked:
            losers.append(Replaced(name, other, other_at))
    return values, losers, merged


def _is_superseded(value: Value, at: float, is_own: bool, other: Value, other_at: float, others_own: bool) -> bool:
    """Return whether another value is in place of a value. `own` values are those of the post's own page."""
    if value is None or other is None:
        return value is None
    # The post's own page knows better than any list.
    if is_own != others_own:
        return others_own
    # At the same instant the greater value wins. Any fixed rule would do: the order of arrival must not decide.
    return (at, value) < (other_at, other)


def _uneven(shape: Shape, earlier: Stamps, later: Stamps) -> Iterable[int]:
    """Return the places of fields for which two rows differ in more than their times, whatever their values."""
    names = earlier.times.keys() | later.times.keys() | (earlier.own ^ later.own)
    if shape.joins_extra:
        names.add("extra")
    return (shape.place_of[name] for name in names if name in shape.place_of)


_Extra = tuple[Value, Stamps, float]
"""A stored extra, the stamps of its row, and when the row was seen."""


class _NameState(NamedTuple):
    """The state of one name of `extra` in one row, in the order in which later ones win."""

    at: float
    is_there: bool
    value: str
    source: str


def _join_extra(earlier: _Extra, later: _Extra, merged: Stamps) -> Value:
    """Join two extras name by name. `merged` gets the names that are older than the second row, and all sources."""
    (text, _, _), (later_text, _, later_at) = earlier, later
    if text is None and later_text is None:
        return None
    first, second = _names_of(*earlier), _names_of(*later)
    names = first | second | {name: _newer(first[name], second[name]) for name in first.keys() & second.keys()}
    for name in sorted(names):
        state = names[name]
        if state.at != later_at:
            merged.times[extra_name(name)] = state.at
        if state.source:
            merged.sources[name] = state.source
    # One text stands already, as nearly always.
    if text == later_text or (first and not second):
        return text
    if second and not first:
        return later_text
    return extra_json({name: state.value if state.is_there else None for name, state in names.items()})


def _newer(state: _NameState, other: _NameState) -> _NameState:
    """Return the state that stands. Only the source that showed a name can withdraw it: other lists may lack it."""
    older, newer = (state, other) if state <= other else (other, state)
    says_nothing = older.is_there and not newer.is_there and newer.source != older.source
    return older if says_nothing else newer


def _names_of(text: Value, stamps: Stamps, seen_at: float) -> dict[str, _NameState]:
    extra: Extra = orjson.loads(text) if isinstance(text, str) else {}
    return {
        name: _NameState(
            stamps.times.get(extra_name(name), seen_at), value is not None, value or "", stamps.sources.get(name, "")
        )
        for name, value in extra.items()
    }


def times_of(shape: Shape, row: Row) -> tuple[float, float]:
    """Return seen_at and first_seen_at."""
    return row[shape.key_size], row[shape.end]  # type: ignore[return-value]  # these two columns hold floats


def _hash_of(shape: Shape, row: Row, *sources: Row) -> Value:
    """Return the hash of the tracked values, copied from a source row with the same values."""
    tracked = shape.tracked_of(row)
    for source in sources:
        if shape.tracked_of(source) == tracked:
            return source[CONTENT_HASH]
    return digest(*tracked)


def without(shape: Shape, row: Row, covered: Container[float]) -> Row | None:
    """Return a row without the values of covered times, None if no other page showed the row."""
    seen_at, first = times_of(shape, row)
    own = unpack(row[shape.stamps_at]).own
    values, times, sources = _fields_without(shape, row, covered)
    if seen_at in covered:
        if not times:
            return None
        seen_at = max(times.values())
    older = {name: at for name, at in times.items() if at != seen_at}
    first = min(times.values(), default=seen_at) if first in covered else first
    stamps = Stamps(older, frozenset(own.intersection(times)), sources)
    rest = (*row[: shape.key_size], seen_at, *values, first, pack(stamps))
    # The hash stands last, behind the columns that are read for it.
    return (*rest, digest(*shape.tracked_of(rest))) if shape.tracked else rest


def _fields_without(
    shape: Shape, row: Row, covered: Container[float]
) -> tuple[list[Value], dict[str, float], dict[str, str]]:
    """Return the fields of a row without the values of covered times, the times of the others, and their sources."""
    seen_at, stamps = times_of(shape, row)[0], unpack(row[shape.stamps_at])
    times: dict[str, float] = {}
    sources: dict[str, str] = {}
    values = list(row[shape.key_size + 1 : shape.end])
    for index, (name, value) in enumerate(zip(shape.names, values, strict=True)):
        if name == "extra" and shape.joins_extra and isinstance(value, str):
            extra, extra_times, sources = _extra_without(value, stamps, seen_at, covered)
            values[index] = extra_json(extra) if extra else None
            times |= extra_times
        elif value is not None:
            at = stamps.times.get(name, seen_at)
            if at in covered and not is_mark(shape, name, value):
                values[index] = None
            else:
                times[name] = at
    return values, times, sources


def _extra_without(
    text: str, stamps: Stamps, seen_at: float, covered: Container[float]
) -> tuple[Extra, dict[str, float], dict[str, str]]:
    """Return the names of an extra that have no covered time, with their times by stamp and their sources."""
    extra: Extra = orjson.loads(text)
    times = {name: stamps.times.get(extra_name(name), seen_at) for name in extra}
    left = {name: value for name, value in extra.items() if times[name] not in covered}
    sources = {name: source for name, source in stamps.sources.items() if name in left}
    return left, {extra_name(name): times[name] for name in left}, sources


def is_mark(shape: Shape, name: str, value: Value) -> bool:
    """Return whether a full pass may have given this value, dated at the first of its pages."""
    return shape is COMMENTS and name == "state" and value == "deleted"
