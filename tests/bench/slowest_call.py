# a bench prints
"""Measure the slowest call of every verb at a size: CPU of Redis in one call, in which it serves nobody else.

    python -m tests.bench.slowest_call [--boards 100000] [--sites 1000] [--requests 1000000]

One site has all of these boards, the other sites have as many together. The requests are ready, and known to the guard.
Prints for each verb the calls, the mean and the slowest one in ms, and asserts nothing.
"""

from __future__ import annotations

import argparse
import functools
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, cast
from unittest.mock import patch

import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.alert_state import AlertState
from crawl_tasks.frontier.admin.audit import places
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.frontier.start_queue import StartResult
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Items, Lease, Operator, Parsed, Reach, Request, Stage, State
from crawl_tasks.schedule.ticker import COUNTED_AT_ONCE

TERMS: dict[str, str | int] = {
    "window": 50,
    "delay_ms": 0,
    "lease_ms": 30_000,
    "max_attempts": 3,
    "max_backlog": 10**7,
    "order": "fifo fifo fifo",
    "guard": "exact exact exact",
    "rolling_ms": 86_400_000,
    "full_pass_ms": 86_400_000,
    "freshness": "36000 0.2",
}
BIG = "big"
DEAD = Selection("big", State.DEAD)
TICKS = 40
BY = Operator("bench", "to measure")


