"""Builds what the image would hold, without Docker: `make image`.

The RUN and COPY lines of docker/Dockerfile's first stage are carried out in a fresh directory, in place of the file
system's root, by another user where this one is root; then what the image starts is asked for, as that user. What only
an engine can do (users, layers, the base image) is left out. It takes about a minute, and the package index.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "docker" / "Dockerfile"
NOBODY = 65534
PYTHON = "/usr/bin/python3" if os.geteuid() == 0 and Path("/usr/bin/python3").exists() else sys.executable
"""Another user may not see the Python of root's home."""

PASSED_ON = re.compile(r"(PIP|UV|SSL)_|https?_proxy|no_proxy", re.IGNORECASE)
ASKED = (
    "crawl-tasks --version",
    "crawl-tasks sites check --no-publish",
    "celery -A crawl_tasks worker --help",
    "celery -A crawl_tasks beat --help",
    "celery -A crawl_tasks flower --help",
)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Return the Dockerfile's instructions, continued lines joined, comments left out."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in lines.replace("\\\n", " ").splitlines():
        name, _, rest = line.strip().partition(" ")
        if name:
            yield name, rest.strip()


def build_stage(text: str) -> list[tuple[str, str]]:
    """Return the RUN and COPY lines of the first stage."""
    found: list[tuple[str, str]] = []
    stages = 0
    for name, rest in instructions(text):
        stages += name == "FROM"
        if stages == 1 and name in {"RUN", "COPY"}:
            found.append((name, rest))
    return found


class Rehearsal:
    """A directory that stands for the image's root, and the user who works in it."""

    def __init__(self, root: Path) -> None:
        self.root, self.source = root, root / "src"
        self.user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] * (os.geteuid() == 0)
        for name in ("src", "opt", "home", "sites"):
            (root / name).mkdir()
        shutil.copy(ROOT / "config" / "sites" / "demo.yaml", root / "sites")
        root.chmod(0o755)
        self._give(root)
        self.run(f"{PYTHON} -m venv {root / 'python'}", path="/usr/bin:/bin")

    def carry_out(self, name: str, rest: str) -> None:
        """Do what an instruction says, below the directory."""
        log.info("%s %s", name, rest[:100])
        if name == "RUN":
            self.run(rest.replace("/opt/crawl", str(self.root / "opt" / "crawl")), f"{self.root / 'python' / 'bin'}")
            return
        *sources, target = rest.split()
        for source in sources:
            place = self.source / (target if target != "./" else Path(source).name)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, place)
            self._give(place)

    def run(self, command: str, path: str) -> None:
        """Run a command of the shell as the user.

        Raises:
            CalledProcessError: it failed.
        """
        environment = {name: value for name, value in os.environ.items() if PASSED_ON.match(name)}
        environment |= {
            "PATH": f"{path}:/usr/bin:/bin",
            "HOME": str(self.root / "home"),
            "CRAWL_STATE_DIR": str(self.root / "home"),
            "CRAWL_SITES_DIR": str(self.root / "sites"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        shell = ["bash", "-o", "pipefail", "-c", command]
        subprocess.run([*self.user, *shell], env=environment, cwd=self.source, check=True)

    def _give(self, place: Path) -> None:
        if self.user:
            for path in (place, *place.rglob("*")):
                os.chown(path, NOBODY, NOBODY)


def main() -> None:
    """Build, then ask for what the image starts."""
    with tempfile.TemporaryDirectory() as directory:
        rehearsal = Rehearsal(Path(directory))
        for name, rest in build_stage(DOCKERFILE.read_text("utf-8")):
            rehearsal.carry_out(name, rest)
        for command in ASKED:
            log.info(command)
            rehearsal.run(f"{command} > /dev/null", str(rehearsal.root / "opt" / "crawl" / "bin"))
        editable = shlex.quote(f"import crawl_tasks, sys; sys.exit({str(ROOT)!r} in crawl_tasks.__file__)")
        rehearsal.run(f"python -c {editable}", str(rehearsal.root / "opt" / "crawl" / "bin"))
    log.info("the image's build steps succeed, and what it starts answers")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
