"""The upsert: a batch of items becomes rows, exactly once however often the batch arrives.

One batch is one transaction (write_table.py does each table's part), under natural keys and with a merge that does not
care about order (merge.py). So a batch whose commit got no answer is simply written again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Self

from sqlalchemy import delete, select
from sqlalchemy.exc import DBAPIError

from crawl_tasks.errors import DataRejected
from crawl_tasks.model import Decision, Items
from crawl_tasks.model.reply_counts import ALL_ARE_READ, CountRules
from crawl_tasks.store import tables
from crawl_tasks.store.author_rows import AuthorCache
from crawl_tasks.store.batch import gather
from crawl_tasks.store.database import Database, explained
from crawl_tasks.store.deletions import follow_up
from crawl_tasks.store.driver_errors import explain, is_of_values, is_passing
from crawl_tasks.store.future_rows import AHEAD_S, bring_back, find_ahead, newest
from crawl_tasks.store.ledger_notes import (
    UNHEARD,
    drawn_of,
    epoch_of,
    installation_of,
    is_of_others,
    note_lost,
    note_own_change,
    own_change_of,
    raise_number,
    read_number,
    refuse_others,
)  # fmt: skip
from crawl_tasks.store.rows import request_rows
from crawl_tasks.store.sanitize import clean, storable
from crawl_tasks.store.site_removal import erasure, forget, forget_former_life, of_this_life
from crawl_tasks.store.statements import Statements
from crawl_tasks.store.thread_counts import ThreadCount, thread_counts
from crawl_tasks.store.write_table import boards_of, settle
from crawl_tasks.store.written import Written, written

# Errors of a batch with a value that the model does not allow, or that the encoder does not take.
_OF_VALUES: Final = (TypeError, AttributeError, ValueError, OverflowError)


class Store:
    """The database of posts and comments. Open in the process that uses the store, not before a fork."""

    def __init__(self, url: str, *, busy_timeout_s: float = 30.0) -> None:
        self.database = Database(url, busy_timeout_s=busy_timeout_s)
        self._statements = Statements(self.database.engine.dialect)
        self.authors = AuthorCache()
        self._is_open = False

    def open(self, *, create: bool = True) -> Self:
        """Connect, and with `create` make missing tables."""
        self.database.open(create=create)
        self._is_open = True
        return self

    def close(self) -> None:
        """Close all connections."""
        self.database.close()
        self._is_open = False

    def __enter__(self) -> Self:
        # A reader that opened without `create` makes no tables here either.
        return self if self._is_open else self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, batch: Sequence[Items], ledger: str = "", acked: int = 0) -> Written:
        """Store a batch in one transaction. A replay, in any order, changes nothing.

        The change counts for a `ledger` that remembers those up to `acked`: see `note_own_change`.

        Raises:
            DataRejected: nothing of the batch is stored, and nothing would be the next time.
            StoreError: nothing of the batch is stored, or the answer to the commit was lost: write the batch again.
        """
        pages = storable([page for page in batch if page])
        if not pages:
            return Written()
        with explained(self.database.url):
            try:
                return self._attempt(pages, ledger, acked)
            except _OF_VALUES:
                return self._attempt_clean(batch, ledger, acked)
            except DBAPIError as error:
                if is_of_values(error):
                    return self._attempt_clean(batch, ledger, acked)
                if not is_passing(error):
                    raise
                return self._attempt(pages, ledger, acked)

    def _attempt_clean(self, batch: Sequence[Items], ledger: str, acked: int) -> Written:
        try:
            return self._attempt([clean(page) for page in batch], ledger, acked)
        except _OF_VALUES as error:
            raise DataRejected(f"store: a value that cannot be stored: {type(error).__name__}: {error}") from error
        except DBAPIError as error:
            if not is_of_values(error):
                raise
            raise DataRejected(str(explain(error, self.database.url))) from error

    def thread_counts(
        self, site: str, keys: Collection[str] | None = None, rules: CountRules = ALL_ARE_READ
    ) -> list[ThreadCount]:
        """Return the threads at rest whose lists count several replies: see `thread_counts`."""
        return thread_counts(self.database, site, keys, rules)

    def keep(self, site: str, text: str, epoch: str, ledger: str) -> bool:
        """Keep a published site and, once, the epoch of the site's ledger, which fills this database.

        Returns:
            Whether the database had no epoch yet.

        Raises:
            ConfigError: the site is another installation's.
        """
        with explained(self.database.url), self.database.writing() as connection:
            refuse_others(connection, [site], ledger)
            self._statements.replace(connection, tables.sites, [(site, text, installation_of(ledger))])
            is_new = connection.scalar(select(tables.meta.c.name).where(tables.meta.c.name.startswith("epoch"))) is None
            if self._statements.add(connection, tables.meta, [(epoch_of(ledger), epoch)]):
                self._statements.add(connection, tables.meta, [(own_change_of(ledger), "0")])
            return is_new

    def decide(self, decisions: Sequence[Decision], ledger: str) -> None:
        """Keep decisions of operators. An older decision about the same subject gives way.

        Of a removed site the requests are forgotten, and nothing is left for a recovery. Its items stay. So it is of
        one that was published again, whose removal may never have been stored.
        A decision about another installation's site is dropped.
        """
        with explained(self.database.url), self.database.writing() as connection:
            foreign = set(connection.scalars(select(tables.sites.c.site).where(is_of_others(ledger))))
            if decisions := [decision for decision in decisions if decision.site not in foreign]:
                self._statements.decide(connection, decisions)
                forget(
                    connection,
                    [decision.site for decision in decisions if decision.is_removal],
                    (tables.sites, tables.requests),
                )
                for publication in (decision for decision in decisions if decision.is_publication):
                    forget_former_life(connection, publication)

    def erase(self, site: str, at_ms: int = 0) -> Decision:
        """Delete the items of a site, with their versions, and all else but decisions of operators. Return the note.

        What was seen until now, or until `at_ms` of Redis' clock, is stored no more, whoever holds it.
        """
        self.authors.clear()
        with explained(self.database.url), self.database.writing() as connection:
            # The lock that writers of texts wait for: this deletes what they wrote before, and they leave out the rest.
            change = self._statements.next_change(connection)
            erased = erasure(connection, site, at_ms)
            self._statements.decide(connection, [erased])
            forget(
                connection, [site], [table for table in tables.metadata.sorted_tables if table is not tables.decisions]
            )
            self._statements.note_removed(connection, [(site,)], change)
            return erased

    def decisions(self, ledger: str) -> list[Decision]:
        """Return the last decisions of a ledger's operators, by site and subject."""
        foreign = select(tables.sites.c.site).where(is_of_others(ledger))
        query = select(tables.decisions).where(tables.decisions.c.site.not_in(foreign))
        query = query.order_by(tables.decisions.c.site, tables.decisions.c.subject)
        with self.database.reading() as connection:
            return [Decision(*row) for row in connection.execute(query)]

    def renew_epoch(self, epoch: str | None, ledger: str) -> None:
        """Set the epoch of a ledger: from now on its successor fills this database, or none."""
        with explained(self.database.url), self.database.writing() as connection:
            if epoch is None:
                names = epoch_of(ledger), drawn_of(ledger), own_change_of(ledger)
                connection.execute(delete(tables.meta).where(tables.meta.c.name.in_(names)))
            else:
                self._statements.replace(connection, tables.meta, [(epoch_of(ledger), epoch)])

    def epoch(self, ledger: str) -> str | None:
        """Return the epoch of a ledger, as INSTALLATION:CELL, None if nothing came from there."""
        query = select(tables.meta.c.value).where(tables.meta.c.name == epoch_of(ledger))
        with self.database.reading() as connection:
            return connection.scalar(query)

    def last_change(self) -> int:
        """Return the last change of posts and comments, 0 without one. All changes up to the last can be read."""
        with self.database.reading() as connection:
            return read_number(connection, "change") or 0

    def own_change(self, ledger: str) -> int:
        """Return the last change by the pages of a ledger, 0 before the first."""
        with self.database.reading() as connection:
            return read_number(connection, own_change_of(ledger)) or 0

    def drawn(self, ledger: str) -> int:
        """Return the greatest number of a batch that was noted as drawn from a ledger's outbox, 0 without one."""
        with self.database.reading() as connection:
            return read_number(connection, drawn_of(ledger)) or 0

    def note_drawn(self, ledger: str, number: int) -> None:
        """Note the number of a batch that was drawn from a ledger's outbox."""
        with explained(self.database.url), self.database.writing() as connection:
            raise_number(connection, self._statements, drawn_of(ledger), number)

    def settle_change(self, ledger: str, least: int, own: int = 0) -> int:
        """Let changes go on above those that the ledger knows, of all and its own, and take the last for its own.

        A database that lacks some was restored. Changes that it lacks are noted as lost: their readers are told.
        """
        with explained(self.database.url), self.database.writing() as connection:
            # The own change stays behind while the database does, though others write.
            known, known_own = (read_number(connection, name) or 0 for name in ("change", own_change_of(ledger)))
            if known < least or known_own < own:
                # Readers may have seen some that the ledger did not hear of.
                least = max(known, least) + UNHEARD
                note_lost(connection, self._statements, min(known, known_own), least)
            raise_number(connection, self._statements, "change", least)
            last = read_number(connection, "change") or 0
            raise_number(connection, self._statements, own_change_of(ledger), last)
            return last

    def bring_back(self, now: float) -> int:
        """Set times well after `now`, Redis' clock in seconds, to `now`. Return the number of rows changed."""
        with explained(self.database.url), self.database.writing() as connection:
            return bring_back(connection, now, AHEAD_S)

    def ahead(self, now: float) -> list[tuple[str, str]]:
        """Return sites and tables with times well after `now`, Redis' clock in seconds."""
        with self.database.reading() as connection:
            return list(find_ahead(connection, now + AHEAD_S))

    def newest(self, site: str) -> float:
        """Return the time of a site's newest observation, in seconds, 0 without one."""
        with self.database.reading() as connection:
            return newest(connection, site)

    def kept_site(self, site: str) -> str | None:
        """Return the last published text of a site, as JSON, or None."""
        with self.database.reading() as connection:
            return connection.scalar(select(tables.sites.c.text).where(tables.sites.c.site == site))

    def kept_sites(self, ledger: str) -> dict[str, str]:
        """Return the last published sites of a ledger's installation, as JSON by name."""
        with self.database.reading() as connection:
            kept = connection.execute(select(tables.sites).where(~is_of_others(ledger)))
            return {row.site: row.text for row in kept}

    def refuse_others(self, sites: Sequence[str], ledger: str) -> None:
        """Refuse sites that another installation crawls into this database.

        Raises:
            ConfigError: a site is another installation's.
        """
        with self.database.reading() as connection:
            refuse_others(connection, sites, ledger)

    def _attempt(self, pages: Sequence[Items], ledger: str, acked: int) -> Written:
        with self.database.writing() as connection:
            has_texts = any(page.posts or page.comments or page.swept for page in pages)
            # A batch of visits alone takes no change: a change is a lock that all other writers wait for.
            change = self._statements.next_change(connection) if has_texts else None
            if change and ledger:
                note_own_change(connection, self._statements, ledger, change.change_id, acked)
            pages = of_this_life(connection, pages)
            batch = gather(pages)
            authors = self.authors.unknown(pages)
            settle(connection, self._statements, batch.forums)
            posts = settle(connection, self._statements, batch.posts, change)
            if batch.memberships:
                self._statements.add(connection, tables.memberships, sorted(batch.memberships))
            comments = settle(connection, self._statements, batch.comments, change)
            for site, counts in comments.items():
                counts.locate(boards_of(connection, site, counts.by_thread))
            followed = follow_up(connection, pages)
            gone = settle(connection, self._statements, gather(followed.gone).comments, change)
            if authors:
                self._statements.keep_authors(connection, authors)
            if batch.visits:
                self._statements.note(connection, request_rows(batch.visits))
        self.authors.note(authors)
        return written(posts, comments, gone, followed.asked, change.change_id if change else 0)
