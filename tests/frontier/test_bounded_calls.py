"""No call of a verb does more work the more boards, requests or sites there are: Redis serves nobody else meanwhile."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.scripts import PRELUDE, Verb, read_lua
from tests.bench.slowest_call import Size, each_call, every_verb, fill

SIZE = Size(boards=4000, sites=8, requests=8000)
MOST = 3500
"""Redis commands of one call: some 7 ms of a quiet machine. There are more boards, and more requests, than that."""


def commands(client: redis.Redis) -> int:
    return sum(stat["calls"] for stat in client.info("commandstats").values())


def test_no_call_runs_more_commands_than_redis_does_in_some_milliseconds(client: redis.Redis) -> None:
    frontier = Frontier(client, "test", store_at=10**6, outbox_max=10**6)
    most: defaultdict[Verb, int] = defaultdict(int)

    def note(verb: Verb, grown: float) -> None:
        most[verb] = max(most[verb], int(grown))

    with each_call(lambda: commands(client), note):
        fill(frontier, SIZE)
        for _ in every_verb(frontier, SIZE):
            pass

    assert {verb: count for verb, count in most.items() if count > MOST} == {}
    assert len(most) > 35


@pytest.mark.parametrize("name", [*PRELUDE, *Verb])
def test_a_script_reads_a_collection_in_pages_or_says_why_it_is_small(name: str) -> None:
    whole = [line for line in read_lua(name).splitlines() if re.search("'(SMEMBERS|HKEYS|HVALS|KEYS)'", line)]

    assert [line for line in whole if "-- bounded" not in line] == []
