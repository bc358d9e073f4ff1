"""The long form: python -m tests.hostile [--messages N] [--sites N] [--seed N]. Ends with 1 where a canary sang."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from crawl_tasks.local.redis_server import RedisServer
from tests.flow.world import World
from tests.hostile.forged import forged_messages
from tests.hostile.sites import hostile_sites
from tests.hostile.trial import Trial
from tests.waiting import eventually


def main() -> int:
    """Run both trials in a world of their own, and print what became of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    for name in ("--messages", "--sites"):
        parser.add_argument(name, type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    faults = []
    for part, count in (("messages", chosen.messages), ("sites", chosen.sites)):
        with tempfile.TemporaryDirectory(prefix="crawl-hostile-") as directory:
            faults += _try(part, count, chosen.seed, Path(directory))
    return 1 if faults else 0


def _try(part: str, count: int, seed: int, directory: Path) -> list[str]:
    with RedisServer(directory / "redis") as server:
        world = World(directory, server)
        trial = Trial(world)
        try:
            trial.start()
            if part == "messages":
                trial.push(forged_messages(seed, count))
                eventually(trial.is_drained, every_s=0.2)
                kept = [text.partition(b"\n")[0].decode("utf-8", "replace") for text in _refused(world)]
                reasons = Counter(text.partition(" ")[2][:70] for text in kept)
            else:
                names = trial.publish(
                    hostile_sites(seed, count, directory=str(trial.directory), port=trial.canary.port)
                )
                eventually(lambda: trial.is_settled(names), every_s=0.5)
                reasons = Counter(text[:70] for text in trial.reasons(names).values())
            served = trial.is_served(1)
            touched = trial.touched()
            faults = touched + ["the worker spins"] * trial.spins() + ["no page is served"] * (not served)
            print(f"{count} {part}, seed {seed}: {sum(reasons.values())} with a reason; {faults or 'nothing gave way'}")
            for reason, times in reasons.most_common(12):
                print(f"  {times:4} {reason!r}")
        finally:
            world.close()
            trial.close()
    return faults


def _refused(world: World) -> list[bytes]:
    kept: list[bytes] = world.client.lrange("crawl:refused", 0, -1)
    return kept


if __name__ == "__main__":
    sys.exit(main())
