"""The last step of the flow: a batch of items becomes rows, exactly once however often it arrives.

One batch is one transaction (settle.py does each table's part), under natural keys and with a merge that
does not care about order (records.py): a batch whose commit got no answer is simply written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from crawl_tasks.errors import Unstorable
from crawl_tasks.model import Gain, Items, Kind, Request
from crawl_tasks.store import tables
from crawl_tasks.store.batch import gather
from crawl_tasks.store.cleaning import clean, storable
from crawl_tasks.store.database import Database, explained
from crawl_tasks.store.future import AHEAD_S, bring_back, find_ahead, newest
from crawl_tasks.store.settle import Tally, settle
from crawl_tasks.store.statements import Statements
from crawl_tasks.store.sweep import follow_up
from crawl_tasks.store.trouble import explain, is_of_values, is_passing
from crawl_tasks.store.visits import request_rows

# What comes out of a batch that has something else in it than the model promises, or than its encoder takes.
_OF_VALUES: Final = (TypeError, AttributeError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class Written:
    """What a batch did. `changed` rows got a new value in some field; `unchanged` ones at most a later `seen_at`.

    `gains` say the same by site. `asked` are pages to ask for because of what full passes did not see.
    """

    new_posts: int = 0
    changed_posts: int = 0
    unchanged_posts: int = 0
    new_comments: int = 0
    changed_comments: int = 0
    unchanged_comments: int = 0
    gains: tuple[Gain, ...] = field(default=(), compare=False)
    asked: tuple[Request, ...] = field(default=(), compare=False)


class Store:
    """The database of posts and comments. Open it in the process that uses it, not before a fork."""

    def __init__(self, url: str, *, busy_timeout_s: float = 30.0) -> None:
        self.database = Database(url, busy_timeout_s=busy_timeout_s)
        self._statements = Statements(self.database.engine.dialect)

    def open(self, *, create: bool = True) -> Self:
        """Connect, and create the tables when there are none and `create` is set."""
        self.database.open(create=create)
        return self

    def close(self) -> None:
        """Give the connections back."""
        self.database.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def write(self, batch: Sequence[Items]) -> Written:
        """Store a batch in one transaction; replaying it, in any order, changes nothing.

        Raises:
            Unstorable: nothing of the batch is stored, and nothing would be the next time.
            StoreError: nothing of the batch is stored, or the answer to its commit was lost: write it again.
        """
        pages = storable([page for page in batch if page])
        if not pages:
            return Written()
        with explained(self.database.url):
            try:
                return self._attempt(pages)
            except _OF_VALUES:
                return self._attempt_clean(batch)
            except DBAPIError as error:
                if is_of_values(error):
                    return self._attempt_clean(batch)
                if not is_passing(error):
                    raise
                return self._attempt(pages)

    def _attempt_clean(self, batch: Sequence[Items]) -> Written:
        try:
            return self._attempt([clean(page) for page in batch])
        except _OF_VALUES as error:
            raise Unstorable(f"store: a value that cannot be stored: {type(error).__name__}: {error}") from error
        except DBAPIError as error:
            if not is_of_values(error):
                raise
            raise Unstorable(str(explain(error, self.database.url))) from error

    def keep(self, site: str, text: str, epoch: str) -> bool:
        """Keep a site as it is published, and, once, the name of the ledger that this database is filled from.

        Say whether it had none yet.
        """
        with explained(self.database.url), self.database.writing() as connection:
            self._statements.keep_site(connection, site, text)
            return self._statements.add(connection, tables.meta, [("epoch", epoch)]) == 1

    def renew_epoch(self, epoch: str) -> None:
        """From now on this database is filled from another ledger."""
        with explained(self.database.url), self.database.writing() as connection:
            self._statements.keep_meta(connection, "epoch", epoch)

    def epoch(self) -> str | None:
        """Name the ledger that this database is filled from; None when nothing was stored yet."""
        with self.database.reading() as connection:
            found = connection.execute(select(tables.meta.c.value).where(tables.meta.c.name == "epoch"))
            return found.scalar_one_or_none()

    def last_change(self) -> int:
        """Number the last change of posts and comments; 0 when there was none. All up to it are there to be read."""
        with self.database.reading() as connection:
            found = connection.execute(select(tables.meta.c.value).where(tables.meta.c.name == "change"))
            return int(found.scalar_one_or_none() or 0)

    def bring_back(self, now: float) -> int:
        """Set times that are well after `now`, Redis' clock in seconds, to `now`; return how many rows had one."""
        with explained(self.database.url), self.database.writing() as connection:
            return bring_back(connection, now, AHEAD_S)

    def ahead(self, now: float) -> list[tuple[str, str]]:
        """Name the sites, and their tables, that have times well after `now`, Redis' clock in seconds."""
        with self.database.reading() as connection:
            return list(find_ahead(connection, now + AHEAD_S))

    def newest(self, site: str) -> float:
        """Return when the newest observation of a site was made, in seconds; 0 when there is none."""
        with self.database.reading() as connection:
            return newest(connection, site)

    def kept_sites(self) -> dict[str, str]:
        """Read the sites as they were published last, as JSON by name."""
        with self.database.reading() as connection:
            return {row.site: row.text for row in connection.execute(select(tables.sites))}

    def _attempt(self, pages: Sequence[Items]) -> Written:
        with self.database.writing() as connection:
            batch = gather(pages)
            has_texts = batch.posts.rows or batch.comments.rows or any(page.swept for page in pages)
            change = self._statements.next_change(connection) if has_texts else None
            settle(connection, self._statements, batch.forums)
            posts = settle(connection, self._statements, batch.posts, change)
            if batch.memberships:
                self._statements.add(connection, tables.memberships, sorted(batch.memberships))
            comments = settle(connection, self._statements, batch.comments, change)
            followed = follow_up(connection, pages)
            gone = settle(connection, self._statements, gather(followed.gone).comments, change)
            if batch.visits:
                self._statements.note(connection, request_rows(batch.visits))
        _add(comments, gone)
        gains = (*_gains(Kind.POST, posts), *_gains(Kind.COMMENT, comments))
        return Written(*_totals(posts), *_totals(comments), gains, tuple(followed.asked))


def _add(tallies: dict[str, Tally], more: Mapping[str, Tally]) -> None:
    """Count rows that were marked as deleted with the others: each is one that changed."""
    for site, tally in more.items():
        known = tallies.setdefault(site, Tally())
        known.rows, known.changed = known.rows + tally.rows, known.changed + tally.changed


def _gains(kind: Kind, tallies: Mapping[str, Tally]) -> Iterator[Gain]:
    for site, tally in tallies.items():
        seen_again = tally.rows - tally.new - tally.filled - tally.changed
        counts = (tally.new, tally.filled, tally.changed, seen_again)
        yield Gain(site, kind, *counts, tuple(tally.posted), tally.by_board, tally.restored)


def _totals(tallies: Mapping[str, Tally]) -> tuple[int, int, int]:
    new = sum(tally.new for tally in tallies.values())
    changed = sum(tally.filled + tally.changed for tally in tallies.values())
    return new, changed, sum(tally.rows for tally in tallies.values()) - new - changed
