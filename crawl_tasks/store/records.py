"""Between a batch of items and the upsert: rows, and how two observations of one thing become one.

Every field is a register of its own: the newest value that is not None stands, and of two values seen
at the same instant the greater one, so that neither the order nor the number of arrivals matters. A row
is a tuple in the order of its table's columns:

    key..., seen_at, fields..., first_seen_at, stamps[, content_hash]

(`change_id` is no part of it: the statements write that.)
`stamps` keeps the time of every field that is older than `seen_at`, as `time field field;time field`,
newest first; it is None when there is none, which is nearly always so for comments. Each name of `extra` is a register
too, `extra.NAME`. A last group `! field` names the fields that the post's own page gave: no list replaces them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import compress, repeat
from operator import itemgetter, ne
from typing import Final, cast
from urllib.parse import quote

from sqlalchemy import Table

from crawl_tasks.model import Comment, Extra, Forum, Post
from crawl_tasks.store import tables

Value = str | int | float | None
Row = tuple[Value, ...]
Key = tuple[str, ...]

_OWN: Final = "!"
_NONE: Final = frozenset[str]()


@dataclass(frozen=True, slots=True)
class Loser:
    """A value of a tracked field that is not, or no longer, the current one, and when it was last seen."""

    field: str
    value: Value
    seen_at: float


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

    def __post_init__(self) -> None:
        columns = tuple(column.name for column in self.table.columns if column.name != tables.CHANGE_ID)
        end = columns.index("first_seen_at")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "end", end)
        fetched_at = columns.index("fetched_at") if "fetched_at" in columns else None
        object.__setattr__(self, "fetched_at", fetched_at)
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
    own_board = post.is_page and post.forum_id is not None
    return (
        site,
        *post[:15],
        _json(post.extra),
        post.seen_at if fetched else None,
        post.revision if fetched else None,
        read_by or None if fetched else None,
        post.seen_at,
        f"{_OWN} forum_id" if own_board else None,
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
    stamps_one, own_one = _unpack(one[end + 1])
    stamps_two, own_two = _unpack(two[end + 1])
    contested: Iterable[int] = range(len(new))
    if is_even:
        contested = compress(contested, map(ne, old, new))
    values, losers, late = list(new), list[Loser](), dict[float, list[str]]()
    for index in contested:
        value, other, name = old[index], new[index], shape.names[index]
        if value is None and not stamps_two:
            continue
        if name == "extra":
            values[index] = _join_extra((value, stamps_one, seen_one), (other, stamps_two, seen_two), late)
            continue
        value_at, other_at = stamps_one.get(name, seen_one), stamps_two.get(name, seen_two)
        if value is None or other is None:
            is_older = value is None
        elif (name in own_one) != (name in own_two):
            is_older = name in own_two
        else:
            is_older = (value_at, value) < (other_at, other)
        if is_older:
            value, value_at, other, other_at = other, other_at, value, value_at
        values[index] = value
        if value_at != seen_two and value is not None:
            late.setdefault(value_at, []).append(name)
        if other is not None and other != value and name in shape.tracked:
            losers.append(Loser(name, other, other_at))
    row = (*two[: at + 1], *values, first_seen_at, _pack(late, own_one | own_two))
    return (*row, _hash_of(shape, row, one, two)) if shape.tracked else row, losers


_Told = tuple[Value, dict[str, float], float]
"""An extra as it is stored, the stamps of its row, and when the row was seen."""


def _join_extra(one: _Told, two: _Told, late: dict[float, list[str]]) -> Value:
    """Join two extras name by name; `late` gets the names that are older than the second row."""
    found: dict[str, tuple[float, bool, str]] = {}
    for text, stamps, seen_at in (one, two):
        extra = json.loads(text) if isinstance(text, str) else {}
        for name, value in extra.items():
            said_at = stamps.get(
                _extra_name(name), stamps.get("extra", seen_at)
            )  # an earlier version's stamp is for all
            said = (said_at, value is not None, value or "")
            found[name] = max(found.get(name, said), said)
    for name in sorted(found):
        if found[name][0] != two[2]:
            late.setdefault(found[name][0], []).append(_extra_name(name))
    if one[0] is None and two[0] is None:
        return None
    return _json({name: value if is_there else None for name, (_, is_there, value) in found.items()})


def _extra_name(name: str) -> str:
    """Spell a name of `extra` as a field of the stamps, where blanks and semicolons part them."""
    return f"extra.{quote(name, safe='')}"


def _times(shape: Shape, row: Row) -> tuple[float, float]:
    """Read seen_at and first_seen_at."""
    return row[shape.key_size], row[shape.end]  # type: ignore[return-value]  # these two columns hold floats


def _pack(late: dict[float, list[str]], own: frozenset[str]) -> str | None:
    """Write which fields are older than their row, by time, newest first, and which are the post's own."""
    groups = [" ".join([repr(float(time)), *late[time]]) for time in sorted(late, reverse=True)]
    if own:
        groups.append(" ".join([_OWN, *sorted(own)]))
    return ";".join(groups) or None


def _unpack(packed: Value) -> tuple[dict[str, float], frozenset[str]]:
    stamps: dict[str, float] = {}
    own = _NONE
    if isinstance(packed, str):
        for group in packed.split(";"):
            time, *names = group.split(" ")
            if time == _OWN:
                own = frozenset(names)
            else:
                stamps.update(dict.fromkeys(names, float(time)))
    return stamps, own


def _hash_of(shape: Shape, row: Row, one: Row, two: Row) -> Value:
    """Hash what is tracked, unless one of those that the row was made of has the same."""
    tracked = shape.tracked_of(row)
    for like in (one, two):
        if shape.tracked_of(like) == tracked:
            return like[-1]
    return digest(*tracked)


def _json(extra: Extra | None) -> str | None:
    return None if extra is None else json.dumps(extra, ensure_ascii=False, sort_keys=True)
