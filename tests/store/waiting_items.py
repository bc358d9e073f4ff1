"""Items that wait in the outbox, and a store worker whose clock the test moves."""

from __future__ import annotations

from dataclasses import dataclass

import redis

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Comment, Items, Lease, Parsed, Request, Stage
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.store_task import TROUBLE_WAIT_S, OutboxConsumer
from tests.frontier.by_hand import TERMS
from tests.store.rows import dump


@dataclass
class Waiting:
    """A ledger with one site; each page of it gives one comment to the outbox."""

    client: redis.Redis
    store: Store

    def __post_init__(self) -> None:
        self.frontier = Frontier(self.client, "test")
        self.frontier.sites.publish("demo", "v1", "{}", TERMS, [])
        self.now = 1000.0
        self.opened = 0
        self.worker = OutboxConsumer(self.frontier, self._open, batch=100, worth=5, clock=lambda: self.now)

    def add(self, *numbers: int) -> None:
        """Commit pages, each with the comment of its number."""
        self.frontier.admit(
            "demo", [Request("demo", Stage.POST, str(n), f"http://127.0.0.1/post/{n}") for n in numbers]
        )
        for number in numbers:
            [rid, *_] = self.client.zrange("test:s:demo:released:post", 0, 0)
            lease = self.frontier.lease("demo", int(rid))
            assert isinstance(lease, Lease)
            comment = Comment("7", str(number), 1.0, body="b" * 9000)
            assert self.frontier.commit(lease, Parsed(Items("demo", comments=(comment,))))

    def store_again(self) -> str:
        """Run the store task, and return its outcome or "failed"."""
        try:
            return self.worker.run()
        except BackendError:
            return "failed"

    def later(self) -> None:
        """Let the time pass for which the worker leaves a database alone that has failed."""
        self.now += TROUBLE_WAIT_S

    def stored(self) -> list[str]:
        """Name the comments in the database."""
        return [str(row[2]) for row in dump(self.store)["comments"]]

    def _open(self) -> Store:
        self.opened += 1
        return self.store
