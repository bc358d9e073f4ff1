"""The bench measures a crawl that is right; its short form runs here, its figures are in docs/benchmark.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flow.world import ROOT


@pytest.mark.flow
@pytest.mark.parametrize(
    ("client", "store"), [pytest.param("requests", "--apart", marks=pytest.mark.long), ("curl", "--together")]
)
def test_the_bench_crawls_every_page_once_and_right(client: str, store: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "crawl_tasks",
        "bench",
        "--size",
        "demo",
        "--processes",
        "1",
        "--footprint",
        "2000",
    ]

    done = subprocess.run(
        [*command, store, "--client", client],
        env=os.environ | {"CRAWL_STATE_DIR": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert (done.returncode, "WRONG" in done.stdout) == (0, False), done.stdout + done.stderr
    for said in ("pages/s", "s per 1,000 pages", "commands a page", "a waiting request", "a known address"):
        assert said in done.stdout
