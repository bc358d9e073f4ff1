"""A tutorial carried out: its files are written, its commands run, and each line of output that it shows is held.

A block ```console holds commands behind `$ `, each with its output. A line `...` stands for any lines. A block whose
first line is a comment with a file name, as `# my_forum.py`, is that file. Other blocks are for the reader alone.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
SERVERS = ("python -m tests.programs", "python -m crawl_tasks.demo")
"""Commands of the reader's second terminal: they stay until the tutorial is over."""
WIDTH = "100"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"# ([\w./-]+\.(?:yaml|py))\n")


@dataclass(frozen=True)
class Step:
    """A file to write (`name`), or a command to run with the output that the page shows."""

    text: str
    name: str = ""
    shown: tuple[str, ...] = ()

    @property
    def is_server(self) -> bool:
        return self.text.startswith(SERVERS)


def steps(page: str) -> Iterator[Step]:
    for kind, body in BLOCK.findall(page):
        named = FILE.match(body)
        if named is not None:
            yield Step(body, name=named[1])
        elif kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                command, *shown = part.rstrip("\n").split("\n")
                yield Step(command, shown=tuple(shown))


def with_free_ports(page: str) -> str:
    """Return each server of the page a port of its own, so that tutorials run side by side."""
    for port in set(re.findall(r"--port (\d+)", page)):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            page = re.sub(rf"\b{port}\b", str(probe.getsockname()[1]), page)
    return page


def same(line: str) -> str:
    """Return a line without what the width of a column decides."""
    return " ".join(line.replace("─", " ").split())


def differences(shown: Sequence[str], output: str) -> list[str]:
    """Return the lines shown that the output does not have at their place."""
    lines = [same(line) for line in output.splitlines() if same(line)]
    groups: list[list[str]] = [[]]
    for line in map(same, shown):
        if line == "...":
            groups.append([])
        elif line:
            groups[-1].append(line)
    at, wrong = 0, []
    for place, group in enumerate(groups):
        starts = [at] if place == 0 else range(at, len(lines) + 1)
        found = next((start for start in starts if lines[start : start + len(group)] == group), None)
        if found is None:
            wrong += group
        else:
            at = found + len(group)
    is_cut = bool(shown) and shown[-1].strip() == "..."
    if shown and not is_cut and not wrong and lines[len(lines) - len(groups[-1]) :] != groups[-1]:
        wrong.append("the output goes on behind the last line shown")
    return wrong


@dataclass
class Session:
    """A reader's terminal in an empty directory, with another Python for the commands that need one."""

    home: Path
    servers: ExitStack
    analyst: str | None = None

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CRAWL_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
        return kept | {"PATH": path, "COLUMNS": WIDTH}

    def carry_out(self, step: Step) -> None:
        if step.name:
            file = self.home / step.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.text, "utf-8")
        elif step.is_server:
            self.servers.enter_context(self._serving(step))
        else:
            self._run(step)

    def _run(self, step: Step) -> None:
        command = step.text
        if self.analyst is not None:
            command = re.sub(r"^analysis/bin/python\b", shlex.quote(self.analyst), command)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.home,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert differences(step.shown, done.stdout) == [], f"$ {step.text}\n{done.stdout}"
        assert done.returncode == 0, f"$ {step.text}\n{done.stdout}"

    @contextmanager
    def _serving(self, step: Step) -> Iterator[None]:
        said = self.home / f"server-{len(step.text)}.txt"
        with said.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, *shlex.split(step.text)[1:]], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT
            )
        try:
            eventually(lambda: "http://" in said.read_text() or process.poll() is not None)
            assert differences(step.shown, said.read_text()) == [], said.read_text()
            yield
        finally:
            process.terminate()
            process.wait()


@contextmanager
def session(home: Path) -> Iterator[Session]:
    with ExitStack() as servers:
        yield Session(home, servers)
