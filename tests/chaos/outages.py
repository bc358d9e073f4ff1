"""Rows b, without a death: in mid-crawl Redis is silent, loads, cannot save, or becomes another one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer, find_server, free_port
from tests.chaos.ground import Ground, new_ground
from tests.chaos.proxy import Proxy
from tests.chaos.rows import Row, Scale
from tests.chaos.servers import Ward
from tests.waiting import eventually

LASTS_S = 3.0
LOADING_US = 40_000  # for each key: there are about a hundred
MASTER = "mymaster"

Break = Callable[[Ground, Ward], None]


def loads(scale: Scale, seed: int) -> list[Row]:
    """Restart Redis so that it loads for seconds."""
    return [_on_a_ground("restarted, and loading for seconds", "loads", _load, random.Random(seed), scale.repeats)]


def snapshots(scale: Scale, seed: int) -> list[Row]:
    """Let Redis refuse because it cannot save."""
    return [_on_a_ground("cannot save (MISCONF)", "times", _fail_to_save, random.Random(seed), scale.repeats)]


def _on_a_ground(figure: str, what: str, harm: Break, chance: random.Random, times: int) -> Row:
    with new_ground() as ground:
        ground.forum("--latency-ms", "10")
        ward = Ward(ground, chance)
        for _ in range(times):
            ward.crawl(figure, lambda: harm(ground, ward))
    return ward.row(f"Redis {figure}", what)


def holes(scale: Scale, seed: int) -> list[Row]:
    """Let packets vanish: first all of them, then all but the beginning of each answer."""
    port = free_port()
    with Proxy(port) as proxy, new_ground(port, CRAWL_REDIS_URL=f"redis://127.0.0.1:{proxy.port}/0") as ground:
        ground.forum("--latency-ms", "10")
        ward = Ward(ground, random.Random(seed))

        def vanish(after: int) -> None:
            proxy.open_hole(after)
            ward.rest(LASTS_S)
            proxy.close_hole()

        for _ in range(scale.repeats):
            for after in (0, 9):
                ward.crawl(f"hole after {after} bytes", lambda after=after: vanish(after))
    return [ward.row("packets to and from Redis vanish for 3 s: all, or all after 9 bytes of an answer", "holes")]


def _load(ground: Ground, ward: Ward) -> None:
    """Restart Redis so that it answers LOADING for some seconds; then end it, and start it as usual."""
    client = ground.world.client
    client.bgrewriteaof()  # only what stands in a snapshot can be made slow
    ward.until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
    os.kill(ground.server.pid, signal.SIGKILL)
    ground.server.stop()
    slow = ("--key-load-delay", str(LOADING_US), "--loading-process-events-interval-bytes", "1024")
    with _server(ground.server, *slow):
        seen = 0
        with redis.Redis(port=ground.server.port, retry=None) as probe:

            def has_loaded() -> bool:
                nonlocal seen
                try:
                    return bool(probe.ping())
                except redis.exceptions.BusyLoadingError:
                    seen += 1
                except redis.RedisError:
                    pass
                return False

            ward.until(has_loaded)
        if not seen:
            ward.faults.append("Redis never said that it is loading")
    ground.server.start()


def _fail_to_save(ground: Ground, ward: Ward) -> None:
    """Let a snapshot fail, by a directory of its name; Redis then refuses to write until one succeeds."""
    client, obstacle = ground.world.client, ground.server.directory / "dump.rdb"
    obstacle.mkdir()
    client.config_set("save", "900 1")

    def saves(well: str) -> bool:
        said = client.info("persistence")
        if said["rdb_last_bgsave_status"] == well:
            return True
        if not said["rdb_bgsave_in_progress"] and not said["aof_rewrite_in_progress"]:
            client.bgsave()
        return False

    ward.until(lambda: saves("err"))
    ward.rest(LASTS_S)
    obstacle.rmdir()
    ward.until(lambda: saves("ok"))
    client.config_set("save", "")
    obstacle.unlink()  # the snapshot itself


def failovers(scale: Scale, seed: int) -> list[Row]:
    """Let a Sentinel make the replica master: the old one is killed, or stops and comes back as if nothing had been."""
    figure = "a Sentinel makes the replica master: the old one is dead, or back after 3 s"
    chance, wards = random.Random(seed), []
    for _ in range(scale.repeats):
        for number in (signal.SIGKILL, signal.SIGSTOP):
            with ExitStack() as stack:
                wards.append(_fail_over(stack, chance, number))
    total = wards[0]
    for ward in wards[1:]:
        total.faults += ward.faults
        total.resumed_s += ward.resumed_s
        total.extra, total.crawls = total.extra + ward.extra, total.crawls + ward.crawls
    return [total.row(figure, "failovers")]


def _fail_over(stack: ExitStack, chance: random.Random, number: signal.Signals) -> Ward:
    port, sentinel_port = free_port(), free_port()
    url = f"sentinel://127.0.0.1:{sentinel_port}/0"
    ground = stack.enter_context(new_ground(port, CRAWL_REDIS_URL=url, CRAWL_REDIS_MASTER=MASTER))
    directory = ground.world.directory
    replica = RedisServer(directory / "replica")
    replica.start()
    stack.callback(replica.stop)
    with redis.Redis.from_url(replica.url) as client:
        client.replicaof("127.0.0.1", str(port))
        eventually(lambda: client.info("replication")["master_link_status"] == "up")
    stack.enter_context(_sentinel(directory, sentinel_port, port))
    ground.world.client = stack.enter_context(open_client(url, MASTER))
    ground.world.frontier = Frontier(ground.world.client, "crawl")
    ground.forum("--latency-ms", "10")
    ward = Ward(ground, chance)

    def change() -> None:
        os.kill(ground.server.pid, number)
        with redis.Redis(port=sentinel_port) as sentinel:
            ward.until(lambda: sentinel.sentinel_get_master_addr_by_name(MASTER)[1] != port)
        ward.rest(LASTS_S)
        if number is signal.SIGSTOP:
            os.kill(ground.server.pid, signal.SIGCONT)
            with redis.Redis.from_url(ground.server.url) as old:
                ward.until(lambda: old.info("replication")["role"] == "slave")

    ward.crawl(f"failover after {number.name}", change)
    return ward


@contextmanager
def _sentinel(directory: Path, port: int, master: int) -> Iterator[None]:
    terms = directory / "sentinel.conf"
    terms.write_text(
        f"port {port}\nbind 127.0.0.1\nsentinel monitor {MASTER} 127.0.0.1 {master} 1\n"
        f"sentinel down-after-milliseconds {MASTER} 1000\nsentinel failover-timeout {MASTER} 5000\n"
    )
    with _process(directory, ["redis-server", str(terms), "--sentinel"]), redis.Redis(port=port) as sentinel:
        eventually(lambda: _knows_replica(sentinel), every_s=0.2)
        yield


def _knows_replica(sentinel: redis.Redis) -> bool:
    try:
        return len(sentinel.sentinel_slaves(MASTER)) == 1
    except redis.RedisError:
        return False


@contextmanager
def _server(like: RedisServer, *options: str) -> Iterator[None]:
    """Run a server on the data of another one that has ended."""
    arguments = ["--port", str(like.port), "--bind", "127.0.0.1", "--dir", str(like.directory), "--appendonly", "yes"]
    with _process(like.directory, ["redis-server", *arguments, "--save", "", *options]):
        yield


@contextmanager
def _process(directory: Path, arguments: list[str]) -> Iterator[None]:
    with (directory / "other.log").open("ab") as log:
        process = subprocess.Popen(
            arguments, executable=find_server(), cwd=directory, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield
    finally:
        process.kill()
        process.wait()
