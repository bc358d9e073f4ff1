"""The supervisor: starts, watches and restarts the processes of a crawl, and ends them whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from crawl_tasks.errors import CrawlError
from crawl_tasks.local.signals import Interrupts, leash

GRACE_S = 10.0
# A worker without a broker ends after 2 s, on a very busy machine after 10 s.
SHORT_LIFE_S = 20.0
SHORT_LIVES_ALLOWED = 3


@dataclass(frozen=True, slots=True)
class Job:
    """A process to run. A restarted job comes back after its death. The end of any other ends the crawl.

    Jobs of a higher `rank` are ended first. `env` are variables of its own.
    """

    name: str
    argv: Sequence[str]
    is_restarted: bool = True
    rank: int = 1
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Child:
    job: Job
    process: subprocess.Popen[bytes]
    started_at: float
    short_lives: int = 0


@dataclass(slots=True)
class Supervisor:
    """Child processes, each in a session of its own so that Ctrl-C reaches the supervisor alone.

    All children end with the block. `report` receives one line about every death. Logs go to `log_dir`/NAME.log.
    """

    log_dir: Path
    env: Mapping[str, str]
    interrupts: Interrupts
    report: Callable[[str], None]
    grace_s: float = GRACE_S
    short_life_s: float = SHORT_LIFE_S
    _children: dict[str, _Child] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self, job: Job) -> None:
        """Start a job.

        Raises:
            CrawlError: the program cannot be started.
        """
        self._start(job, short_lives=0)

    def pid(self, name: str) -> int:
        """Return the process id of a job."""
        return self._children[name].process.pid

    def pids(self) -> set[int]:
        """Return the process ids of all jobs."""
        return {child.process.pid for child in self._children.values()}

    def log_of(self, name: str) -> Path:
        """Return the log file of a job."""
        return self.log_dir / f"{name}.log"

    def watch(self) -> None:
        """Check every child once: report and restart the dead.

        Raises:
            CrawlError: a child died that is not restarted, or that died again and again.
        """
        for child in list(self._children.values()):
            code = child.process.poll()
            if code is not None:
                self._bring_back(child, how_it_ended(code))

    def end(self) -> None:
        """End all children, by rank: SIGTERM, time to finish, SIGKILL. Another Ctrl-C ends the waiting."""
        with self.interrupts.shield():
            for rank in sorted({child.job.rank for child in self._children.values()}, reverse=True):
                self._end([child for child in self._children.values() if child.job.rank == rank])
            self._children.clear()

    def stop(self, name: str) -> None:
        """End one child."""
        with self.interrupts.shield():
            self._end([self._children.pop(name)])

    def _start(self, job: Job, short_lives: int) -> None:
        self.log_dir.mkdir(parents=True, exist_ok=True)
        # A worker that waits for Redis, which ends too, heeds no SIGTERM: nothing would be left to end it.
        tie = leash(signal.SIGKILL)
        # A signal between the start and the registration would leave a process that nobody ends.
        with self.interrupts.shield(), self.log_of(job.name).open("ab") as log:
            try:
                process = subprocess.Popen(  # noqa: S603 (our own arguments)
                    list(job.argv),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**self.env, **job.env},
                    start_new_session=True,
                    # One system call, bound beforehand: little else is safe between fork and exec.
                    preexec_fn=tie,
                )
            except OSError as error:
                raise CrawlError(f"{job.name}: {job.argv[0]} cannot be started: {error.strerror}") from error
            self._children[job.name] = _Child(job, process, time.monotonic(), short_lives)

    def _bring_back(self, child: _Child, how: str) -> None:
        job = child.job
        del self._children[job.name]
        # The dead leader may have left children, which would go on working beside the new process.
        _kill_group(child.process.pid)
        story = f"{job.name} {how}; its log ends: {last_line(self.log_of(job.name))} ({self.log_of(job.name)})"
        if not job.is_restarted:
            raise CrawlError(f"{story}; nothing is lost, start again")
        # A long life clears the count: only a process that fails at each start ends the crawl.
        is_short = time.monotonic() - child.started_at < self.short_life_s
        short_lives = child.short_lives + 1 if is_short else 0
        if short_lives >= SHORT_LIVES_ALLOWED:
            raise CrawlError(
                f"{story}; it ended {short_lives} times in a row; nothing is lost, mend it and start again"
            )
        self.report(f"{story}; started again")
        self._start(job, short_lives)

    def _end(self, children: Sequence[_Child]) -> None:
        asked_before = self.interrupts.count
        for child in children:
            if child.process.poll() is None:
                child.process.terminate()
        deadline = time.monotonic() + self.grace_s
        for child in children:
            while child.process.poll() is None and time.monotonic() < deadline:
                if self.interrupts.count > asked_before:
                    deadline = 0.0
                time.sleep(0.02)
        for child in children:
            _kill_group(child.process.pid)
            child.process.wait()


def how_it_ended(code: int) -> str:
    """Return a description of a process's end."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def last_line(log: Path, most: int = 300) -> str:
    """Return the last line of a log that is not empty."""
    with log.open("rb") as file:
        # The end is enough: a log may be large.
        file.seek(max(0, log.stat().st_size - 8192))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return next((line.strip()[:most] for line in reversed(lines) if line.strip()), "empty")


def _kill_group(leader: int) -> None:
    """Kill the rest of a child's process group."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
