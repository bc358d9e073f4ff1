"""The demo forum as a job of our crew: started on its old port if it is free, with its log and its truth in files."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from crawl_tasks.errors import CrawlError
from crawl_tasks.local.ports import port_near
from crawl_tasks.local.processes import Crew, Job
from crawl_tasks.local.redis_server import free_port

START_TIMEOUT_S = 30.0
_NAME = "forum"


@dataclass(frozen=True, slots=True)
class ForumFiles:
    """The files of a demo forum in `directory`; it is a stranger, so they are all we share with it."""

    directory: Path

    @property
    def log(self) -> Path:
        """One JSON object for each request of this run."""
        return self.directory / "forum-requests.jsonl"

    @property
    def truth(self) -> Path:
        """What a perfect crawl of the present generation would know."""
        return self.directory / "forum-truth.json"

    @property
    def port(self) -> Path:
        """Written by the forum when it listens."""
        return self.directory / "forum.port"

    @property
    def memory(self) -> Path:
        """Port and generation of the last run."""
        return self.directory / "forum.json"


def start_forum(crew: Crew, files: ForumFiles, *, mutate: bool, latency_ms: int) -> str:
    """Start the forum where it was, or one generation later, and give its address.

    Raises:
        CrawlError: it did not start.
    """
    port, generation = _remembered(files.memory)
    generation += mutate
    port = port_near(port) if port else free_port()
    for stale in (files.log, files.truth, files.port):
        stale.unlink(missing_ok=True)
    crew.start(Job(_NAME, _command(files, port, generation, latency_ms), is_restarted=False, rank=1))
    _await(crew, files)
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


def _await(crew: Crew, files: ForumFiles) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not (files.port.is_file() and files.port.read_text("utf-8").strip() and files.truth.is_file()):
        crew.watch()
        if time.monotonic() > deadline:
            raise CrawlError(f"the demo forum did not start in {START_TIMEOUT_S:.0f} s; see {crew.log_of(_NAME)}")
        time.sleep(0.05)
