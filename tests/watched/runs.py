"""`run --until-idle` of forums that are ill: its end and its exit code, beside what `check` says afterwards."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import PATIENCE_S
from tests.watched.places import Installation, Row
from tests.watched.states import State

_NUMBERS = re.compile(r"\d+ ?")
HASTY = (
    "-c",
    "import crawl_tasks.monitor.progress_watchdog as w; w.GIVE_UP_MS = 20_000;"
    " from crawl_tasks.cli.main import main; main()",
)
"""A minute without any step is long for a test."""


@dataclass(frozen=True)
class End:
    """The end of a run, and what `check` found on what it left."""

    code: int
    said: str
    check_code: int
    rows: list[Row]

    @property
    def unsaid(self) -> list[str]:
        """Return the warnings and worse that the run did not print."""
        said = " ".join(self.said.split())
        texts = {row["name"]: " ".join(row["text"].split()) for row in self.rows if row["severity"] != "info"}
        return [name for name, text in texts.items() if _NUMBERS.sub("", text) not in _NUMBERS.sub("", said)]


def run_ill(state: State, directory: Path) -> End:
    """Crawl a forum once while it is well where it falls ill later, and once while it is ill."""
    there = Installation(directory)
    there.world.environment["FORUM_PASS"] = "secret-password"
    try:
        there.add(state.name, state.forum(), **state.site)
        if not state.is_from_start:
            _run(there, state.name)
        state.begin(there, state.name)
        code, said = _run(there, state.name)
        check_code, rows = there.check("--at-rest")
        return End(code, said, check_code, rows)
    finally:
        there.close()


def _run(there: Installation, name: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *HASTY, "run", name, "--until-idle"], cwd=there.world.directory, env=there.world.environment,
        capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
