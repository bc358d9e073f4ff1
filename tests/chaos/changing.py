"""A ground whose forum changes while workers die: what counts is the truth after its rest and one full pass."""

from __future__ import annotations

from contextlib import AbstractContextManager

from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.upsert import Store
from tests.changing.crawl import SITE_FILE, full_pass, start_forum
from tests.changing.judge import Judge, by_kind
from tests.chaos.ground import LEASE_MS, MANY_ATTEMPTS, ONE_SCAN_S, SITE, Ground, Verdict, new_ground
from tests.chaos.points import Role
from tests.chaos.rows import Scale
from tests.flow.world import World
from tests.waiting import PATIENCE_S

CHANGES = ("--seconds", "10", "--rate", "10", "--skew", "2", "--cache", "1", "--errors", "0.1", "--latency-ms", "5")


class ChangingWorld(World):
    """A world that is not idle before its forum rests; whoever asks until then looks for due boards, as beat does."""

    def is_resting(self) -> bool:
        """Return whether the forum has come to rest."""
        return (self.directory / "truth.json").exists()

    def is_idle(self) -> bool:
        """Return whether the forum rests and nothing is open."""
        if not self.is_resting():
            self.frontier.produce()
        return self.is_resting() and super().is_idle()


class ChangingGround(Ground):
    """A ground with another forum for each crawl, of the next seed."""

    kind_of_world = ChangingWorld
    world: ChangingWorld
    seed = 1

    def forum(self, *_: str) -> None:
        """Start the changing forum; what the demo is told to do wrong has its like in CHANGES."""
        if "forum" in self.world.processes:
            before = self.world.processes.pop("forum")
            before.terminate()
            before.wait(timeout=PATIENCE_S)
        (self.world.directory / "truth.json").unlink(missing_ok=True)
        start_forum(self.world, ("--seed", str(self.seed), *CHANGES))

    def begin(self, lease_ms: int = LEASE_MS, **gate: object) -> Site:
        """Begin a crawl of a forum that has not yet changed."""
        self.nursery.kill_all()
        self.forum()
        self.seed += 1
        return super().begin(lease_ms, **gate)

    def publish(self, lease_ms: int = LEASE_MS, **gate: object) -> Site:
        """Publish the site with leases that end soon."""
        site = load_site(SITE_FILE).relocated(self.base)
        terms = {"max_attempts": MANY_ATTEMPTS, "deadline_s": 1.0} | gate
        site = site.model_copy(update={"gate": site.gate.model_copy(update=terms)})
        self.publish_site(site, lease_ms)
        return site

    def is_idle(self) -> bool:
        """Return whether the forum rests and nothing is open; after a recovery nothing may ever have been admitted."""
        if not self.world.is_resting():
            self.world.frontier.produce()
        return self.world.is_resting() and super().is_idle()

    def judge(self) -> Verdict:
        """Let fresh workers make a full pass, and compare; how often a page may be fetched depends on what changed."""
        self._rest()
        for role in (Role.FETCH, Role.FETCH, Role.STORE):
            self.nursery.fork(role)
        self.wait_idle()
        full_pass(self.world, self.wait_idle)
        with Store(f"sqlite:///{self.database}") as store:
            found = Judge(store, self.world.directory / "truth.json", SITE).differences()
        faults = by_kind(found)
        counts = self.world.count_requests()
        faults += [said] if (said := counts.imbalance()) else []
        if counts.dead or counts.parked:
            faults.append(f"{counts.dead} requests are dead, {counts.parked} parked")
        faults += [f"{flaw['name']}: {flaw['text']}" for flaw in self.check_deep()]
        paths = [str(row["path"]) for row in self.rows()]
        return Verdict(tuple(faults), len(set(paths)), len(paths), 0)

    def _rest(self) -> None:
        """Let no beat begin scans any more."""
        site = load_site(SITE_FILE).relocated(self.base)
        seldom = site.interval.model_copy(update=dict.fromkeys(("min_s", "start_s", "max_s"), ONE_SCAN_S))
        self.publish_site(site.model_copy(update={"interval": seldom}))


def ground_of(scale: Scale, seed: int) -> AbstractContextManager[Ground]:
    """Make the ground that a scale asks for."""
    if not scale.is_changing:
        return new_ground()
    return new_ground(kind=type("SeededGround", (ChangingGround,), {"seed": seed}))
