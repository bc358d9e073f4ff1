"""`crawl-tasks demo` as a person runs it: real processes, a real Redis, a real database, and the truth at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis

from tests.flow.world import SHORT_LEASE_MS
from tests.waiting import eventually

SITE_FILE = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"
NEW_POSTS, GROWN_THREADS, EDITED_POSTS, LIST_PAGES = 5, 3, 1, 24

pytestmark = [pytest.mark.flow, pytest.mark.timeout(300)]


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo in a directory of its own."""

    home: Path

    def write_site(self) -> None:
        """Write the site file that we ship, with boards that are not scanned again meanwhile."""
        text = SITE_FILE.read_text("utf-8")
        text = text.replace("min_s: 60, start_s: 60", "min_s: 600, start_s: 600")
        assert "start_s: 600" in text
        self.sites.mkdir(exist_ok=True)
        (self.sites / SITE_FILE.name).write_text(text, "utf-8")

    @property
    def sites(self) -> Path:
        return self.home / "sites"

    @property
    def state(self) -> Path:
        return self.home / ".crawl" / "demo"

    def start(self, *options: str) -> subprocess.Popen[str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith("CRAWL_")}
        command = [sys.executable, "-m", "crawl_tasks", "demo", "--no-flower", "--report", "report.json", *options]
        return subprocess.Popen(
            command,
            cwd=self.home,
            env=env | {"CRAWL_SITES_DIR": str(self.sites)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *options: str) -> dict[str, Any]:
        with self.start(*options) as process:
            output, _ = process.communicate()
        assert process.returncode == 0, output
        report: dict[str, Any] = json.loads((self.home / "report.json").read_text("utf-8"))
        return report

    def workers(self) -> list[psutil.Process]:
        return [process for process in self.processes() if "worker" in words_of(process)]

    def processes(self) -> list[psutil.Process]:
        """Every living process that works in this directory."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.cwd() == str(self.home) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def fetched(self) -> int:
        """Count the pages that the detail workers say they fetched."""
        log = self.state / "logs" / "detail.log"
        return log.read_text("utf-8").count(" page ") if log.is_file() else 0


def words_of(process: psutil.Process) -> list[str]:
    """Return its command; nothing when it ended meanwhile."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def wait_until(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    """Wait for a moment of a running demo; fail at once, with what it said, when it ends before."""
    eventually(lambda: condition() or process.poll() is not None)
    assert process.poll() is None, process.communicate()[0]


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
    same = demo.run()
    changed = demo.run("--mutate")

    for report in (first, same, changed):
        assert_right(report)
        assert report["requests"]["repeated"] == {}
    assert first["requests"]["total"] == first["requests"]["pages_of_forum"]
    asked_again = set(same["requests"]["by_path"])
    lists = {path for path in first["requests"]["by_path"] if "/list/" in path}
    assert asked_again > lists
    assert {path.split("/")[1] for path in asked_again - lists} == {
        "post"
    }  # threads that were gone and are still listed
    kinds = [path.split("/")[1] for path in changed["requests"]["by_path"]]
    assert kinds.count("list") <= LIST_PAGES + 4
    assert kinds.count("post") == NEW_POSTS + GROWN_THREADS + EDITED_POSTS
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
