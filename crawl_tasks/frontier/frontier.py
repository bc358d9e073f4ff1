"""Steps 2 to 5: the ledger's verbs as Python calls. Each is one Lua script and one round trip."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Final, cast

import orjson
import redis

from crawl_tasks.errors import NoTurn
from crawl_tasks.frontier.alarms import Alarms
from crawl_tasks.frontier.answers import (
    Admission,
    BoardTerms,
    Moment,
    Receipt,
    Refusal,
    Tick,
    ints,
    of_published,
    unpublished,
)
from crawl_tasks.frontier.audit import Audit
from crawl_tasks.frontier.census import LATE_MS, Census, read_census
from crawl_tasks.frontier.clock import GateClock
from crawl_tasks.frontier.entry import guard_word, line_of, read_entry
from crawl_tasks.frontier.gauges import (
    BoardState,
    Vitals,
    clock_ms,
    queue_sizes,
    read_boards,
    read_changes,
    read_in_hand,
    read_vitals,
)
from crawl_tasks.frontier.graves import Graves
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.memory import Memory
from crawl_tasks.frontier.outbox import Outbox
from crawl_tasks.frontier.quarantine import Quarantine
from crawl_tasks.frontier.recent import RecentPage, read_recent
from crawl_tasks.frontier.refused import RefusedList
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.frontier.robots import RobotsShelf
from crawl_tasks.frontier.scripts import OUTBOX_MAX, Scripts, Verb, explained
from crawl_tasks.frontier.shelf import Shelf
from crawl_tasks.frontier.sites import Sites
from crawl_tasks.frontier.starts import Starts
from crawl_tasks.frontier.timetable import Timetable
from crawl_tasks.model import Effort, Lease, Parsed, Request, TurnSpan

SITES_OWN: Final = -1
"""The threshold of admit() that stands in the site file."""

_LEAST_SLACK_MS = 5  # what costs a turn once more costs more than this
_COUNTED_AT_ONCE = 20  # sites in one script: about a millisecond
_as_row = itemgetter(slice(None))  # of a named tuple: half of what tuple() costs
_EFFORT = " ".join(["%d"] * len(Effort._fields))


class Frontier:
    """The ledger on one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, prefix: str, store_at: int = 250, outbox_max: int = OUTBOX_MAX) -> None:
        self._client = client
        self._scripts = Scripts(client, prefix, outbox_max)
        self.keys = Keys(prefix)
        self.clock = GateClock()
        self.sites = Sites(client, self._scripts, self.keys)
        self.starts = Starts(client, self._scripts)
        self.shelf = Shelf(client, self._scripts, prefix)
        self.timetable = Timetable(self._scripts)
        self.alarms = Alarms(self._scripts)
        self.quarantine = Quarantine(client, self._scripts, self.keys)
        self.refused = RefusedList(client, self._scripts, prefix)
        self.graves = Graves(client, self._scripts, self.keys)
        self.memory = Memory(client, self._scripts, self.keys)
        self.robots = RobotsShelf(self._scripts, self.keys)
        self.outbox = Outbox(client, self._scripts, self.keys)
        self.audit = Audit(self._scripts, self.keys)
        self._store_at = store_at
        self._outbox_max = outbox_max

    # -- a request's life --------------------------------------------------------------------------------

    def admit(
        self, site: str, requests: Iterable[Request], threshold: int = 0, *, again: bool = False, wait_s: int = 0
    ) -> Admission:
        """Pass requests through the guard and enter the new ones, while fewer than `threshold` are open.

        With 0 there is no limit, with SITES_OWN it is the site's `max_backlog`. With `again` those that the guard knows
        are entered too. They become ready after `wait_s`.

        Raises:
            ConfigError: no such site is published.
        """
        flag = "+" if again else ""
        lines = (line_of(request, flag) for request in requests)
        reply = self._scripts.call(Verb.ADMIT, site, threshold, wait_s * 1000, *lines)
        _, new, known, over = of_published(site, reply)
        return Admission(new, known, over)

    def lease(self, site: str, rid: int) -> Lease | Refusal:
        """Take the right to work on a released request; its attempt is counted now."""
        self.clock.settle(self._clock_us)
        asked_at = time.monotonic()
        reply = self._scripts.call(Verb.LEASE, site, rid, self.clock.ready_ms, self.clock.slack_ms)
        if reply[0] != 0:
            return Refusal(reply[0])
        _, token, attempt, entry, version, tail, deadline_ms, validator, delay_ms, *when = cast(
            "tuple[int, bytes, int, bytes, bytes, int, bytes, bytes, int, int, int, int]", reply
        )
        _, _, request = read_entry(site, entry)
        return Lease(
            rid=rid,
            token=int(token),
            attempt=attempt,
            request=request,
            site_version=version.decode(),
            tail=tail,
            deadline_ms=int(deadline_ms),
            validator=validator.decode(),
            delay_ms=delay_ms,
            at_ms=when[0] // 1000,
            turn=self._span(asked_at, when) if delay_ms else None,
        )

    def turn(self, lease: Lease, moment: Moment, missed: int = 0) -> TurnSpan:
        """Take another turn at the gate for a page that is leased, twice as long for each that it `missed`.

        Raises:
            NoTurn: the lease was lost, or the site rests by now.
        """
        slack_ms = max(_LEAST_SLACK_MS, self.clock.slack_ms) << missed
        return self._turn(lease, moment, self.clock.ready_ms, slack_ms)

    def sent(self, lease: Lease, at: float) -> None:
        """Let the next turn begin a delay after a request that was sent too late, at `at` of `time.monotonic`.

        Raises:
            NoTurn: the lease was lost.
        """
        self._turn(lease, Moment.SENT, round((at - time.monotonic()) * 1000), 0)

    def _turn(self, lease: Lease, moment: Moment, ready_ms: int, slack_ms: int) -> TurnSpan:
        self.clock.settle(self._clock_us)
        asked_at = time.monotonic()
        page = (lease.request.site, lease.rid, lease.token)
        code, *when = ints(self._scripts.call(Verb.TURN, *page, moment.value, ready_ms, slack_ms))
        if code != 0:
            said = "the site rests by now" if code == -3 else "the lease was lost"
            raise NoTurn(f"{lease.request.address} was not asked for: {said}")
        return self._span(asked_at, when)

    def _span(self, asked_at: float, when: Sequence[int]) -> TurnSpan:
        """Translate a turn to this process' clock, and learn of Redis' clock from the reply that gave it."""
        redis_us, opens_ms, shuts_ms = when
        self.clock.note(asked_at, time.monotonic(), redis_us)
        return TurnSpan(*map(self.clock.local, (redis_us / 1000, opens_ms, shuts_ms)))

    def _clock_us(self) -> int:
        [said] = self._scripts.read_all("clock", [("TIME",)])
        seconds, microseconds = cast("tuple[bytes, bytes]", said)
        return int(seconds) * 1_000_000 + int(microseconds)

    def commit(
        self,
        lease: Lease,
        parsed: Parsed,
        outcome: str = "",
        effort: Effort | None = None,
        validator: str = "",
        *,
        is_gone: bool = False,
    ) -> Receipt | None:
        """End a lease with all that its page gave; None when the lease was lost and nothing was changed.

        Args:
            lease: the lease to end.
            parsed: children and items of the page.
            outcome: a counter to raise beside `done`.
            effort: what the attempt cost, to be counted.
            validator: what the page is known by to its server; the board's next scan asks by it.
            is_gone: the forum says that there is no such page: the guard asks for it again when it is listed again.
        """
        items = parsed.items
        reply = self._scripts.call(
            Verb.COMMIT,
            lease.request.site,
            lease.rid,
            lease.token,
            orjson.dumps((*items[:5], items.passes, lease.site_version), default=_as_row),  # the script adds the trail
            parsed.tail,
            self._store_at,
            outcome,
            _EFFORT % effort if effort else "",
            " ".join(f"{reason} {count}" for reason, count in parsed.dropped) if parsed.dropped else "",
            f"{lease.site_version} {validator}" if validator else "",
            len(items.posts) + len(items.comments),
            guard_word(lease.request) if is_gone else "",
            *map(line_of, parsed.children),
        )
        return Receipt(*cast("list[int]", reply[1:])) if reply[0] == 0 else None

    def fail(self, lease: Lease, verdict: Verdict, effort: Effort | None = None) -> bool:
        """End a lease without a result; false when the lease was lost and nothing was changed."""
        reply = self._scripts.call(
            Verb.FAIL,
            lease.request.site,
            lease.rid,
            lease.token,
            verdict.state.value,
            verdict.delay_ms,
            verdict.reason,
            verdict.rest_ms,
            verdict.details,
            _EFFORT % effort if effort else "",
            int(verdict.says_nothing),
            int(verdict.slows_site),
        )
        return reply[0] == 0

    # -- the clockwork -----------------------------------------------------------------------------------

    def tick(self, caller: str, most_sites: int = 100, floor_ms: int = 1500) -> Tick:
        """Do what is due: delays, expired leases, lost messages, releases, calls to the store."""
        code, wait_ms, expired, lost = ints(self._scripts.call(Verb.TICK, caller, most_sites, floor_ms))
        return Tick(code == 0, wait_ms, expired, lost)

    def present(self, name: str, queues: Iterable[str]) -> int:
        """Say that a process lives and which queues it serves, none when it ends; give how many live."""
        return ints(self._scripts.call(Verb.PRESENT, name, ",".join(queues)))[1]

    def produce(self, most_boards: int = 500) -> tuple[int, int, int]:
        """Admit scans of due boards; give how many were admitted, held back, still being scanned."""
        _, admitted, held, busy = ints(self._scripts.call(Verb.PRODUCE, most_boards))
        return admitted, held, busy

    # -- reading -----------------------------------------------------------------------------------------

    def census(self, site: str) -> Census:
        """Count a site's requests by state at one instant.

        Raises:
            ConfigError: no such site is published.
        """
        return self.censuses([site])[0]

    def censuses(self, sites: Sequence[str]) -> list[Census]:
        """Count many sites' requests, each site at one instant.

        Raises:
            ConfigError: one of them is not published.
        """
        counted: list[object] = []
        for start in range(0, len(sites), _COUNTED_AT_ONCE):
            counted += self._scripts.call(Verb.CENSUS, LATE_MS, *sites[start : start + _COUNTED_AT_ONCE])[1:]
        for site, reply in zip(sites, counted, strict=True):
            if not reply:
                raise unpublished(site)
        return list(map(read_census, sites, counted))

    @explained("vitals")
    def vitals(self, queues: Iterable[str]) -> Vitals:
        """Look at what concerns all sites."""
        vitals = read_vitals(self._client, self.keys, queues, LATE_MS)
        return replace(vitals, is_store_behind=vitals.outbox >= self._outbox_max)

    @explained("changes")
    def changes(self) -> tuple[str, Mapping[bytes, bytes]]:
        """Name the Redis that answers, and say of each site how often it changed there."""
        return read_changes(self._client, self.keys)

    @explained("boards")
    def boards(self, site: str) -> list[BoardState]:
        """Read a site's boards and their schedule, by name."""
        return read_boards(self._client, self.keys, site)

    @explained("in_hand")
    def in_hand(self, site: str, most: int = 20) -> list[Request]:
        """Read the requests of a site that workers hold now."""
        return read_in_hand(self._client, self.keys, site, most)

    @explained("recent")
    def recent(self, site: str) -> list[RecentPage]:
        """Read the last pages of a site that were fetched, well or not, the newest first."""
        return read_recent(self._client, self.keys, site)

    @explained("queue_sizes")
    def queue_sizes(self, queues: Iterable[str]) -> dict[str, int]:
        """Count the broker's messages on each queue."""
        return queue_sizes(self._client, queues)

    @explained("clock_ms")
    def clock_ms(self) -> int:
        """Read Redis' clock, the one that all times of the ledger come from."""
        return clock_ms(self._client)


__all__ = ["Admission", "BoardTerms", "Frontier", "Receipt", "Refusal", "Tick"]
