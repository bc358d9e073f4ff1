"""The demo forum as a child process: on the old port where that is free, with log and ground truth in files."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from crawl_tasks.errors import CrawlError
from crawl_tasks.local.redis_server import free_port, port_near
from crawl_tasks.local.supervisor import Job, Supervisor

START_TIMEOUT_S = 30.0
_NAME = "forum"


class ForumFiles:
    """The files of a demo forum in `directory`. The crawler shares nothing else with the forum."""

    def __init__(self, directory: Path) -> None:
        self.log = directory / "forum-requests.jsonl"
        """The access log of this run: one JSON object a request."""
        self.truth = directory / "forum-truth.json"
        """The ground truth: the result of a perfect crawl of the present generation."""
        self.port = directory / "forum.port"
        """The port, which the forum writes when it listens."""
        self.memory = directory / "forum.json"
        """The port and the generation of the last run."""


def start_forum(supervisor: Supervisor, files: ForumFiles, *, mutate: bool, latency_ms: int) -> str:
    """Start the forum in the last generation, or in the next, and return the address.

    Raises:
        CrawlError: the forum did not start.
    """
    port, generation = _remembered(files.memory)
    generation += mutate
    # The old port where possible: requests that the last run left open contain the old address.
    port = port_near(port) if port else free_port()
    # Their presence tells `_await` that the forum is ready, so those of the last run must go.
    for stale in (files.log, files.truth, files.port):
        stale.unlink(missing_ok=True)
    supervisor.start(Job(_NAME, _command(files, port, generation, latency_ms), is_restarted=False, rank=1))
    _await(supervisor, files)
    files.memory.write_text(json.dumps({"port": port, "generation": generation}), "utf-8")
    return f"http://127.0.0.1:{files.port.read_text('utf-8').strip()}"


def _remembered(memory: Path) -> tuple[int, int]:
    try:
        row = json.loads(memory.read_text("utf-8"))
        return int(row["port"]), int(row["generation"])
    except (OSError, ValueError, LookupError, TypeError):
        return 0, 1


def _command(files: ForumFiles, port: int, generation: int, latency_ms: int) -> list[str]:
    return [
        *(sys.executable, "-m", "crawl_tasks.demo", "--port", str(port), "--seed", "1"),
        *("--generation", str(generation), "--latency-ms", str(latency_ms)),
        *("--log", str(files.log), "--truth", str(files.truth), "--port-file", str(files.port)),
    ]


def _await(supervisor: Supervisor, files: ForumFiles) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not (files.port.is_file() and files.port.read_text("utf-8").strip() and files.truth.is_file()):
        # Raises when the forum has died, so that nobody waits half a minute for a dead process.
        supervisor.watch()
        if time.monotonic() > deadline:
            raise CrawlError(f"the demo forum did not start in {START_TIMEOUT_S:.0f} s; see {supervisor.log_of(_NAME)}")
        time.sleep(0.05)
