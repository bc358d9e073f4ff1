"""What a process loads at its start: of two kinds of worker, neither needs what the other works with."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("room", ["sqlalchemy", "lxml", "selectolax", "crawl_tasks.parse", "crawl_tasks.sites.schema"])
def test_the_tasks_are_known_without_the_rooms_they_work_in(loaded: frozenset[str], room: str) -> None:
    assert room not in loaded


@pytest.fixture(scope="module")
def loaded() -> frozenset[str]:
    """Name the modules that stand behind the names of the tasks."""
    code = "import sys, crawl_tasks.tasks, crawl_tasks.worker; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return frozenset(run.stdout.split())
