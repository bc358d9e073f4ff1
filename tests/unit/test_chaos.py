"""What `make chaos` lists by hand is compared with what is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.__main__ import CHANGING, PARTS, of_truth
from tests.chaos.guards import GUARDS, Guard
from tests.chaos.keys import UNSEEN, kinds
from tests.chaos.promises import PROMISES
from tests.chaos.rows import Row
from tests.flow.world import ROOT
from tests.frontier.mutations import MUTATIONS


@pytest.mark.parametrize("guard", [*GUARDS, *MUTATIONS, *PROMISES], ids=lambda guard: guard.name)
def test_a_guard_that_is_to_be_taken_out_stands_where_the_list_says(guard: Guard) -> None:
    assert guard.count() == 1
    assert guard.rests in PARTS or (ROOT / guard.rests).is_file()


def test_every_kill_point_is_a_place_that_there_is() -> None:
    arm_all = """
import signal
from tests.chaos.haste import hasten
from tests.chaos.points import ARCHIVE_POINTS, POINTS, Fuse, watch_end_of_sleep
fuse = Fuse("nobody", 0, signal.SIGKILL, 1)
hasten()
watch_end_of_sleep(fuse)
for point in (*POINTS, *ARCHIVE_POINTS):
    point.arm(fuse)
"""
    done = subprocess.run([sys.executable, "-c", arm_all], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.stderr == ""


def test_every_part_but_the_comparison_has_a_guard_or_a_reason() -> None:
    shown = {guard.rests for guard in GUARDS}

    unshown = set(PARTS) - shown

    assert unshown == {"beside", "losses", "loads", "snapshots"}


def test_a_key_of_every_name_in_the_scripts_is_of_a_kind_that_chaos_deletes() -> None:
    site = "crawl:s:demo"
    keys = ["crawl:due", site, f"{site}:ready:list:5", f"{site}:seen:post:0", f"{site}:board:1"]

    of = {key: [kind.name for kind in kinds() if kind.pattern.fullmatch(key)] for key in keys}

    assert [len(names) for names in of.values()] == [1] * len(keys)
    assert Path(ROOT, "crawl_tasks/frontier/keys.py").read_text().count("| P:") + 1 + 4 == len(kinds()) + len(UNSEEN)


def test_a_row_of_a_changing_forum_speaks_of_its_truth_and_not_of_fetches() -> None:
    row = Row("deaths", "2 deaths", "0 lost, 3 extra fetches", "0 lost")

    assert of_truth(row).result == of_truth(row).goal
    assert "extra" not in of_truth(row).result
    assert of_truth(Row("clocks", "-", "skipped", "")).result == "skipped"
    assert set(PARTS) >= set(CHANGING)
