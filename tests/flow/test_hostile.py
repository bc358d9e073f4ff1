"""Hostile messages and sites, from Redis alone: the short form of `python -m tests.hostile`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl_tasks.local.redis_server import RedisServer
from tests.flow.world import World
from tests.hostile.forged import forged_messages
from tests.hostile.sites import hostile_sites
from tests.hostile.trial import Trial
from tests.waiting import eventually

pytestmark = pytest.mark.flow


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """A world whose ledger is not checked at its end: the check cannot read hostile sites, and says so."""
    with RedisServer(tmp_path / "redis") as server:
        world = World(tmp_path, server)
        trial = Trial(world)
        yield trial
        world.close()
        trial.close()


def test_forged_messages_end_no_worker_keep_none_busy_and_are_set_aside_with_a_reason(trial: Trial) -> None:
    trial.start()
    trial.push(forged_messages(7, 120))
    eventually(trial.is_drained)

    served, spins, touched = trial.is_served(1), trial.spins(), trial.touched()

    kept = trial.world.client.lrange("crawl:refused", 0, -1)
    reasons = {text.partition(b"\n")[0].partition(b" ")[2] for text in kept}
    assert (served, spins, touched) == (True, False, [])
    assert len(kept) > 40
    assert b"" not in reasons
    assert any(b"celery." in text and b"KeyError" in text for text in kept)
    assert any(b"compressed" in reason for reason in reasons)


def test_hostile_sites_touch_no_file_module_secret_or_address_of_a_worker(trial: Trial) -> None:
    names = trial.publish(hostile_sites(7, 60, directory=str(trial.directory), port=trial.canary.port))
    trial.start()
    eventually(lambda: trial.is_settled(names))

    served, spins, touched = trial.is_served(2), trial.spins(), trial.touched()

    reasons = trial.reasons(names)
    assert (served, spins, touched) == (True, False, [])
    assert len(reasons) == len(names)
    assert sum("which alone opens nothing here" in reason for reason in reasons.values()) > 20
