# a bench prints
"""Measure the frontier's verbs: CPU of Redis and of this process for each call, on a server of our own with its AOF.

    python -m tests.bench.frontier_bench [--lists 100] [--rounds 3] [--chained]

List pages name 20 threads, 3 of them known; each post has one comment page to come; a page carries 17 comments.
Prints microseconds a call, the best of the rounds; asserts nothing. With --chained a page is one commit that leases the
next one, the store's part with it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Comment, Effort, Items, Lease, Parsed, Post, Request, Stage
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.frontier.small_crawl import RULES

THREADS, KNOWN, SCANS = 20, 3, 5
SCHEDULES = {"adaptive": "", "priced": "freshness: {goal_s: 600, requests_s: 1000}\n"}
WINDOW = 200
EFFORT = Effort(status=200, wire_bytes=9000, body_bytes=46000, fetch_ms=3, parse_ms=1)
Cost = tuple[float, float]


def main() -> None:
    """Run all rounds and print the best of each verb."""
    parser = argparse.ArgumentParser(description="Measure the frontier's verbs.")
    parser.add_argument("--lists", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--chained", action="store_true", help="measure chained pages alone")
    chosen = parser.parse_args()
    if chosen.chained:
        pages, cost = chain(chosen.lists)
        print(f"{pages} pages, each {cost[0]:.1f} us of Redis, {cost[1]:.1f} ours")
        return
    rounds = [dict(run(chosen.lists)) for _ in range(chosen.rounds)]
    print(f"{'verb':<16} {'Redis':>7} {'ours':>7}   us of CPU a call")
    for verb in rounds[0]:
        server, ours = (min(found[verb][which] for found in rounds) for which in (0, 1))
        print(f"{verb:<16} {server:>7.1f} {ours:>7.1f}")


def run(lists: int) -> Iterator[tuple[str, Cost]]:
    """Crawl list pages, posts and comment pages of one site, each verb in one go; yield its name and cost a call."""
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory))
        server.start()
        client = redis.Redis.from_url(server.url)
        frontier = Frontier(client, "bench", store_at=10**6, outbox_max=10**6)
        site = parse_site(RULES.replace("window: 50", "window: 200, max_backlog: 1000000"), "demo.yaml")
        publish_site(frontier, site, "bench@example.org")
        frontier.admit("demo", [ask(Stage.LIST, f"f{number}") for number in range(lists)])
        frontier.tick("bench", leader_ms=1)
        spent: dict[str, Cost] = {}
        calls: Counter[str] = Counter()
        while any(released := {stage: released_of(client, stage) for stage in Stage}.values()):
            for stage, rids in zip(Stage, released, strict=True):
                work_off(frontier, client, stage, rids, spent)
                calls.update({f"lease {stage}": len(rids), f"commit {stage}": len(rids)})
        for verb in sorted(spent):
            yield verb, per_call(spent[verb], calls[verb])
        pages = client.xlen(frontier.keys.outbox)
        ids: list[bytes] = []
        yield "draw a page", per_call(measure(client, lambda: ids.extend(id for id, _ in draw_all(frontier))), pages)
        for schedule in SCHEDULES:
            yield from scan(frontier, client, lists, schedule)
        server.stop()


def chain(lists: int) -> tuple[int, Cost]:
    """Crawl list pages and all below them by chains; return pages and the cost of one."""
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory))
        server.start()
        client = redis.Redis.from_url(server.url)
        frontier, leases = begin_chains(client, lists)
        pages = 0

        def work() -> None:
            nonlocal pages
            pages = follow_chains(frontier, leases)

        cost = measure(client, work)
        server.stop()
        return pages, per_call(cost, pages)


def begin_chains(client: redis.Redis, lists: int) -> tuple[Frontier, list[Lease]]:
    """Admit list pages of a site, and lease the first 8."""
    frontier = Frontier(client, "bench", store_at=250, outbox_max=10**6)
    site = parse_site(RULES.replace("window: 50", "window: 32, max_backlog: 1000000"), "demo.yaml")
    publish_site(frontier, site, "bench@example.org")
    frontier.admit("demo", [ask(Stage.LIST, f"f{number}") for number in range(lists)])
    frontier.tick("bench", leader_ms=1)
    got = [frontier.lease("demo", rid) for rid in released_of(client, Stage.LIST)[:8]]
    return frontier, [lease for lease in got if isinstance(lease, Lease)]


def follow_chains(frontier: Frontier, held: list[Lease]) -> int:
    """Commit each page and lease the next one with it, until none is left; return the number of pages."""
    pages = 0
    while held:
        lease, pages = held.pop(0), pages + 1
        result = frontier.commit(lease, page_of(lease), effort=EFFORT, queues=("comment", "post", "list"))
        if result and result.next:
            held.append(result.next.lease)
        if pages % 100 == 0:
            list(draw_all(frontier))
    return pages


def scan(frontier: Frontier, client: redis.Redis, boards: int, schedule: str) -> Iterator[tuple[str, Cost]]:
    """Scan the boards of a site again and again, with news in KNOWN threads each time; yield costs a board."""
    name, spent = f"watch-{schedule}", dict[str, Cost]()
    rules = RULES.replace("name: demo", f"name: {name}").replace("window: 50", "window: 200")
    listed = f"boards: [{', '.join(map(str, range(boards)))}]\n"
    publish_site(frontier, parse_site(rules + SCHEDULES[schedule] + listed, f"{name}.yaml"), "bench@example.org")
    for number in range(SCANS + 1):
        for board in range(boards):
            client.zadd("bench:boards", {f"{name} {board}": 0})
        for verb, cost in scan_once(frontier, client, name, boards, number):
            if number:  # the first scan is the history
                spent[verb] = added(spent.get(verb, (0.0, 0.0)), cost)
    for verb, cost in spent.items():
        yield f"{verb}, {schedule}", per_call(cost, boards * SCANS)


def scan_once(
    frontier: Frontier, client: redis.Redis, name: str, boards: int, number: int
) -> Iterator[tuple[str, Cost]]:
    """Scan all boards once, and work off the threads with news."""
    yield "produce", measure(client, lambda: [frontier.produce(1000) for _ in range(3)])
    frontier.tick("bench", leader_ms=1)
    rids = [int(rid) for rid in client.zrange(f"bench:s:{name}:released:list", 0, -1)]
    leases = [lease for rid in rids if isinstance(lease := frontier.lease(name, rid), Lease)]
    assert len(leases) == boards, f"{len(leases)} of {boards} boards leased"
    pages = [(lease, rows_of(lease, number)) for lease in leases]
    yield "commit scan", measure(client, lambda: [frontier.commit(*one, effort=EFFORT) for one in pages])
    while rids := [int(rid) for rid in client.zrange(f"bench:s:{name}:released:post", 0, -1)]:
        for lease in [lease for rid in rids if isinstance(lease := frontier.lease(name, rid), Lease)]:
            frontier.commit(lease, Parsed(Items(name)), effort=EFFORT)
    list(draw_all(frontier, name))


def rows_of(lease: Lease, number: int) -> Parsed:
    """Return a list page on which the first KNOWN threads have another reply than at the scan before."""
    request, now = lease.request, int(time.time())
    first = int(request.key) * THREADS
    posts, children = [], []
    for place in range(THREADS):
        at = now - 60 if place < KNOWN and number else 1_700_000_000
        replies = number if place < KNOWN else 0
        posts.append(Post(str(first + place), now, title="A thread's title", last_reply_at=at, reply_count=replies))
        children.append(ask(Stage.POST, str(first + place))._replace(site=request.site, revision=f"{replies}"))
    return Parsed(Items(request.site, posts=posts), tuple(children))


def released_of(client: redis.Redis, stage: Stage) -> list[int]:
    """Read which requests of a stage stand in its queue."""
    return [int(rid) for rid in client.zrange(f"bench:s:demo:released:{stage}", 0, -1)]


def work_off(frontier: Frontier, client: redis.Redis, stage: Stage, rids: list[int], spent: dict[str, Cost]) -> None:
    """Lease and commit requests; add to what each verb has cost."""
    leases: list[Lease | NoLease] = []
    cost = measure(client, lambda: leases.extend(frontier.lease("demo", rid) for rid in rids))
    spent[f"lease {stage}"] = added(spent.get(f"lease {stage}", (0.0, 0.0)), cost)
    held = [(lease, page_of(lease)) for lease in leases if isinstance(lease, Lease)]
    assert len(held) == len(rids), leases[-1]
    cost = measure(client, lambda: [frontier.commit(*one, effort=EFFORT) for one in held])
    spent[f"commit {stage}"] = added(spent.get(f"commit {stage}", (0.0, 0.0)), cost)


def draw_all(frontier: Frontier, name: str = "demo") -> Iterator[tuple[bytes, bytes]]:
    """Take and acknowledge all that waits for the store."""
    while some := frontier.outbox.draw("bench", 100).pages:
        yield from some
        frontier.outbox.ack({name: [id for id, _ in some]})


def ask(stage: Stage, key: str, page: int = 1) -> Request:
    """Name a request as the parser does."""
    return Request("demo", stage, key, f"http://127.0.0.1:8765/{stage}/{key}/{page}", page=page)


def page_of(lease: Lease) -> Parsed:
    """Return what a page of the request's stage carries."""
    stage, key, now = lease.request.stage, lease.request.key, 1_700_000_000.0
    if stage is Stage.LIST:
        first = int(key[1:]) * (THREADS - KNOWN)
        threads = [str(first + number) for number in range(THREADS)]
        return Parsed(
            Items("demo", posts=[Post(thread, now, title="A thread's title", author="somebody") for thread in threads]),
            tuple(ask(Stage.POST, thread) for thread in threads),
        )
    comments = [
        Comment(key, f"{key}-{place}", now, author="somebody", created_at=int(now), body="What one says. " * 8)
        for place in range(17)
    ]
    children = (ask(Stage.COMMENT, key, 2),) if stage is Stage.POST else ()
    return Parsed(Items("demo", comments=comments), children, tail=2)


def measure(client: redis.Redis, work: Callable[[], object]) -> Cost:
    """Give seconds of CPU: of the server, of this process."""
    before, own = server_cpu(client), time.process_time()
    work()
    own = time.process_time() - own
    return server_cpu(client) - before, own


def added(one: Cost, other: Cost) -> Cost:
    """Add two costs."""
    return one[0] + other[0], one[1] + other[1]


def per_call(cost: Cost, calls: int) -> Cost:
    """Give microseconds a call."""
    return cost[0] / calls * 1e6, cost[1] / calls * 1e6


def server_cpu(client: redis.Redis) -> float:
    """Read how much CPU the server has used, s."""
    used = client.info("cpu")
    return float(used["used_cpu_sys"]) + float(used["used_cpu_user"])


if __name__ == "__main__":
    main()
