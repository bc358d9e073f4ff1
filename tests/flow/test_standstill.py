"""`crawl-tasks run` where something stands still: it says why, and ends where nothing is left that can move."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from crawl_tasks.cli.exits import Exit
from tests.flow.world import ROOT, SITE, World
from tests.frontier.small_crawl import RULES, small_forum
from tests.waiting import PATIENCE_S, eventually

# A minute without any step is too long for a test. On a busy machine it takes workers several seconds to start.
HASTY = (
    "-c",
    "import crawl_tasks.monitor.progress_watchdog as w; w.GIVE_UP_MS = 20_000;"
    " from crawl_tasks.cli.main import main; main()",
)


def run(world: World, *program: str, more: str = "", change: tuple[str, str] = ("", "")) -> subprocess.Popen[bytes]:
    """Start a run of the demo forum, with more in its site file, and a `change` there."""
    sites = world.directory / "config" / "sites"
    sites.mkdir(parents=True)
    text = (
        (ROOT / "config" / "sites" / "demo.yaml")
        .read_text("utf-8")
        .replace("127.0.0.1:8765", world.base.removeprefix("http://"))
    )
    assert change[0] in text
    (sites / "demo.yaml").write_text(text.replace(*change, 1) + more, "utf-8")
    return world.start("run", sys.executable, *program, "run", SITE, "--until-idle")


@pytest.mark.long
def test_a_run_whose_rest_waits_behind_an_open_breaker_ends_and_says_so(world: World) -> None:
    world.forum("--fault", "changed_markup /post/.*")

    code = run(world, *HASTY).wait(timeout=PATIENCE_S)

    said = world.log_of("run")
    del world.processes["run"]
    assert code == Exit.STANDSTILL, said
    assert "nothing moves: demo: the circuit breaker of post" in said
    assert "finish_reason" in said
    assert "standstill" in said
    assert world.count_requests().open > 0


def test_a_run_whose_redis_refuses_writes_says_so_with_its_reason(world: World) -> None:
    world.forum("--latency-ms", "100")
    process = run(world, "-m", "crawl_tasks")
    eventually(lambda: world.ended("run") or len(world.fetched()) > 20)

    world.client.config_set("maxmemory", 1)
    eventually(lambda: "nothing moves: Redis refuses writes" in world.log_of("run"))
    world.client.config_set("maxmemory", 0)
    process.send_signal(signal.SIGINT)

    assert process.wait(timeout=PATIENCE_S) == Exit.INTERRUPTED, world.log_of("run")
    assert "its memory is full (maxmemory)" in world.log_of("run")
    del world.processes["run"]


def test_a_run_that_read_few_of_the_replies_ends_with_1_and_names_a_thread_last(world: World) -> None:
    world.forum()

    change = ("  record: div.comment\n", "  record: div.comment:not(div.comment ~ div.comment)\n")
    code = run(world, "-m", "crawl_tasks", change=change).wait(timeout=PATIENCE_S)

    said = world.log_of("run")
    del world.processes["run"]
    assert code == Exit.FAILURES, said
    assert "threads have fewer replies than their lists count: http://" in said.splitlines()[-1]


@pytest.mark.long
def test_a_run_reads_a_thread_that_lacks_replies_once_more_before_it_ends(world: World) -> None:
    sites = world.directory / "config" / "sites"
    sites.mkdir(parents=True)
    reply = "<div class=c data-id={}><b class=who>ann</b><p class=say>reply</p></div>"
    first, part, rest = ("".join(map(reply.format, range(*span))) for span in ((0, 10), (10, 13), (13, 20)))
    with small_forum() as forum:
        forum.board("1", 1, "1 20")
        forum.thread("1", more=f"{first}<i class=pages>2</i>")
        page, forum.pages["/comment/1/2"] = "/comment/1/2", part
        forum.then[page] = lambda: forum.pages.update({page: part + rest})
        hosts = f'private_hosts: ["{forum.url.removeprefix("http://")}"]\nboards: [1]\n'
        (sites / "demo.yaml").write_text(RULES.replace("http://127.0.0.1:1", forum.url) + hosts, "utf-8")

        code = world.start("run", sys.executable, "-m", "crawl_tasks", "run", SITE, "--until-idle").wait(PATIENCE_S)

    said = world.log_of("run")
    del world.processes["run"]
    assert code == Exit.OK, said
    assert forum.asked.count(page) == 2
    assert "fewer replies" not in said
