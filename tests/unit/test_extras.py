"""Without the packages of the extras all else works, and whoever asks for one of them is told what to install."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from tests.flow.world import ROOT
from tests.unit.command_line import site_text, write_site

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
PACKAGES = ("flower", "fsspec", "playwright", "psutil", "pyarrow", "pycurl", "psycopg", "warcio", "cryptography")
WITHOUT = f"""
import sys
sys.modules.update(dict.fromkeys({PACKAGES!r}))
from crawl_tasks.__main__ import main
main()
"""


def without_extras(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that finds no package of an extra."""
    env = os.environ | {"CRAWL_STATE_DIR": str(home / "state"), "CRAWL_SITES_DIR": str(home / "sites")} | environment
    command = [sys.executable, "-c", WITHOUT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=home, env=env, check=False)


def test_all_names_each_other_extra_but_that_of_traces() -> None:
    [everything] = EXTRAS["all"]

    assert everything == f"crawl-tasks[{','.join(sorted(EXTRAS.keys() - {'all', 'otel'}))}]"


@pytest.mark.parametrize(
    ("arguments", "client", "extra"),
    [
        (("run", "--flower"), "requests", "flower"),
        (("try", "tiny"), "curl", "curl"),
        (("bench",), "requests", "all"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_who_asks_for_an_extra_is_told_what_to_install(
    tmp_path: Path, arguments: tuple[str, ...], client: str, extra: str
) -> None:
    write_site(tmp_path, site_text())

    ended = without_extras(tmp_path, *arguments, CRAWL_HTTP_CLIENT=client)

    assert f"pip install 'crawl-tasks[{extra}]'" in ended.stderr, ended.stderr
    assert (ended.returncode, "Traceback" in ended.stderr) == (Exit.USAGE, False)


def test_each_command_begins_without_them(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules.update(dict.fromkeys({PACKAGES!r}))
import click
from click.testing import CliRunner
from crawl_tasks.cli.main import cli
for name in cli.list_commands(click.Context(cli)):
    print(name, CliRunner().invoke(cli, [name, "--help"]).exit_code)
"""

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)

    commands = ended.stdout.splitlines()
    assert len(commands) > 15
    assert [line for line in commands if not line.endswith(" 0")] == []
