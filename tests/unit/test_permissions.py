"""Files are for the user of the process alone, wherever a command or a worker creates them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import redis

from crawl_tasks.local.embedded import EmbeddedRedis
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.permissions import open_to_others, write_public

OPEN_TO_OTHERS = 0o022
"""The mask of most systems: files are for all to read."""


def test_a_file_for_others_is_readable_and_its_new_directories_too(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        write_public(tmp_path / "a" / "b" / "site.yaml", "name: x\n")
    finally:
        os.umask(old)

    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/site.yaml")]
    assert modes == [0o755, 0o755, 0o644]


def test_a_file_that_its_owner_closed_stays_closed(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.touch(mode=0o600)

    write_public(file, "name: x\n")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_command_that_crashes_leaves_no_core_dump() -> None:
    code = (
        "import resource; from crawl_tasks.permissions import keep_private;"
        "resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2);"
        "keep_private(); print(resource.getrlimit(resource.RLIMIT_CORE)[0])"
    )

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ended.stdout == "0\n"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_the_server_of_a_state_directory_wants_a_password_that_no_argument_shows(state: Path) -> None:
    with Interrupts() as interrupts, EmbeddedRedis(state, interrupts) as server:
        with redis.Redis(port=server._server.port, retry=None) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
        password = server.url.partition(":@")[0].split(":")[2].partition("@")[0]
        arguments = " ".join(psutil.Process(server._server.pid).cmdline())
        kept = (state / "redis.url").read_text("utf-8").strip()

    assert len(password) >= 32
    assert password not in arguments
    assert kept == server.url


def test_two_runs_have_two_passwords(state: Path) -> None:
    with Interrupts() as interrupts:
        first, second = EmbeddedRedis(state, interrupts).url, EmbeddedRedis(state, interrupts).url

    assert first.partition("@")[0] != second.partition("@")[0]


def test_no_command_leaves_anything_that_another_user_can_read(state: Path, tmp_path: Path) -> None:
    environment = os.environ | {"CRAWL_STATE_DIR": str(state)}
    command = [sys.executable, "-m", "crawl_tasks", "demo", "--no-flower"]

    done = subprocess.run(
        command, env=environment, cwd=tmp_path, umask=OPEN_TO_OTHERS, capture_output=True, text=True, check=False
    )
    out = [sys.executable, "-m", "crawl_tasks", "export", "--out", str(tmp_path / "rows.jsonl")]
    subprocess.run(
        out, env=environment | {"CRAWL_STATE_DIR": str(state / "demo")}, umask=OPEN_TO_OTHERS, check=True, cwd=tmp_path
    )

    assert done.returncode == 0, done.stdout + done.stderr
    names = {path.name for path in state.rglob("*")}
    assert {"crawl.db", "export.jsonl", "appendonlydir", "redis.log", "beat.log", "report.html"} <= names
    assert open_to_others(state) == []
    assert stat.S_IMODE((tmp_path / "rows.jsonl").stat().st_mode) == 0o600
