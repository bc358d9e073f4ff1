"""What crosses from Python to Lua means the same on both sides: every status and every failure, on a real server."""

from __future__ import annotations

import re

import pytest
import redis

from crawl_tasks import errors
from crawl_tasks.errors import AccessDenied, AllGone, DeadlineExceeded, Fate, PageError, Scope
from crawl_tasks.fetch.http_status import failure
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_functions import Verb, library_tables, prelude, read_lua
from crawl_tasks.frontier.retry import RetryPolicy, judge
from crawl_tasks.frontier.wire.failures import FAILURES
from crawl_tasks.model import Effort, Items, Lease, Parsed, Request, Stage
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.by_hand import TERMS

POLICY = RetryPolicy(max_attempts=3, base_s=1.0, max_s=10.0)
KINDS = sorted(
    {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PageError)},
    key=lambda kind: kind.__name__,
)


def leased(frontier: Frontier, site: str, count: int) -> list[Lease]:
    """Publish a site of its own, and lease posts of it, each known by a revision as a list shows it."""
    frontier.sites.publish(site, "v1", "{}", TERMS | {"window": count, "breaker_after": 2}, [])
    posts = (Request(site, Stage.POST, f"{n}", f"http://127.0.0.1/{n}", revision="1") for n in range(count))
    frontier.admit(site, posts)
    leases = [frontier.lease(site, rid) for rid in range(1, count + 1)]
    assert all(isinstance(lease, Lease) for lease in leases), leases
    return [lease for lease in leases if isinstance(lease, Lease)]


def is_doubted(frontier: Frontier, status: int) -> bool:
    """Return whether the ledger doubts that a post is gone, after others that were gone with this status."""
    *before, last = leased(frontier, f"s{status}", 3)
    effort = Effort(status=status)
    for lease in before:
        frontier.commit(lease, Parsed(Items(lease.request.site)), "gone:post", effort)
    try:
        frontier.commit(last, Parsed(Items(last.request.site)), "gone:post", effort)
    except AllGone:
        return True
    return False


def may_be_gone(status: int) -> bool:
    error = failure("http://127.0.0.1/", status, {}, 0.0)
    return error is None or error.fate is Fate.GONE or isinstance(error, AccessDenied)


def test_the_ledger_doubts_by_the_statuses_by_which_a_worker_calls_a_post_gone(frontier: Frontier) -> None:
    statuses = range(100, 600)

    doubted = {status for status in statuses if is_doubted(frontier, status)}

    assert doubted == {status for status in statuses if may_be_gone(status)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_of_the_whole_site_opens_a_breaker_that_both_sides_call_a_refusal(
    kind: type[PageError], frontier: Frontier
) -> None:
    lease = leased(frontier, "one", 1)[0]

    frontier.fail(lease, judge(kind("x"), 1, POLICY, 0.5))

    [site] = (site for site in take_snapshot(frontier).sites if site.name == "one")
    breaker = site.open_breakers.get(Stage.POST)
    assert (breaker is not None) == (kind.scope is Scope.SITE)
    assert breaker is None or (breaker.is_refusal, breaker.reason) == (True, kind.reason)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_that_slows_a_site_is_a_sign_of_strain_for_other_pages(
    kind: type[PageError], frontier: Frontier, client: redis.Redis
) -> None:
    *before, last = leased(frontier, "one", 3)
    for lease in before:
        frontier.fail(lease, judge(kind("x"), 1, POLICY, 0.5))
    client.hdel("test:s:one", "slow")

    frontier.fail(last, judge(DeadlineExceeded("x"), 1, POLICY, 0.5))

    assert client.hexists("test:s:one", "slow") == kind.slows_site


def test_every_failure_that_the_scripts_name_is_one_of_errors_py() -> None:
    code = "\n".join(read_lua(file) for file in [*prelude(), *Verb])

    named = set(re.findall(r"WIRE\.reason\.(\w+)", code))

    assert named
    assert named <= {row.name for row in FAILURES}
    assert set(re.findall(r"WIRE\.(\w+)", code)) <= set(re.findall(r"^  (\w+) = ", library_tables(), re.M))
    assert set(re.findall(r"'(\w+)'", code)) & {row.reason for row in FAILURES} <= {"login", "gone", "page"}
