"""The commands of the container files and of the deployment page are understood by the programs they name."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal import build_stage
from tests.unit.docker_files import DOCKERFILE, ROOT, Said, celery_calls, read_services, run


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:  # JSON of Compose's own making
    return read_services()


def test_every_celery_command_is_understood(services: dict[str, Any], tmp_path: Path) -> None:
    calls = {tuple(words[:4]): words for words in celery_calls(services)}
    assert {key[3] for key in calls} == {"worker", "beat", "flower", "inspect"}

    for words in calls.values():
        said = run(*words, "--help", environment={"CRAWL_STATE_DIR": str(tmp_path)})

        assert said.code == 0, said.text


def test_a_celery_command_with_an_unknown_option_is_not_understood(tmp_path: Path) -> None:
    said = run(
        "celery", "-A", "crawl_tasks", "beat", "--remote", "--help", environment={"CRAWL_STATE_DIR": str(tmp_path)}
    )

    assert said.code == 2
    assert "No such option" in said.text


def test_publish_checks_the_sites_that_are_mounted(services: dict[str, Any], tmp_path: Path) -> None:
    publish = services["publish"]
    (mount,) = publish["volumes"]

    said = run(*publish["command"], "--no-publish", environment={"CRAWL_SITES_DIR": mount["source"]}, cwd=tmp_path)

    assert said.code == 0, said.text
    assert mount["read_only"]
    assert f"CRAWL_SITES_DIR={mount['target']}" in DOCKERFILE.read_text("utf-8")


def test_the_image_starts_a_worker_when_it_is_told_nothing(tmp_path: Path) -> None:
    (told,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE.read_text("utf-8"), re.MULTILINE)

    said = run(*json.loads(told), "--help", environment={"CRAWL_STATE_DIR": str(tmp_path)})

    assert said.code == 0, said.text


def test_the_rehearsal_of_the_image_knows_every_step_of_its_build() -> None:
    steps = build_stage(DOCKERFILE.read_text("utf-8"))

    assert [name for name, _ in steps] == ["COPY", "RUN", "COPY", "RUN", "COPY", "COPY", "RUN"]
    assert [rest.split()[0] for name, rest in steps if name == "RUN"] == ["pip", "uv", "uv"]
    assert all(Path(ROOT / source).exists() for name, rest in steps if name == "COPY" for source in rest.split()[:-1])


def page_commands() -> list[str]:
    text = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    return re.findall(r"^docker compose (.*?)(?: #.*| [<>|].*)?$", text, re.MULTILINE)


@pytest.mark.parametrize("line", page_commands())
def test_every_compose_command_of_the_deployment_page_is_understood(line: str, services: dict[str, Any]) -> None:
    words = shlex.split(line)
    service = next((word for word in words if word in services), "")
    passes_on = words[0] in {"run", "exec"}  # what follows the service is for the container
    inside = words[words.index(service) + 1 :] if passes_on else []
    before = words[: words.index(service)] if passes_on else words

    said = run("docker-compose", *before, "--help")
    said_inside = run(*inside, "--help") if inside[:1] == ["crawl-tasks"] else Said(0, "")

    assert said.code == 0, said.text
    assert said_inside.code == 0, said_inside.text
