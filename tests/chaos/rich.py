"""The tiny crawl with all that makes keys of every kind, and an operator who looks when it stands still."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import redis

from crawl_tasks.errors import ConfigError, CrawlError, DataRejected
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.alert_state import AlertState
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Items, State
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.recovery.rebuild import known_sites
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import prepare_rebuild
from tests.chaos.changing_tiny import Changing
from tests.chaos.tiny import TinyCrawl
from tests.frontier.small_crawl import SmallForum

STUBBORN, CRASHED, FULL_PASS = "14", "15", "16"


class RichCrawl(TinyCrawl):
    """The tiny crawl, with all that makes keys: dead and delayed requests, rejected items, an overdue board ..."""

    schedule = "interval: {min_s: 500, full_pass_s: 86400}\nfreshness: {requests_s: 1000}"

    def __init__(self, redis_url: str, aside: redis.Redis, forum: SmallForum, store_url: str) -> None:
        super().__init__(redis_url, aside, forum, store_url, self._pick)
        self._client_aside, self._turns = aside, 0
        self._is_picky = True

    def _pick(self, store: Store) -> None:
        """Let the database refuse one thread, once."""
        write = store.write

        def picky(batch: list[Items], *ledger: Any) -> object:
            if self._is_picky and any(post.post_id == STUBBORN for items in batch for post in items.posts):
                raise DataRejected("a value that the database refuses")
            return write(batch, *ledger)

        store.write = picky  # type: ignore[assignment, method-assign]  # stands in for it

    def begin(self) -> None:
        """Begin late, so that the board is overdue, and with an entry that nobody can read."""
        self._forum.statuses[f"/post/{CRASHED}"] = 500
        self._forum.moved[f"/post/{FULL_PASS}"] = f"/post/{FULL_PASS}"
        super().begin()
        self._client_aside.lpush("crawl:start", "garbage")
        _try(lambda: self.frontier.sites.pause("demo"))
        _try(self.frontier.produce)
        _try(lambda: self.frontier.sites.resume("demo"))
        self._client_aside.zadd("crawl:boards", {"demo 1": 0}, xx=True)

    def turn(self) -> None:
        """Let everybody act once, those too who seldom do."""
        self._turns += 1
        acts: dict[int, list[Callable[[], object]]] = {
            2: [
                self._die_with_a_lease,
                lambda: Admin(self.frontier).restore.halt("a test"),
                lambda: Admin(self.frontier).restore.lock("somebody", 5_000),
            ],
            3: [Admin(self.frontier).restore.go_on, lambda: Admin(self.frontier).restore.lock("somebody", 0)],
            4: [lambda: AlertState(self.frontier.scripts).claim(["backlog demo"], [], ["backlog"], 1000)],
            6: [
                lambda: self.frontier.heartbeat("somebody", ["list"], "crawl:start"),
                lambda: self.frontier.sites.run_only(["demo"], 60_000),
            ],
            7: [lambda: self.frontier.sites.run_only([], 0)],
            5: [lambda: self.frontier.robots.keep(self._forum.url, "", 60.0)],
            8: [self._mend],
        }
        for act in acts.get(self._turns, []):
            _try(act)
        super().turn()

    def _die_with_a_lease(self) -> None:
        """Be a worker that dies with the page of a message: its lease runs out."""
        if hint := self._client_aside.rpop("post"):
            self.frontier.lease("demo", json.loads(json.loads(hint)["body"])[1]["rid"])

    def _mend(self) -> None:
        """Mend what made requests dead and items stay aside; they are tried again."""
        self._is_picky = False
        self._forum.moved.clear()
        self._forum.statuses.clear()

    def look(self) -> list[str]:
        """Do as a person does who looks at a crawl that stands still: retry what waits, and obey `check --deep`.

        The site may still be paused: the command to resume it was refused while the ledger did not know the site.
        """
        self._mend()
        _try(lambda: self.frontier.sites.resume("demo"))
        _try(lambda: Admin(self.frontier).failed.requests.retry(Selection("demo", State.DEAD)))
        _try(lambda: Admin(self.frontier).failed.items.retry())
        found = Check(self.frontier, self.store).run(mend=True)
        remedies = sorted({one.problem.remedy for one in found if not one.location.is_mended})
        if (store := self.store) is not None and any("recover" in remedy for remedy in remedies):
            _try(lambda: self._rebuild(store, walk=any("--force" in remedy for remedy in remedies)))
        if remedies:
            _try(self.publish)
        return remedies + ["crawl-tasks check --mend"] * any(one.location.is_mended for one in found)

    def _rebuild(self, store: Store, *, walk: bool) -> None:
        prepare_rebuild(self.frontier, store, None).run(known_sites(self.frontier, store), lambda _: None, walk=walk)

    def is_over(self) -> bool:
        """Return whether nothing is left to do; a ledger that was just rebuilt has done nothing yet."""
        try:
            return bool(self._forum.asked) and self.is_done()
        except ConfigError:
            return False

    def move(self) -> object:
        """Return what changes while the crawl moves."""
        try:
            counts = Inspector(self._judge).count_requests("demo")
        except ConfigError:
            return len(self._forum.asked)
        return len(self._forum.asked), counts.done, counts.open, counts.parked, counts.dead, self.frontier.outbox.size()


class ChangingRichCrawl(Changing, RichCrawl):
    """The same of a forum that changes."""

    further = (STUBBORN, CRASHED, FULL_PASS)

    def look(self) -> list[str]:
        """Do as a person does, who then has everything looked at again."""
        said = super().look()
        if said:
            self.begin_again()
        return said


def _try(work: Callable[[], object]) -> None:
    try:
        work()
    except CrawlError:
        return
