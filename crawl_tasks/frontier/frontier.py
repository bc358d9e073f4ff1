"""The ledger of requests in Redis: the verbs of a crawl as Python calls, each one Lua script and one round trip."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final, cast

import orjson
import redis

from crawl_tasks.errors import AllGone, NoTurn
from crawl_tasks.frontier.entry import guard_word, line_of, read_entry
from crawl_tasks.frontier.kept_pages import KeptPages
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.login_store import LoginStore
from crawl_tasks.frontier.outbox import Outbox
from crawl_tasks.frontier.replies import (
    Admission,
    CommitResult,
    FailResult,
    IdleState,
    Moment,
    NextPage,
    NoLease,
    Tick,
    ints,
    of_published,
)
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.frontier.robots_cache import RobotsCache
from crawl_tasks.frontier.scripts import OUTBOX_MAX, Scripts, Verb, explained
from crawl_tasks.frontier.sites import Sites
from crawl_tasks.frontier.slot_clock import SlotClock
from crawl_tasks.frontier.start_queue import StartQueue
from crawl_tasks.frontier.state_format import check_format
from crawl_tasks.frontier.wire.entry_format import Flag
from crawl_tasks.frontier.wire.lease_end import CommitFields, FailFields
from crawl_tasks.model import Effort, Items, Lease, Parsed, Request, SlotSpan, Stage, State

SITES_OWN: Final = -1
"""The backlog limit of admit() that the site file gives."""

_LEAST_SLACK_MS = 5  # what costs a slot once more costs more than this
_BOARDS_AT_ONCE = 30  # due boards that one script looks at: Redis serves nobody else meanwhile
_as_row = itemgetter(slice(None))  # of a named tuple: half of what tuple() costs
_READ = Items._fields.index("visits")  # the fields that a page fills; the script adds the visits
_ALL_GONE = -3  # commit.lua
_EFFORT = " ".join(["%d"] * len(Effort._fields))


class Frontier:
    """The ledger on one Redis: the verbs of a crawl. Thread-safe. Each may raise RedisUnreachable or BackendError.

    An operator's verbs are those of `admin.admin.Admin`, reads those of `inspect.inspector.Inspector`.
    """

    def __init__(
        self, client: redis.Redis, prefix: str, store_at: int = 250, outbox_max: int = OUTBOX_MAX, cell: str = ""
    ) -> None:
        self.client = client
        self.cell = cell
        self.ledger = f"{prefix}:{cell}"
        self.scripts = Scripts(client, prefix, outbox_max)
        self.keys = Keys(prefix)
        self.outbox_max = outbox_max
        self.clock = SlotClock()
        self.sites = Sites(client, self.scripts, self.keys)
        self.start_queue = StartQueue(client, self.scripts)
        self.kept_pages = KeptPages(client, self.scripts, self.keys)
        self.robots = RobotsCache(self.scripts, self.keys)
        self.logins = LoginStore(self.scripts)
        self.outbox = Outbox(client, self.scripts, self.keys)
        self._store_at = store_at

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
        flag = Flag.AGAIN if again else ""
        lines = (line_of(request, flag) for request in requests)
        reply = self.scripts.call(Verb.ADMIT, site, threshold, wait_s * 1000, *lines)
        _, new, known, over = of_published(site, reply)
        return Admission(new, known, over)

    def lease(self, site: str, rid: int) -> Lease | NoLease:
        """Lease a released request to this caller. Its attempt is counted now, before the work."""
        self.clock.settle(self._clock_us)
        asked_at = time.monotonic()
        reply = self.scripts.call(Verb.LEASE, site, rid, self.clock.ready_ms, self.clock.slack_ms)
        if reply[0] != 0:
            return NoLease(reply[0])
        return self._lease_of(site, reply, asked_at)

    def _lease_of(self, site: str, reply: list[object], asked_at: float) -> Lease:
        """Return the lease that a reply of lease.lua gives."""
        _, token, attempt, entry, version, tail, deadline_ms, validator, delay_ms, *when = cast(
            "tuple[int, bytes, int, bytes, bytes, int, bytes, bytes, int, int, int, int]", reply
        )
        rid, _, request = read_entry(site, entry)
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
            slot=self._span(asked_at, when) if delay_ms else None,
        )

    def reserve_slot(self, lease: Lease, moment: Moment, missed: int = 0, *, is_late: bool = False) -> SlotSpan:
        """Reserve another slot for a page that is leased, twice as long for each that it `missed`.

        An attempt that `is_late` is counted as such.

        Raises:
            NoTurn: the lease was lost, or the site rests by now.
        """
        slack_ms = max(_LEAST_SLACK_MS, self.clock.slack_ms) << missed
        return self._reserve(lease, moment, self.clock.ready_ms, slack_ms, is_late=is_late)

    def sent(self, lease: Lease, at: float, *, is_late: bool = False) -> None:
        """Let the next slot begin a delay after a request that was sent too late, at `at` of `time.monotonic`.

        Raises:
            NoTurn: the lease was lost.
        """
        self._reserve(lease, Moment.SENT, round((at - time.monotonic()) * 1000), 0, is_late=is_late)

    def _reserve(self, lease: Lease, moment: Moment, ready_ms: int, slack_ms: int, *, is_late: bool) -> SlotSpan:
        self.clock.settle(self._clock_us)
        asked_at = time.monotonic()
        page = (lease.request.site, lease.rid, lease.token)
        code, *when = ints(self.scripts.call(Verb.RESERVE_SLOT, *page, moment.value, ready_ms, slack_ms, int(is_late)))
        if code != 0:
            reason = "the site rests by now" if code == -3 else "the lease was lost"
            raise NoTurn(f"{lease.request.address} was not asked for: {reason}")
        return self._span(asked_at, when)

    def _span(self, asked_at: float, when: Sequence[int]) -> SlotSpan:
        """Translate a slot to this process' clock, and learn of Redis' clock from the reply that gave it."""
        redis_us, opens_ms, shuts_ms = when
        self.clock.note(asked_at, time.monotonic(), redis_us)
        return SlotSpan(*map(self.clock.local, (redis_us / 1000, opens_ms, shuts_ms)))

    def _clock_us(self) -> int:
        [reply] = self.scripts.read_all("clock", [("TIME",)])
        seconds, microseconds = cast("tuple[bytes, bytes]", reply)
        return int(seconds) * 1_000_000 + int(microseconds)

    def commit(
        self,
        lease: Lease,
        parsed: Parsed,
        outcome: str = "",
        effort: Effort | None = None,
        validator: str = "",
        *,
        asks_again: bool = False,
        names_filtered: bool = False,
        queues: Sequence[str] = (),
    ) -> CommitResult | None:
        """End a lease with the result of its page. Return None if the lease was lost, and nothing was changed then.

        Args:
            lease: the lease to end.
            parsed: children and items of the page.
            outcome: a counter to raise beside `done`.
            effort: cost of the attempt, to be counted.
            validator: HTTP validator of the page, which the board's next scan sends.
            names_filtered: name the children that the guard knew.
            asks_again: the page is gone, or only a part of it came: the guard asks for it when it is listed again.
            queues: take the next message of one of these queues, and lease its page.

        Raises:
            AllGone: the page is gone as all pages before it, and nothing was changed.
        """
        items = parsed.items
        if queues:
            self.clock.settle(self._clock_us)
        asked_at = time.monotonic()
        reply = self.scripts.call(
            Verb.COMMIT,
            *CommitFields(
                name=lease.request.site,
                rid=lease.rid,
                token=lease.token,
                items=orjson.dumps((*items[:_READ], items.passes, lease.site_version), default=_as_row)[:-1],
                tail=parsed.tail,
                store_at=self._store_at,
                outcome=outcome,
                effort=_EFFORT % effort if effort else "",
                dropped=" ".join(f"{reason} {count}" for reason, count in parsed.dropped) if parsed.dropped else "",
                validator=f"{lease.site_version} {validator}" if validator else "",
                item_count=len(items.posts) + len(items.comments),
                again_word=guard_word(lease.request) if asks_again else "",
                last_replies=_last_replies(parsed) if lease.request.stage is Stage.LIST else "",
                names_filtered=int(names_filtered),
                chain=f"{self.clock.ready_ms} {self.clock.slack_ms} {' '.join(queues)}" if queues else "",
            ),
            *map(line_of, parsed.children),
        )
        if reply[0] == _ALL_GONE:
            raise AllGone(f"{lease.request.address} is gone, as all pages before it: the forum is away, or has moved")
        return self._committed(parsed, reply, asked_at) if reply[0] == 0 else None

    def _committed(self, parsed: Parsed, reply: list[object], asked_at: float) -> CommitResult:
        """Return the result that a reply of commit.lua gives."""
        counted = cast("tuple[int, int, int, int, int, list[int], object]", reply)
        _, new, known, released, idle, filtered, *rest = counted
        following = None
        if rest:
            message, site, its_lease = cast("tuple[bytes, bytes, list[object]]", rest)
            following = NextPage(message, self._lease_of(site.decode(), its_lease, asked_at))
        named = tuple(parsed.children[place] for place in filtered)
        return CommitResult(new, known, released, named, IdleState(idle), following)

    def fail(self, lease: Lease, verdict: Verdict, effort: Effort | None = None) -> FailResult | None:
        """End a lease without a result. Return None if the lease was lost, and nothing was changed then."""
        reply = self.scripts.call(
            Verb.FAIL,
            *FailFields(
                name=lease.request.site,
                rid=lease.rid,
                token=lease.token,
                state=verdict.state.value,
                delay_ms=verdict.delay_ms,
                reason=verdict.reason,
                rest_ms=verdict.rest_ms,
                details=verdict.details,
                effort=_EFFORT % effort if effort else "",
                says_nothing=int(verdict.says_nothing),
                slows_site=int(verdict.slows_site),
                scope=verdict.scope.value,
                is_named=int(verdict.is_named),
            ),
        )
        if reply[0] != 0:
            return None
        _, _, state, idle = cast("tuple[int, int, bytes, int]", reply)
        return FailResult(State(state.decode()), IdleState(idle))

    # -- the clockwork -----------------------------------------------------------------------------------

    def tick(self, caller: str, most_sites: int = 20, leader_ms: int = 1500, times: int = 1) -> Tick:
        """Run the upkeep that is due: delays, expired leases, lost messages, releases, calls to the store.

        `times` scripts run in one round trip, each for `most_sites`.
        """
        replies = self.scripts.repeat(Verb.TICK, times, caller, most_sites, leader_ms)
        expired, lost = (sum(ints(reply[:4])[place] for reply in replies) for place in (2, 3))
        idle = tuple(
            (cast("bytes", name).decode(), IdleState(cast("int", state)))
            for reply in replies
            for name, state in zip(reply[4::2], reply[5::2], strict=True)
        )
        code, wait_ms, *_ = ints(replies[-1][:4])
        return Tick(code == 0, wait_ms, expired, lost, idle)

    def heartbeat(
        self, name: str, queues: Iterable[str], start_key: str = "", version: str = "", birth: str = ""
    ) -> int:
        """Note that a process lives, with the queues it serves, none when it ends, its start key, version and clock.

        A `birth` is a word of this process alone. Return how many live.
        """
        clock_ms = round(time.time() * 1000)
        facts = (start_key, version, clock_ms, birth)
        return ints(self.scripts.call(Verb.HEARTBEAT, name, ",".join(queues), *facts))[1]

    def note_birth(self, name: str, birth: str) -> None:
        """Note that a process begins, which is missed where its first heartbeat does not follow."""
        self.scripts.call(Verb.HEARTBEAT, name, "?", "", "", 0, birth)

    def count_own(self, counted: Mapping[str, Mapping[str, int]]) -> None:
        """Raise own counters, by site and name."""
        flat = [text for site, names in counted.items() for name, n in names.items() for text in (site, name, n)]
        self.scripts.call(Verb.COUNT_OWN, *flat)

    def produce(self, most_boards: int = 1000) -> tuple[int, int, int]:
        """Admit scans of due boards. Return how many were admitted, held back, and still running."""
        counts = 0, 0, 0
        for start in range(0, most_boards, _BOARDS_AT_ONCE):
            reply = self.scripts.call(Verb.PRODUCE, min(_BOARDS_AT_ONCE, most_boards - start))
            _, admitted, held, busy, may_be_more = ints(reply)
            counts = counts[0] + admitted, counts[1] + held, counts[2] + busy
            if not may_be_more:
                break
        return counts

    @explained("format")
    def check_format(self) -> None:
        """Refuse a Redis that holds a crawl of another format.

        Raises:
            ConfigError: the crawl was begun before version 0.2, or by a version with a later format.
        """
        check_format(self.client, self.keys)

    @explained("clock_ms")
    def clock_ms(self) -> int:
        """Read Redis' clock, the one that all times of the ledger come from."""
        seconds, micros = self.client.time()
        return seconds * 1000 + micros // 1000


def _last_replies(parsed: Parsed) -> str:
    """Return the last reply of each child's thread, in seconds since the epoch, 0 where no row shows one.

    A list's next page has that of the last row of this one. Before them stands the extent of the page, if any.
    """
    times = {post.post_id: post.last_reply_at or post.created_at or 0 for post in parsed.items.posts}
    replies = [
        str(parsed.oldest_at if child.stage is Stage.LIST else times.get(child.key, 0)) for child in parsed.children
    ]
    return " ".join([parsed.extent, *replies] if parsed.extent else replies)
