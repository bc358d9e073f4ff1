"""The upsert of one table: new rows are inserted, known rows are merged with the stored ones.

New rows go in with one `INSERT ... ON CONFLICT DO NOTHING` per portion. Stored rows are read, merged with ours and
written back only where that insert skipped some. Every writer takes the tables in the same order, in each first the new
rows, then the stored ones, by key. So no two writers ever wait for each other in a ring (deadlock).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from math import inf
from operator import itemgetter
from typing import Final, cast

from sqlalchemy import Connection, select

from crawl_tasks.model import UNREADABLE
from crawl_tasks.store.batch import Gathered
from crawl_tasks.store.merge import Replaced, merge
from crawl_tasks.store.rows import COMMENTS, POSTS, Key, Row, Shape, Value, digest
from crawl_tasks.store.statements import UNMARKED, Change, Mark, Statements
from crawl_tasks.store.tables import posts

# No key has a NUL, so joined keys sort like the tuples, and compare in one step.
_BY_TEXT: Final = "\0".join
_SITE_OF: Final = itemgetter(0)
# Rows of one insert: only portions that hold a known row are read back.
PORTION: Final = 250
WEEK_S: Final = 604_800


@dataclass(slots=True)
class WriteCounts:
    """Counts of a site's rows of one table, filled while the transaction goes on.

    `filled` rows were known from a list only and got their text. `posted` has the posting times of rows whose text is
    stored for the first time, and `by_board` the same of posts whose board is known, and of the last week's
    comments (`by_thread`) whose board `locate` knows. `restored` rows, of those that changed, were deleted and
    are readable again.
    """

    rows: int = 0
    new: int = 0
    filled: int = 0
    changed: int = 0
    restored: int = 0
    posted: list[int] = field(default_factory=list)
    by_board: dict[str, list[int]] = field(default_factory=dict)
    by_thread: dict[str, list[int]] = field(default_factory=dict)

    def note_posted(self, shape: Shape, rows: Sequence[Row]) -> None:
        """Note the known posting times of rows whose text is stored for the first time."""
        at, board_at, fetched_at = shape.posted_at, shape.board_at, shape.fetched_at
        if at is None:
            return
        # A post without this time is known from a list only and has no text.
        if fetched_at is not None:
            rows = [row for row in rows if row[fetched_at] is not None]
        # Column created_at holds nothing else.
        times = cast("list[int | None]", list(map(itemgetter(at), rows)))
        known = [time for time in times if time is not None]
        self.posted += known
        if board_at is not None:
            _group_times(self.by_board, map(itemgetter(board_at), rows), times)
        elif shape is COMMENTS and known:
            # Older ones tell when the crawl began. Their boards need not be looked up.
            oldest = min(cast("Iterator[float]", map(itemgetter(shape.key_size), rows))) - WEEK_S
            if max(known) > oldest:
                _group_times(self.by_thread, map(itemgetter(1), rows), times, oldest)

    def note_rewritten(self, shape: Shape, stored: Row, merged: Row) -> None:
        """Note a stored row that another one replaces: it gets its text, or another value of its content."""
        at = shape.fetched_at
        if at is not None and stored[at] is None and merged[at] is not None:
            self.filled += 1
        else:
            self.changed += merged[shape.content] != stored[shape.content]
        self.restored += _is_restored(shape, stored, merged)

    def locate(self, boards: Mapping[str, str]) -> None:
        """Add the times of comments to those of their boards, by the board of each thread."""
        for thread, times in self.by_thread.items():
            if thread in boards:
                self.by_board.setdefault(boards[thread], []).extend(times)


def _group_times(
    groups: dict[str, list[int]], keys: Iterable[Value], times: Iterable[int | None], oldest: float = -inf
) -> None:
    """Add the times after the oldest one to the groups of their keys, where both are known."""
    for key, time in zip(keys, times, strict=True):
        if key is not None and time is not None and time > oldest:
            groups.setdefault(str(key), []).append(time)


def settle(
    connection: Connection, statements: Statements, gathered: Gathered, change: Change | None = None
) -> dict[str, WriteCounts]:
    """Write a table's rows, and superseded values into the versions. Return the counts by site.

    `change` is the number of the transaction, for the tables with a change feed.
    """
    shape = gathered.shape
    tallies: dict[str, WriteCounts] = {}
    known: list[tuple[list[Key], bool]] = []
    for portion in _portions(sorted(gathered.rows, key=_BY_TEXT)):
        tally = tallies.setdefault(_SITE_OF(portion[0]), WriteCounts())
        rows = list(map(gathered.rows.__getitem__, portion))
        added = statements.add(connection, shape.table, rows, change)
        tally.rows += len(rows)
        tally.new += added
        if added < len(portion):
            known.append((portion, added > 0))
        else:
            tally.note_posted(shape, rows)
    # A second loop, because all inserts come before all locks: else writers would form a ring.
    for portion, inserted in known:
        tally = tallies[_SITE_OF(portion[0])]
        _meet(connection, statements, gathered, change, keys=portion, tally=tally, inserted=inserted)
    if versions := _versions(gathered):
        statements.keep_versions(connection, versions)
    return tallies


def boards_of(connection: Connection, site: str, threads: Iterable[str]) -> dict[str, str]:
    """Return the known boards of threads."""
    boards: dict[str, str] = {}
    ids = iter(sorted(threads))
    while portion := list(islice(ids, PORTION)):
        at = posts.c
        query = select(at.post_id, at.forum_id).where(
            at.site == site, at.post_id.in_(portion), at.forum_id.is_not(None)
        )
        boards.update((thread, str(board)) for thread, board in connection.execute(query))
    return boards


def _portions(keys: Sequence[Key]) -> Iterator[list[Key]]:
    """Cut sorted keys into portions of one site each: the database reports only how many of a portion were new."""
    for _, group in groupby(keys, key=_SITE_OF):
        rest = list(group)
        for start in range(0, len(rest), PORTION):
            yield rest[start : start + PORTION]


def _is_first_text(shape: Shape, stored: Row, ours: Row, inserted: bool) -> bool:
    """Return whether a row gets its text from us: known from a list only before, or inserted just now."""
    if shape.fetched_at is not None and stored[shape.fetched_at] is None:
        return True
    # No database tells which rows of a portion were new. A row with both of our times is taken for one of them.
    return inserted and stored[shape.key_size] == ours[shape.key_size] and stored[shape.end] == ours[shape.end]


def _is_restored(shape: Shape, stored: Row, merged: Row) -> bool:
    at = shape.state_at
    return at is not None and stored[at] == "deleted" and merged[at] not in UNREADABLE


def _meet(
    connection: Connection,
    statements: Statements,
    gathered: Gathered,
    change: Change | None,
    *,
    keys: Sequence[Key],
    tally: WriteCounts,
    inserted: bool,
) -> None:
    """Merge the stored rows of these keys with ours, write those that differ, and count new values."""
    shape = gathered.shape
    rewritten: list[Row] = []
    marks: list[Mark] = []
    seen_again: list[Row] = []
    current_again: list[Key] = []
    begun: list[Row] = []
    for stored in statements.find(connection, shape, keys):
        key = shape.key_of(stored)
        ours = gathered.rows[key]
        merged, losers = merge(shape, stored, ours)
        gathered.rows[key] = merged
        if _is_first_text(shape, stored, ours, inserted):
            begun.append(merged)
        if losers:
            gathered.losers.setdefault(key, []).extend(losers)
            current_again += _new_values(shape, key, stored, merged)
        at = shape.key_size
        if merged[at + 1 :] != stored[at + 1 :]:
            rewritten.append(merged)
            marks.append(change.mark_of(shape, stored, merged) if change else UNMARKED)
            tally.note_rewritten(shape, stored, merged)
        # A later time alone needs no rewrite of the texts.
        elif merged[at] != stored[at]:
            seen_again.append((merged[at], *key))
    tally.note_posted(shape, begun)
    if rewritten:
        statements.replace(connection, shape.table, rewritten, marks)
    if seen_again:
        statements.touch(connection, shape, seen_again)
    if current_again:
        statements.drop_versions(connection, current_again)


def _versions(gathered: Gathered) -> list[Row]:
    """Return the versions to add: every superseded value except the current one, with the last time seen."""
    shape = gathered.shape
    latest: dict[Key, Replaced] = {}
    for key in sorted(gathered.losers):
        row = gathered.rows[key]
        for loser in gathered.losers[key]:
            if loser.value == row[shape.columns.index(loser.field)]:
                continue
            version = version_key(shape, key, loser)
            known = latest.get(version)
            if known is None or known.seen_at < loser.seen_at:
                latest[version] = loser
    return [(*version, latest[version].value, latest[version].seen_at) for version in sorted(latest)]


def _new_values(shape: Shape, key: Key, stored: Row, merged: Row) -> list[Key]:
    """Return the keys of the versions whose value is the current one again."""
    changed = [index for index in shape.tracked_at if stored[index] is not None and stored[index] != merged[index]]
    return [version_key(shape, key, Replaced(shape.columns[index], merged[index], 0.0)) for index in changed]


def version_key(shape: Shape, key: Key, loser: Replaced) -> Key:
    """Return the key of the version that a value of a row is."""
    kind, (site, post_id, comment_id) = ("post", (*key, "")) if shape is POSTS else ("comment", key)
    return (site, kind, post_id, comment_id, loser.field, digest(loser.value))
