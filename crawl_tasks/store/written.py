"""The effect of a batch: counts of rows, in all and by site, and pages to request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from crawl_tasks.model import Kind, Request, StoredChange
from crawl_tasks.store.write_table import WriteCounts


@dataclass(frozen=True, slots=True)
class Written:
    """The effect of a batch. `changed` rows got a new value in some field, `unchanged` ones at most a later `seen_at`.

    `gains` are the same counts by site. `asked` are pages to request because a full pass did not see them.
    `change_id` is the change of the database, 0 for none.
    """

    new_posts: int = 0
    changed_posts: int = 0
    unchanged_posts: int = 0
    new_comments: int = 0
    changed_comments: int = 0
    unchanged_comments: int = 0
    gains: tuple[StoredChange, ...] = field(default=(), compare=False)
    asked: tuple[Request, ...] = field(default=(), compare=False)
    change_id: int = field(default=0, compare=False)


def written(
    posts: Mapping[str, WriteCounts],
    comments: dict[str, WriteCounts],
    marked: Mapping[str, WriteCounts],
    asked: Iterable[Request],
    change_id: int,
) -> Written:
    """Return the effect of a batch by the counts of its tables, and of comments `marked` as deleted, by site."""
    _add(comments, marked)
    gains = (*_gains(Kind.POST, posts), *_gains(Kind.COMMENT, comments))
    return Written(*_totals(posts), *_totals(comments), gains, tuple(asked), change_id)


def _add(tallies: dict[str, WriteCounts], more: Mapping[str, WriteCounts]) -> None:
    """Add the counts of rows marked as deleted: each is a changed row."""
    for site, tally in more.items():
        known = tallies.setdefault(site, WriteCounts())
        known.rows, known.changed = known.rows + tally.rows, known.changed + tally.changed


def _gains(kind: Kind, tallies: Mapping[str, WriteCounts]) -> Iterator[StoredChange]:
    for site, tally in tallies.items():
        seen_again = tally.rows - tally.new - tally.filled - tally.changed
        counts = (tally.new, tally.filled, tally.changed, seen_again)
        yield StoredChange(site, kind, *counts, tuple(tally.posted), tally.by_board, tally.restored)


def _totals(tallies: Mapping[str, WriteCounts]) -> tuple[int, int, int]:
    new = sum(tally.new for tally in tallies.values())
    changed = sum(tally.filled + tally.changed for tally in tallies.values())
    return new, changed, sum(tally.rows for tally in tallies.values()) - new - changed