class Size(NamedTuple):
    """The size of an installation: boards of the one big site, and of the others together; other sites; requests."""

    boards: int
    sites: int
    requests: int

    @property
    def names(self) -> list[str]:
        """The sites, the big one first."""
        return [BIG, *(f"s{number}" for number in range(self.sites))]

    def shares(self, count: int) -> Iterator[tuple[str, int]]:
        """Half of a count is of the big site, the rest spread over the others."""
        yield BIG, count // 2
        yield from ((name, count // 2 // self.sites) for name in self.names[1:])


def board(site: str, number: int, interval_ms: int = 60_000) -> BoardTerms:
    """Return a board with a full pass."""
    first = Request(site, Stage.LIST, f"b{number}", f"http://127.0.0.1/{site}/list/{number}", revision="@SCAN@")
    whole = first._replace(revision="full@SCAN@", priority=0, reach=Reach(whole="full@SCAN@"))
    return BoardTerms(first.key, line_of(first), interval_ms, 1000, 86_400_000, line_of(whole), 1000)


def boards_of(size: Size) -> Iterator[tuple[str, list[BoardTerms]]]:
    """Yield the boards of each site."""
    for name in size.names:
        count = size.boards if name == BIG else size.boards // size.sites
        yield name, [board(name, number) for number in range(count)]


def fill(frontier: Frontier, size: Size) -> None:
    """Publish the sites, and enter the requests."""
    for name, boards in boards_of(size):
        frontier.sites.publish(name, "v1", "{}", TERMS, boards)
    restore = Admin(frontier).restore
    for name, count in size.shares(size.requests):
        frontier.sites.pause(name, BY)  # nothing is released meanwhile
        for start in range(0, count, 200):
            restore.restore_requests(name, [(post(name, n), True) for n in range(start, min(start + 200, count))])
    for name in size.names:
        frontier.sites.resume(name, BY)


def post(site: str, number: int) -> Request:
    """Return a request for a thread."""
    return Request(site, Stage.POST, str(number), f"http://127.0.0.1/{site}/post/{number}")


def every_verb(frontier: Frontier, size: Size) -> Iterator[None]:
    """Do at this size whatever an installation does in its life. Yields between the parts."""
    for part in (_publish, _crawl, _read, _audit, _operate, _end):
        part(frontier, size)
        yield


def _publish(frontier: Frontier, size: Size) -> None:
    for name, boards in list(boards_of(size))[:3]:
        frontier.sites.publish(name, "v1", "{}", TERMS, boards)
        changed = [replace(one, start_ms=90_000) if place % 9 == 0 else one for place, one in enumerate(boards)]
        frontier.sites.publish(name, "v2", "{}", TERMS | {"freshness": "36000 0.3"}, changed[: -len(boards) // 10])
        frontier.sites.publish(name, "v3", "{}", TERMS, boards)


def _crawl(frontier: Frontier, size: Size) -> None:
    client, due = frontier.client, f"{frontier.keys.prefix}:due"
    for _ in range(20):
        frontier.produce()
    for name in size.names:  # all of it is due at once, as after a long stop
        client.zadd(due, {name: 0})
        frontier.admit(name, [post(name, 10**8 + n) for n in range(100)], wait_s=1)
    for _ in range(TICKS):
        frontier.tick("bench", leader_ms=1)
    for name in size.names[:20]:
        released = f"{frontier.keys.site(name)}:released"
        held = [cast("list[bytes]", client.zrange(f"{released}:{stage}", 0, -1)) for stage in Stage]
        rids = list(map(int, chain.from_iterable(held)))
        for place, lease in enumerate(frontier.lease(name, rid) for rid in rids):
            if isinstance(lease, Lease):
                _end_page(frontier, lease, place)
    client.delete("list", "post", "comment")
    time.sleep(1)
    _make_due(client, frontier)
    for _ in range(TICKS):
        frontier.tick("bench", leader_ms=1)
    frontier.heartbeat("bench", ("list", "post"))
    for start in range(0, len(size.names), COUNTED_AT_ONCE):
        frontier.count_own({name: {"own": 1} for name in size.names[start : start + COUNTED_AT_ONCE]})
    key = f"{frontier.keys.prefix}:start:{BIG}"
    client.rpush(key, *(f'{{"post": "{10**9 + n}"}}' for n in range(2000)))
    for _ in range(4):
        claims = frontier.start_queue.claim(key, BIG, 100)
        meant = [StartResult(claim, (post(BIG, 2 * 10**9 + claim.id),), waits_in=key) for claim in claims]
        frontier.start_queue.settle(meant)


def _make_due(client: redis.Redis, frontier: Frontier) -> None:
    """Let every delay and lease end now."""
    for key in client.scan_iter(f"{frontier.keys.prefix}:s:*:leased", count=10_000):
        for rid in cast("list[bytes]", client.zrange(key, 0, -1)):
            client.zadd(key, {rid: 1})
    client.zadd(f"{frontier.keys.prefix}:due", dict.fromkeys(frontier.sites.names(), 0))


def _end_page(frontier: Frontier, lease: Lease, place: int) -> None:
    if place % 5 == 4:
        frontier.fail(lease, Verdict(State.PARKED, "parse", ""))
        return
    rows = [post(lease.request.site, 3 * 10**9 + lease.rid * 100 + n) for n in range(50)]
    frontier.commit(lease, Parsed(Items(lease.request.site), tuple(rows)))


def _read(frontier: Frontier, size: Size) -> None:
    inspector = Inspector(frontier)
    inspector.count_all(size.names)
    inspector.health(("list", "post", "comment", "store"))
    inspector.changes()
    inspector.boards(BIG)
    inspector.in_hand(BIG)
    inspector.recent(BIG)
    state = AlertState(frontier.scripts)
    for _ in range(2):
        state.claim([f"CrawlStale {name}" for name in size.names], [], ["CrawlStale"], 1000)


def _audit(frontier: Frontier, size: Size) -> None:
    audit = Admin(frontier).audit
    for place in places():
        for _ in audit.place(BIG, place, mend=False):
            pass
    audit.sums(BIG, mend=True)
    list(audit.guard(BIG))
    list(audit.items([BIG]))
    audit.boards(BIG)
    audit.unknown(BIG, [post(BIG, number) for number in range(500)])
    for of in ("unacked", "claims"):
        list(audit.pairs(of, mend=False))


def _operate(frontier: Frontier, size: Size) -> None:
    admin, sites = Admin(frontier), frontier.sites
    boards = [f"b{number}" for number in range(size.boards)]
    for act in Act:
        admin.board_schedule.change(BIG, boards, act, 60_000, BY)
    sites.pause(BIG, BY)
    for _ in range(5):
        frontier.produce()
    sites.resume(BIG, BY)
    sites.drain(BIG, BY)
    sites.resume(BIG, BY)
    sites.run_only(size.names, 1000)
    sites.run_only([], 0)
    admin.restore.halt("bench")
    admin.restore.go_on()
    sites.withdraw(BIG, "", BY)
    sites.set_crawl_delay(BIG, 1)
    sites.set_crawl_delay(BIG, 0)
    admin.decisions.ack(admin.decisions.unstored())
    admin.decisions.restore(admin.decisions.of([BIG]))
    admin.restore.restore_board(BIG, "b1", 7, 1)
    _bury(frontier, size)
    admin.failed.requests.readdress(
        [(one, one.request.address) for one in islice(admin.failed.requests.list(DEAD), 20)]
    )
    admin.failed.requests.retry(DEAD)
    _bury(frontier, size)
    admin.failed.requests.drop(DEAD)
    frontier.robots.keep("http://127.0.0.1", "User-agent: *", 60.0)
    frontier.kept_pages.reopen(BIG, Stage.POST)
    admin.restore.lock("bench", 1000)
    admin.restore.lock("bench", 0)
    for page_id, _ in frontier.outbox.draw("bench", 100).pages:
        admin.failed.items.put(page_id, "to measure")
    admin.failed.items.retry()
    while pages := frontier.outbox.draw("bench", 200).pages:
        frontier.outbox.ack({BIG: [page_id for page_id, _ in pages]})


def _bury(frontier: Frontier, size: Size) -> None:
    """Let requests of the big site be dead, a tenth of all."""
    key = f"{frontier.keys.site(BIG)}:{State.DEAD}"
    rids = range(10**12, 10**12 + size.requests // 10)
    for start in range(0, len(rids), 1000):
        flat = [
            (rid, f'1 status 404\n{rid} post 5 3 http://127.0.0.1/x ["x",1,""]') for rid in rids[start : start + 1000]
        ]
        frontier.client.hset(key, items=list(chain.from_iterable(flat)))


def _end(frontier: Frontier, size: Size) -> None:
    frontier.sites.flush_guard(BIG, BY)
    frontier.sites.flush_queue(BIG)
    frontier.sites.remove(BIG, BY)
    Admin(frontier).restore.wipe(BIG)
    for _ in range(5):
        frontier.produce()


@contextmanager
def each_call(begin: Callable[[], float], note: Callable[[Verb, float], None]) -> Iterator[None]:
    """Measure every call of a verb: `note` is told by how much `begin` grew."""
    call = Scripts.call

    @functools.wraps(call)
    def measured(self: Scripts, verb: Verb, *args: str | bytes | int) -> list[object]:
        before = begin()
        reply = call(self, verb, *args)
        note(verb, begin() - before)
        return reply

    with patch.object(Scripts, "call", measured):
        yield


def cpu_ms(pid: int) -> float:
    """Return the CPU time of a process' first thread in ms: unlike SLOWLOG, without waiting for a processor."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e6


def percentile(times: list[float]) -> float:
    """Return the time that 1 call of 100 takes longer than: neighbours on the machine make single calls slower."""
    return sorted(times)[len(times) * 99 // 100]


def _cost(client: redis.Redis, pid: int) -> float:
    before = cpu_ms(pid)
    client.eval("for i = 1, 1000 do redis.call('HGET', 'bench:sites', 'x') end", 0)
    return cpu_ms(pid) - before


def main() -> None:
    """Fill, do everything, print."""
    parser = argparse.ArgumentParser(description="Measure the slowest call of every verb.")
    parser.add_argument("--boards", type=int, default=100_000)
    parser.add_argument("--sites", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=1_000_000)
    size = Size(**vars(parser.parse_args()))
    spent: dict[Verb, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory))
        server.start()
        with redis.Redis.from_url(server.url) as client:
            # The fork of a rewrite is no call's, and its copied pages would be counted to the calls beside it.
            client.config_set("auto-aof-rewrite-percentage", 0)
            frontier = Frontier(client, "bench", store_at=10**6, outbox_max=10**6)
            began = time.monotonic()
            with each_call(lambda: cpu_ms(server.pid), lambda verb, ms: spent[verb].append(ms)):
                fill(frontier, size)
                print(f"filled in {time.monotonic() - began:.0f} s, {client.info('memory')['used_memory_human']}")
                for _ in every_verb(frontier, size):
                    pass
            unit = min(_cost(client, server.pid) for _ in range(20))
        server.stop()
    print(f"for comparison, a script of 1,000 HGETs: {unit:.2f} ms")
    print(f"{'verb':<26} {'calls':>7} {'mean ms':>8} {'1 in 100':>8} {'slowest':>8}")
    for verb, times in sorted(spent.items(), key=lambda one: -max(one[1])):
        print(
            f"{verb:<26} {len(times):>7} {sum(times) / len(times):>8.2f} {percentile(times):>8.2f} {max(times):>8.2f}"
        )
    print("never called:", ", ".join(sorted(set(Verb) - set(spent))))


if __name__ == "__main__":
    main()
