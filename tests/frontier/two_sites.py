"""Two sites on one Redis, worked by hand, and what is known of them beside Redis: what must hold of a ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.audit import places
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.frontier.replies import BoardTerms, NoLease
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.frontier.start_queue import StartResult
from crawl_tasks.model import FULL_REACH, Fetched, Items, Lease, Parsed, Reach, Request, Stage, State
from tests.frontier.by_hand import TERMS
from tests.frontier.passing_time import ENDS, at_once, end_gate

SITES = ("demo", "other")
BOARDS = ("1", "two:2", "三 \\%")
OPEN_TERMS = TERMS | {
    "window": 6,
    "max_backlog": 100_000,
    "guard": "exact exact exact",
    "breaker_after": 2,
    "probe_ms": 60_000,
}

Thread = tuple[int, int, int]
"""Number, revision and priority of a post."""


def list_page(site: str, board: str, revision: str, reach: Reach = FULL_REACH) -> Request:
    return Request(site, Stage.LIST, board, "http://127.0.0.1/list/1", revision=revision, reach=reach)


def board_terms(site: str, board: str, *, passes: bool) -> BoardTerms:
    whole = list_page(site, board, "full@SCAN@", Reach(whole="full@SCAN@"))._replace(priority=0)
    first = line_of(list_page(site, board, "@SCAN@"))
    return BoardTerms(board, first, 60_000, 1, 600_000, line_of(whole) if passes else "", 0)


def threads(site: str, drawn: Iterable[Thread]) -> list[Request]:
    return [
        Request(site, Stage.POST, str(key), f"http://127.0.0.1/post/{key}", revision=str(revision), priority=priority)
        for key, revision, priority in drawn
    ]


class TwoSites:
    """What a caller of the verbs sees, and what it may expect of them: each step asserts it."""

    def __init__(self, client: redis.Redis, frontier: Frontier) -> None:
        self.client, self.frontier = client, frontier
        self.seen: dict[str, dict[str, str]] = {site: {} for site in SITES}  # post -> last revision
        self.done: dict[str, set[int]] = {site: set() for site in SITES}
        self.windows, self.versions, self.tokens = (dict.fromkeys(SITES, 0) for _ in range(3))
        self.is_paused = dict.fromkeys(SITES, False)
        self.is_halted = False
        self.hints: list[tuple[str, int]] = []
        self.held: list[Lease] = []
        self.ended: list[Lease] = []
        self.run_out: list[Lease] = []
        self.is_of: dict[tuple[str, int], Request] = {}

    # -- terms -----------------------------------------------------------------------------------------------

    def publish(self, site: str, terms: dict[str, str | int], boards: int, *, passes: bool) -> None:
        all_terms = OPEN_TERMS | {"full_pass_ms": 60_000 * passes} | terms
        self.windows[site] = int(all_terms["window"])
        self.versions[site] += 1
        named = [board_terms(site, name, passes=passes) for name in BOARDS[:boards]]
        self.frontier.sites.publish(site, f"v{self.versions[site]}", "{}", all_terms, named)

    def halt(self, *, is_halted: bool) -> None:
        memory = Admin(self.frontier).restore
        assert (memory.halt("a test") if is_halted else memory.go_on()) == self.is_halted
        self.is_halted = is_halted

    def drop(self, site: str, state: State, reason: str, most: int) -> None:
        graves = {
            grave.rid
            for grave in Admin(self.frontier).failed.requests.list(Selection(site, state))
            if reason in ("", grave.reason)
        }
        assert Admin(self.frontier).failed.requests.drop(Selection(site, state, reason, most=most)) == min(
            most, len(graves)
        )
        self.done[site] |= graves - {
            grave.rid for grave in Admin(self.frontier).failed.requests.list(Selection(site, state))
        }

    # -- admission -------------------------------------------------------------------------------------------

    def expect(self, site: str, requests: Iterable[Request]) -> int:
        """Return how many of some posts are new, and remember them."""
        last, new = self.seen[site], 0
        for one in requests:
            if one.stage is Stage.POST and last.get(one.key) != one.revision:
                last[one.key] = one.revision
                new += 1
        return new

    def admit(self, site: str, drawn: Sequence[Thread]) -> None:
        requests = threads(site, drawn)
        assert self.frontier.admit(site, requests).new == self.expect(site, requests)

    def take_starts(self, site: str, drawn: Sequence[Thread]) -> None:
        key, requests = f"test:start:{site}", threads(site, drawn)
        self.client.rpush(key, *range(len(requests) + 1))
        claims = self.frontier.start_queue.claim(key, site, 10)
        meant = [StartResult(claim, [request], waits_in=key) for claim, request in zip(claims, requests, strict=False)]
        refused = [StartResult(claim, (), reason="none") for claim in claims[len(meant) :]]
        before = Inspector(self.frontier).count_requests(site).admitted
        settled = self.frontier.start_queue.settle(meant + refused)
        asked = requests[: len(meant)]
        asked = asked[: len(asked) - settled.waiting]  # they are admitted in order, as far as there is room
        assert (
            settled.new == Inspector(self.frontier).count_requests(site).admitted - before == self.expect(site, asked)
        )

    # -- workers ---------------------------------------------------------------------------------------------

    def take(self, most: int, copies: int = 1) -> None:
        for stage in Stage:
            for message in self.client.rpop(stage.value, most) or ():
                said = json.loads(json.loads(message)["body"])[1]
                self.hints += [(said["site"], said["rid"])] * copies

    def lease(self) -> None:
        """Ask for the lease that the oldest message names."""
        site, rid = self.hints.pop(0)
        mine = {one.rid for one in self.held if one.request.site == site}
        got = self.frontier.lease(site, rid)
        if rid in self.done[site]:
            assert got is NoLease.UNKNOWN
        if isinstance(got, NoLease):
            return
        assert not self.is_paused[site]
        assert not self.is_halted
        assert len(mine) < self.windows[site]
        assert rid not in mine
        assert got.token > self.tokens[site]
        request = got.request._replace(priority=0)
        assert request == self.is_of.setdefault((site, rid), request)
        self.tokens[site] = got.token
        self.held.append(got)

    def let_go(self, which: int) -> Lease:
        lease = self.held.pop(which % len(self.held))
        self.ended.append(lease)
        return lease

    def commit(self, which: int, drawn: Sequence[Thread] = ()) -> None:
        """End a page with what it brought; a list page that brought posts has a next one."""
        lease = self.let_go(which)
        request, children = lease.request, threads(lease.request.site, drawn)
        walks = request.stage is Stage.LIST and request.page < 4 and bool(drawn)
        new = self.expect(request.site, children)
        if walks:
            children.append(request._replace(page=request.page + 1, only_if_new=not request.reach.whole))
        receipt = self.frontier.commit(lease, Parsed(Items(request.site), tuple(children)), validator='"v"')
        assert receipt is not None
        assert new <= receipt.new <= new + walks
        self.done[request.site].add(lease.rid)

    def fail(self, which: int, state: State, *, rests: bool) -> None:
        lease = self.let_go(which)
        is_wall = state is State.PARKED
        verdict = Verdict(state, "parse" if is_wall else "timeout", "why", 50_000, 1000 * rests, is_wall, rests)
        assert self.frontier.fail(lease, verdict)
        if is_wall:
            page = Fetched(lease.request.address, 200, {}, b"wall", 1.0)
            assert self.frontier.kept_pages.keep(KeptPage(lease.rid, lease.request, page, "why"))

    def wake_up(self) -> None:
        """Let workers end pages whose leases are over, run out or used."""
        before = [counts.admitted for counts in Inspector(self.frontier).count_all(SITES)]
        for stale in self.ended[-5:] + self.run_out[-10:]:
            late = Parsed(Items(stale.request.site), tuple(threads(stale.request.site, [(99, 9, 5)])))
            # The last end of a lease is answered as it was. None changes anything.
            ended = self.frontier.commit(stale, late), self.frontier.fail(stale, Verdict(State.DEAD, "parse", "late"))
            assert ended == (None, None) or stale is self.ended[-1]
        assert [counts.admitted for counts in Inspector(self.frontier).count_all(SITES)] == before

    # -- the store and time ------------------------------------------------------------------------------------

    def acknowledge(self, drawn: Iterable[tuple[bytes, bytes]]) -> None:
        pages: dict[str, list[bytes]] = {}
        for page, text in drawn:
            pages.setdefault(json.loads(text)[0], []).append(page)
        self.frontier.outbox.ack(pages)

    def pass_time(self, what: Iterable[str]) -> None:
        """Let what is named be due at once; `lease` is one lease of each site."""
        for name in what:
            for site in SITES:
                self._end_lease(site) if name == "lease" else ENDS[name](self.client, f"test:s:{site}")
        at_once(self.client, "test:due")
        self.frontier.tick("me")

    def _end_lease(self, site: str) -> None:
        mine = [place for place, one in enumerate(self.held) if one.request.site == site]
        for place in mine[:1]:
            late = self.held.pop(place)
            self.run_out.append(late)
            self.client.zadd(f"test:s:{site}:leased", {str(late.rid): 0})

    # -- what holds ------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Hold the ledger against itself and against what is known."""
        counted = Inspector(self.frontier).count_all(SITES)
        assert [counts.imbalance() for counts in counted] == ["", ""]
        assert [counts.done for counts in counted] == [len(self.done[site]) for site in SITES]
        assert [counts.leased for counts in counted] == [
            sum(o.request.site == site for o in self.held) for site in SITES
        ]
        waiting = self.frontier.outbox.size() + Admin(self.frontier).failed.items.size()
        assert sum(counts.done - counts.count("stored") for counts in counted) == waiting
        for site in SITES:
            assert (*Admin(self.frontier).audit.sums(site, mend=False), *Admin(self.frontier).audit.guard(site)) == ()

    def look_through(self) -> None:
        """Look at every entry."""
        for site in SITES:
            for place in places():
                assert [
                    piece.spots for piece in Admin(self.frontier).audit.place(site, place, mend=False) if piece.spots
                ] == []

    def work_off(self) -> None:
        """Take all boards out, mend what is wrong, and work until nothing is left: all that was admitted is done."""
        self.halt(is_halted=False)
        for site in SITES:
            self.publish(site, {}, 0, passes=False)
            self.frontier.sites.resume(site)
            self.is_paused[site] = False
        for _ in range(200):
            if all(len(self.done[one.site]) == one.admitted for one in Inspector(self.frontier).count_all(SITES)):
                break
            self._work_round()
        assert [one.open + one.dead + one.parked for one in Inspector(self.frontier).count_all(SITES)] == [0, 0]
        assert [
            self.done[one.site] == set(range(1, one.admitted + 1)) for one in Inspector(self.frontier).count_all(SITES)
        ] == [True] * 2
        assert list(self.client.scan_iter("test:s:*:board:*")) == []

    def _work_round(self) -> None:
        for site in SITES:
            for stage in Stage:
                self.frontier.kept_pages.reopen(site, stage)
            for state in (State.DEAD, State.PARKED):
                Admin(self.frontier).failed.requests.retry(Selection(site, state))
        for _ in range(2):  # what is lost is found the second time
            self.pass_time(["delays", "gate", "messages"])
        self.take(100)
        while self.hints:
            for site in SITES:
                end_gate(self.client, f"test:s:{site}")
            self.lease()
        while self.held:
            self.commit(0)
