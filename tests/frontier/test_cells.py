"""Several Redis: which cell a site goes to, and the move of a site from one to another, cut off wherever it may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import permutations
from pathlib import Path

import pytest
import redis

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.admin.transfer import SiteTransfer
from crawl_tasks.frontier.cells import Cells, home_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.frontier.scripts import Verb
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Operator, Parsed, Stage, State
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.schedule.start_requests import StartRequests
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.site_json import dump_site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import LedgerWatch
from crawl_tasks.worker.store_task import OutboxConsumer
from crawl_tasks.worker.task_message import TaskMessage
from tests.frontier.by_hand import NOTHING, TERMS, board, lease, post, posts, released
from tests.frontier.small_crawl import RULES, SmallCrawl, small_forum

SITES = [f"forum{number}" for number in range(2000)]


class Killed(BaseException):
    """The end of a mover by kill -9: nothing of it runs any more."""


@pytest.fixture
def cells(redis_server: RedisServer) -> Iterator[list[Frontier]]:
    """Three cells: databases of one server have no key in common."""
    place = redis_server.url.rsplit("/", 1)[0]
    clients = [redis.Redis.from_url(f"{place}/{number}") for number in (1, 2, 3)]
    yield [Frontier(client, "test", cell=cell) for client, cell in zip(clients, "abc", strict=True)]
    for client in clients:
        client.flushdb()
        client.close()


def contents(frontier: Frontier, site: str = "demo") -> dict[str, object]:
    """Read all that a Redis holds of a site, by key."""
    client, found = frontier.client, dict[str, object]()
    for name in [*client.scan_iter(f"test:s:{site}*", count=1000), f"test:decisions:{site}".encode()]:
        match client.type(name):
            case b"string":
                value: object = client.get(name)
            case b"list":
                value = client.lrange(name, 0, -1)
            case b"set":
                value = client.smembers(name)
            case b"hash":
                value = client.hgetall(name)
            case b"zset":
                value = client.zrange(name, 0, -1, withscores=True)
            case _:
                continue
        found[name.decode()] = value, client.pexpiretime(name) > 0
    return found


def text(*boards: str) -> str:
    """Return the text of a site with some boards, as it is published."""
    return dump_site(parse_site(f"{RULES}boards: [{', '.join(boards)}]\n", "demo.yaml"))


def settled(frontier: Frontier) -> Frontier:
    """Publish a site with requests in every state and keys of every type, many of them longer than one call reads."""
    names = [f"b{number}" for number in range(300)]
    frontier.sites.publish("demo", "v1", text(*names), TERMS | {"window": 900}, list(map(board, names)))
    frontier.produce(30)
    frontier.admit("demo", posts(1500))
    rids = released(frontier.client)
    for rid, state in zip(rids, (State.DEAD, State.PARKED, State.DELAYED), strict=False):
        frontier.fail(lease(frontier, rid), Verdict(state, "unreachable", "not there", 60_000))
    frontier.commit(lease(frontier, rids[3]), Parsed(NOTHING.items, [post(9999)]))
    frontier.sites.pause("demo", Operator("ann", "asked to"))
    frontier.sites.resume("demo", Operator("ann", "went well"))
    frontier.outbox.ack({"demo": [page for page, _ in frontier.outbox.draw("store", 10).pages]})
    frontier.client.setbit("test:s:demo:seen:bitmap", 9_000_000, 1)
    # A key of an earlier version, which expires.
    frontier.client.sadd("test:s:demo:overrun", 1)
    frontier.client.expire("test:s:demo:overrun", 3600)
    return frontier


def move(source: Frontier, target: Frontier, site: str = "demo") -> None:
    mover = SiteTransfer(site, source, target)
    mover.begin()
    assert mover.freeze()
    mover.arrive()
    mover.end()


def test_a_further_cell_takes_its_share_of_the_sites_and_moves_no_other() -> None:
    before = {site: home_of(site, "abc") for site in SITES}
    after = {site: home_of(site, "abcd") for site in SITES}

    moved = [site for site in SITES if before[site] != after[site]]
    assert {after[site] for site in moved} == {"d"}
    assert all(abs(count - 500) < 75 for count in Counter(after.values()).values())
    assert home_of("demo", "ab") == home_of("demo", "ba")


def test_a_site_moves_with_all_that_redis_holds_of_it(cells: list[Frontier]) -> None:
    one, two, _ = cells
    settled(one)
    due = dict(one.client.zrange("test:boards", 0, -1, withscores=True))
    before_text = one.sites.published("demo")
    before, counted = contents(one), Inspector(one).count_requests("demo")

    move(one, two)

    after = contents(two)
    in_both = before.keys() & after.keys()
    # Released requests are ready again, since their messages stay behind.
    same = {key for key in in_both if ":ready:" not in key and not key.endswith((":open", ":demo"))}
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert {key.rpartition(":")[2] for key in before.keys() ^ after.keys()} <= {"post", "list", "open"}
    assert two.sites.published("demo") == before_text
    counts = Inspector(two).count_requests("demo")
    assert (counts.open, counts.dead, counts.parked, counts.delayed) == (
        counted.open, counted.dead, counted.parked, counted.delayed,
    )  # fmt: skip
    assert counts.imbalance() == ""
    assert dict(two.client.zrange("test:boards", 0, -1, withscores=True)) == pytest.approx(due)
    assert Check(two, None).run() == []
    assert two.client.exists("test:epoch")
    assert contents(one) == {}
    assert one.sites.names() == []


def test_what_was_known_and_open_in_the_old_cell_is_so_in_the_new_one(cells: list[Frontier]) -> None:
    one, two, _ = cells
    settled(one)
    failed = [found.rid for found in Admin(one).failed.requests.list(Selection("demo"))]

    move(one, two)
    two.tick("test")

    assert two.admit("demo", posts(1500)).new == 0
    assert [found.rid for found in Admin(two).failed.requests.list(Selection("demo"))] == failed
    assert len(set(released(two.client))) == 900  # the window
    assert [one.value for one in Admin(two).decisions.of(["demo"])] == ["run"]


def test_a_page_in_hand_ends_before_its_site_moves(cells: list[Frontier]) -> None:
    one, two, _ = cells
    one.sites.publish("demo", "v1", "{}", TERMS, [])
    one.admit("demo", posts(2))
    held, waiting = released(one.client)
    page = lease(one, held)
    mover = SiteTransfer("demo", one, two)

    assert mover.begin() == 1
    assert not mover.freeze()
    assert one.lease("demo", waiting) is NoLease.PAUSED
    assert one.commit(page, NOTHING) is not None

    assert mover.begin() == 0
    assert mover.freeze()
    mover.arrive()
    mover.end()
    assert Inspector(two).count_requests("demo").open == 1


def test_pages_that_were_laid_aside_are_no_lost_ones_in_the_new_cell(cells: list[Frontier]) -> None:
    one, two, _ = cells
    one.sites.publish("demo", "v1", dump_site(parse_site(RULES + "boards: []\n", "demo.yaml")), TERMS, [])
    one.admit("demo", posts(2))
    for rid in released(one.client):
        one.commit(lease(one, rid), NOTHING)
    pages = one.outbox.draw("w", 10).pages
    Admin(one).failed.items.put(pages[1][0], "a value that no column takes")
    one.outbox.ack({"demo": [pages[0][0]]})
    mover = SiteTransfer("demo", one, two)
    mover.begin()
    assert mover.freeze()
    mover.stay()
    assert Inspector(one).count_requests("demo").count("stored") == 1

    move(one, two)

    assert Admin(one).failed.items.retry() == 1
    one.outbox.ack({"demo": [page for page, _ in one.outbox.draw("w", 10).pages]})
    assert Inspector(two).count_requests("demo").count("stored") == 2
    assert [*Check(one, None).run(), *Check(two, None).run()] == []


def test_pages_that_were_laid_aside_are_stored_once_when_their_site_is_back(cells: list[Frontier]) -> None:
    one, two, _ = cells
    one.sites.publish("demo", "v1", dump_site(parse_site(RULES + "boards: []\n", "demo.yaml")), TERMS, [])
    one.admit("demo", posts(1))
    one.commit(lease(one, released(one.client)[0]), NOTHING)
    Admin(one).failed.items.put(one.outbox.draw("w", 10).pages[0][0], "a value that no column takes")
    watched = one.sites.watched_since_ms("demo")

    move(one, two)
    move(two, one)
    assert Admin(one).failed.items.retry() == 1
    one.outbox.ack({"demo": [page for page, _ in one.outbox.draw("w", 10).pages]})

    assert Inspector(one).count_requests("demo").count("stored") == 1
    assert one.sites.watched_since_ms("demo") == watched
    assert Check(one, None).run() == []


@pytest.mark.parametrize("kind", ["list", "set", "zset"])
def test_start_entries_that_wait_and_those_of_a_dead_process_move_with_their_site(
    kind: str, cells: list[Frontier]
) -> None:
    one, two, _ = cells
    one.sites.publish("demo", "v1", dump_site(parse_site(RULES + "boards: []\n", "demo.yaml")), TERMS, [])
    one.sites.pause("demo")
    for number in range(3):
        put(one, f"test:start:{kind}:demo", kind, f'{{"post": {number}}}')
    for number in (77, 78):
        one.client.rpush(f"test:start:{kind}", f'{{"site": "demo", "post": {number}}}')
    one.heartbeat("here", ["list"], f"test:start:{kind}")
    one.start_queue.claim(f"test:start:{kind}", "", 1)

    move(one, two)
    two.sites.resume("demo")
    for _ in range(2):
        StartRequests(two, f"test:start:{kind}").drain()

    assert Inspector(two).count_requests("demo").admitted == 4
    assert one.client.exists(f"test:start:{kind}:demo", "test:claimed", "test:refused") == 0
    assert one.client.lrange(f"test:start:{kind}", 0, -1) == [b'{"site": "demo", "post": 78}']


def put(frontier: Frontier, key: str, kind: str, entry: str) -> None:
    if kind == "zset":
        frontier.client.zadd(key, {entry: 5})
    else:
        getattr(frontier.client, {"list": "rpush", "set": "sadd"}[kind])(key, entry)


def test_start_entries_that_move_to_a_key_where_nothing_can_wait_are_rejected(cells: list[Frontier]) -> None:
    one, two, _ = cells
    settled(one)
    one.client.rpush("test:start:demo", "an entry")
    two.client.set("test:start:demo", "of another program")

    move(one, two)

    assert two.client.lrange("test:refused", 0, -1) == [
        b"start: test:start:demo is a string, where nothing can wait\nan entry"
    ]


def test_a_move_waits_for_a_flush_that_was_cut_off(cells: list[Frontier]) -> None:
    one, two, _ = cells
    one.sites.publish("demo", "v1", "{}", TERMS, [])
    one.client.mset({f"other:{number}": 1 for number in range(2000)})
    one.scripts.call(Verb.FLUSH_GUARD, "demo", "0", "ann", "why")
    mover = SiteTransfer("demo", one, two)

    assert mover.begin() == 1
    assert not mover.freeze()
    for _ in range(20):
        one.client.zadd("test:due", {"demo": 0})
        one.tick("me")

    assert mover.begin() == 0
    assert mover.freeze()


def test_a_message_that_stayed_behind_finds_nothing(cells: list[Frontier]) -> None:
    one, two, _ = cells
    one.sites.publish("demo", "v1", "{}", TERMS, [])
    one.admit("demo", posts(1))
    [rid] = released(one.client)

    move(one, two)

    assert one.lease("demo", rid) is NoLease.UNPUBLISHED


def test_what_another_program_asks_for_waits_while_the_site_moves(cells: list[Frontier]) -> None:
    one, two, _ = cells
    with small_forum() as forum:
        crawl = SmallCrawl(one.client, one, forum)
        crawl.publish()
        message = TaskMessage("demo", Stage.POST, key="7")
        mover = SiteTransfer("demo", one, two)
        mover.begin()
        assert mover.freeze()

        with pytest.raises(BackendError, match="on its way to another cell"):
            crawl.pages.handle(message)
        one.client.lpush("test:start", '{"site": "demo", "post": "7"}')
        with pytest.raises(BackendError, match="on its way to another cell"):
            StartRequests(one, "test:start").drain()
        assert (one.client.zcard("test:claims"), one.client.llen("test:refused")) == (1, 0)


def test_a_process_that_does_not_know_the_new_cell_cannot_begin_the_site_anew(cells: list[Frontier]) -> None:
    one, two, _ = cells
    one.sites.publish("demo", "v1", "{}", TERMS, [])
    mover = SiteTransfer("demo", one, two)

    mover.begin()
    with pytest.raises(ConfigError, match="has moved to another cell, or is on its way"):
        one.sites.publish("demo", "v2", "{}", TERMS, [])
    mover.stay()
    move(one, two)
    with pytest.raises(ConfigError, match="has moved to another cell"):
        one.sites.publish("demo", "v2", "{}", TERMS, [])

    move(two, one)
    one.sites.publish("demo", "v2", "{}", TERMS, [])
    assert two.sites.names() == []


@pytest.mark.parametrize(("at", "to"), [*permutations(range(3), 2)])
def test_a_site_whose_new_cell_was_lost_before_anything_was_stored_begins_anew_in_it(
    cells: list[Frontier], tmp_path: Path, at: int, to: int
) -> None:
    source, target, all_cells = cells[at], cells[to], Cells(cells)
    with Store(f"sqlite:///{tmp_path}/crawl.db").open() as store:
        source.sites.publish("demo", "v1", "{}", TERMS, [])
        source.sites.pause("demo", Operator("ann@host", "why"))
        OutboxConsumer(source, lambda: store, batch=100, worth=1).run()
        move(source, target)
        target.client.flushdb()

        LedgerWatch(target, lambda: store, contact=None, by_itself=False, cells=all_cells).look()
    begun = all_cells.of("demo")
    begun.sites.publish("demo", "v1", "{}", TERMS, [])

    assert (begun.cell, begun.client.hget("test:s:demo", "paused")) == (target.cell, b"1")


def test_a_mover_that_was_overtaken_changes_nothing_any_more(cells: list[Frontier]) -> None:
    one, two, three = cells
    settled(one)
    first, second = SiteTransfer("demo", one, two), SiteTransfer("demo", one, two)
    first.begin()
    assert first.freeze()
    second.begin()

    with pytest.raises(ConfigError, match="another mover has taken over"):
        first.freeze()
    second.arrive()
    second.end()
    for late in (first.arrive, first.end):
        with suppress(ConfigError):
            late()

    assert [frontier.sites.names() for frontier in (one, two, three)] == [[], ["demo"], []]
    assert Check(two, None).run() == []


def test_a_site_goes_on_where_it_was_when_the_other_cell_is_given_up(cells: list[Frontier]) -> None:
    one, two, _ = cells
    settled(one)
    due = dict(one.client.zrange("test:boards", 0, -1, withscores=True))
    mover = SiteTransfer("demo", one, two)
    mover.begin()
    assert mover.freeze()
    one.client.zadd("test:boards", {"demo b7": 0}, xx=True)
    one.produce()  # a board that is due leaves the schedule, where its site is frozen

    again = SiteTransfer("demo", one, one)
    again.begin()
    again.stay()
    again.end()

    assert one.sites.names() == ["demo"]
    assert one.client.zcard("test:boards") == len(due)
    assert Check(one, None).run() == []


def test_what_a_mover_who_was_cut_off_left_behind_is_no_part_of_the_site(cells: list[Frontier]) -> None:
    one, two, _ = cells
    settled(one)
    movers = [Frontier(frontier.client, "test", cell=frontier.cell) for frontier in (one, two)]
    cut_off(Verb.THAW_SITE, movers)
    with pytest.raises(Killed):
        move(*movers)
    assert two.client.exists("test:s:demo:ready:post:5")

    stays = SiteTransfer("demo", one, one)
    stays.begin()
    stays.stay()
    one.sites.flush_queue("demo")
    one.outbox.ack({"demo": [page for page, _ in one.outbox.draw("store", 10_000).pages]})
    move(one, two)

    assert Inspector(two).count_requests("demo").open == 0
    assert Check(two, None).run() == []


def test_a_part_of_a_list_that_is_sent_again_is_not_written_twice(cells: list[Frontier]) -> None:
    _, two, _ = cells
    two.scripts.call(Verb.RECEIVE_SITE, "demo", "token")
    to = "demo", "token", "arriving", "s:demo:x", "list", 0

    for before, values in ((0, "ab"), (0, "ab"), (2, "c"), (2, "c")):
        two.scripts.call(Verb.COPY_KEYS, *to, before, len(values), *values)
    again = two.scripts.call(Verb.COPY_KEYS, *to, 7, 1, "d")

    assert two.client.lrange("test:s:demo:x", 0, -1) == [b"a", b"b", b"c"]
    assert again == [2]


def cut_off(at: int | Verb, frontiers: list[Frontier], *, is_after: bool = False) -> None:
    """Kill whoever calls verbs on some frontiers at their call of this number or verb, before or after its effect."""
    made = 0

    def cut(frontier: Frontier) -> None:
        real = frontier.scripts.call

        def call(verb: Verb, *args: str | bytes | int) -> list[object]:
            nonlocal made
            made += 1
            if at in (made, verb) and not is_after:
                raise Killed
            reply = real(verb, *args)
            if at in (made, verb):
                raise Killed
            return reply

        frontier.scripts.call = call  # type: ignore[method-assign]

    for frontier in frontiers:
        cut(frontier)


@pytest.mark.parametrize("is_after", [False, True], ids=["before it took effect", "after it took effect"])
def test_a_move_that_is_killed_at_any_step_is_finished_by_the_next_one(cells: list[Frontier], is_after: bool) -> None:
    one, two, _ = cells
    steps = 0
    while True:
        steps += 1
        for frontier in (one, two):
            frontier.client.flushdb()
        one.sites.publish("demo", "v1", text("b1", "b2"), TERMS, [board("b1"), board("b2")])
        one.admit("demo", posts(40))
        movers = [Frontier(frontier.client, "test", cell=frontier.cell) for frontier in (one, two)]
        cut_off(steps, movers, is_after=is_after)
        try:
            move(*movers)
        except Killed:
            assert one.sites.names() + two.sites.names() in (["demo"], [])
            if one.sites.leaving() or one.sites.names():
                move(one, two)
        else:
            break
        assert [frontier.sites.names() for frontier in (one, two)] == [[], ["demo"]], steps
        assert contents(one) == {}, steps
        assert (one.sites.leaving(), two.client.hlen("test:arriving")) == ({}, 0), steps
        counts = Inspector(two).count_requests("demo")
        assert (counts.open, counts.imbalance()) == (40, ""), steps
        assert two.client.zcard("test:boards") == 2, steps
        assert Check(two, None).run() == [], steps
    assert steps > 10


def test_a_crawl_goes_on_in_the_new_cell_and_fetches_no_page_again(cells: list[Frontier]) -> None:
    one, two, _ = cells
    with small_forum() as forum:
        forum.board("1", 1, "1 1", "2 0")
        forum.thread("1", "11 hi")
        forum.thread("2")
        before, after = (SmallCrawl(frontier.client, frontier, forum) for frontier in (one, two))
        before.publish()
        assert sorted(before.scan()) == ["/list/1/1", "/post/1", "/post/2"]
        before.items()

        move(one, two)
        forum.board("1", 1, "3 0", "1 2", "2 0")
        forum.thread("3")

        assert sorted(after.scan()) == ["/list/1/1", "/post/1", "/post/3"]
        assert Inspector(two).count_requests("demo").imbalance() == ""


def test_a_site_is_found_in_the_cell_where_it_lives_and_a_new_one_goes_by_the_hash(cells: list[Frontier]) -> None:
    every = Cells(cells)
    home = every.by_name[home_of("demo", "abc")]
    other = next(frontier for frontier in cells if frontier is not home)

    assert every.of("demo") is home
    other.sites.publish("demo", "v1", "{}", TERMS, [])
    assert every.of("demo") is other
    assert every.misplaced() == {"demo": other}

    mover = SiteTransfer("demo", other, home)
    mover.begin()
    assert mover.freeze()
    with pytest.raises(ConfigError, match="on its way to another cell"):
        every.of("demo")
    mover.arrive()
    mover.end()
    assert (every.of("demo"), every.misplaced()) == (home, {})
