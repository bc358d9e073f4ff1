"""`crawl-tasks demo` as a person runs it: real processes, a real Redis, a real database, and the truth at the end."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.flow.demo_run import Demo, wait_until, words_of
from tests.flow.world import SHORT_LEASE_MS
from tests.waiting import eventually

NEW_POSTS, GROWN_THREADS, EDITED_POSTS, LIST_PAGES = 5, 3, 1, 24
GONE_POSTS = 5
"""They are still listed, and asked for once more: they may be back."""

pytestmark = [pytest.mark.flow, pytest.mark.timeout(300)]


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    demo = Demo(tmp_path)
    demo.write_site()
    return demo


def assert_right(report: dict[str, Any]) -> None:
    assert report["is_right"], report["truth"]
    assert report["finish"] == "idle"
    assert [ledger["imbalance"] for ledger in report["ledger"]] == [""]


def test_the_demo_stores_the_whole_truth_and_later_only_fetches_what_changed(demo: Demo) -> None:
    first = demo.run("--fresh")
    changed = demo.run("--mutate")

    for report in (first, changed):
        assert_right(report)
        assert report["requests"]["repeated"] == {}
    assert first["requests"]["total"] == first["requests"]["pages_of_forum"]
    kinds = [path.split("/")[1] for path in changed["requests"]["by_path"]]
    assert kinds.count("list") <= LIST_PAGES + 4
    assert kinds.count("post") == NEW_POSTS + GROWN_THREADS + EDITED_POSTS + GONE_POSTS
    assert kinds.count("comment") <= GROWN_THREADS
    assert demo.processes() == []


@pytest.mark.long
def test_the_demo_ended_in_the_middle_leaves_no_process_and_goes_on_next_time(demo: Demo) -> None:
    for options, number in ((["--fresh"], signal.SIGINT), ([], signal.SIGTERM)):
        with demo.start(*options, "--latency-ms", "200") as process:
            before = demo.fetched()
            wait_until(process, lambda before=before: demo.fetched() >= before + 20)
            process.send_signal(number)
            output, _ = process.communicate()

        assert process.returncode == 128 + number, output
        assert "goes on from here" in output
        assert demo.processes() == []

    assert_right(demo.run())


@pytest.mark.long
def test_the_demo_killed_with_all_its_processes_and_without_its_supervisor_leaves_none_and_goes_on(demo: Demo) -> None:
    demo.write_site(deadline_s=2)  # a lease lasts so much longer than its page
    for options, is_whole in ((["--fresh"], True), ([], False)):
        with demo.start(*options, "--latency-ms", "200") as process:
            before = demo.fetched()
            wait_until(process, lambda before=before: demo.fetched() >= before + 20)
            for victim in demo.processes() if is_whole else [process]:
                victim.kill()
            process.communicate()

        eventually(lambda: demo.processes() == [])

    assert_right(demo.run())


@pytest.mark.long
def test_a_worker_killed_in_the_middle_costs_nothing_but_its_pages_in_hand(demo: Demo) -> None:
    with demo.start("--fresh", "--latency-ms", "100") as process:
        wait_until(process, lambda: demo.fetched() >= 5)
        with redis.Redis.from_url((demo.state / "redis.url").read_text("utf-8").strip()) as client:
            assert client.hset("crawl:s:demo", mapping={"lease_ms": SHORT_LEASE_MS, "terms": ""}) == 0
        held_before = demo.fetched()
        wait_until(process, lambda: demo.fetched() >= held_before + 10)
        for worker in demo.workers():
            if "detail" in words_of(worker):
                worker.kill()
        output, _ = process.communicate()
    report = json.loads((demo.home / "report.json").read_text("utf-8"))

    assert process.returncode == 0, output
    assert "detail was killed by SIGKILL" in output
    assert_right(report)
    assert max(report["requests"]["by_path"].values()) <= 2


def test_a_second_demo_in_the_same_directory_is_refused(demo: Demo) -> None:
    with demo.start("--fresh") as first:
        wait_until(first, lambda: (demo.state / "redis.url").is_file())
        with demo.start("--fresh") as second:
            output, _ = second.communicate()
        first.send_signal(signal.SIGTERM)
        first.communicate()

    assert second.returncode == 2
    [line] = output.splitlines()
    assert "a crawl runs here already (process " in line
