"""What a process loads at its start: of two kinds of worker, neither needs what the other works with."""

from __future__ import annotations

import subprocess
import sys

import pytest

FETCHING = ("lxml", "selectolax", "crawl_tasks.sites.schema", "crawl_tasks.parse", "crawl_tasks.fetch")
PROPOSING = ("crawl_tasks.discovery.discover", "crawl_tasks.discovery.html_rules", "crawl_tasks.discovery.records")
STORING = ("sqlalchemy", "crawl_tasks.store")


@pytest.mark.parametrize(
    ("modules", "rooms"),
    [
        ("crawl_tasks.tasks, crawl_tasks.worker.celery_signals", (*FETCHING, *STORING, "celery.beat")),
        (
            "crawl_tasks.worker.runtime, crawl_tasks.worker.page_task",
            (*STORING, "crawl_tasks.items.language"),
        ),
        (
            "crawl_tasks.worker.celery_signals, crawl_tasks.worker.ledger_watch",
            (*FETCHING, "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.mysql"),
        ),
        ("crawl_tasks.cli.main", (*FETCHING, *STORING, "redis", "crawl_tasks.discovery")),
        ("crawl_tasks.discovery", (*PROPOSING, "crawl_tasks.discovery.proof.checks")),
    ],
    ids=["any worker", "a fetching worker", "a store worker", "the list of commands", "a command that reads again"],
)
def test_what_a_worker_starts_with_is_without_the_rooms_it_may_never_enter(
    modules: str, rooms: tuple[str, ...]
) -> None:
    code = f"import sys, {modules}; print(*sys.modules)"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert not set(run.stdout.split()).intersection(rooms)
