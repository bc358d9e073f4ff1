"""When a crawl stands still, and when it is given up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.request_counts import RequestCounts, StageCount
from crawl_tasks.local.error_logs import ErrorLogs
from crawl_tasks.model import Stage
from crawl_tasks.monitor.progress import Pace, line_of
from crawl_tasks.monitor.progress_watchdog import GIVE_UP_MS, STILL_MS, ProgressWatchdog
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot, take_snapshot


def snapshot(client: redis.Redis, later_ms: int = 0, opens_in_s: float = 0, **changes: object) -> Snapshot:
    """Return a moment of a site with five posts that are ready."""
    empty = take_snapshot(Frontier(client, "test"))
    moment = replace(empty, health=replace(empty.health, at_ms=1_000_000 + later_ms))
    fields = {str(name).replace("__", ":"): str(value) for name, value in dict(changes.pop("fields", {})).items()}
    stages = {stage: StageCount(0, 0, 0) for stage in Stage} | {Stage.POST: StageCount(5, 0, 0)}
    counts = RequestCounts(
        "a", 5, 0, 0, 0, 0, 0, stages, fields, {}, opens_at_ms=moment.at_ms + round(opens_in_s * 1000)
    )
    counts = replace(counts, **changes)
    return replace(moment, sites=(SiteSnapshot("a", counts, counts.boards),))


@pytest.mark.parametrize(
    ("changes", "gives_up"),
    [
        ({}, True),
        ({"leased": 1}, False),
        ({"delayed": 1}, False),
        ({"opens_in_s": 30}, False),
        ({"opens_in_s": 3600}, True),
        ({"opens_in_s": 3600, "fields": {"delay_ms": 3_600_000}}, False),
        ({"fields": {"breaker__post": "5 9 0 parse"}}, True),
        ({"opens_in_s": 30, "fields": {"breaker__post": "5 9 0 parse"}}, True),
        ({"leased": 1, "fields": {"paused": 1}}, True),
        ({"leased": 1, "delayed": 1, "fields": {"login": "5 no such password"}}, True),
    ],
)
def test_a_crawl_is_given_up_when_nothing_moves_by_itself(
    client: redis.Redis, changes: dict[str, object], gives_up: bool
) -> None:
    watchdog = ProgressWatchdog()
    watchdog.note(snapshot(client, **changes))
    later = snapshot(client, GIVE_UP_MS, **changes)
    watchdog.note(later)

    assert watchdog.is_still(snapshot(client, STILL_MS, **changes))
    assert not watchdog.gives_up(snapshot(client, GIVE_UP_MS - 1, **changes))
    assert watchdog.gives_up(later) is gives_up


def test_any_step_begins_the_wait_anew(client: redis.Redis) -> None:
    watchdog = ProgressWatchdog()
    watchdog.note(snapshot(client))
    moved = snapshot(client, GIVE_UP_MS, fields={"attempts": 1})
    watchdog.note(moved)

    assert not watchdog.is_still(moved)
    assert not watchdog.gives_up(moved)


def test_the_probes_of_a_refused_login_are_no_steps(client: redis.Redis) -> None:
    watchdog = ProgressWatchdog()
    refused = {"login": "5 no such password", "breaker__post": "5 9 0 login"}
    watchdog.note(snapshot(client, fields=refused | {"attempts": 3}))
    probed = snapshot(client, GIVE_UP_MS, leased=1, fields=refused | {"attempts": 4})
    watchdog.note(probed)

    assert watchdog.gives_up(probed)

    watchdog.note(snapshot(client, GIVE_UP_MS, admitted=6, fields=refused | {"attempts": 4}))

    assert not watchdog.gives_up(probed)


@pytest.mark.parametrize("fields", [{"paused": 1}, {"breaker__post": "5 9 0 parse"}])
def test_the_remaining_time_leaves_out_what_is_held_back(client: redis.Redis, fields: dict[str, object]) -> None:
    pace, held = Pace(), snapshot(client, 60_000, fields=fields)
    pace.note(snapshot(client))
    pace.note(held)

    assert (snapshot(client).moving, held.moving, held.open) == (5, 0, 5)
    assert "5 open (5 held back)" in line_of(held, pace, 60.0, None)


def test_new_errors_of_the_logs_are_told_once_a_kind(tmp_path: Path) -> None:
    log = tmp_path / "store.log"
    log.write_text("2026-01-01T00:00:00.000Z error    of an earlier crawl [x]\n", "utf-8")
    errors = ErrorLogs(tmp_path)

    with log.open("a", encoding="utf-8") as file:
        file.write("2026-01-01T00:00:01.000Z info     well\n")
        file.write('2026-01-01T00:00:01.000Z error    cannot store error="disk is full" [x]\n')
        file.write('2026-01-01T00:00:09.000Z error    cannot store error="disk is full" [x]\n')
        file.write('{"time": "2026", "level": "error", "message": "as JSON"}\n2026-01-01T00:00:09.000Z error    half')
    first = list(errors.news())
    with log.open("a", encoding="utf-8") as file:
        file.write(" written\n")

    assert first == [
        'store: cannot store error="disk is full" [x]',
        'store: {"time": "2026", "level": "error", "message": "as JSON"}',
    ]
    assert list(errors.news()) == ["store: half written"]
