"""Whatever verbs follow each other, the ledger balances, leases fence, and in the end all is worked off, once."""

from __future__ import annotations

import os
import time

import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from crawl_tasks.errors import NoTurn
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import Moment
from crawl_tasks.model import Stage, State
from tests.frontier.passing_time import ENDS as WAITS
from tests.frontier.two_sites import BOARDS, SITES, Thread, TwoSites

STEPS = int(os.environ.get("LEDGER_STEPS", "600"))
"""In all; more by hand."""

AT_ONCE = 60
"""Steps of one example."""

A_SITE = st.sampled_from(SITES)
WHICH = st.integers(0, 10)
GRAVES = st.sampled_from([State.DEAD, State.PARKED])
ENDS = st.sampled_from([State.DELAYED, State.PARKED, State.DEAD])
A_STAGE = st.sampled_from([None, None, *Stage])
REJECTED = ["", "", "put", "back", "drop"]
REASON = st.sampled_from(["", "parse", "timeout"])
POSTS = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 2), st.integers(0, 9)), max_size=4)
TERMS = {
    "window": st.integers(1, 6),
    "order": st.sampled_from(["fifo fifo fifo", "lifo lifo lifo", "fifo lifo fifo"]),
    "max_backlog": st.sampled_from([1, 20, 100_000]),
    "breaker_after": st.integers(1, 3),
    "max_attempts": st.integers(1, 3),
    "delay_ms": st.sampled_from([0, 1]),
    "weights": st.sampled_from(["1 1 1 1", "9 1 1 3"]),
    "daily_budget": st.sampled_from([0, 1000]),
}


class AnyVerbs(RuleBasedStateMachine):
    """Operators, other programs, beat, workers and the store, in any order.

    What is drawn never depends on Redis, whose clock goes on: an example is drawn twice alike.
    """

    client: redis.Redis
    frontier: Frontier

    def __init__(self) -> None:
        super().__init__()
        self.client.flushall()  # the server is the run's own
        self.ledger = TwoSites(self.client, self.frontier)
        for site in SITES:
            self.ledger.publish(site, {}, 2, passes=True)
            self.ledger.admit(site, [(number, 0, number) for number in range(1, 9)])
        self.frontier.produce()

    @rule(site=A_SITE, terms=st.fixed_dictionaries({}, optional=TERMS), boards=st.integers(0, 3), passes=st.booleans())
    def publish(self, site: str, terms: dict[str, str | int], boards: int, *, passes: bool) -> None:
        self.ledger.publish(site, terms, boards, passes=passes)

    @rule(
        site=A_SITE, act=st.sampled_from(["pause", "resume", "resume", "drain", "halt", "go_on", "slow", "quick", *Act])
    )
    def operate(self, site: str, act: str | Act) -> None:
        if isinstance(act, Act):
            Admin(self.frontier).board_schedule.change(site, BOARDS, act, 30_000)
        elif act in ("halt", "go_on"):
            self.ledger.halt(is_halted=act == "halt")
        elif act in ("slow", "quick"):
            self.frontier.sites.set_crawl_delay(site, 0.001 if act == "slow" else 0)
        else:
            getattr(self.frontier.sites, act)(site)
            self.ledger.is_paused[site] = act == "pause"

    @rule(
        site=A_SITE,
        act=st.sampled_from(["revive", "revive", "drop", "reparse"]),
        state=GRAVES,
        reason=REASON,
        stage=A_STAGE,
    )
    def mend(self, site: str, act: str, state: State, reason: str, stage: Stage | None) -> None:
        if act == "revive":
            assert Admin(self.frontier).failed.requests.retry(Selection(site, state, reason, stage, most=5)) <= 5
        elif act == "drop":
            self.ledger.drop(site, state, reason, most=3)
        else:
            for one in [stage] if stage else Stage:
                assert {kept.request.stage for kept in self.frontier.kept_pages.kept(site, one)} <= {one}
                self.frontier.kept_pages.reopen(site, one)

    @rule(site=A_SITE, drawn=POSTS, from_outside=st.booleans())
    def admit(self, site: str, drawn: list[Thread], *, from_outside: bool) -> None:
        (self.ledger.take_starts if from_outside else self.ledger.admit)(site, drawn)

    @rule()
    def scan(self) -> None:
        self.ledger.pass_time(["boards"])
        self.frontier.produce()

    @rule(most=st.integers(1, 6), leaves=st.integers(0, 2), copies=st.sampled_from([0, 1, 1, 1, 2]))
    def take(self, most: int, leaves: int, copies: int) -> None:
        self.ledger.take(most, copies)
        while len(self.ledger.hints) > leaves:
            self.ledger.lease()

    @rule(pages=st.lists(st.tuples(WHICH, POSTS, st.one_of(st.none(), ENDS)), max_size=6))
    def work(self, pages: list[tuple[int, list[Thread], State | None]]) -> None:
        self.take(len(pages) + 1, 0, 1)
        for which, drawn, end in pages[: len(self.ledger.held)]:
            if end is None:
                self.ledger.commit(which, drawn)
            else:
                self.ledger.fail(which, end, rests=not drawn)

    @rule(found=st.lists(POSTS, min_size=1, max_size=6))
    def work_well(self, found: list[list[Thread]]) -> None:
        self.work([(0, drawn, None) for drawn in found])

    @rule(which=st.integers(0, 5), moment=st.sampled_from(Moment))
    def turn(self, which: int, moment: Moment) -> None:
        for held in self.ledger.held[which : which + 1]:
            said = ""
            try:
                if moment is Moment.SENT:
                    self.frontier.sent(held, time.monotonic())
                else:
                    assert self.frontier.reserve_slot(held, moment).opens_at <= time.monotonic() + 30
            except NoTurn as error:
                said = str(error)
            assert "lost" not in said

    @rule()
    def wake_up(self) -> None:
        self.ledger.wake_up()

    @rule(
        most=st.integers(1, 9), taker=st.sampled_from("ab"), overlaps=st.booleans(), rejected=st.sampled_from(REJECTED)
    )
    def store(self, most: int, taker: str, *, overlaps: bool, rejected: str) -> None:
        drawn = self.frontier.outbox.draw(taker, most, takeover_ms=0).pages
        if overlaps:
            self.ledger.acknowledge(self.frontier.outbox.draw("c", most, takeover_ms=0).pages[:2])
        if drawn and rejected == "put":
            Admin(self.frontier).failed.items.put(drawn.pop()[0], "why")
        if rejected == "back":
            Admin(self.frontier).failed.items.retry()
        if rejected == "drop":
            Admin(self.frontier).failed.items.drop()
        self.ledger.acknowledge(drawn)

    @rule(what=st.sets(st.sampled_from(["lease", *WAITS])))
    def pass_time(self, what: set[str]) -> None:
        self.ledger.pass_time(sorted(what))

    @invariant()
    def nothing_is_miscounted(self) -> None:
        self.ledger.check()

    def teardown(self) -> None:
        self.ledger.look_through()
        self.ledger.work_off()
        self.ledger.check()


def test_any_order_of_verbs_leaves_a_ledger_that_balances_and_can_be_worked_off(client: redis.Redis) -> None:
    AnyVerbs.client, AnyVerbs.frontier = client, Frontier(client, "test", store_at=3)

    # Asserts in the invariant after every step, and in the teardown, which works the ledger off.
    run_state_machine_as_test(AnyVerbs, settings=settings(max_examples=STEPS // AT_ONCE, stateful_step_count=AT_ONCE))
