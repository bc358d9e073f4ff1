"""The README shows what the program prints and writes: the demo's output, and a site file that `new` wrote."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from crawl_tasks.local.redis_server import RedisServer, free_port
from tests.docs.session import BLOCK, ROOT, Session, differences, session
from tests.flow.world import World
from tests.forums.recorded import FORUMS, RECORDINGS, replayed
from tests.waiting import eventually

README = (ROOT / "README.md").read_text("utf-8")
DEMO = {
    "make crawl": "crawl-tasks demo --no-flower",
    ".venv/bin/crawl-tasks demo --mutate": "crawl-tasks demo --mutate --no-flower",
}
"""What the README shows, and how it is run here, where another Flower may have the port."""

pytestmark = [pytest.mark.flow, pytest.mark.timeout(300)]


def printed(reader: Session, command: str) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=reader.home,
        env=reader.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_demo_prints_the_lines_that_the_readme_shows(tmp_path: Path) -> None:
    [block] = [body for _, body in BLOCK.findall(README) if body.startswith("$ ")]
    shown = dict(part.rstrip("\n").split("\n", 1) for part in re.split(r"^\$ ", block, flags=re.M)[1:])
    sites = tmp_path / "config" / "sites"
    sites.mkdir(parents=True)
    # The boards are not scanned again while the demo runs, however slow the machine.
    text = (
        (ROOT / "config" / "sites" / "demo.yaml")
        .read_text("utf-8")
        .replace("min_s: 60, start_s: 60", "min_s: 600, start_s: 600")
    )
    (sites / "demo.yaml").write_text(text, "utf-8")

    assert list(shown) == list(DEMO)
    with session(tmp_path) as reader:
        for command, lines in shown.items():
            output = printed(reader, DEMO[command])
            assert differences(lines.split("\n"), output) == [], output
            judged = printed(reader, "CRAWL_STATE_DIR=.crawl/demo crawl-tasks check || true")
            assert re.findall(r"^(?:warning|critical) .*: demo: .*", judged, re.M) == []


def test_new_writes_the_site_file_that_the_readme_shows(tmp_path: Path) -> None:
    forum = FORUMS["phpbb"]
    if not forum.is_there:
        pytest.skip(f"no recording of phpbb in {RECORDINGS}; set FORUM_RECORDINGS to the directory of recordings")
    [shown] = [body for kind, body in BLOCK.findall(README) if kind == "yaml"]

    with replayed(forum, tmp_path) as replay, session(tmp_path) as reader:
        printed(reader, f"{sys.executable} -m crawl_tasks new {replay.base} --name forum")
        written = (tmp_path / "config" / "sites" / "forum.yaml").read_text("utf-8")
        text = written.replace(replay.base.removeprefix("http://"), "127.0.0.1:7351")
        assert differences(shown.rstrip("\n").split("\n"), text) == []


def test_the_celery_commands_of_the_readme_crawl_a_forum_together(tmp_path: Path) -> None:
    commands = re.findall(r"^celery (-A crawl_tasks .+?) +#", README, re.M)
    server = RedisServer(tmp_path / "redis")
    server.start()
    world = World(tmp_path, server)
    try:
        world.forum()
        for number, command in enumerate(commands):
            # Another Flower may have the port.
            options = [f"--port={free_port()}"] if command.endswith("flower") else []
            world.start(f"celery{number}", sys.executable, "-m", "celery", *command.split(), *options)

        eventually(lambda: world.is_idle() and not world.faults(), every_s=0.5)
    finally:
        world.close()
        server.stop()
    assert [command.split()[-1] for command in commands] == ["list", "detail", "store", "beat", "flower"]
