"""Snapshots of a real ledger, the screen that is made of them, and when a crawl counts as idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import redis
from rich.console import Console

from crawl_tasks.errors import NoTurn, ParseError
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.request_counts import LATE_MS
from crawl_tasks.frontier.retry import RetryPolicy, judge
from crawl_tasks.model import Items, Lease, Parsed, Post, Request, Stage
from crawl_tasks.monitor.progress import Pace, Progress, clock, plain_text
from crawl_tasks.monitor.report import snapshot_row
from crawl_tasks.monitor.snapshot import Snapshot, take_snapshot
from crawl_tasks.operate.crawl import is_idle, scan_all
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.unit.command_line import site_text

SITE = parse_site(site_text(), "tiny.yaml")


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    frontier = Frontier(client, "test")
    publish_site(frontier, SITE, None)
    return frontier


def lease(frontier: Frontier, rid: int) -> Lease:
    got = frontier.lease("tiny", rid)
    assert isinstance(got, Lease)
    return got


def post(number: int) -> Request:
    return Request("tiny", Stage.POST, str(number), f"http://127.0.0.1:8765/post/{number}")


def finish(frontier: Frontier, rid: int, children: Sequence[Request] = ()) -> None:
    items = Items("tiny", posts=(Post(str(rid), 1.0),))
    assert frontier.commit(lease(frontier, rid), Parsed(items, tuple(children))) is not None


def empty_outbox(frontier: Frontier) -> None:
    frontier.outbox.ack({"tiny": [page_id for page_id, _ in frontier.outbox.draw("me", 100).pages]})


def test_a_snapshot_counts_what_the_ledger_holds(frontier: Frontier) -> None:
    frontier.produce()
    finish(frontier, 1, [post(1), post(2)])
    frontier.fail(lease(frontier, 3), judge(ParseError("x"), 1, RetryPolicy(3, 1, 1), 0.5))

    snapshot = take_snapshot(frontier)

    [site] = snapshot.sites
    assert (snapshot.done, snapshot.open, snapshot.outbox, snapshot.given_up, snapshot.failed) == (1, 2, 1, 1, 1)
    assert (site.counts.is_balanced, dict(site.failed)) == (True, {"parse": 1})
    assert (site.boards.total, site.boards.scanning, site.boards.unscanned) == (2, 1, 1)
    assert snapshot_row(snapshot)["outbox"] == 1


def test_an_attempt_that_sent_nothing_is_no_failure(frontier: Frontier) -> None:
    frontier.produce()
    frontier.fail(lease(frontier, 1), judge(NoTurn("its slots were missed"), 1, RetryPolicy(3, 1, 1), 0.5))

    snapshot = take_snapshot(frontier)

    assert (snapshot.failed, snapshot.sites[0].fates) == (0, {("delayed", "no_turn"): 1})


def test_queues_are_counted_over_all_priority_lists(frontier: Frontier, client: redis.Redis) -> None:
    client.lpush("post", "a", "b")
    client.lpush("post\x06\x163", "c")

    assert take_snapshot(frontier).queues["post"] == 3


def test_a_crawl_is_idle_when_all_was_scanned_and_stored(frontier: Frontier) -> None:
    since = frontier.clock_ms()
    verdicts = [idle(frontier, since)]
    frontier.produce()
    verdicts.append(idle(frontier, since))
    finish(frontier, 1)
    finish(frontier, 2)
    verdicts.append(idle(frontier, since))
    empty_outbox(frontier)
    verdicts.append(idle(frontier, since))

    assert verdicts == [False, False, False, True]


def idle(frontier: Frontier, since_ms: int) -> bool:
    return is_idle(take_snapshot(frontier), Cells([frontier]), since_ms)


def test_a_parked_list_page_does_not_keep_a_crawl_from_ending(frontier: Frontier) -> None:
    since = frontier.clock_ms()
    frontier.produce()
    finish(frontier, 1)
    frontier.fail(lease(frontier, 2), judge(ParseError("x"), 1, RetryPolicy(3, 1, 1), 0.5))
    empty_outbox(frontier)

    assert idle(frontier, since)


def test_a_paused_site_does_not_keep_a_crawl_from_ending(frontier: Frontier) -> None:
    frontier.sites.pause("tiny")

    assert idle(frontier, frontier.clock_ms())


def test_boards_that_are_not_due_are_scanned_on_demand_once(frontier: Frontier) -> None:
    frontier.produce()
    finish(frontier, 1)
    finish(frontier, 2)

    assert scan_all(frontier, SITE) == 2
    assert scan_all(frontier, SITE) == 0
    assert frontier.produce() == (0, 0, 0)


def test_a_run_retries_the_list_page_whose_board_is_not_scanned_since_it_was_parked(frontier: Frontier) -> None:
    frontier.produce()
    finish(frontier, 1)
    frontier.fail(lease(frontier, 2), judge(ParseError("x"), 1, RetryPolicy(3, 1, 1), 0.5))

    assert scan_all(frontier, SITE) == 1

    finish(frontier, 2)
    assert Inspector(frontier).count_requests("tiny").parked == 0


def test_boards_that_are_due_are_left_to_produce(frontier: Frontier) -> None:
    assert scan_all(frontier, SITE) == 0
    assert frontier.produce()[0] == 2


def test_a_board_is_late_when_it_is_due_for_long_and_nobody_looks(frontier: Frontier, client: redis.Redis) -> None:
    client.zadd("test:boards", {"tiny 1": frontier.clock_ms() - LATE_MS - 1000, "tiny b2": frontier.clock_ms()})

    [site] = take_snapshot(frontier).sites

    assert (site.boards.total, site.boards.overdue, site.boards.late, site.boards.on_time) == (2, 1, 1, 1)
    assert site.late_s(frontier.clock_ms()) >= LATE_MS / 1000


def test_a_board_that_is_held_back_is_late_although_it_is_looked_at(frontier: Frontier, client: redis.Redis) -> None:
    frontier.sites.pause("tiny")
    client.zadd("test:boards", {"tiny 1": frontier.clock_ms() - LATE_MS - 1000})
    frontier.produce()
    while_paused = take_snapshot(frontier).sites[0].boards
    frontier.sites.resume("tiny")
    frontier.produce()

    boards = take_snapshot(frontier).sites[0].boards

    assert (while_paused.overdue, while_paused.late) == (2, 1)
    assert (boards.late, boards.scanning) == (0, 2)


def seen(at_ms: int, frontier: Frontier, done: int) -> Snapshot:
    """A moment of a crawl that has done so many pages."""
    real = take_snapshot(frontier)
    [site] = real.sites
    stages = {
        stage: replace(count, done=done if stage is Stage.POST else 0) for stage, count in site.counts.stages.items()
    }
    counts = replace(site.counts, stages=stages)
    return Snapshot((replace(site, counts=counts),), replace(real.health, at_ms=at_ms))


def test_the_pace_is_that_of_the_last_half_minute(frontier: Frontier) -> None:
    pace = Pace()
    before = pace.per_minute
    for at_s, done in ((0, 0), (100, 1000), (110, 1010), (120, 1020)):
        pace.note(seen(at_s * 1000, frontier, done))

    assert before is None
    assert pace.per_minute == 60
    assert pace.eta_s(30) == 30


def test_a_pace_of_nothing_has_no_end(frontier: Frontier) -> None:
    pace = Pace()
    for at_s in (0, 1):
        pace.note(seen(at_s * 1000, frontier, 5))

    assert pace.eta_s(30) is None


@pytest.mark.parametrize(("width", "expected"), [(1, "0"), (40, "0 pages"), (80, "tiny"), (200, "tiny")])
def test_the_screen_can_be_drawn_at_any_width(frontier: Frontier, width: int, expected: str) -> None:
    console = Console(width=width, force_terminal=True, record=True)
    with Progress("demo", console) as progress:
        progress.show(take_snapshot(frontier))
        progress.say("[bold]not markup")

    assert expected in console.export_text()


@pytest.mark.parametrize("is_onlooker", [True, False])
def test_whoever_only_looks_is_told_that_nobody_works(frontier: Frontier, is_onlooker: bool) -> None:
    console = Console(width=200, force_terminal=True, record=True)
    with Progress("status", console, is_onlooker=is_onlooker) as progress:
        progress.show(take_snapshot(frontier))

    assert ("list: no worker serves this queue" in console.export_text()) is is_onlooker


def test_without_a_terminal_the_progress_is_plain_lines(frontier: Frontier) -> None:
    console = Console(width=200, force_terminal=False, record=True)
    with Progress("demo", console) as progress:
        progress.show(take_snapshot(frontier))

    [line] = console.export_text().splitlines()
    assert line.startswith("0:00  0 pages")


def test_plain_text_names_site_boards_and_queues(frontier: Frontier) -> None:
    text = plain_text(take_snapshot(frontier))

    assert text.splitlines()[0] == "tiny: 0 open, 0 done (0 gone), 0 parked, 0 dead"
    assert "2 never scanned" in text
    assert "queues: list 0, post 0" in text


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3661, "1:01:01")])
def test_durations_are_written_as_clocks_do(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown
