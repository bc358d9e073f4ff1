"""Inside the store's transaction: the rows of one table meet those that are stored.

New rows go in with one `INSERT ... ON CONFLICT DO NOTHING` per portion; only where it skipped some are
the stored rows read, merged with ours and written back. Every writer takes the tables in the same order,
in each first the new rows, then the stored ones, by key: so no two ever wait for each other in a ring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Final, cast

from sqlalchemy import Connection

from crawl_tasks.model import UNREADABLE
from crawl_tasks.store.batch import Gathered
from crawl_tasks.store.records import POSTS, Key, Loser, Row, Shape, digest, merge
from crawl_tasks.store.statements import Statements

_BY_TEXT: Final = "\0".join  # no key has a NUL, so joined ones have the order of the tuples, and compare at once
PORTION: Final = 250  # rows of one insert; only portions that hold a known row are read back


@dataclass(slots=True)
class Tally:
    """What becomes of a site's rows of one table; filled while the transaction goes on.

    `filled` rows were known from a list only and got their text; `posted` has the posting times of rows whose text was
    not there before; `by_board` the same of posts whose board is known. `restored` rows, of those that changed, were
    deleted and can be read again.
    """

    rows: int = 0
    new: int = 0
    filled: int = 0
    changed: int = 0
    restored: int = 0
    posted: list[int] = field(default_factory=list)
    by_board: dict[str, list[int]] = field(default_factory=dict)

    def note_posted(self, shape: Shape, rows: Sequence[Row]) -> None:
        """Take the posting times, where known, of rows whose text is stored for the first time."""
        at, board_at, fetched_at = shape.posted_at, shape.board_at, shape.fetched_at
        if at is None:
            return
        if fetched_at is not None:  # a post that only a list showed has no text
            rows = [row for row in rows if row[fetched_at] is not None]
        times = cast("list[int | None]", list(map(itemgetter(at), rows)))  # the column holds nothing else
        self.posted += [time for time in times if time is not None]
        if board_at is not None:
            for row, time in zip(rows, times, strict=True):
                if row[board_at] is not None and time is not None:
                    self.by_board.setdefault(str(row[board_at]), []).append(time)


def settle(
    connection: Connection, statements: Statements, gathered: Gathered, change: int | None = None
) -> dict[str, Tally]:
    """Bring a table's rows into the database, and what they replace into its versions; say what came, by site.

    `change` numbers the transaction, for the tables that note it.
    """
    shape = gathered.shape
    tallies: dict[str, Tally] = {}
    known: list[tuple[list[Key], bool]] = []
    for portion in _portions(sorted(gathered.rows, key=_BY_TEXT)):
        tally = tallies.setdefault(portion[0][0], Tally())
        rows = list(map(gathered.rows.__getitem__, portion))
        added = statements.add(connection, shape.table, rows, change)
        tally.rows += len(rows)
        tally.new += added
        if added < len(portion):
            known.append((portion, added > 0))
        else:
            tally.note_posted(shape, rows)
    for (
        portion,
        inserted,
    ) in known:  # not in the loop above: all inserts come before all locks, or writers would form a ring
        tally = tallies[portion[0][0]]
        _meet(connection, statements, gathered, change, keys=portion, tally=tally, inserted=inserted)
    if versions := _versions(gathered):
        statements.keep_versions(connection, versions)
    return tallies


def _portions(keys: Sequence[Key]) -> Iterator[list[Key]]:
    """Cut sorted keys into portions, each of one site: the database says how many of a portion were new, not which."""
    for _, group in groupby(keys, key=itemgetter(0)):
        rest = list(group)
        for start in range(0, len(rest), PORTION):
            yield rest[start : start + PORTION]


def _is_first_text(shape: Shape, stored: Row, ours: Row, inserted: bool) -> bool:
    """Say whether a row gets its text from us: it was known from a list only, or we have just inserted it."""
    if shape.fetched_at is not None and stored[shape.fetched_at] is None:
        return True
    return inserted and stored[shape.key_size] == ours[shape.key_size] and stored[shape.end] == ours[shape.end]


def _is_restored(shape: Shape, stored: Row, merged: Row) -> bool:
    at = shape.state_at
    return at is not None and stored[at] == "deleted" and merged[at] not in UNREADABLE


def _meet(
    connection: Connection,
    statements: Statements,
    gathered: Gathered,
    change: int | None,
    *,
    keys: Sequence[Key],
    tally: Tally,
    inserted: bool,
) -> None:
    """Merge the stored rows of these keys with ours and write what differs; count those that got a new value."""
    shape = gathered.shape
    rewritten: list[Row] = []
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
            if (
                shape.fetched_at is not None
                and stored[shape.fetched_at] is None
                and merged[shape.fetched_at] is not None
            ):
                tally.filled += 1
            else:
                tally.changed += merged[shape.content] != stored[shape.content]
            tally.restored += _is_restored(shape, stored, merged)
        elif merged[at] != stored[at]:
            seen_again.append((merged[at], *key))
    tally.note_posted(shape, begun)
    if rewritten:
        statements.replace(connection, shape.table, rewritten, change)
    if seen_again:
        statements.touch(connection, shape, seen_again)
    if current_again:
        statements.drop_versions(connection, current_again)


def _versions(gathered: Gathered) -> list[Row]:
    """Say what the losers add to the versions: every value but the current one, with the last time it was seen."""
    shape = gathered.shape
    found: dict[Key, Loser] = {}
    for key in sorted(gathered.losers):
        row = gathered.rows[key]
        for loser in gathered.losers[key]:
            if loser.value == row[shape.columns.index(loser.field)]:
                continue
            version = _version_key(shape, key, loser)
            known = found.get(version)
            if known is None or known.seen_at < loser.seen_at:
                found[version] = loser
    return [(*version, found[version].value, found[version].seen_at) for version in sorted(found)]


def _new_values(shape: Shape, key: Key, stored: Row, merged: Row) -> list[Key]:
    """Name the versions that the values now current would be, if they had been current before."""
    changed = [index for index in shape.tracked_at if stored[index] is not None and stored[index] != merged[index]]
    return [_version_key(shape, key, Loser(shape.columns[index], merged[index], 0.0)) for index in changed]


def _version_key(shape: Shape, key: Key, loser: Loser) -> Key:
    kind, comment_id = ("post", "") if shape is POSTS else ("comment", key[2])
    return (key[0], kind, key[1], comment_id, loser.field, digest(loser.value))
