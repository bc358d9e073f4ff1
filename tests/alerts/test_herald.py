"""Alerts over time, on a real ledger: once when they begin, again after a while, once when they end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from crawl_tasks.alerts.conditions import AT_ONCE, OF_WINDOW, WINDOW_MS, Alert, find_alerts, marks_of
from crawl_tasks.alerts.herald import HOLD_MS, Herald
from crawl_tasks.alerts.receivers import read_receivers
from crawl_tasks.errors import RedisUnreachable
from crawl_tasks.frontier.census import Boards, Census, StageCount
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.gauges import Process
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Stage
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot, take_snapshot
from crawl_tasks.queues import QUEUES
from tests.alerts.receiver import Inbox, open_inbox
from tests.unit.command_line import run

RULES = Path(__file__).parents[2] / "docker" / "prometheus" / "rules.yml"
HOUR_MS = 3_600_000


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with open_inbox() as inbox:
        yield inbox


@pytest.fixture
def healthy(client: redis.Redis) -> Snapshot:
    """A moment at which nothing is wrong, of an installation without sites."""
    frontier = Frontier(client, "test")
    frontier.present("worker", QUEUES)
    frontier.produce()
    return take_snapshot(frontier)


def site(
    boards: Boards | None = None, ready: int = 0, done: int = 0, stats: dict[str, int] | None = None, **fields: int
) -> SiteSnapshot:
    counts = {stage: StageCount(0, 0, 0) for stage in Stage} | {Stage.POST: StageCount(ready, 0, done)}
    texts = {name.replace("__", ":"): str(value) for name, value in fields.items()}
    boards = boards or Boards(total=3)
    census = Census("a", ready + done, 0, 0, 0, 0, 0, counts, texts, stats or {}, boards=boards)
    return SiteSnapshot("a", census, boards)


def names(alerts: list[Alert]) -> list[str]:
    return [alert.name for alert in alerts]


# ---- Conditions ------------------------------------------------------------------------------------------------


def test_nothing_fires_where_nothing_is_wrong(healthy: Snapshot) -> None:
    well = replace(healthy, sites=(site(ready=5, done=100, attempts=100),))
    before = replace(healthy, sites=(site(ready=9, done=10, attempts=10),))

    assert find_alerts(well, marks_of(before)) == []


@pytest.mark.parametrize("stats", [{"comment:changed": 1020, "comment:restored": 51}, {"comment:restored": 50}])
def test_a_few_comments_that_are_back_are_no_alert(healthy: Snapshot, stats: dict[str, int]) -> None:
    marks = marks_of(replace(healthy, sites=(site(),)))

    assert find_alerts(replace(healthy, sites=(site(stats=stats),)), marks) == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"memory_bytes": 81, "max_memory_bytes": 100}, "CrawlRedisMemory"),
        ({"produced_at_ms": 0}, "CrawlBeatSilent"),
        ({"processes": ()}, "CrawlNoWorker"),
        ({"outbox": 1001}, "CrawlOutboxGrows"),
        ({"shelved": 1}, "CrawlShelved"),
        ({"halted": "Redis was emptied"}, "CrawlHalted"),
    ],
)
def test_an_alert_of_the_installation_fires(healthy: Snapshot, change: dict, name: str) -> None:
    ill = replace(healthy, vitals=replace(healthy.vitals, **change))

    assert set(names(find_alerts(ill, marks_of(healthy)))) == {name}


@pytest.mark.parametrize(
    ("now", "before", "name"),
    [
        (site(boards=Boards(total=3, late=1)), site(), "CrawlSiteLate"),
        (site(ready=5, done=9, max_backlog=5), site(done=1), "CrawlBacklogFull"),
        (site(shut__list="5 9 0 parse", shut__post="6 9 0 parse"), site(), "CrawlQuarantined"),
        (site(ready=5, done=9), site(done=9), "CrawlNoProgress"),
        (site(attempts=30, failed__server_error=7), site(), "CrawlErrorRatio"),
        (site(attempts=15, failed__parse=3), site(), "CrawlParserBroken"),
        (site(attempts=100, failed__access_denied=5), site(), "CrawlDenied"),
        (site(stats={"fresh:12": 9, "fresh:sum": 90_000}), site(), "CrawlStale"),
        (site(attempts=100, stats={"late_turns": 21}), site(), "CrawlTurnsLate"),
        (site(stats={"comment:unchanged": 1000, "comment:restored": 51}), site(), "CrawlCommentsFlap"),
    ],
)
def test_an_alert_of_a_site_fires_unless_the_site_is_paused(
    healthy: Snapshot, now: SiteSnapshot, before: SiteSnapshot, name: str
) -> None:
    marks = marks_of(replace(healthy, sites=(before,)))
    paused = SiteSnapshot("a", replace(now.census, fields={**now.census.fields, "paused": "1"}), now.boards)

    assert names(find_alerts(replace(healthy, sites=(now,)), marks)) == [name]
    assert find_alerts(replace(healthy, sites=(paused,)), marks) == []


def test_a_site_in_its_quiet_hours_is_not_late(healthy: Snapshot) -> None:
    late = site(boards=Boards(total=3, late=1))
    quiet = replace(late.census, opens_at_ms=healthy.at_ms + 3_600_000)

    assert find_alerts(replace(healthy, sites=(SiteSnapshot("a", quiet, late.boards),)), None) == []


def test_the_alerts_have_the_names_of_prometheus_rules() -> None:
    rules = set(re.findall(r"- alert: (\w+)", RULES.read_text("utf-8")))

    assert {*AT_ONCE, *OF_WINDOW, "CrawlExporterDown"} == rules


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
        vitals = {"at_ms": at_ms, "produced_at_ms": at_ms, "processes": (Process("worker", QUEUES, at_ms),)}
        self.now = replace(self.now, vitals=replace(self.now.vitals, **{**vitals, **change}))


@pytest.fixture
def moments(healthy: Snapshot) -> Moments:
    return Moments(healthy)


@pytest.fixture
def herald(client: redis.Redis, inbox: Inbox, moments: Moments) -> Callable[..., Herald]:
    frontier = Frontier(client, "test")

    def make(repeat_ms: int = HOUR_MS, hold_ms: int = 0) -> Herald:
        return Herald(moments, frontier.alarms, read_receivers(inbox.url), "test", repeat_ms, hold_ms=hold_ms)

    return make


def told(inbox: Inbox) -> list[tuple[str, str]]:
    return [(alert["change"], alert["name"]) for message in inbox.messages for alert in message["alerts"]]


def test_an_alert_is_told_once_when_it_begins_and_once_when_it_ends(
    herald: Callable[..., Herald], moments: Moments, inbox: Inbox
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


def test_an_alert_that_lasts_is_told_again(herald: Callable[..., Herald], moments: Moments, inbox: Inbox) -> None:
    watch = herald(repeat_ms=0)
    moments.pass_by(1000, produced_at_ms=0)

    watch.look()
    watch.look()

    assert told(inbox) == [("begins", "CrawlBeatSilent"), ("lasts", "CrawlBeatSilent")]
    since = [alert["since_ms"] for message in inbox.messages for alert in message["alerts"]]
    assert since[0] == since[1]


def test_what_is_over_soon_is_not_told(herald: Callable[..., Herald], moments: Moments, inbox: Inbox) -> None:
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
    herald: Callable[..., Herald], moments: Moments, inbox: Inbox
) -> None:
    before = herald(hold_ms=0)
    before.look()
    moments.pass_by(WINDOW_MS, outbox=5000, produced_at_ms=0)
    before.look()
    assert set(told(inbox)) == {("begins", "CrawlBeatSilent"), ("begins", "CrawlOutboxGrows")}
    inbox.messages.clear()

    herald(hold_ms=HOLD_MS).look()

    assert told(inbox) == []


def test_an_alert_that_could_not_be_told_is_told_at_the_next_look(
    herald: Callable[..., Herald], moments: Moments, inbox: Inbox
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


def test_a_redis_that_does_not_answer_is_told_once(
    herald: Callable[..., Herald], moments: Moments, inbox: Inbox
) -> None:
    watch = herald()
    well, moments.now = moments.now, None
    watch.look()
    watch.look()

    moments.now = well
    watch.look()

    assert told(inbox) == [("begins", "CrawlExporterDown"), ("ended", "CrawlExporterDown")]


def test_one_look_from_the_command_line_tells_what_it_sees(
    tmp_path: Path, redis_server: RedisServer, client: redis.Redis, inbox: Inbox
) -> None:
    said = run("alerts", "--once", home=tmp_path, redis_url=redis_server.url, alert_to=inbox.url)
    again = run("alerts", "--once", home=tmp_path, redis_url=redis_server.url, alert_to=inbox.url)

    assert said.exit_code == again.exit_code == 0
    assert ("begins", "CrawlBeatSilent") in told(inbox)
    assert "begins (critical) CrawlNoWorker: no worker serves the queue list" in said.stdout
    assert again.stdout == ""
    assert "TOKEN" not in said.output
