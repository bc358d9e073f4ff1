"""The files for Swarm, GitLab, Kubernetes: real checkers pass them, refuse broken copies; they agree with Compose."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from crawl_tasks.celery import app
from crawl_tasks.sites.crawl_policy import Gate
from crawl_tasks.web.metrics import FAMILIES
from tests.unit.docker_files import DOCKER, ROOT, STACK, Said, broken, read_services, read_yaml, run, stack

GITLAB = ROOT / ".gitlab-ci.yml"
K8S = DOCKER / "k8s"
KEDA = K8S / "keda.yaml"
# The directory `archive` of CRAWL_STATE_DIR.
ARCHIVE = "/var/lib/crawl/archive"
WORKERS = ("list", "detail", "store", "beat")


@pytest.fixture(scope="module")
def compose_services() -> dict[str, Any]:  # JSON of Compose's own making
    return read_services()


@pytest.fixture(scope="module")
def swarm_services() -> dict[str, Any]:  # YAML of Docker's own making
    said = stack()
    assert said.code == 0, said.text
    (document,) = read_yaml(said.text)
    return dict(document["services"])


@pytest.fixture(scope="module")
def resources() -> list[Any]:  # Kubernetes objects
    return [resource for path in sorted(K8S.glob("*.yaml")) for resource in read_yaml(path.read_text("utf-8"))]


def pods(resources: list[Any]) -> dict[str, Any]:
    return {
        resource["metadata"]["name"]: resource["spec"]["template"]["spec"]
        for resource in resources
        if resource["kind"] in {"Deployment", "StatefulSet", "Job"}
    }


def test_every_container_that_publishes_has_one_host_name(
    compose_services: dict[str, Any], swarm_services: dict[str, Any], resources: list[Any]
) -> None:
    # A site is withdrawn by the host and directory that published it.
    publishing = compose_services["publish"], swarm_services["publish"], pods(resources)["publish"]

    assert [one["hostname"] for one in publishing] == ["publish"] * 3


# ---- Swarm -----------------------------------------------------------------------------------------------------


def test_docker_refuses_a_misspelt_key_of_the_stack(tmp_path: Path) -> None:
    (tmp_path / "redis.conf").write_text("", "utf-8")
    copy = broken(tmp_path, STACK, "order: start-first", "ordre: start-first")

    said = stack(file=copy)

    assert said.code != 0
    assert "ordre" in said.text


def test_docker_names_the_image_that_is_missing() -> None:
    said = stack(image="")

    assert said.code != 0
    assert "set IMAGE to registry/name:tag" in said.text


def test_the_stack_runs_what_compose_runs(swarm_services: dict[str, Any], compose_services: dict[str, Any]) -> None:
    assert set(swarm_services) == set(compose_services) - {"prometheus", "grafana"}
    for name in set(swarm_services) - {"beat"}:
        assert swarm_services[name].get("command") == compose_services[name].get("command")


def test_an_update_starts_the_new_task_first_and_goes_back_when_it_fails(swarm_services: dict[str, Any]) -> None:
    for name in (*WORKERS, "exporter", "flower", "alerts"):
        update = swarm_services[name]["deploy"]["update_config"]
        assert (update["order"], update["parallelism"], update["failure_action"]) == ("start-first", 1, "rollback")


def test_two_servers_never_write_one_volume(swarm_services: dict[str, Any]) -> None:
    for name in ("redis", "postgres"):
        deploy = swarm_services[name]["deploy"]

        assert deploy["replicas"] == 1
        assert deploy["update_config"]["order"] == "stop-first"
        assert deploy["placement"]["constraints"] == ["node.labels.crawl.data == true"]


def test_each_process_that_fetches_has_the_volume_of_the_archive(
    swarm_services: dict[str, Any], compose_services: dict[str, Any]
) -> None:
    for services in (swarm_services, compose_services):
        have = {
            name
            for name, service in services.items()
            for one in service.get("volumes", [])
            if (one["type"], one["source"], one["target"]) == ("volume", "archive", ARCHIVE)
        }

        assert have == {"list", "detail", "render", "store"}


def test_the_stack_publishes_no_port_and_holds_no_password(swarm_services: dict[str, Any]) -> None:
    assert not [name for name, service in swarm_services.items() if service.get("ports")]
    for service in swarm_services.values():
        passwords = {name for name in service.get("environment", {}) if re.search("PASS|AUTH|ALERT", name)}
        assert all(service["environment"][name].startswith("/run/secrets/") for name in passwords)


def test_with_users_every_process_of_the_stack_reads_its_url_from_a_secret() -> None:
    said = stack(beside=STACK.with_name("stack.users.yaml"))
    services = dict(read_yaml(said.text)[0]["services"])

    for name in set(services) - {"redis", "postgres"}:
        assert services[name]["environment"]["CRAWL_REDIS_URL_FILE"] == "/run/secrets/redis_url"
        source = "redis_url_flower" if name == "flower" else "redis_url"
        assert source in {secret["source"] for secret in services[name]["secrets"]}
    assert services["redis"]["command"][-2:] == ["--include", "/run/secrets/redis_users"]


def test_a_secret_of_the_stack_is_readable_by_its_user_alone(swarm_services: dict[str, Any]) -> None:
    for name in ("store", "flower", "alerts"):
        (secret,) = swarm_services[name]["secrets"]

        assert (secret["uid"], secret["mode"]) == ("10001", 0o400)


# ---- GitLab ----------------------------------------------------------------------------------------------------


def check_gitlab(path: Path) -> Said:
    return run("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci", path)


def check_github(path: Path) -> Said:
    return run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", path)


def test_the_pipeline_follows_gitlabs_schema() -> None:
    said = check_gitlab(GITLAB)

    assert said.code == 0, said.text


def test_the_schema_refuses_a_misspelt_key_of_the_pipeline(tmp_path: Path) -> None:
    said = check_gitlab(broken(tmp_path, GITLAB, "artifacts:", "artefacts:"))

    assert said.code != 0


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_a_workflow_follows_githubs_schema(name: str, tmp_path: Path) -> None:
    workflow = ROOT / ".github" / "workflows" / name

    assert check_github(workflow).code == 0
    assert check_github(broken(tmp_path, workflow, "steps:", "step:")).code != 0


def test_the_workflow_tests_each_python_that_the_package_names() -> None:
    (workflow,) = read_yaml((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    project = (ROOT / "pyproject.toml").read_text("utf-8")

    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert set(re.findall(r"Python :: (3\.\d+)", project)) <= set(tested)


def test_every_job_is_in_a_declared_stage() -> None:
    (pipeline,) = read_yaml(GITLAB.read_text("utf-8"))

    stages = [job["stage"] for job in pipeline.values() if isinstance(job, dict) and "stage" in job]

    assert list(dict.fromkeys(stages)) == pipeline["stages"] == ["test", "build", "deploy"]


def test_the_pipeline_updates_the_stack_in_place() -> None:
    text = GITLAB.read_text("utf-8")
    (pipeline,) = read_yaml(text)
    deploy = shlex.split(pipeline["deploy"]["script"][-1])

    said = run(*deploy, "--help")

    assert said.code == 0, said.text
    assert deploy[deploy.index("--compose-file") + 1] == str(STACK.relative_to(ROOT))
    assert not re.search(r"(service|stack) rm", text)


# ---- Kubernetes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["redis.yaml", "workers.yaml", "watch.yaml", "publish.yaml"])
def test_kubernetes_knows_every_field(name: str) -> None:
    said = run("kubernetes-validate", "--strict", K8S / name)

    assert said.code == 0, said.text
    assert "WARN" not in said.text


def test_kubernetes_refuses_a_misspelt_field(tmp_path: Path) -> None:
    copy = broken(tmp_path, K8S / "workers.yaml", "periodSeconds", "periodSecond")

    said = run("kubernetes-validate", "--strict", copy)

    assert said.code != 0


def test_kubernetes_runs_what_the_stack_runs(resources: list[Any], swarm_services: dict[str, Any]) -> None:
    running = pods(resources)

    assert set(running) == set(swarm_services) - {"postgres"}
    for name in set(running) - {"redis"}:
        assert running[name]["containers"][0]["command"] == swarm_services[name]["command"]


def test_kubernetes_with_an_archive_has_its_volume_in_each_process_that_fetches(tmp_path: Path) -> None:
    said = run("kubectl", "kustomize", K8S.with_name("k8s-archive"))
    (tmp_path / "all.yaml").write_text(said.text, "utf-8")

    assert run("kubernetes-validate", "--strict", tmp_path / "all.yaml").code == 0
    claims = [one["metadata"]["name"] for one in read_yaml(said.text) if one["kind"] == "PersistentVolumeClaim"]
    assert claims == ["archive"]
    claim = {"name": "archive", "persistentVolumeClaim": {"claimName": "archive"}}
    have = {
        (name, mount["mountPath"])
        for name, pod in pods(read_yaml(said.text)).items()
        for mount in pod["containers"][0]["volumeMounts"]
        if mount["name"] == "archive" and claim in pod["volumes"]
    }
    assert have == {(name, ARCHIVE) for name in ("list", "detail", "store")}


def test_every_file_of_kubernetes_is_applied() -> None:
    (kustomization,) = read_yaml((K8S / "kustomization.yaml").read_text("utf-8"))

    apart = {"keda.yaml", "render.yaml", "kustomization.yaml"}
    assert {*kustomization["resources"]} | apart == {path.name for path in K8S.iterdir()}


def test_a_pod_has_time_to_end_its_pages_and_no_variables_of_services(resources: list[Any]) -> None:
    for name, pod in pods(resources).items():
        # FLOWER_PORT=tcp://... of the service `flower` would end Flower at once.
        assert pod["enableServiceLinks"] is False
        if name != "publish":
            assert pod["terminationGracePeriodSeconds"] > app.conf.worker_soft_shutdown_timeout + Gate().deadline_s


def test_a_pod_can_do_nothing_but_its_work(resources: list[Any]) -> None:
    for pod in pods(resources).values():
        inside = pod["containers"][0]["securityContext"]

        assert pod["securityContext"]["runAsNonRoot"]
        assert inside == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_redis_in_kubernetes_is_told_what_redis_conf_says(resources: list[Any]) -> None:
    conf = (DOCKER / "redis.conf").read_text("utf-8").splitlines()

    told = [line.removeprefix("--") for line in pods(resources)["redis"]["containers"][0]["args"][1:]]

    assert {"appendonly yes", "maxmemory-policy noeviction"} <= set(told) <= set(conf)


def test_keda_scales_by_metrics_that_the_exporter_has(resources: list[Any]) -> None:
    deployments = {resource["metadata"]["name"] for resource in resources if resource["kind"] == "Deployment"}
    scaled = [resource["spec"] for resource in resources if resource["kind"] == "ScaledObject"]

    assert {spec["scaleTargetRef"]["name"] for spec in scaled} == {"list", "detail"} <= deployments
    for spec in scaled:
        (trigger,) = spec["triggers"]
        names = set(re.findall(r"\bcrawl_\w+", trigger["metadata"]["query"]))
        assert names <= {family.name for family in FAMILIES}
        assert (trigger["type"], trigger["metadata"]["threshold"]) == ("prometheus", str(app.conf.worker_concurrency))
        assert 1 <= spec["minReplicaCount"] < spec["maxReplicaCount"]


def test_the_fields_of_keda_are_those_it_knows(resources: list[Any]) -> None:
    known = {"scaleTargetRef", "minReplicaCount", "maxReplicaCount", "pollingInterval", "cooldownPeriod", "triggers"}

    for resource in resources:
        if resource["kind"] == "ScaledObject":
            assert set(resource["spec"]) == known
            assert set(resource["spec"]["triggers"][0]["metadata"]) == {"serverAddress", "query", "threshold"}
            assert json.dumps(resource)
