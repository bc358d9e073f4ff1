"""Redis refuses, or says nothing, in the middle of a crawl: workers wait, say so, and lose nothing."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from time import monotonic

import pytest

from crawl_tasks.broker.connection import LONGEST_WAIT_S
from crawl_tasks.recovery.ages import LedgerState, loss_of, settle_ages
from crawl_tasks.store.upsert import Store
from tests.flow.test_recover import RECOVER
from tests.flow.world import CELERY, SHORT_LEASE_MS, World
from tests.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.flow

Fault = Callable[[World], AbstractContextManager[None]]


@contextmanager
def read_only(world: World) -> Iterator[None]:
    """As after a failover: the server we talk to is a replica now."""
    world.client.replicaof("127.0.0.1", "1")
    yield
    world.client.replicaof("NO", "ONE")


def configured(option: str, value: object) -> Fault:
    """Make Redis refuse writes by one option of its own."""

    @contextmanager
    def fault(world: World) -> Iterator[None]:
        [before] = world.client.config_get(option).values()
        world.client.config_set(option, value)
        yield
        world.client.config_set(option, before)

    return fault


@contextmanager
def another_password(world: World) -> Iterator[None]:
    world.client.config_set("requirepass", "secret")
    world.client.client_kill_filter(_type="normal", skipme=True)
    yield
    world.client.config_set("requirepass", "")


@contextmanager
def silent(world: World) -> Iterator[None]:
    os.kill(world.server.pid, signal.SIGSTOP)
    yield
    os.kill(world.server.pid, signal.SIGCONT)


@contextmanager
def without_scripts(world: World) -> Iterator[None]:
    world.client.script_flush()
    world.client.function_flush()
    yield


FAULT_LASTS_S = 1.5

FAULTS: tuple[Fault, ...] = (
    read_only,
    configured("min-replicas-to-write", 1),
    another_password,
    configured("maxmemory", 1),
    silent,
    without_scripts,
)


def test_a_crawl_goes_through_every_refusal_of_redis(world: World) -> None:
    world.forum("--latency-ms", "60")
    world.publish(lease_ms=SHORT_LEASE_MS, deadline_s=1.0, window=4)
    world.workers()
    world.frontier.produce()

    for fault in FAULTS:
        done = world.count_requests().done
        eventually(partial(has_done, world, done + 5))
        with fault(world):
            eventually(after(FAULT_LASTS_S))
    eventually(world.is_idle, every_s=0.1)

    assert world.faults() == []
    assert set(world.fetched()) == set(world.truth()["paths"])
    with Store(f"sqlite:///{world.directory / 'crawl.db'}") as store:
        # Named where the lost writes had an acknowledgement among them, until an operator mends it.
        assert loss_of(world.frontier, store) in (LedgerState.WHOLE, LedgerState.OLDER_REDIS)
        settle_ages(world.frontier, store)


def has_done(world: World, pages: int) -> bool:
    return world.count_requests().done >= pages


def after(seconds: float) -> Callable[[], bool]:
    until = monotonic() + seconds
    return lambda: monotonic() > until


def test_workers_look_for_redis_every_few_seconds_however_long_it_is_away(world: World) -> None:
    world.forum("--latency-ms", "40")
    world.publish(lease_ms=SHORT_LEASE_MS, deadline_s=1.0, window=4)
    names = ("list", "detail", "store")
    for name in names:
        # A heartbeat that meets the outage tries each second without a word, and nothing of it could be read below.
        world.start_worker(name, name, "--without-heartbeat")
    for name in names:
        world.wait_for_worker(name)
    world.frontier.produce()
    eventually(partial(has_done, world, 20))

    world.server.stop()
    eventually(lambda: all(len(waits(world, name)) > 3 for name in names))
    world.server.start()
    eventually(world.is_idle, every_s=0.1)

    assert max(max(waits(world, name)) for name in names) <= LONGEST_WAIT_S[1]
    assert not any("optional breaking change" in world.log_of(name) for name in names)
    assert world.faults() == []


def waits(world: World, name: str) -> list[float]:
    """Give the seconds that a worker waited between two tries, by its log."""
    return [float(seconds) for seconds in re.findall(r"Trying again in ([\d.]+) second", world.log_of(name))]


@pytest.mark.parametrize("command", [["worker", "-Q", "list"], ["beat"]])
def test_nothing_starts_on_a_redis_that_evicts(command: list[str], world: World) -> None:
    world.client.config_set("maxmemory-policy", "allkeys-lru")

    process = world.start("refused", *CELERY, *command)

    assert process.wait(timeout=PATIENCE_S) == 3
    assert "maxmemory-policy allkeys-lru, which would throw the ledger away" in world.log_of("refused")
    del world.processes["refused"]


def test_the_writes_that_a_power_failure_took_are_done_again(world: World) -> None:
    world.forum("--latency-ms", "30")
    world.publish(lease_ms=SHORT_LEASE_MS, deadline_s=1.0, window=8)
    world.workers()
    world.frontier.produce()
    eventually(partial(has_done, world, 100))

    os.kill(world.server.pid, signal.SIGKILL)
    world.server.stop()  # it is dead, or about to be
    [log] = (world.server.directory / "appendonlydir").glob("*.incr.aof")
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 100_000)
    world.server.start()
    eventually(world.is_idle, every_s=0.1)

    assert world.faults() == []
    assert set(world.fetched()) == set(world.truth()["paths"])
    if any("lost its last writes" in finding for finding in world.findings()):
        world.run("recover", *RECOVER)  # as the line says: a batch of the store may be among those writes
