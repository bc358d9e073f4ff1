"""The version before and this one: a crawl taken over in the middle, and both side by side in an upgrade."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.flow.world import CELERY, ROOT, World
from tests.waiting import eventually

BEFORE = "b5f5e54"
"""The commit of the version before: other guards, other names of modules and scripts, database schema 2."""

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


def faults_of(world: World) -> list[str]:
    """List what is wrong. The rules that the version before published read no author's id."""
    return [fault for fault in world.faults() if ": author_id is None, not " not in fault]


def crawl_after_changes(world: World) -> None:
    world.forum(generation=2, port=int(world.base.rpartition(":")[2]))
    world.crawl()


def test_a_crawl_of_the_version_before_is_finished(world: World, before: Path) -> None:
    world.forum("--latency-ms", "100")
    world.client.flushall()
    work_by(world, before)
    workers = ("store", "list", "detail")
    for name in workers:
        world.start_worker(name, name)
    publish(world, before)
    eventually(lambda: world.fetched().total() > 50 and (world.directory / "crawl.db").exists())
    for name in workers:
        world.kill(name)
    assert world.client.exists("crawl:s:demo:leased"), "nothing was under way"
    assert not world.client.keys("crawl:s:demo:seen:*"), "this version's guard was written already"

    work_by(world, ROOT)
    world.workers()
    eventually(world.is_idle, every_s=0.1)

    assert (faults_of(world), world.findings()) == ([], [])

    crawl_after_changes(world)

    assert (faults_of(world), world.findings()) == ([], [])


@pytest.mark.long
def test_workers_of_both_versions_share_a_crawl(world: World, before: Path) -> None:
    world.forum("--latency-ms", "100")
    world.client.flushall()
    work_by(world, before)
    for queues in ("list", "detail"):
        world.start_worker(f"old-{queues}", queues)
    work_by(world, ROOT)
    for queues in ("list", "detail", "store"):
        # One thread each: chained pages would leave the other version nothing.
        world.start_worker(queues, queues, "-c", "1")
    workers = ("old-list", "old-detail", "list", "detail")
    for name in workers:
        world.wait_for_worker(name)
    work_by(world, before)
    publish(world, before)
    work_by(world, ROOT)
    eventually(world.is_idle, every_s=0.1)

    old, new = ("".join(map(world.log_of, names)) for names in (workers[:2], workers[2:]))
    assert ("succeeded" in old, "succeeded" in new) == (True, True), "one version did all"
    assert (faults_of(world), world.findings()) == ([], [])

    crawl_after_changes(world)

    assert (faults_of(world), world.findings()) == ([], [])
