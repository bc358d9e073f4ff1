"""Whole crawls of the demo forum by real Celery processes, held against the forum's truth and its own log."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterable

import pytest

from crawl_tasks.model import Stage
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.store.queries import counts
from crawl_tasks.store.upsert import Store
from tests.flow.world import CELERY, SHORT_LEASE_MS, World
from tests.waiting import eventually

pytestmark = pytest.mark.flow


def test_two_list_and_three_detail_workers_with_beat_store_everything_once(world: World) -> None:
    world.forum("--latency-ms", "5")
    world.workers(lists=2, details=3)

    world.start("beat", *CELERY, "beat")  # nothing else asks for a scan
    eventually(lambda: world.count_requests().admitted > 0)
    eventually(world.is_idle, every_s=0.1)

    assert world.faults() == []
    assert set(world.fetched()) == set(world.truth()["paths"])
    assert max(world.fetched().values()) == 1
    assert_counted(world)


def assert_counted(world: World) -> None:
    """Those who watch see what the database and the forum's own log say."""
    snapshot = take_snapshot(world.frontier)
    [site] = snapshot.sites
    with Store(f"sqlite:///{world.directory / 'crawl.db'}") as store:
        [stored] = counts(store)
    pages = [row for row in world.requests() if row["path"] != "/robots.txt"]
    statuses = Counter(str(row["status"]) for row in pages)

    assert dict(site.statuses) == statuses
    assert site.counts.count("attempts") == len(pages)
    assert (site.stat("post:new"), site.stat("comment:new")) == (stored.posts, stored.comments)
    assert sum(snapshot.times("fetch", stage).count for stage in Stage) == len(pages)
    assert {queue: snapshot.workers_of(queue) for queue in ("list", "post", "store")} == {
        "list": 2,
        "post": 3,
        "store": 1,
    }
    assert snapshot.is_beat_alive


@pytest.mark.long
def test_a_worker_killed_in_the_middle_costs_at_most_what_it_held(world: World) -> None:
    world.forum("--latency-ms", "40")
    world.publish(lease_ms=SHORT_LEASE_MS, deadline_s=1.0, window=8)
    world.workers()
    world.frontier.produce()
    eventually(lambda: world.count_requests().done > 60)

    held = world.count_requests()
    world.kill("detail0")
    world.worker("detail0", "detail")
    eventually(world.is_idle, every_s=0.1)

    assert world.faults() == []
    again = [path for path, times in world.fetched().items() if times > 1]
    assert len(again) <= held.leased + 8
    assert max(world.fetched().values()) <= 2


def test_the_second_crawl_fetches_only_lists_and_what_changed(world: World) -> None:
    world.forum()
    world.workers()
    world.crawl()
    assert world.faults() == []
    port = int(world.base.rpartition(":")[2])
    seen = len(world.requests())

    world.crawl()
    before = world.truth()
    gone = {
        f"/post/{row['post_id']}" for row in before["posts"] if row["status"] != 200
    }  # listed still, it may be back
    assert {path for path in world.fetched(since=seen) if not path.startswith("/list/")} == gone

    (world.directory / "requests.log").rename(world.directory / "requests.1.log")
    world.forum(generation=2, port=port)
    world.crawl()

    assert world.faults() == []
    after = world.truth()
    changed = changed_posts(before, after)
    fetched = world.fetched()
    posts = {path.split("/")[2] for path in fetched if not path.startswith("/list/")}
    assert posts == changed
    assert len(changed) == 9
    assert max(fetched.values()) == 1
    assert sum(path.startswith("/comment/") for path in fetched) <= 4


def changed_posts(before: dict, after: dict) -> set[str]:
    def by_id(rows: Iterable[dict]) -> dict[str, tuple[object, ...]]:
        return {row["post_id"]: (row["reply_count"], row["edits"], row["body"]) for row in rows}

    old, new = by_id(before["posts"]), by_id(after["posts"])
    return {post_id for post_id, row in new.items() if old.get(post_id) != row}


