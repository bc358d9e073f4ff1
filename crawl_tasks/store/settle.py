"""Inside the store's transaction: the rows of one table meet those that are stored.

New rows go in with one `INSERT ... ON CONFLICT DO NOTHING` per portion; only where it skipped some are
the stored rows read, merged with ours and written back. Every writer takes the tables in the same order,
in each first the new rows, then the stored ones, by key: so no two ever wait for each other in a ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection

from crawl_tasks.store.batch import Gathered
from crawl_tasks.store.records import POSTS, Key, Loser, Row, Shape, digest, merge
from crawl_tasks.store.statements import Statements

PORTION: Final = 250  # rows of one insert; only portions that hold a known row are read back


class Counts(NamedTuple):
    """How many rows of a table a batch brought in, gave a new value, or only saw again."""

    new: int
    changed: int
    unchanged: int


def settle(connection: Connection, statements: Statements, gathered: Gathered) -> Counts:
    """Bring the rows of one table into the database, and what they replace into its versions."""
    new = changed = 0
    keys = sorted(gathered.rows)
    known: list[list[Key]] = []
    for start in range(0, len(keys), PORTION):
        portion = keys[start : start + PORTION]
        added = statements.add(connection, gathered.shape.table, [gathered.rows[key] for key in portion])
        new += added
        if added < len(portion):
            known.append(portion)
    for portion in known:  # not in the loop above: all inserts come before all locks, or writers would form a ring
        changed += _meet(connection, statements, gathered, keys=portion)
    if versions := _versions(gathered):
        statements.keep_versions(connection, versions)
    return Counts(new, changed, len(keys) - new - changed)


def _meet(connection: Connection, statements: Statements, gathered: Gathered, *, keys: Sequence[Key]) -> int:
    """Merge the stored rows of these keys with ours and write what differs; return how many got a new value."""
    shape = gathered.shape
    rewritten: list[Row] = []
    seen_again: list[Row] = []
    current_again: list[Key] = []
    changed = 0
    for stored in statements.find(connection, shape, keys):
        key = shape.key_of(stored)
        merged, losers = merge(shape, stored, gathered.rows[key])
        gathered.rows[key] = merged
        if losers:
            gathered.losers.setdefault(key, []).extend(losers)
            current_again += _new_values(shape, key, stored, merged)
        at = shape.key_size
        if merged[at + 1 :] != stored[at + 1 :]:
            rewritten.append(merged)
            changed += merged[shape.content] != stored[shape.content]
        elif merged[at] != stored[at]:
            seen_again.append((merged[at], *key))
    if rewritten:
        statements.replace(connection, shape.table, rewritten)
    if seen_again:
        statements.touch(connection, shape, seen_again)
    if current_again:
        statements.drop_versions(connection, current_again)
    return changed


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
