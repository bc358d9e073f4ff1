"""The container files, and how the tests ask the real tools about them."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
COMPOSE = DOCKER / "compose.yaml"
DOCKERFILE = DOCKER / "Dockerfile"
STACK = DOCKER / "stack.yaml"
BIN = Path(sys.executable).parent
GIVEN = {"POSTGRES_PASSWORD": "p@ss", "CRAWL_CONTACT": "me@example.org"}


@dataclass(frozen=True)
class Said:
    """How a checker ended."""

    code: int
    text: str


def run(*command: str | Path, environment: dict[str, str] | None = None, cwd: Path = ROOT) -> Said:
    """Run a tool, the virtual environment's first, with nothing of ours in its environment but what is given."""
    name, *arguments = map(str, command)
    clean = {"PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin", "HOME": str(cwd), **(environment or {})}
    found = shutil.which(name, path=clean["PATH"])
    if found is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run(
        [found, *arguments], env=clean, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return Said(done.returncode, done.stdout + done.stderr)


def compose(*arguments: str, file: Path = COMPOSE, environment: dict[str, str] | None = None) -> Said:
    given = GIVEN if environment is None else environment
    # Without --env-file a developer's own docker/.env would be read.
    quiet = ["--env-file", "/dev/null", "--profile", "*", "-f", str(file)]
    return run("docker-compose", *quiet, *arguments, environment=given)


def ours(services: dict[str, Any]) -> dict[str, Any]:
    return {name: service for name, service in services.items() if service["image"].startswith("crawl-tasks:")}


def celery_calls(services: dict[str, Any]) -> Iterator[list[str]]:
    """Return every Celery command line: what runs, and what asks for its health."""
    for service in services.values():
        asked = service.get("healthcheck", {}).get("test", [])
        for words in (service.get("command") or [], shlex.split(asked[1]) if asked[:1] == ["CMD-SHELL"] else asked):
            if words[:1] == ["celery"]:
                yield words


def broken(tmp_path: Path, source: Path, old: str, new: str) -> Path:
    """Copy a file with one mistake in it."""
    text = source.read_text("utf-8")
    assert old in text
    copy = tmp_path / source.name
    copy.write_text(text.replace(old, new, 1), "utf-8")
    return copy


def read_services(file: Path = COMPOSE, **given: str) -> dict[str, Any]:  # JSON of Compose's own making
    said = compose("config", "--format", "json", file=file, environment=GIVEN | given)
    return dict(json.loads(said.text)["services"])


def stack(*, file: Path = STACK, image: str = "registry.example/crawl:1", beside: Path | None = None) -> Said:
    """Ask Docker what it makes of the Swarm file; its client does that without an engine."""
    if "Usage:" not in run("docker", "stack", "config", "--help").text:
        pytest.skip("this docker has no `stack config`; 25 and later have")
    files = [word for one in (file, beside) if one for word in ("--compose-file", one)]
    return run("docker", "stack", "config", *files, environment={"IMAGE": image} if image else {})


def read_yaml(text: str) -> list[Any]:  # YAML of any shape
    return list(yaml.safe_load_all(text))
