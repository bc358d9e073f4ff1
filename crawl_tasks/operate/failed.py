"""Failed pages: the newest of a site, and the retry of some or of a single one."""

from __future__ import annotations

from itertools import islice
from typing import cast

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import FailedRequest, Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import State

MOST_NEWEST = 50
"""Failed pages of one state that are looked at for the newest."""


def newest_failures(frontier: Frontier, site: str) -> list[FailedRequest]:
    """Return some of the failed pages (dead or parked) of a site, the newest first."""
    requests = Admin(frontier).failed.requests
    failures = [
        failure
        for state in (State.PARKED, State.DEAD)
        for failure in islice(requests.list(Selection(site, state)), MOST_NEWEST)
    ]
    return sorted(failures, key=lambda failure: -failure.at_ms)


def retry_page(frontier: Frontier, site: str, rid: str) -> None:
    """Make a failed page ready again, under the address that it has.

    Raises:
        ConfigError: the page does not wait for a person any more.
    """
    requests = Admin(frontier).failed.requests
    failure = cast(FailedRequest, requests.show(Selection(site, ids=(rid,))))
    requests.readdress([(failure, failure.request.address)])
