"""Between a batch of items and the upsert: rows, and how two observations of one thing become one.

Every field is a register of its own: the newest value that is not None stands, and of two values seen
at the same instant the greater one, so that neither the order nor the number of arrivals matters. A row
is a tuple in the order of its table's columns:

    key..., seen_at, fields..., first_seen_at, stamps[, content_hash]

(`change_id` is no part of it: the statements write that.)
`stamps` keeps the time of every field that is older than `seen_at`, as `time field field;time field`,
newest first; it is None when there is none, which is nearly always so for comments. Of posts, which lists and pages
tell of, each name of `extra` is a register too, `extra.NAME`. Groups `@BOARD name name` tell which board's list gave
them: that another board's list does not show them says nothing. A group `! field` names the fields that the post's own
page gave: no list replaces them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import compress, repeat
from operator import itemgetter, ne
from typing import Final, NamedTuple, cast
from urllib.parse import quote, unquote

from sqlalchemy import Table

from crawl_tasks.model import Comment, Extra, Forum, Post
from crawl_tasks.store import tables

Value = str | int | float | None
Row = tuple[Value, ...]
Key = tuple[str, ...]

_OWN: Final = "!"
_GIVEN_BY: Final = "@"
_NONE: Final = frozenset[str]()
# Fields that a post's own page decides, where it has them: a list may show a thread of another board, and only the day.
_OWNED: Final = {
    (False, False): _NONE,
    (True, False): frozenset({"forum_id"}),
    (False, True): frozenset({"created_at"}),
    (True, True): frozenset({"forum_id", "created_at"}),
}


@dataclass(frozen=True, slots=True)
class Loser:
    """A value of a tracked field that is not, or no longer, the current one, and when it was last seen."""

    field: str
    value: Value
    seen_at: float


class Stamps(NamedTuple):
    """What column `stamps` says: fields that are older than their row, the post's own, whose list gave extras."""

    times: dict[str, float]
    own: frozenset[str]
    sources: dict[str, str]


@dataclass(frozen=True, eq=False)
class Shape:
    """Where things stand in the rows of one table."""

    table: Table
    key_size: int
    tracked: tuple[str, ...]
    key_of: Callable[[Row], Key] = field(init=False)
    names: tuple[str, ...] = field(init=False)
    columns: tuple[str, ...] = field(init=False)
    content: slice = field(init=False)
    end: int = field(init=False)
    tracked_at: tuple[int, ...] = field(init=False)
    tracked_of: Callable[[Row], Row] = field(init=False)
    posted_at: int | None = field(init=False)
    board_at: int | None = field(init=False)
    fetched_at: int | None = field(init=False)
    state_at: int | None = field(init=False)
    joins_extra: bool = field(init=False)

    def __post_init__(self) -> None:
        columns = tuple(column.name for column in self.table.columns if column.name != tables.CHANGE_ID)
        end = columns.index("first_seen_at")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "end", end)
        fetched_at = columns.index("fetched_at") if "fetched_at" in columns else None
        object.__setattr__(self, "fetched_at", fetched_at)
        object.__setattr__(self, "state_at", columns.index("state") if "state" in columns else None)
        object.__setattr__(self, "joins_extra", fetched_at is not None)
        object.__setattr__(self, "posted_at", columns.index("created_at") if "created_at" in columns else None)
        is_of_board = "forum_id" in columns[self.key_size :]
        object.__setattr__(self, "board_at", columns.index("forum_id") if is_of_board else None)
        derived = columns.index("read_by") if fetched_at is None and "read_by" in columns else fetched_at or end
        object.__setattr__(self, "content", slice(self.key_size + 1, derived))
        object.__setattr__(self, "names", columns[self.key_size + 1 : end])
        tracked_at = tuple(columns.index(name) for name in self.tracked)
        object.__setattr__(self, "tracked_at", tracked_at)
        object.__setattr__(self, "tracked_of", itemgetter(*tracked_at or (0, 1)))
        object.__setattr__(self, "key_of", itemgetter(*range(self.key_size)))


FORUMS: Final = Shape(tables.forums, 2, ())
POSTS: Final = Shape(tables.posts, 2, ("title", "body", "state"))
COMMENTS: Final = Shape(tables.comments, 3, ("body", "state"))


def digest(*values: Value) -> str:
    """Hash values to 32 hexadecimal digits; None and the empty string differ."""
    # Clean text holds no NUL, so a NUL and the character after it can only be ours.
    text = "\0,".join(["\0-" if value is None else f"{value}" for value in values])
    return blake2b(text.encode(), digest_size=16).hexdigest()


def forum_row(site: str, forum: Forum, seen_at: float) -> Row:
    """Make a forum's row; a Forum carries no time, so the page's is given."""
    return (site, forum.forum_id, seen_at, forum.title, forum.url, seen_at, None)


def post_row(site: str, post: Post, read_by: str = "") -> Row:
    """Make a post's row; a body says that the post page itself was fetched, as `is_page` does."""
    fetched = post.is_page or post.body is not None
    own = _OWNED[post.forum_id is not None, post.created_at is not None] if post.is_page else _NONE
    sources = dict.fromkeys(post.extra, post.forum_id or "") if post.extra and not fetched else {}
    return (
        site,
        *post[:15],
        _json(post.extra),
        post.seen_at if fetched else None,
        post.revision if fetched else None,
        read_by or None if fetched else None,
        post.seen_at,
        _pack(Stamps({}, own, sources)) if own or sources else None,
        digest(post.title, post.body, post.state),
    )


