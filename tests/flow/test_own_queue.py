"""A queue and a task of somebody's own on an application that is made of ours."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from kombu import Queue

from crawl_tasks.celery import build_app
from crawl_tasks.registry.site_publisher import board_terms, terms_of
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.event_hooks import Hooks
from crawl_tasks.sites.site_json import dump_site
from tests.flow.world import World
from tests.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.flow
OWN = "tests.flow.own_application"
NOT_YET = "ValueError('not yet')"


def indexed(world: World) -> Counter[str]:
    file = Path(world.environment["CRAWL_STATE_DIR"]) / "indexed"
    return Counter(file.read_text("utf-8").split() if file.exists() else ())


def test_a_task_of_ones_own_follows_each_stored_post_with_its_retries(world: World) -> None:
    site = world.forum("--latency-ms", "2")
    site = site.model_copy(update={"hooks": Hooks(item_stored=f"{OWN}:stored")})
    world.frontier.sites.publish(site.name, site.version, dump_site(site), terms_of(site), board_terms(site))
    for queues in ("list", "detail", "store"):
        world.worker(queues, queues)
    command = [sys.executable, "-m", "celery", "-A", OWN, "worker", "-Q", "index"]
    world.start("index", *command, "-l", "info", "-n", "index@%h")

    world.frontier.produce()
    eventually(lambda: world.count_requests().admitted > 0 and world.is_idle())
    stored = {row["post_id"] for row in world.truth()["posts"] if row["state"] == "normal"}
    eventually(lambda: stored <= indexed(world).keys())

    assert {number for key, number in indexed(world).items() if key in stored} == {1}
    # A thread that was deleted meanwhile may be on its way still.
    eventually(lambda: world.log_of("index").count(NOT_YET) == sum(key.endswith("0") for key in indexed(world)))


def test_a_task_of_ones_own_may_run_for_an_hour_before_its_worker_counts_as_dead(world: World) -> None:
    app = build_app(load_settings({"CRAWL_REDIS_URL": world.server.url}))
    with app.connection_for_write() as connection:
        for queue in ("index", "post"):
            with connection.Producer() as producer:
                producer.publish([], routing_key=queue, declare=[Queue(queue, routing_key=queue)])
            taken = connection.SimpleQueue(queue).get(timeout=PATIENCE_S)
            [(_, at)] = world.frontier.client.zrange("crawl:unacked_index", 0, -1, withscores=True)
            taken.ack()
            assert at - time.time() == pytest.approx(3540 if queue == "index" else 0, abs=PATIENCE_S)


def test_a_queue_that_the_application_lacks_is_refused_by_name(world: World) -> None:
    world.start("refused", sys.executable, "-m", "celery", "-A", OWN, "worker", "-Q", "indx")

    assert world.processes.pop("refused").wait(timeout=PATIENCE_S) == 2
    assert "-Q indx: there is no queue indx; did you mean index?" in world.log_of("refused")
