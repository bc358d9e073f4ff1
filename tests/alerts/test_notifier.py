"""Alerts over time, on a real ledger: once when they begin, again after a while, once when they end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.errors import RedisUnreachable
from crawl_tasks.frontier.admin.alert_state import AlertState
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.reads import Process
from crawl_tasks.frontier.inspect.request_counts import RequestCounts, ScanCounts, StageCount
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Stage
from crawl_tasks.monitor.alerts.notifier import HOLD_MS, Notifier
from crawl_tasks.monitor.alerts.receivers import read_receivers
from crawl_tasks.monitor.marks import Marks
from crawl_tasks.monitor.problems.kinds import Problem
from crawl_tasks.monitor.problems.registry import ALERTS, find_problems
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot, take_snapshot
from crawl_tasks.queues import QUEUES
from tests.alerts.receiver import Inbox, open_inbox
from tests.waiting import PATIENCE_S, eventually

HOUR_MS = 3_600_000


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with open_inbox() as inbox:
        yield inbox


@pytest.fixture
def healthy(client: redis.Redis) -> Snapshot:
    """A moment at which nothing is wrong, of an installation without sites."""
    frontier = Frontier(client, "test")
    frontier.heartbeat("worker", QUEUES)
    frontier.produce()
    return take_snapshot(frontier)


def site(
    boards: ScanCounts | None = None, ready: int = 0, done: int = 0, stats: dict[str, int] | None = None, **fields: int
) -> SiteSnapshot:
    counts = {stage: StageCount(0, 0, 0) for stage in Stage} | {Stage.POST: StageCount(ready, 0, done)}
    texts = {name.replace("__", ":"): str(value) for name, value in fields.items()}
    boards = boards or ScanCounts(total=3)
    counts = RequestCounts("a", ready + done, 0, 0, 0, 0, 0, counts, texts, stats or {}, boards=boards)
    return SiteSnapshot("a", counts, boards)


def find_alerts(snapshot: Snapshot, before: Marks | None) -> list[Problem]:
    return find_problems(replace(snapshot, before=before), ALERTS)


def names(problems: list[Problem]) -> list[str]:
    return [problem.name for problem in problems]


# ---- Conditions ------------------------------------------------------------------------------------------------


def test_nothing_fires_where_nothing_is_wrong(healthy: Snapshot) -> None:
    well = replace(healthy, sites=(site(ready=5, done=100, attempts=100),))
    before = replace(healthy, sites=(site(ready=9, done=10, attempts=10),))

    assert find_alerts(well, before.marks()) == []


@pytest.mark.parametrize("stats", [{"comment:changed": 1020, "comment:restored": 51}, {"comment:restored": 50}])
def test_a_few_comments_that_are_back_are_no_alert(healthy: Snapshot, stats: dict[str, int]) -> None:
    marks = replace(healthy, sites=(site(),)).marks()

    assert find_alerts(replace(healthy, sites=(site(stats=stats),)), marks) == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"memory_bytes": 81, "max_memory_bytes": 100}, "CrawlRedisMemory"),
        ({"produced_at_ms": 0}, "CrawlBeatSilent"),
        ({"processes": ()}, "CrawlNoWorker"),
        ({"outbox": 1001}, "CrawlOutboxGrows"),
        ({"outbox": 90, "outbox_max": 100}, "CrawlOutboxFull"),
        ({"outbox": 1, "oldest_item_at_ms": 1}, "CrawlStoreFails"),
        ({"refusal": "it is a read-only replica"}, "CrawlRedisRefuses"),
        ({"rejected": 1}, "CrawlItemsRejected"),
        ({"halted": "Redis was emptied"}, "CrawlHalted"),
        ({"counters": {"wait:post:11": 60}}, "CrawlThreadsFew"),
    ],
)
def test_an_alert_of_the_installation_fires(healthy: Snapshot, change: dict, name: str) -> None:
    ill = replace(healthy, health=replace(healthy.health, **change))

    assert set(names(find_alerts(ill, healthy.marks()))) == {name}


@pytest.mark.parametrize(
    ("now", "before", "name"),
    [
        (site(boards=ScanCounts(total=3, late=1)), site(), "CrawlSiteLate"),
        (site(ScanCounts(total=3, overdue=1), 5, 9, max_backlog=9), site(done=1), "CrawlBacklogFull"),
        (site(breaker__list="5 9 0 parse", breaker__post="6 9 0 parse"), site(), "CrawlQuarantined"),
        (site(ready=5, done=9), site(done=9), "CrawlNoProgress"),
        (site(attempts=30, failed__server_error=7), site(), "CrawlErrorRatio"),
        (site(ready=1, done=5, failed_in_a_row=3, failing="1 deadline"), site(done=5), "CrawlNoPages"),
        (site(ready=1, failed_in_a_row=3, failing="1 access_denied"), site(), "CrawlDenied"),
        (site(ready=1, failed_in_a_row=3, failing="1 access_denied,challenge"), site(), "CrawlDenied"),
        (site(done=95, attempts=100, failed__challenge=5), site(), "CrawlDenied"),
        (site(done=12, attempts=15, failed__parse=3), site(), "CrawlParserBroken"),
        (site(done=95, attempts=100, failed__access_denied=5), site(), "CrawlDenied"),
        (site(stats={"fresh:12": 9, "fresh:sum": 90_000}), site(), "CrawlStale"),
        (site(attempts=100, stats={"late_slots": 21}), site(), "CrawlSlotsLate"),
        (site(stats={"comment:unchanged": 1000, "comment:restored": 51}), site(), "CrawlCommentsFlap"),
    ],
)
def test_an_alert_of_a_site_fires_unless_the_site_is_paused(
    healthy: Snapshot, now: SiteSnapshot, before: SiteSnapshot, name: str
) -> None:
    marks = replace(healthy, sites=(before,)).marks()
    paused = SiteSnapshot("a", replace(now.counts, fields={**now.counts.fields, "paused": "1"}), now.boards)

    assert names(find_alerts(replace(healthy, sites=(now,)), marks)) == [name]
    assert find_alerts(replace(healthy, sites=(paused,)), marks) == []


@pytest.mark.parametrize(
    ("missing", "named"), [("store", ["CrawlNoWorker"]), ("post", ["CrawlStoreFails", "CrawlNoWorker"])]
)
def test_pages_that_wait_for_want_of_a_store_worker_are_told_as_that_alone(
    healthy: Snapshot, missing: str, named: list[str]
) -> None:
    others = Process("worker", tuple(queue for queue in QUEUES if queue != missing), healthy.at_ms)
    ill = replace(healthy, health=replace(healthy.health, processes=(others,), outbox=1, oldest_item_at_ms=1))

    assert names(find_alerts(ill, healthy.marks())) == named


def test_a_site_in_its_quiet_hours_is_not_late(healthy: Snapshot) -> None:
    late = site(boards=ScanCounts(total=3, late=1))
    quiet = replace(late.counts, opens_at_ms=healthy.at_ms + 3_600_000)

    assert find_alerts(replace(healthy, sites=(SiteSnapshot("a", quiet, late.boards),)), None) == []


# ---- Over time -------------------------------------------------------------------------------------------------


class Moments:
    """Gives the snapshots that a test sets."""

    def __init__(self, now: Snapshot) -> None:
        self.now: Snapshot | None = now

    def __call__(self) -> Snapshot:
        if self.now is None:
            raise RedisUnreachable("nobody there")
        return self.now

    def pass_by(self, ms: int, **change: object) -> None:
        assert self.now is not None
        at_ms = self.now.at_ms + ms
        health = {"at_ms": at_ms, "produced_at_ms": at_ms, "processes": (Process("worker", QUEUES, at_ms),)}
        self.now = replace(self.now, health=replace(self.now.health, **{**health, **change}))


@pytest.fixture
def moments(healthy: Snapshot) -> Moments:
    return Moments(healthy)


@pytest.fixture
def herald(client: redis.Redis, inbox: Inbox, moments: Moments) -> Callable[..., Notifier]:
    frontier = Frontier(client, "test")

    def make(repeat_ms: int = HOUR_MS, hold_ms: int = 0) -> Notifier:
        return Notifier(
            moments, AlertState(frontier.scripts), read_receivers(inbox.url), "test", repeat_ms, hold_ms=hold_ms
        )

    return make


def told(inbox: Inbox) -> list[tuple[str, str]]:
    return [(alert["change"], alert["name"]) for message in inbox.messages for alert in message["alerts"]]


def test_an_alert_is_told_once_when_it_begins_and_once_when_it_ends(
    herald: Callable[..., Notifier], moments: Moments, inbox: Inbox
) -> None:
    first, second = herald(), herald()
    moments.pass_by(1000, produced_at_ms=0)
    for _ in range(3):
        first.look()
        second.look()

    moments.pass_by(1000)
    first.look()
    second.look()

    assert told(inbox) == [("begins", "CrawlBeatSilent"), ("ended", "CrawlBeatSilent")]


def test_an_alert_that_lasts_is_told_again(herald: Callable[..., Notifier], moments: Moments, inbox: Inbox) -> None:
    watch = herald(repeat_ms=0)
    moments.pass_by(1000, produced_at_ms=0)

    watch.look()
    watch.look()

    assert told(inbox) == [("begins", "CrawlBeatSilent"), ("lasts", "CrawlBeatSilent")]
    since = [alert["since_ms"] for message in inbox.messages for alert in message["alerts"]]
    assert since[0] == since[1]


def test_what_is_over_soon_is_not_told(herald: Callable[..., Notifier], moments: Moments, inbox: Inbox) -> None:
    watch = herald(hold_ms=HOLD_MS)
    moments.pass_by(1000, produced_at_ms=0)
    watch.look()
    moments.pass_by(HOLD_MS)
    watch.look()
    assert told(inbox) == []

    moments.pass_by(1000, produced_at_ms=0)
    watch.look()
    moments.pass_by(HOLD_MS, produced_at_ms=0)
    watch.look()

    assert told(inbox) == [("begins", "CrawlBeatSilent")]


def test_a_restart_neither_ends_nor_repeats_what_goes_on(
    herald: Callable[..., Notifier], healthy: Snapshot, moments: Moments, inbox: Inbox
) -> None:
    before = herald(hold_ms=0)
    moments.now = replace(healthy, before=healthy.marks())
    moments.pass_by(1000, outbox=4000, produced_at_ms=0)
    before.look()
    moments.now = replace(moments.now, before=None)
    assert set(told(inbox)) == {("begins", "CrawlBeatSilent"), ("begins", "CrawlOutboxGrows")}
    inbox.messages.clear()

    herald(hold_ms=HOLD_MS).look()

    assert told(inbox) == []


def test_an_alert_that_could_not_be_told_is_told_at_the_next_look(
    herald: Callable[..., Notifier], moments: Moments, inbox: Inbox
) -> None:
    watch = herald()
    moments.pass_by(1000, produced_at_ms=0)
    inbox.status = 500
    assert watch.look() == []

    inbox.status = 200
    watch.look()
    inbox.status = 500
    moments.pass_by(1000)
    watch.look()
    inbox.status = 200
    watch.look()

    assert told(inbox) == [("begins", "CrawlBeatSilent")] * 2 + [("ended", "CrawlBeatSilent")] * 2


def test_a_sender_whose_receivers_take_nothing_is_told_by_all_others_until_one_takes_all(
    client: redis.Redis, moments: Moments, inbox: Inbox
) -> None:
    frontier = Frontier(client, "test")
    to = read_receivers(inbox.url)
    watch = Notifier(moments, AlertState(frontier.scripts), to, "test", HOUR_MS, hold_ms=0, every_ms=1000)

    def unsent() -> bool:
        frontier.heartbeat("worker", QUEUES)
        frontier.produce()
        late = take_snapshot(frontier)
        late = replace(late, health=replace(late.health, at_ms=late.at_ms + 4001))
        return "CrawlAlertsUnsent" in names(find_problems(late, ALERTS))

    moments.pass_by(1000, produced_at_ms=0)
    inbox.status = 500
    watch.look()
    client.hincrby("test:stats", "alerts_at", 4002)  # it looks on
    assert unsent()
    assert "CrawlAlertsUnsent" not in names(find_problems(take_snapshot(frontier), ALERTS))

    inbox.status = 200
    watch.look()
    watch.look()

    assert not unsent()


def test_a_redis_that_does_not_answer_is_told_once(
    herald: Callable[..., Notifier], moments: Moments, inbox: Inbox
) -> None:
    watch = herald()
    well, moments.now = moments.now, None
    watch.look()
    watch.look()

    moments.now = well
    watch.look()

    assert told(inbox) == [("begins", "CrawlRedisDown"), ("ended", "CrawlRedisDown")]


def test_a_redis_that_refuses_writes_is_told_once_for_as_long_as_it_does(
    herald: Callable[..., Notifier], client: redis.Redis, inbox: Inbox
) -> None:
    watch = herald()
    client.config_set("maxmemory", 1)
    for _ in range(3):
        watch.look()
    lasting = told(inbox)

    client.config_set("maxmemory", 0)
    watch.look()

    assert lasting == [("begins", "CrawlRedisDown")]
    assert told(inbox) == [("begins", "CrawlRedisDown"), ("ended", "CrawlRedisDown")]


def test_the_command_tells_at_once_that_redis_is_gone(tmp_path: Path, inbox: Inbox) -> None:
    server = RedisServer(tmp_path / "redis")
    server.start()
    environment = {"CRAWL_REDIS_URL": server.url, "CRAWL_ALERT_TO": inbox.url, "CRAWL_ALERT_EVERY_S": "1"}
    command = [sys.executable, "-m", "crawl_tasks", "alerts"]
    with subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True) as process:
        with redis.Redis.from_url(server.url) as client:
            eventually(lambda: any(name.startswith("cmdstat_fcall") for name in client.info("commandstats")))
        server.stop()
        assert process.stdout
        said = "".join(process.stdout.readline() for _ in range(3))
        process.terminate()
        process.wait(timeout=PATIENCE_S)

    assert told(inbox) == [("begins", "CrawlRedisDown")]
    assert "begins (critical) CrawlRedisDown: the crawl stands still" in said
    assert "TOKEN" not in said
    assert process.returncode == Exit.TERMINATED
