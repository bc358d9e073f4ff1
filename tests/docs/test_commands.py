"""Every command that a page or a help text shows is run, on a forum that was crawled before.

A command may find something wrong (exit code 1). It may not be misunderstood, end with a traceback, or end at once
where it should stay. The tutorials and the README are carried out with their output by the tests beside this.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import chdir
from hashlib import sha1
from pathlib import Path
from traceback import format_exception

import click
import pytest
from click.testing import CliRunner

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.main import cli
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import State
from crawl_tasks.sites.loader import load_site
from tests.flow.world import ROOT, World
from tests.frontier.by_hand import lease, post, released
from tests.waiting import PATIENCE_S

PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"`([^`\n]*crawl-tasks [^`\n]*)`")
COMMAND = re.compile(r"(?:^|[\s$/])((?:CRAWL_\w+='?\S+ )?)(?:\S*bin/)?(crawl-tasks [a-z-][^|#;]*)")
STAYS = re.compile(r"tasks (redis|alerts|exporter(?!.*--files)|run(?!.*(--until-idle|--boards)))|--watch|--follow")
STAY_S = 4.0
CHANGES = re.compile("remove|flush|pause|hold")
"""Commands that leave the site otherwise than the next one finds it on a page."""
ALONE = re.compile(r"tasks (run|shell)\b|[$&;|<>*='\"]")
"""Commands that start programs, talk at a terminal, or need a shell: each is a process. The others run in this one."""
SLOW = re.compile(r"tasks (demo|bench)\b|--engine")
"""The README's test runs the demo, those of discovery name a preset. Benchmarks take minutes, and are run by hand."""
LONG = re.compile(r"tasks (new (?!{base}$)|run demo( --until-idle)?$|status --watch --sort)")
"""Commands of a quarter of a minute, of whose words others here have each one, or tests of their own."""
WORDS = (
    (r"https?://forum\.example\.org\S*|http://127\.0\.0\.1:8765|\bADDRESS\b", "{base}"),
    (r"\bURL\b", "{base}/post/100001"),
    (r"\b(?:SITE|NAME)\b|(?<=run )(?:forum|X)\b|(?<=try )forum\b", "demo"),
    (r"\bVERSION\b|\b1f6c0a2b\b", "{version}"),
    (r"\bID\b|\b3f2a\b", "{message}"),
    (r"(?<=--site demo )4711\b", "{page}"),
    (r"\bCOLUMN\b", "pages"),
    (r"\b(?:9817|6390)\b|(?<=--after )4711\b", "0"),
)
"""What stands for something of the reader's, and what it is here."""


def shown() -> Iterator[str]:
    """Return the commands that are shown. The tutorials are carried out elsewhere."""
    for page in PAGES:
        text = page.read_text("utf-8")
        if not page.stem.startswith("tutorial"):
            yield from commands_in(line for block in BLOCK.findall(text) for line in block.splitlines())
            yield from (one for one in commands_in(INLINE.findall(BLOCK.sub("", text))) if not is_a_name(one))
    yield from commands_in(help_lines(cli))


def commands_in(lines: Iterable[str]) -> Iterator[str]:
    return ((match[1] + match[2]).strip() for line in lines if (match := COMMAND.search(line)))


def help_lines(command: click.Command) -> Iterator[str]:
    yield from (command.epilog or "").splitlines()
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from help_lines(inner)


def is_a_name(line: str) -> bool:
    """Return whether prose names a command without the arguments that it takes, as `crawl-tasks seed --again`."""
    command: click.Command = cli
    for word in line.split()[1:]:
        inner = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if inner is None and not word.startswith("-"):
            return False
        command = inner or command
    return isinstance(command, click.Group) or any(isinstance(one, click.Argument) for one in command.params)


def like_here(command: str) -> str:
    """Return a command with the reader's names replaced."""
    for pattern, word in WORDS:
        command = re.sub(pattern, word, command)
    return command


def commands() -> list[str]:
    """Return each command once. Those that take the site away or stop it come last."""
    found = {like_here(one) for one in shown() if not SLOW.search(one)}
    return sorted(found, key=lambda one: (bool(CHANGES.search(one)), one))


