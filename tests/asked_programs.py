"""The programs that tests ask for and that a machine with nothing but Python lacks: which tests ask, and runs without.

With CRAWL_TEST_ASKED=FILE a run notes there each test that looks for such a program or starts one, one node id a line.
`python -m tests.asked_programs FILE` runs these with no such program in reach: no test may fail then. A test that asks
for none is no other there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

_NAMES = (
    "chromium chromium-browser google-chrome google-chrome-stable initdb pg_ctl psql postgres promtool prometheus "
    "redis-server redis-check-rdb redis-cli redis-benchmark openssl faketime setpriv docker npm node script pgbouncer"
)
PROGRAMS = frozenset(_NAMES.split())
FIXTURES = frozenset(("postgres_server", "small_cluster"))
"""Fixtures of a whole session that ask once, for all tests."""
POSTGRES = "CRAWL_TEST_POSTGRES_PROGRAMS"
_AT_ONCE = 2_000
_NO_TESTS = 5


class Asked:
    """The plugin that notes the tests of a process."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: set[str] = set()
        self._which = shutil.which
        shutil.which = self._looked_for
        sys.addaudithook(self._started)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note the tests that a mark leaves out where a program is missing, and those of PostgreSQL."""
        for item in items:
            is_marked = any("reason" in mark.kwargs for mark in item.iter_markers("skipif"))
            fixtures = FIXTURES.intersection(getattr(item, "fixturenames", ()))
            if is_marked or fixtures or "postgresql" in item.nodeid:
                self._note(item.nodeid)

    def _looked_for(self, cmd: str, *args: object, **more: object) -> str | None:
        found: str | None = self._which(cmd, *args, **more)  # type: ignore[arg-type]  # as they came
        # A test that did not find the program has run without it already.
        if found and Path(cmd).name in PROGRAMS:
            self._note_current()
        return found

    def _started(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "subprocess.Popen" and Path(str(arguments[0])).name in PROGRAMS:
            self._note_current()

    def _note_current(self) -> None:
        self._note(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])

    def _note(self, test: str) -> None:
        if test and test not in self._known:
            self._known.add(test)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"{test}\n")


def bare_path(directory: Path) -> str:
    """Return a PATH of links to all programs of today's but those."""
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = directory / program.name
            if program.name not in PROGRAMS and not link.is_symlink():
                link.symlink_to(program)
    return str(directory)


def main(file: Path, options: list[str]) -> int:
    """Run the noted tests without the programs and without a terminal, and return pytest's exit code."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    tests = sorted({line for line in lines if Path(line.partition("::")[0]).exists()})
    if not tests:
        sys.exit(f"{file}: no test asked for a program, which cannot be: was CRAWL_TEST_ASKED set in the run before?")
    with tempfile.TemporaryDirectory(prefix="crawl-bare-") as directory:
        hidden = {"CRAWL_TEST_ASKED", "CRAWL_TEST_POSTGRES_URL", "TERM"}
        env = {name: value for name, value in os.environ.items() if name not in hidden}
        env |= {"PATH": bare_path(Path(directory)), POSTGRES: directory}
        command = [sys.executable, "-m", "pytest", "-m", "not long", *options]
        codes = [
            subprocess.run(
                [*command, *tests[at : at + _AT_ONCE]], env=env, stdin=subprocess.DEVNULL, start_new_session=True,
                check=False,
            ).returncode
            for at in range(0, len(tests), _AT_ONCE)
        ]  # fmt: skip
    return max(0 if code == _NO_TESTS else code for code in codes)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
