"""A crawl that a version before the first release began: this one refuses it, and changes nothing."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.flow.world import CELERY, ROOT, World

BEFORE = "b5f5e54"
"""A commit of before the first release: other guards, other names of modules and scripts, database schema 2."""

OF_TODAY = ("CRAWL_PRIVATE_HOSTS", "CRAWL_FUNCTION_MODULES")

PUBLISH = """
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.publishing import publish_site
from crawl_tasks.sites.loader import load_site
import pathlib, redis
site = load_site(pathlib.Path({file!r})).relocated({base!r})
terms = {{"window": 8, "delay_s": 0.0, "retry_base_s": 0.2, "retry_max_s": 1.0, "deadline_s": 1.0}}
site = site.model_copy(update={{"gate": site.gate.model_copy(update=terms)}})
frontier = Frontier(redis.Redis.from_url({url!r}), "crawl")
publish_site(frontier, site, contact=None)
frontier.produce()
"""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the version before, out of the history."""
    made = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"the history does not hold {BEFORE}: a shallow clone, or no clone")
    directory = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(directory, filter="data")
    return directory


def work_by(world: World, version: Path) -> None:
    """Let processes that are started from now on be of a version, which knows no settings of later ones."""
    given = {"CRAWL_PRIVATE_HOSTS": "127.0.0.1", "CRAWL_FUNCTION_MODULES": "tests"} if version == ROOT else {}
    kept = {name: value for name, value in world.environment.items() if name not in OF_TODAY}
    world.environment = kept | given | {"PYTHONPATH": str(version)}


def publish(world: World, before: Path) -> None:
    """Publish the demo forum by the version before, and begin its crawl: eight pages at once, so that it lasts."""
    file = before / "config" / "sites" / "demo.yaml"
    world.run("publish", CELERY[0], "-c", PUBLISH.format(file=str(file), base=world.base, url=world.server.url))


def ledger_of(world: World) -> dict[bytes, bytes | None]:
    """Read all that a crawl holds. The starts of workers that are refused are counted beside it."""
    keys = set(world.client.scan_iter("crawl:*")) - {b"crawl:stats", b"crawl:births"}
    return {key: world.client.dump(key) for key in keys}


def test_a_redis_of_before_the_first_release_is_refused_with_one_line_and_left_as_it_is(
    world: World, before: Path
) -> None:
    world.forum()
    world.client.flushall()
    work_by(world, before)
    publish(world, before)
    kept = ledger_of(world)
    work_by(world, ROOT)
    commands = {
        "worker": (*CELERY, "worker", "-Q", "detail"),
        "beat": (*CELERY, "beat", "--schedule", str(world.directory / "beat")),
        "status": (CELERY[0], "-m", "crawl_tasks", "status"),
    }

    for name, command in commands.items():
        assert world.start(name, *command).wait(60) == 2, world.log_of(name)
        [line] = [line for line in world.log_of(name).splitlines() if "site demo" in line]
        assert "of a version before 0.2, which this one does not read; give this crawl another" in line
        del world.processes[name]

    assert ledger_of(world) == kept
