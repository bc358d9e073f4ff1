"""Page chains with real workers: each page is a task of its own, and a worker that ends takes no further page."""

from __future__ import annotations

import json
import signal
from collections import Counter

import pytest
from celery import Celery

from tests.flow.test_events import events_of
from tests.flow.world import World
from tests.waiting import PATIENCE_S, eventually

LONG = {"CRAWL_CHAIN": "1000"}


def script_calls(world: World) -> int:
    """Return the number of scripts and functions that Redis ran: the round trips of pages and polls."""
    stats = world.client.info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("fcall", "evalsha"))


def ids_of(events: list[dict[str, object]], kind: str) -> Counter[str]:
    """Return the page tasks that have an event of a kind."""
    received = {event["uuid"] for event in events if "fetch" in str(event.get("name"))}
    return Counter(str(event["uuid"]) for event in events if event["type"] == kind and event["uuid"] in received)


def test_each_page_of_a_chain_is_a_task_of_its_own_and_costs_one_round_trip(world: World) -> None:
    world.environment |= LONG
    world.forum()
    with events_of(world.server.url) as events:
        world.worker("all", "list,detail,store", "-E", "-c", "4")
        before = script_calls(world)
        world.crawl()
        calls, counts = script_calls(world) - before, world.count_requests()
        eventually(lambda: ids_of(events, "task-succeeded").total() == counts.done)

    received, started = ids_of(events, "task-received"), ids_of(events, "task-started")
    assert received == started == ids_of(events, "task-succeeded")
    assert (len(received), max(received.values())) == (counts.done, 1)
    assert calls < 1.9 * counts.done  # 2.2 and polls without chains
    assert world.faults() == []


def test_a_worker_that_is_asked_to_end_finishes_its_pages_and_takes_no_other(world: World) -> None:
    world.environment |= LONG
    world.forum("--latency-ms", "40")
    world.publish(window=8)
    process = world.worker("all", "list,detail,store", "-c", "4")
    world.frontier.produce()
    eventually(lambda: world.count_requests().done > 60)

    process.terminate()
    assert process.wait(timeout=PATIENCE_S) == 0
    world.processes.pop("all")

    counts = world.count_requests()
    assert (counts.leased, counts.imbalance()) == (0, "")
    assert counts.open > 0
    assert max(world.fetched().values()) == 1


@pytest.mark.parametrize("chain", [pytest.param("0", marks=pytest.mark.long), "1000"])
def test_a_worker_that_gets_quit_begins_no_page_and_says_nothing_odd(world: World, chain: str) -> None:
    world.environment |= {"CRAWL_CHAIN": chain}
    world.forum("--latency-ms", "1000")
    world.publish(window=8)
    process = world.worker("all", "list,detail,store", "-c", "4")
    world.frontier.produce()
    eventually(lambda: world.count_requests().done > 3)

    process.send_signal(signal.SIGQUIT)
    eventually(lambda: "Initiating Soft Shutdown" in world.log_of("all"))
    before = sum(world.fetched().values())
    process.wait(timeout=PATIENCE_S)
    world.processes.pop("all")

    log = world.log_of("all")
    assert [word for word in ("Traceback", "NotImplementedError", "kill_job") if word in log] == []
    assert sum(world.fetched().values()) <= before + 4
    assert world.count_requests().imbalance() == ""


@pytest.mark.long
def test_a_chain_shows_in_inspect_and_a_revoked_page_comes_again(world: World) -> None:
    world.environment |= LONG
    world.forum("--latency-ms", "60")
    world.publish(window=8)
    with events_of(world.server.url) as events, Celery(broker=world.server.url, set_as_current=False) as app:
        world.worker("all", "list,detail,store", "-E", "-c", "1")
        world.frontier.produce()
        eventually(lambda: world.count_requests().done > 20 and world.client.llen("post") > 5, every_s=0.01)
        [active] = (app.control.inspect(timeout=5).active() or {}).values()
        waiting = [json.loads(message)["headers"]["id"] for message in world.client.lrange("post", 0, 0)]
        app.control.revoke(waiting, reply=True, timeout=5)
        eventually(world.is_idle, every_s=0.1)
        eventually(lambda: ids_of(events, "task-succeeded").total() == world.count_requests().done)

    assert [task["name"].rpartition("_")[0] for task in active] == ["crawl_tasks.fetch"]
    assert active[0]["id"] not in waiting
    assert sum(event["type"] == "task-revoked" for event in events) == len(waiting) == 1
    assert world.faults() == []


@pytest.mark.long
def test_without_chains_everything_is_crawled_once(world: World) -> None:
    world.environment["CRAWL_CHAIN"] = "0"
    world.forum()
    world.workers()
    world.crawl()

    assert world.faults() == []
    assert max(world.fetched().values()) == 1
