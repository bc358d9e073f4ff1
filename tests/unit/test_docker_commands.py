"""The commands of the container files and of the deployment page are understood by the programs they name."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crawl_tasks.cli.main import cli
from crawl_tasks.settings import load_settings
from tests.rehearsal import build_stage
from tests.unit.docker_files import DOCKER, DOCKERFILE, ROOT, celery_calls, ours, read_services, run


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


MINE = """\
name: mine
base: http://127.0.0.1:1
private_hosts: ["127.0.0.1:1"]
boards: [1]
list: {address: "/{board}", parser: "my_forum:parse_list"}
post: {address: "/p/{post}", parser: "my_forum:parse_list"}
"""


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """Return the sources of read-only directories by their place in the container."""
    return {mount["target"]: mount["source"] for mount in service["volumes"] if mount.get("read_only")}


def test_publish_checks_the_sites_and_functions_that_are_mounted(tmp_path: Path) -> None:
    sites, modules = tmp_path / "my-sites", tmp_path / "my-modules"
    sites.mkdir()
    modules.mkdir()
    (modules / "my_forum.py").write_text("def parse_list(page):\n    return []\n", "utf-8")
    (sites / "mine.yaml").write_text(MINE, "utf-8")
    services = read_services(SITES_DIR=str(sites), MODULES_DIR=str(modules))
    places = mounts(services["publish"]) | mounts(services["list"])
    dockerfile = DOCKERFILE.read_text("utf-8")
    [modules_at] = re.findall(r"PYTHONPATH=(\S+)", dockerfile)
    [sites_at] = re.findall(r"CRAWL_SITES_DIR=(\S+)", dockerfile)
    environment = {"CRAWL_SITES_DIR": places[sites_at], "PYTHONPATH": places[modules_at]}

    said = run(*services["publish"]["command"], "--no-publish", environment=environment, cwd=tmp_path)
    found = run("python", "-c", "import my_forum", environment=environment, cwd=tmp_path)

    assert said.code == 0, said.text
    assert found.code == 0, found.text
    assert mounts(services["list"]) == mounts(services["detail"]) == {modules_at: str(modules), sites_at: str(sites)}


def test_without_site_files_of_ones_own_nothing_is_published(services: dict[str, Any], tmp_path: Path) -> None:
    source = mounts(services["publish"])["/etc/crawl/sites"]

    said = run(*services["publish"]["command"], "--no-publish", environment={"CRAWL_SITES_DIR": source}, cwd=tmp_path)

    assert said.code == 2, said.text
    assert "demo" not in said.text


def test_containers_take_any_setting_and_only_those_that_fetch_the_secrets_of_forums(tmp_path: Path) -> None:
    for file in ("compose.yaml", "compose.env", "redis.conf"):
        shutil.copy(DOCKER / file, tmp_path)
    (tmp_path / "crawl.env").write_text("CRAWL_OUTBOX_MAX=77\nCRAWL_REDIS_URL=redis://mine:6379/1\n", "utf-8")
    (tmp_path / "forum.env").write_text("FORUM_COOKIE=secret\n", "utf-8")

    told = {name: service["environment"] for name, service in ours(read_services(tmp_path / "compose.yaml")).items()}

    assert {name for name, one in told.items() if one.get("FORUM_COOKIE") == "secret"} == {"list", "detail", "render"}
    for environment in told.values():
        settings = load_settings({name: str(value or "") for name, value in environment.items()})
        assert (settings.outbox_max, settings.redis_url) == (77, "redis://mine:6379/1")
        assert settings.contact == "me@example.org"


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
    is_ours = inside[:1] == ["crawl-tasks"]
    answer = CliRunner().invoke(cli, [*inside[1:], "--help"]) if is_ours else None

    assert said.code == 0, said.text
    assert answer is None or answer.exit_code == 0, answer.output
