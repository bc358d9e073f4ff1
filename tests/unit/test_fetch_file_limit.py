"""The limit of open files is raised as far as the system allows, and never lowered."""

from __future__ import annotations

import subprocess
import sys

import pytest

RAISED = """
import resource, sys
from crawl_tasks.fetch.file_limit import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
raise_file_limit()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "raised"), [(300, 4096, "4096 4096"), (300, 1000, "1000 1000"), (4097, 4100, "4097 4100")]
)
def test_the_soft_limit_is_raised_to_what_the_hard_one_allows(soft: int, hard: int, raised: str) -> None:
    command = [sys.executable, "-c", RAISED, str(soft), str(hard)]

    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == raised
