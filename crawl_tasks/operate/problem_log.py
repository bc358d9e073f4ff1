"""The reasons for which a crawl does not move, each told once."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from crawl_tasks.local.error_logs import ErrorLogs
from crawl_tasks.monitor.problems.registry import CurrentProblems
from crawl_tasks.monitor.problems.setup_kinds import DISK_FULL
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.operate.installation import LEAST_DISK_BYTES


class ProblemLog:
    """The reasons for which a crawl does not move, each told once: problems, a full disk, errors in the logs."""

    def __init__(self, directory: Path, errors: ErrorLogs) -> None:
        self._directory = directory
        self._errors = errors
        self._said: set[str] = set()

    def news(self, snapshot: Snapshot, *, with_processes: bool) -> list[str]:
        """Return the reasons that were not told yet, with missing processes only where there was time to start them."""
        current = CurrentProblems(snapshot)
        problems = current.installation if with_processes else current.beside_processes
        texts = [problem.advice() for site in snapshot.sites for problem in (*problems, *current.own(site))]
        if shutil.disk_usage(self._directory).free < LEAST_DISK_BYTES:
            texts.append(DISK_FULL.problem(path=self._directory).advice())
        return self.unsaid([*texts, *self._errors.news()])

    def unsaid(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that were not told yet. Texts that differ in numbers are one."""
        new = {re.sub(r"\d+", "", text): text for text in texts}
        untold = [text for kind, text in new.items() if kind not in self._said]
        self._said |= new.keys()
        return untold