def test_duplicate_late_and_forged_messages_do_nothing(world: World) -> None:
    world.forum()
    world.worker("list", "list")
    world.frontier.produce()
    eventually(lambda: world.client.llen("post") > 3)
    late = world.client.lrange("post", 0, -1)
    forged = [message.replace(b'"rid\\":', b'"rid\\":9') for message in late]
    assert forged != late
    world.worker("detail", "detail")
    world.worker("store", "store", "-c", "1")
    for _ in range(3):
        world.client.lpush("post", *late)
    eventually(world.is_idle, every_s=0.1)
    garbage = [b"{", b"null", b'{"body": 1}', b"\xff\xfe", late[0].replace(b"utf-8", b"rot13")]
    world.client.lpush("post", *late, *forged, *garbage)
    admitted = world.count_requests().admitted

    eventually(lambda: world.client.llen("crawl:refused") == len(garbage))
    known = world.truth()["posts"][0]["post_id"]
    code = f"from crawl_tasks.tasks import fetch_post; [fetch_post.delay('demo', post_id='{known}') for _ in 'ab']"
    world.run("sender", CELERY[0], "-c", code)
    eventually(lambda: world.log_of("detail").count("'known'") == 2)  # it goes on with what is well formed
    eventually(world.is_idle)

    assert world.faults() == []
    assert world.count_requests().admitted == admitted
    assert max(world.fetched().values()) == 1


def test_tasks_sent_directly_pass_guard_gate_and_ledger(world: World) -> None:
    world.forum()
    world.workers()
    truth = world.truth()
    post = next(row for row in truth["posts"] if row["state"] == "normal" and row["pages"] == 3)
    code = (
        "from crawl_tasks.tasks import fetch_post, fetch_list\n"
        "for _ in range(5): fetch_post.delay(site='demo', post_id=%r)\n"
        "fetch_list.delay(site='demo', board='1', page=6)\n"
        "fetch_post.delay(site='nowhere', post_id=1)\n"
        "fetch_post.delay(site='demo', url='http://127.0.0.1:1/elsewhere')\n"
    )
    world.run("sender", CELERY[0], "-c", code % post["post_id"])

    eventually(lambda: world.count_requests().done >= 4 and world.is_idle())

    fetched = world.fetched()
    assert fetched[f"/post/{post['post_id']}"] == 1
    assert fetched[f"/comment/{post['post_id']}/3"] == 1
    assert fetched["/list/1/6"] == 1


def test_workers_that_nobody_named_are_told_apart_in_every_view(world: World) -> None:
    for queue in ("detail", "store"):
        world.start(queue, *CELERY, "worker", "-Q", queue, "-c", "1")
    eventually(lambda: all(f"{queue}-" in world.ready_workers() for queue in ("detail", "store")))

    answer = world.run("inspect", *CELERY, "inspect", "active_queues", "--json")
    served = json.loads(answer[answer.index("{") :])

    assert sorted((name.partition("-")[0], queue["name"]) for name, queues in served.items() for queue in queues) == [
        ("detail", "comment"),
        ("detail", "post"),
        ("store", "store"),
    ]
    assert all(re.fullmatch(r"\w+-\d+@\S+", name) for name in served)


def test_without_beat_retries_and_recovery_go_on(world: World) -> None:
    site = world.forum("--fault", "error /post/.* times=1")
    world.workers()

    world.crawl()

    assert world.faults() == []
    assert site.robots
    assert world.count_requests().count("failed:server_error") > 0


def test_window_and_rate_hold_across_workers_as_the_forum_measures_them(world: World) -> None:
    delay_s, window = 0.08, 2
    world.forum("--latency-ms", "100")
    world.publish(window=window, delay_s=delay_s)
    world.workers(details=2)
    begun = time.monotonic()
    world.frontier.produce()

    eventually(lambda: world.count_requests().done >= 40)
    world.frontier.sites.pause("demo")
    eventually(lambda: world.count_requests().leased == 0)

    rows = [row for row in world.requests() if row["path"] != "/robots.txt"]
    last = max(float(row["start"]) for row in rows)
    assert max(int(row["in_flight"]) for row in rows) <= window
    assert last - begun >= (len(rows) - 1) * delay_s  # whatever held up the first or the last one
    assert {str(row["path"]).split("/")[1] for row in rows} >= {"list", "post"}


def test_redis_killed_and_started_again_loses_nothing(world: World) -> None:
    world.forum("--latency-ms", "40")
    world.publish(lease_ms=SHORT_LEASE_MS, deadline_s=1.0, window=8)
    world.workers()
    world.frontier.produce()
    eventually(lambda: world.count_requests().done > 60)

    os.kill(world.server.pid, signal.SIGKILL)
    world.server.stop()
    world.server.start()
    eventually(world.is_idle, every_s=0.1)

    assert world.faults() == []
    assert max(world.fetched().values()) <= 2
    assert "page crashed" not in world.log_of("detail0")


def test_an_idle_worker_ends_where_told(world: World) -> None:
    world.forum()
    world.environment["CRAWL_IDLE_EXIT_S"] = "1"
    process = world.worker("list", "list")

    eventually(lambda: process.poll() is not None)

    assert world.processes.pop("list").returncode == 0, world.log_of("list")
    assert "idle, the worker ends" in world.log_of("list")