class Reader:
    """A reader whose site is the demo forum, and who finds something that failed each time."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.forum()
        text = (ROOT / "config" / "sites" / "demo.yaml").read_text("utf-8") + "archive: true\n"
        sites = world.directory / "config" / "sites"
        sites.mkdir(parents=True)
        self._file = sites / "demo.yaml"
        self._file.write_text(text.replace("127.0.0.1:8765", world.base.removeprefix("http://")))
        (world.directory / "addresses.txt").write_text(f"{world.base}/post/100001\n")
        done = self.run("crawl-tasks run demo --boards 1 --pages 1")
        assert done.returncode == 0, done.stdout + done.stderr
        self._here = {"base": world.base, "version": load_site(self._file).version}

    def plant(self) -> None:
        """Let a page, a message, a start entry and an item fail."""
        client, frontier = self._world.client, self._world.frontier
        frontier.admit("demo", [post(self._world.count_requests().admitted + 1)])
        for rid in released(client):
            frontier.fail(lease(frontier, rid), Verdict(State.DEAD, "unreachable", "no answer"))
            self._here["page"] = str(rid)
        client.delete("crawl:refused")
        client.lpush("crawl:refused", "post: no JSON\n{", "start: no JSON\n{")
        self._here["message"] = sha1(b"post: no JSON\n{", usedforsecurity=False).hexdigest()[:8]
        client.xadd("crawl:rejected", {"reason": "no JSON", "items": "["})

    def here(self, command: str) -> str:
        """Return a command with what the reader has."""
        return re.sub(r"{(\w+)}", lambda found: self._here[found[1]], command)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        if ALONE.search(command):
            with self._started(command) as process:
                said, errors = process.communicate("" if "shell" in command else "y\n", timeout=PATIENCE_S)
                code = process.returncode
        else:
            with chdir(self._world.directory):
                result = CliRunner().invoke(cli, command.split()[1:], env=self._world.environment, input="y\n")
            raised = result.exc_info if isinstance(result.exception, Exception) else None
            said, errors = result.stdout, result.stderr + ("".join(format_exception(*raised)) if raised else "")
            code = result.exit_code
        for other in {*self._file.parent.glob("*.yaml")} - {self._file}:  # `new` wrote one for the same forum
            other.unlink()
        return subprocess.CompletedProcess(command, code, said, errors)

    def run_for_a_while(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command that stays, and interrupt it as Ctrl-C does, also where the tests run in the background."""
        with self._started(f"exec env --default-signal=INT {command}") as process:
            try:
                process.wait(STAY_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGINT)
                stayed = "stayed\n"
            else:
                stayed = ""
            said, errors = process.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(command, process.returncode, stayed + said, errors)

    def _started(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-c", command], cwd=self._world.directory, env=self._world.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    world = World(tmp_path_factory.mktemp("reader"), server)
    world.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{world.environment['PATH']}"
    try:
        yield Reader(world)
    finally:
        world.close()
        server.stop()


def test_pages_and_help_texts_show_commands() -> None:
    assert len(commands()) > 100


def test_what_is_no_command_is_noticed(reader: Reader) -> None:
    assert reader.run("crawl-tasks failed list --sort").returncode == Exit.USAGE


@pytest.mark.parametrize(
    "command", [pytest.param(command, marks=[pytest.mark.long] * bool(LONG.search(command))) for command in commands()]
)
def test_a_command_that_is_shown_works(command: str, reader: Reader) -> None:
    if CHANGES.search(command):
        for one in ("sites check", "sites flush demo --queue --yes", "resume --all"):
            reader.run(f"crawl-tasks {one}")
    if "failed" in command:
        reader.plant()
    stays = STAYS.search(command) is not None

    done = (reader.run_for_a_while if stays else reader.run)(reader.here(command))

    said = f"$ {done.args}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in said
    assert done.stdout.startswith("stayed\n") is stays, said
    assert done.returncode in ({Exit.OK, Exit.INTERRUPTED} if stays else {Exit.OK, Exit.FAILURES}), said
