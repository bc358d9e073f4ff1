"""The tests that ask for programs which not every machine has are known, and run with none of them in reach."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.asked_programs import PROGRAMS, bare_path
from tests.flow.world import ROOT


def test_a_bare_path_has_all_programs_but_those(tmp_path: Path) -> None:
    path = bare_path(tmp_path)

    assert shutil.which("sh", path=path) is not None
    assert [name for name in PROGRAMS if shutil.which(name, path=path)] == []


ASKS = """
import os, shutil, subprocess
from pathlib import Path
from tests.asked_programs import Asked

Asked(Path({file!r}))
os.environ["PYTEST_CURRENT_TEST"] = "tests/a.py::test_a[x y] (call)"
shutil.which("sh")
subprocess.run(["true"], check=True)
print(Path({file!r}).exists())
shutil.which({program!r})
os.environ["PYTEST_CURRENT_TEST"] = "tests/a.py::test_b (setup)"
try:
    subprocess.run([{program!r}, "--version"], check=False, capture_output=True, timeout=60)
except OSError:
    pass
"""


@pytest.mark.parametrize("program", ["openssl", "promtool"])
def test_a_test_that_looks_for_a_program_or_starts_one_is_noted(tmp_path: Path, program: str) -> None:
    file, place = tmp_path / "asked", tmp_path / "bin"
    place.mkdir()
    (place / program).symlink_to(shutil.which("true") or "/bin/true")
    env = os.environ | {"PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}

    code = ASKS.format(file=str(file), program=program)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True, capture_output=True, text=True)

    assert done.stdout == "False\n"
    assert file.read_text("utf-8").splitlines() == ["tests/a.py::test_a[x y]", "tests/a.py::test_b"]


def test_a_test_that_does_not_find_a_program_has_run_without_it_already(tmp_path: Path) -> None:
    file = tmp_path / "asked"
    code = (
        "import os, shutil\nfrom pathlib import Path\nfrom tests.asked_programs import Asked\n"
        f"Asked(Path({str(file)!r}))\nos.environ['PYTEST_CURRENT_TEST'] = 'tests/a.py::test_a (call)'\n"
        f"shutil.which('openssl', path={str(tmp_path)!r})"
    )

    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)

    assert not file.exists()
