"""The container files: real checkers pass them and refuse broken copies; their names are ours, their limits hold."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from crawl_tasks.celery import app
from crawl_tasks.local.redis_server import find_server, free_port
from crawl_tasks.queues import CONTROL_QUEUE, DETAIL, DETAIL_QUEUES, QUEUES
from crawl_tasks.settings import IN_FILE, PREFIX, Settings, load_settings
from crawl_tasks.sites.crawl_policy import Gate
from tests.unit.docker_files import (
    COMPOSE,
    DOCKER,
    DOCKERFILE,
    GIVEN,
    ROOT,
    Said,
    broken,
    celery_calls,
    compose,
    ours,
    read_services,
    run,
)
from tests.waiting import eventually


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:  # JSON of Compose's own making
    return read_services()


# ---- The real checkers -----------------------------------------------------------------------------------------


def test_compose_accepts_the_compose_file_with_all_profiles() -> None:
    said = compose("config", "--quiet")

    assert said == Said(0, "")


def test_compose_refuses_a_misspelt_key(tmp_path: Path) -> None:
    copy = broken(tmp_path, COMPOSE, "restart: unless-stopped", "restrat: unless-stopped")

    said = compose("config", "--quiet", file=copy)

    assert said.code != 0
    assert "restrat" in said.text


def test_compose_names_the_password_that_is_missing() -> None:
    said = compose("config", "--quiet", environment={})

    assert said.code != 0
    assert "set POSTGRES_PASSWORD in docker/.env" in said.text


def test_the_compose_file_follows_the_published_schema() -> None:
    said = run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)

    assert said.code == 0, said.text


def test_the_schema_refuses_a_port_list_that_is_a_word(tmp_path: Path) -> None:
    copy = broken(tmp_path, COMPOSE, 'ports:\n      - "127.0.0.1:${FLOWER_PORT:-5555}:5555"', "ports: 5555")

    said = run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", copy)

    assert said.code != 0
    assert "ports" in said.text


def test_hadolint_has_no_objection_to_the_dockerfile() -> None:
    said = run("hadolint", DOCKERFILE)

    assert said == Said(0, "")


def test_hadolint_objects_to_a_pip_cache_in_the_image(tmp_path: Path) -> None:
    copy = broken(tmp_path, DOCKERFILE, "pip install --no-cache-dir", "pip install")

    said = run("hadolint", copy)

    assert said.code != 0
    assert "DL3042" in said.text


# ---- Names that must be ours -----------------------------------------------------------------------------------


def test_the_services_together_consume_every_queue(services: dict[str, Any]) -> None:
    asked = {words[words.index("-Q") + 1] for words in celery_calls(services) if "-Q" in words}

    assert asked <= {DETAIL, *QUEUES}
    # `-Q list` serves control as well: see worker.name_queues.
    assert asked - {DETAIL} | {*DETAIL_QUEUES, CONTROL_QUEUE} == set(QUEUES)


CONFIGURED = [
    *("compose.yaml", "compose.users.yaml", "stack.yaml", "stack.users.yaml", "Dockerfile", ".env.example"),
    *("k8s/watch.yaml", "k8s/workers.yaml"),
]


def crawl_names(path: Path) -> set[str]:
    return set(re.findall(rf"\b{PREFIX}[A-Z_]+", path.read_text("utf-8")))


@pytest.mark.parametrize(
    "name",
    [
        "compose.yaml",
        "compose.env",
        "crawl.env.example",
        "Dockerfile",
        ".env.example",
        "stack.yaml",
        "k8s/watch.yaml",
        "k8s/workers.yaml",
        "stack.users.yaml",
    ],
)
def test_every_crawl_variable_is_a_setting(name: str) -> None:
    known = {f"{PREFIX}{field.upper()}{end}" for field in Settings.model_fields for end in ("", IN_FILE.upper())}

    used = crawl_names(DOCKER / name)

    assert used
    assert used <= known


USERS = {"REDIS_CRAWL_PASSWORD": "one", "REDIS_FLOWER_PASSWORD": "two", "USERS_CONF": "./users.conf"}


def test_with_users_every_process_comes_to_redis_under_its_name() -> None:
    beside = ("-f", str(DOCKER / "compose.users.yaml"), "config", "--format", "json")
    services = json.loads(compose(*beside, environment=GIVEN | USERS).text)["services"]

    urls = {name: service["environment"]["CRAWL_REDIS_URL"] for name, service in ours(services).items()}
    mounted = {mount["target"]: Path(mount["source"]) for mount in services["redis"]["volumes"]}

    assert urls.pop("flower") == "redis://flower:two@redis:6379/0"
    assert set(urls.values()) == {"redis://crawl:one@redis:6379/0"}
    assert mounted[services["redis"]["command"][-1]] == DOCKER / "users.conf"
    assert "set REDIS_CRAWL_PASSWORD" in compose(*beside).text


def test_the_users_of_redis_may_use_every_queue() -> None:
    rights = re.findall(r"^user (?:crawl|flower) .+$", (DOCKER / "users.conf").read_text("utf-8"), re.MULTILINE)

    assert len(rights) == 2
    for right in rights:
        assert set(re.findall(r"~([a-z]+)\*", right)) >= set(QUEUES)


def test_every_variable_of_the_example_is_used_by_compose() -> None:
    text = (DOCKER / ".env.example").read_text("utf-8")
    offered = set(re.findall(r"^#?([A-Z_]+)=", text, re.MULTILINE))

    used = "".join((DOCKER / name).read_text("utf-8") for name in ("compose.yaml", "compose.env", "compose.users.yaml"))
    unused = {name for name in offered if name not in used}

    assert not unused


def test_the_environment_of_every_service_makes_settings(services: dict[str, Any]) -> None:
    for service in ours(services).values():
        given = {name: value for name, value in service["environment"].items() if value is not None}

        settings = load_settings(given)

        assert settings.redis_url == "redis://redis:6379/0"
        assert settings.contact == GIVEN["CRAWL_CONTACT"]


def test_the_store_alone_knows_the_database(services: dict[str, Any]) -> None:
    knows = {name for name, service in services.items() if "CRAWL_DATABASE_URL" in service.get("environment", {})}

    assert knows == {"store"}
    assert GIVEN["POSTGRES_PASSWORD"] not in services["store"]["environment"]["CRAWL_DATABASE_URL"]


def test_every_health_check_asks_for_the_node_that_its_command_names(services: dict[str, Any]) -> None:
    for name in ("list", "detail", "store", "beat"):
        command, asked = services[name]["command"], services[name]["healthcheck"]["test"][1]
        node = command[command.index("-n") + 1] if "-n" in command else "celerybeat@%h"

        assert asked.endswith(f" -d {node.replace('%h', '$$HOSTNAME')}")
        assert services[name]["healthcheck"]["interval"] == "1m0s"


# ---- What an operator relies on --------------------------------------------------------------------------------


def test_a_worker_has_time_to_end_its_pages(services: dict[str, Any]) -> None:
    needed = app.conf.worker_soft_shutdown_timeout + Gate().deadline_s

    for service in ours(services).values():
        minutes, _, seconds = service["stop_grace_period"].removesuffix("s").partition("m")

        assert int(minutes) * 60 + int(seconds) > needed


def test_our_containers_can_do_nothing_but_their_work(services: dict[str, Any]) -> None:
    for service in ours(services).values():
        assert service["init"]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    for stage in re.split(r"^FROM ", DOCKERFILE.read_text("utf-8"), flags=re.MULTILINE):
        assert re.findall(r"^USER (\w+)", stage, re.MULTILINE)[-1:] in ([], ["10001"])


def test_every_published_port_is_on_loopback(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if service.get("ports")}

    assert set(published) == {"exporter", "flower", "prometheus", "grafana"}
    assert {port["host_ip"] for ports in published.values() for port in ports} == {"127.0.0.1"}


def test_no_worker_reaches_flower_or_a_database_that_is_not_its_own(services: dict[str, Any]) -> None:
    networks = {name: set(service["networks"]) for name, service in services.items()}

    for fetching in ("list", "detail", "render"):
        assert not networks[fetching] & networks["flower"]
        assert not networks[fetching] & networks["grafana"]
        assert not networks[fetching] & networks["postgres"]


def test_workers_start_after_the_sites_are_published(services: dict[str, Any]) -> None:
    for name in ("list", "detail", "store", "beat"):
        assert services[name]["depends_on"]["publish"]["condition"] == "service_completed_successfully"


def test_the_lock_names_every_package_that_the_image_asks_for() -> None:
    locked = set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE))
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*declared["dependencies"], *declared["optional-dependencies"]["postgres"], "packaging"]

    wanted = {re.split(r"[^A-Za-z0-9.-]", line)[0].replace(".", "-") for line in asked}

    assert wanted <= locked


@contextmanager
def serving(directory: Path) -> Iterator[redis.Redis]:
    """Run a server by redis.conf, on a free port of loopback."""
    port = free_port()
    conf = shutil.copy(DOCKER / "redis.conf", directory)
    told = [find_server(), conf, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory)]
    with (
        subprocess.Popen(told, stdout=subprocess.DEVNULL) as server,
        redis.Redis(port=port, decode_responses=True) as client,
    ):
        try:
            eventually(lambda: answers(client))
            yield client
        finally:
            server.terminate()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def test_a_server_by_our_redis_conf_keeps_everything(tmp_path: Path) -> None:
    wanted = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction", "save": ""}

    with serving(tmp_path) as client:
        said = {name: client.config_get(name)[name] for name in wanted}
        memory = client.config_get("maxmemory")["maxmemory"]

    assert said == wanted
    assert memory == str(1 << 30)
