"""The sink: where the store task puts items. Another database than ours is another class of these calls."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from crawl_tasks.model import Decision, Items, Request, StoredChange
from crawl_tasks.model.reply_counts import CountRules
from crawl_tasks.worker.thread_watch import ThreadCount


class WriteResult(Protocol):
    """The result of writing a batch."""

    @property
    def gains(self) -> Iterable[StoredChange]:
        """Return the counts of new and changed items, by site and kind."""

    @property
    def asked(self) -> Sequence[Request]:
        """Return the pages to fetch again, because full passes missed some of their items."""

    @property
    def change_id(self) -> int:
        """Return the number of the change that the database made of it, 0 for none."""


class Sink(Protocol):
    """The destination of items: a `store.upsert.Store`, or another whose writes are atomic and idempotent."""

    def write(self, batch: Sequence[Items], ledger: str, acked: int, /) -> WriteResult:
        """Write the items of some pages in one transaction, for a ledger that knows of changes up to `acked`."""

    def thread_counts(self, site: str, keys: Collection[str], rules: CountRules, /) -> Sequence[ThreadCount]:
        """Return those of some threads that are at rest, with the replies that lists count and those stored."""

    def decide(self, decisions: Sequence[Decision], ledger: str, /) -> None:
        """Keep decisions of operators."""

    def drawn(self, ledger: str, /) -> int:
        """Return the greatest number of a batch that was noted as drawn from a ledger's outbox."""

    def note_drawn(self, ledger: str, number: int, /) -> None:
        """Note the number of a batch that was drawn."""

    def kept_site(self, site: str, /) -> str | None:
        """Return the kept text of a site, or None."""

    def keep(self, site: str, text: str, epoch: str, ledger: str, /) -> bool:
        """Keep the published text of a site and the name of its cell's ledger. Return whether no ledger was known."""
