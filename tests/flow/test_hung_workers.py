"""Workers whose pages hang: one that lost most threads ends, a process of a pool is replaced, the rest is fetched."""

from __future__ import annotations

import re

import pytest

from crawl_tasks.registry.site_publisher import board_terms, terms_of
from crawl_tasks.sites.site_json import dump_site
from crawl_tasks.worker.hang_watch import HUNG_EXIT
from tests.flow.world import World
from tests.waiting import eventually

pytestmark = pytest.mark.flow
LEASE_MS = 4000
FUNCTIONS = "tests.flow.hanging_functions"


def publish(world: World, function: str, **terms: int) -> None:
    site = world.forum("--latency-ms", "5")
    post = site.post.model_copy(update={"parser": f"{FUNCTIONS}:{function}"})
    # These functions read nothing: a thread whose list counts replies would be asked for once more.
    threads = site.list.model_copy(update={"revision": site.list.revision[1:]})
    site = site.model_copy(update={"post": post, "comment": None, "list": threads})
    terms = {"lease_ms": LEASE_MS} | terms
    world.frontier.sites.publish(site.name, site.version, dump_site(site), terms_of(site) | terms, board_terms(site))


def is_over(world: World) -> bool:
    counts = world.count_requests()
    return counts.admitted > 0 and counts.open == 0


def test_a_worker_that_lost_most_threads_ends_and_the_next_fetches_the_rest(world: World) -> None:
    publish(world, "hangs")
    world.worker("list", "list")
    detail = world.worker("detail", "detail", "-c", "2")
    world.frontier.produce()

    eventually(lambda: detail.poll() is not None)
    ended = world.processes.pop("detail").returncode
    world.worker("detail", "detail", "-c", "2")
    eventually(lambda: is_over(world))

    counts = world.count_requests()
    assert (ended, counts.parked, counts.imbalance()) == (HUNG_EXIT, 2, "")
    # A busy machine may hold up a sound page for as long, which then returns.
    assert world.log_of("detail").count("page hangs, its thread is lost until it returns") >= 2
    assert re.search(r"tests/flow/hanging_functions.py\", line \d+, in hangs", world.log_of("detail"))
    assert max(world.fetched().values()) == 1


def test_pages_that_hold_the_interpreter_cost_a_process_of_a_pool_an_attempt_and_no_other_page(world: World) -> None:
    publish(world, "backtracks", max_attempts=2)
    world.worker("list", "list")
    world.worker("detail", "detail", "-P", "processes", "-c", "2", "--time-limit", "5")

    world.frontier.produce()
    eventually(lambda: is_over(world))

    counts, fetched = world.count_requests(), world.fetched()
    assert (counts.parked, counts.imbalance()) == (2, "")
    assert (fetched["/post/100001"], fetched["/post/100002"]) == (2, 2)
