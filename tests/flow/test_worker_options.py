"""Options of `celery worker` and commands of `celery control`: each works, or says in one line that it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from crawl_tasks.queues import QUEUES, RENDER_QUEUE
from tests.flow.world import CELERY, World
from tests.waiting import PATIENCE_S, eventually

REFUSED = {
    ("detail", "--autoscale=10,2"): "write -c 10, or -P prefork --autoscale=10,2",
    ("detail", "--time-limit=60"): "--time-limit needs processes",
    ("detail", "--max-tasks-per-child=5", "-P", "solo"): "--max-tasks-per-child needs processes",
    ("details",): "-Q details: there is no queue details; did you mean detail?",
    ("list,mine",): "-Q mine: there is no queue mine; there are detail, list, post, comment, render, store, control",
}


def test_a_worker_without_a_browser_refuses_the_queue_render_and_serves_all_others(
    world: World, tmp_path: Path
) -> None:
    world.environment["PATH"] = str(tmp_path)

    world.start_worker("refused", "list,render")
    world.start("all", *CELERY, "worker", "-n", "all@%h", "-l", "info")
    world.wait_for_worker("all")

    assert world.processes.pop("refused").wait(timeout=PATIENCE_S) == 2
    assert "-Q render: `render` needs Chromium" in world.log_of("refused")
    queues = {queue["name"] for queue in ask(world, "active_queues")}
    assert queues == set(QUEUES) - {RENDER_QUEUE}


def ask(world: World, command: str, **arguments: object) -> Any:  # noqa: ANN401 (JSON of any shape)
    """Send a command to the one worker, as any program with Celery may, and return the answer."""
    with Celery(broker=world.server.url, set_as_current=False) as app:
        # A worker that has announced itself may not listen yet.
        eventually(lambda: app.control.ping(timeout=0.5, limit=1))
        [answers] = app.control.broadcast(command, arguments, reply=True, limit=1, timeout=PATIENCE_S)
    [answer] = answers.values()
    return answer


def test_an_option_that_cannot_work_is_refused_with_the_right_form(world: World) -> None:
    for number, (queues, *options) in enumerate(REFUSED):
        world.start_worker(f"refused{number}", queues, *options)

    for number, reason in enumerate(REFUSED.values()):
        assert world.processes.pop(f"refused{number}").wait(timeout=PATIENCE_S) == 2
        [line] = [line for line in world.log_of(f"refused{number}").splitlines() if line.startswith("crawl_tasks:")]
        assert reason in line


@pytest.mark.parametrize(
    ("options", "pool"),
    [
        (("-P", "prefork", "--autoscale=3,1", "--time-limit=60"), "celery.concurrency.prefork:TaskPool"),
        pytest.param(("-P", "solo"), "celery.concurrency.solo:TaskPool", marks=pytest.mark.long),
    ],
)
def test_a_worker_of_each_pool_crawls_all_and_refuses_no_message(
    world: World, options: tuple[str, ...], pool: str
) -> None:
    world.forum()
    world.worker("all", "list,detail,store", *options)

    world.crawl()

    assert ask(world, "stats")["pool"]["implementation"] == pool
    assert world.client.llen("crawl:refused") == 0
    eventually(lambda: not world.faults())


def test_an_error_of_the_worker_itself_ends_the_worker_and_blames_no_message(world: World) -> None:
    world.forum()
    world.start_worker("broken", "list,detail,store", "-I", "tests.flow.broken_worker")
    for board in world.client.zrange("crawl:boards", 0, -1):
        world.client.zadd("crawl:boards", {board: 0})
    world.frontier.produce()

    code = world.processes.pop("broken").wait(timeout=PATIENCE_S)

    assert code != 0
    assert "Autoscaler of a pool that cannot grow" in world.log_of("broken")
    assert world.client.llen("crawl:refused") == 0
    world.worker("sound", "list,detail,store")
    eventually(world.is_idle)
    eventually(lambda: not world.faults())


def test_remote_control_of_threads_confirms_nothing_that_it_does_not_do(world: World) -> None:
    world.worker("all", "list,store")

    answers = {
        command: ask(world, command, **arguments)
        for command, arguments in (
            ("rate_limit", {"task_name": "crawl_tasks.fetch_list", "rate_limit": "1/m"}),
            ("time_limit", {"task_name": "crawl_tasks.fetch_list", "hard": 1, "soft": 1}),
            ("pool_grow", {"n": 1}),
            ("pool_shrink", {"n": 1}),
        )
    }
    unknown, detail = ask(world, "add_consumer", queue="details"), ask(world, "add_consumer", queue="detail")

    assert ask(world, "stats")["pool"]["implementation"] == "crawl_tasks.worker.page_chain:ChainPool"
    assert "gate.delay_s" in answers["rate_limit"]["error"]
    assert "gate.deadline_s" in answers["time_limit"]["error"]
    assert all("-c said" in answers[command]["error"] for command in ("pool_grow", "pool_shrink"))
    assert "did you mean detail?" in unknown["error"]
    assert detail == {"ok": "add consumer detail"}
    eventually(lambda: {"post", "comment"} <= {queue["name"] for queue in ask(world, "active_queues")})


def test_a_time_limit_by_remote_control_ends_a_task_of_a_process(world: World) -> None:
    world.forum("--latency-ms", "60000")
    world.worker("all", "list,store", "-P", "prefork", "-c", "2")

    grown = ask(world, "pool_grow", n=1)
    limited = ask(world, "time_limit", task_name="crawl_tasks.fetch_list", hard=0.5, soft=None)
    for board in world.client.zrange("crawl:boards", 0, -1):
        world.client.zadd("crawl:boards", {board: 0})
    world.frontier.produce()

    assert (grown, limited) == ({"ok": "pool will grow"}, {"ok": "time limits set successfully"})
    eventually(lambda: len(ask(world, "stats")["pool"]["processes"]) == 3)
    eventually(lambda: "Hard time limit (0.5s) exceeded" in world.log_of("all"))
