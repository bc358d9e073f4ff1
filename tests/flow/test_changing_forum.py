"""A forum changes several times a second while it is crawled and workers die: what is stored is true in the end."""

from __future__ import annotations

import pytest

from tests.changing.crawl import ChangingCrawl, Plan
from tests.changing.judge import by_kind
from tests.flow.world import World

pytestmark = pytest.mark.flow

FORUM = ("--skew", "120", "--cache", "2", "--errors", "0.03")


def test_a_forum_that_changed_meanwhile_is_stored_as_it_is_after_a_full_pass(world: World) -> None:
    crawl = ChangingCrawl(world, Plan(seed=1, seconds=8.0, forum=FORUM, kills=2))

    found = crawl.run()

    assert by_kind(found) == []
    assert len(crawl.killed) == 2
    assert world.count_requests().imbalance() == ""