def comment_rows(site: str, comments: Sequence[Comment], read_by: Sequence[str]) -> Iterator[Row]:
    """Make the rows of comments, column by column: this runs once for every comment of the crawl."""
    columns = list(zip(*comments, strict=True))
    times, bodies, states, extras = columns[2], columns[6], columns[12], columns[13]
    packed = extras if extras.count(None) == len(extras) else map(_json, extras)
    texts = map("\0,".join, zip(_marked(bodies), _marked(states), strict=True))  # what digest() makes of two texts
    hashes = [blake2b(text.encode(), digest_size=16).hexdigest() for text in texts]
    readers = [one or None for one in read_by]
    return zip(repeat(site), *columns[:13], packed, readers, times, repeat(None), hashes)


def _marked(values: Sequence[str | None]) -> Sequence[str]:
    if all(values):
        return cast("Sequence[str]", values)  # None is not true
    return ["\0-" if value is None else value for value in values]


def merge(shape: Shape, one: Row, two: Row) -> tuple[Row, list[Loser]]:
    """Join two rows of one key; the order of the arguments does not matter.

    Returns:
        The row, and the values of tracked fields that lost to another value.
    """
    at, end = shape.key_size, shape.end
    (seen_one, first_one), (seen_two, first_two) = _times(shape, one), _times(shape, two)
    if seen_one > seen_two:
        return merge(shape, two, one)
    old, new, first_seen_at = one[at + 1 : end], two[at + 1 : end], min(first_one, first_two)
    is_even = one[end + 1] is None and two[end + 1] is None
    if is_even and old == new:
        return (*two[:end], first_seen_at, *two[end + 1 :]), []
    of_one, of_two = _unpack(one[end + 1]), _unpack(two[end + 1])
    contested: Iterable[int] = range(len(new))
    if is_even:
        contested = compress(contested, map(ne, old, new))
    values, losers, merged = list(new), list[Loser](), Stamps({}, of_one.own | of_two.own, {})
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
        elif (name in of_one.own) != (name in of_two.own):  # its own page knows better than any list
            is_older = name in of_two.own
        else:
            is_older = (value_at, value) < (other_at, other)
        if is_older:
            value, value_at, other, other_at = other, other_at, value, value_at
        values[index] = value
        if value_at != seen_two and value is not None:
            merged.times[name] = value_at
        if other is not None and other != value and name in shape.tracked:
            losers.append(Loser(name, other, other_at))
    row = (*two[: at + 1], *values, first_seen_at, _pack(merged))
    return (*row, _hash_of(shape, row, one, two)) if shape.tracked else row, losers


_Told = tuple[Value, Stamps, float]
"""An extra as it is stored, the stamps of its row, and when the row was seen."""


class _Said(NamedTuple):
    """What one row says of a name of `extra`; the order is that in which later words win."""

    at: float
    is_there: bool
    value: str
    source: str


def _join_extra(one: _Told, two: _Told, merged: Stamps) -> Value:
    """Join two extras name by name; `merged` gets the names that are older than the second row, and all sources."""
    if one[0] is None and two[0] is None:
        return None
    first, second = _said(*one), _said(*two)
    found = first | second
    for name in first.keys() & second.keys():
        older, newer = sorted((first[name], second[name]))
        says_nothing = older.is_there and not newer.is_there and newer.source != older.source
        found[name] = older if says_nothing else newer
    for name in sorted(found):
        if found[name].at != two[2]:
            merged.times[_extra_name(name)] = found[name].at
        if found[name].source:
            merged.sources[name] = found[name].source
    return _json({name: said.value if said.is_there else None for name, said in found.items()})


def _said(text: Value, stamps: Stamps, seen_at: float) -> dict[str, _Said]:
    extra: Extra = json.loads(text) if isinstance(text, str) else {}
    seen_at = stamps.times.get("extra", seen_at)  # an earlier version's stamp is for all names
    return {
        name: _Said(
            stamps.times.get(_extra_name(name), seen_at), value is not None, value or "", stamps.sources.get(name, "")
        )
        for name, value in extra.items()
    }


def _extra_name(name: str) -> str:
    """Spell a name of `extra` as a field of the stamps, where blanks and semicolons part them."""
    return f"extra.{quote(name, safe='')}"


def _times(shape: Shape, row: Row) -> tuple[float, float]:
    """Read seen_at and first_seen_at."""
    return row[shape.key_size], row[shape.end]  # type: ignore[return-value]  # these two columns hold floats


def _pack(stamps: Stamps) -> str | None:
    late: dict[float, list[str]] = {}
    for name, time in stamps.times.items():
        late.setdefault(time, []).append(name)
    groups = [" ".join([repr(float(time)), *late[time]]) for time in sorted(late, reverse=True)]
    if stamps.sources:
        given: dict[str, list[str]] = {}
        for name, source in sorted(stamps.sources.items()):
            given.setdefault(source, []).append(quote(name, safe=""))
        groups += [" ".join([_GIVEN_BY + quote(source, safe=""), *names]) for source, names in sorted(given.items())]
    if stamps.own:
        groups.append(" ".join([_OWN, *sorted(stamps.own)]))
    return ";".join(groups) or None


def _unpack(packed: Value) -> Stamps:
    times: dict[str, float] = {}
    own, sources = _NONE, dict[str, str]()
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


def stamps_until(now: float, packed: Value) -> str | None:
    """Return stamps with no time after `now`."""
    stamps = _unpack(packed)
    return _pack(stamps._replace(times={name: min(now, time) for name, time in stamps.times.items()}))


def _hash_of(shape: Shape, row: Row, one: Row, two: Row) -> Value:
    """Hash what is tracked, unless one of those that the row was made of has the same."""
    tracked = shape.tracked_of(row)
    for like in (one, two):
        if shape.tracked_of(like) == tracked:
            return like[-1]
    return digest(*tracked)


def _json(extra: Extra | None) -> str | None:
    return json.dumps(extra, ensure_ascii=False, sort_keys=True) if extra else None if extra is None else "{}"
