"""No call of a verb does more work the more boards, requests or sites there are: Redis serves nobody else meanwhile."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
import redis

from crawl_tasks.frontier.admin.transfer import SiteTransfer
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_functions import Verb, prelude, read_lua
from crawl_tasks.frontier.replies import ints
from crawl_tasks.model import Effort, Items, Parsed
from tests.bench.slowest_call import TERMS, Size, board, each_call, every_verb, fill
from tests.frontier.by_hand import lease, posts, released

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


def test_a_page_and_the_lease_of_the_next_one_are_few_commands(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(1))
    held = lease(frontier, released(client)[0])
    frontier.admit("demo", posts(20, start=2))

    before = commands(client)
    result = frontier.commit(
        held, Parsed(Items("demo")), effort=Effort(200, 700, 3000, 120, 3), queues=("comment", "post")
    )
    after = commands(client)

    assert result is not None
    assert result.next is not None
    assert after - before <= 40


def test_the_terms_of_a_site_are_a_table_and_no_list(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(1))

    assert client.object("encoding", "test:s:demo") == b"hashtable"


def test_a_call_begins_as_many_scans_ahead_of_time_as_due_ones_at_most(client: redis.Redis) -> None:
    frontier, soon = Frontier(client, "test"), Frontier(client, "test").clock_ms() + 10_000
    for site in (f"s{number}" for number in range(40)):
        boards = [board(site, number) for number in range(10)]
        frontier.sites.publish(site, "v1", "{}", TERMS | {"freshness": "36000 0.001"}, boards)
        client.zadd("test:boards", {f"{site} {one.board}": soon for one in boards})
        client.zadd(f"test:s:{site}:by_due", {one.board: soon for one in boards})
        client.zadd("test:early", {site: 0})
    client.delete("test:fulls")

    admitted = ints(frontier.scripts.call(Verb.PRODUCE, 30))[1]

    assert 0 < admitted <= 30
    assert frontier.produce()[0] > 60  # in as many calls as it takes


def test_a_resumed_site_makes_its_overdue_boards_due_in_pieces(client: redis.Redis) -> None:
    frontier, later = Frontier(client, "test"), Frontier(client, "test").clock_ms() + 10**6
    boards = [board("demo", number) for number in range(3000)]
    frontier.sites.publish("demo", "v1", "{}", TERMS, boards)
    client.zadd("test:boards", {f"demo {one.board}": later for one in boards})
    client.zadd("test:s:demo:overdue", {one.board: 1 for one in boards})
    grown: list[int] = []

    def note(verb: Verb, elements: float) -> None:
        if verb is Verb.PAUSE:
            grown.append(int(elements))

    with each_call(lambda: due(client, later), note):
        frontier.sites.resume("demo")

    assert due(client, later) == 3000
    assert max(grown) <= 1500


def due(client: redis.Redis, before: int) -> int:
    return int(client.zcount("test:boards", 0, before - 1))


def test_a_site_that_moves_counts_its_rejected_pages_in_pieces(client: redis.Redis) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    for number in range(350):
        client.xadd(
            "test:rejected", {"items": '["demo",[],[],[]]', "reason": "why", "at": frontier.clock_ms() + number}
        )
    mover = SiteTransfer("demo", frontier, frontier)
    mover.begin()
    calls: list[Verb] = []

    with each_call(lambda: 0, lambda verb, _: calls.append(verb)):
        assert mover.freeze()

    assert calls.count(Verb.FREEZE_SITE) == 4
    assert client.hget("test:s:demo:frozen", "rejected") == b"350"


@pytest.mark.parametrize("name", [*prelude(), *Verb])
def test_a_script_reads_a_collection_in_pages_or_says_why_it_is_small(name: str) -> None:
    whole = [line for line in read_lua(name).splitlines() if re.search("'(SMEMBERS|HKEYS|HVALS|KEYS)'", line)]

    assert [line for line in whole if "-- bounded" not in line] == []
