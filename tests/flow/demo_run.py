"""`crawl-tasks demo` in a directory of its own: start it, find its processes, and read what it reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.waiting import eventually

SITE_FILE = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo in a directory of its own."""

    home: Path

    def write_site(self, **gate: float) -> None:
        """Write the site file that we ship, with boards that are not scanned again meanwhile, and more for its gate."""
        text = SITE_FILE.read_text("utf-8")
        text = text.replace("min_s: 60, start_s: 60", "min_s: 600, start_s: 600")
        text = text.replace("delay_s: 0}", ", ".join(["delay_s: 0", *(f"{name}: {gate[name]}" for name in gate)]) + "}")
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
        """Every living process that works in this directory, or below it as Redis does."""
        found = []
        for process in psutil.process_iter():
            try:
                if self.home in (place := Path(process.cwd()), *place.parents) and is_alive(process):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def fetched(self) -> int:
        """Count the pages that the detail workers say they fetched."""
        log = self.state / "logs" / "detail.log"
        return log.read_text("utf-8").count(" page ") if log.is_file() else 0


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process lives. A killed orphan may stay a zombie until init looks."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


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
