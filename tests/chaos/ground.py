"""Where chaos happens: one installation with a Redis, a demo forum and forked workers, and the judge at its end."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.monitor.problems.ledger_kinds import FLAW_KINDS
from crawl_tasks.registry.site_publisher import board_terms, terms_of
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import dump_site
from tests.chaos.points import KillPoint, Role
from tests.flow.judge import differences
from tests.flow.world import ROOT, SITE, World
from tests.waiting import PATIENCE_S

LEASE_MS = 4000  # the crawler's own are an attempt's deadline and 15 seconds
ONE_SCAN_S = 86_400.0  # a second scan of a board would fetch its lists again, as it should
MANY_ATTEMPTS = 40  # pages are hit by more deaths here than a lifetime holds, and must not be buried for that

BINDINGS = ("_kombu.*",)


@dataclass(slots=True)
class Child:
    """A forked worker; `hit` is set when it died at its point, `code` when it ended.

    `accepted` says of one that was stopped whether its first write after that was accepted.
    """

    name: str
    role: Role
    point: KillPoint | None
    pid: int = 0
    hit: bool = False
    code: int | None = None
    accepted: bool | None = None


class Nursery:
    """The fork server and its children, as seen from outside."""

    def __init__(self, directory: Path, environment: dict[str, str], module: str = "tests.chaos.nursery") -> None:
        self.children: dict[str, Child] = {}
        self._log = directory / "workers.log"
        self._unread = b""
        self._count = 0
        with (directory / "nursery.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                cwd=directory,
                start_new_session=True,
            )
        self._said: list[str] = []
        self._pump_until(lambda: "ready" in self._said)

    def fork(self, role: Role, point: KillPoint | None = None, passes: int = 1, **more: object) -> Child:
        """Ask for a worker; it may be armed with a point to die at."""
        self._count += 1
        child = Child(f"w{self._count}", role, point)
        order: dict[str, object] = {"name": child.name, "role": role, "log": str(self._log), "signal": "SIGKILL"}
        self.children[child.name] = child
        order |= {"point": point.name if point else None, "passes": passes} | more
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        return child

    def living(self) -> list[Child]:
        """Return the children that have not ended."""
        return [child for child in self.children.values() if child.code is None]

    def pump(self, wait_s: float = 0.0) -> None:
        """Take in what the fork server reports."""
        assert self._process.stdout
        while select.select([self._process.stdout], [], [], wait_s)[0]:
            read = os.read(self._process.stdout.fileno(), 65536)
            assert read, "the fork server ended; see nursery.log"
            *lines, self._unread = (self._unread + read).split(b"\n")
            for line in lines:
                self._note(json.loads(line))
            wait_s = 0.0

    def kill(self, child: Child) -> None:
        """End one child at once, once it was born."""
        self._pump_until(lambda: child.pid > 0)
        with suppress(ProcessLookupError):  # it died just now
            os.kill(child.pid, signal.SIGKILL)
        self._pump_until(lambda: child.code is not None)
        del self.children[child.name]

    def kill_all(self) -> None:
        """End every child at once."""
        self._pump_until(lambda: all(child.pid for child in self.living()))
        for child in self.living():
            with suppress(ProcessLookupError):  # it died just now
                os.kill(child.pid, signal.SIGKILL)
        self._pump_until(lambda: not self.living())
        self.children.clear()

    def close(self) -> None:
        """End the fork server, and with it the children."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(timeout=PATIENCE_S)
        assert self._process.stdout
        self._process.stdout.close()

    def _note(self, said: dict[str, object]) -> None:
        if "ready" in said:
            self._said.append("ready")
        elif "born" in said:
            self.children[str(said["born"])].pid = int(str(said["pid"]))
        elif "hit" in said:
            self.children[str(said["hit"])].hit = True
        elif "woke" in said:
            self.children[str(said["woke"])].accepted = bool(said["accepted"])
        else:
            self.children[str(said["died"])].code = int(str(said["code"]))

    def _pump_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, "the fork server does not answer; see nursery.log"
            self.pump(0.05)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge found after a crawl: faults are what may not be; `extra` counts fetches beyond one a page.

    `overrun` counts leases that a living worker lost because it did not get on.
    """

    faults: tuple[str, ...]
    pages: int
    fetches: int
    extra: int
    overrun: int = 0


class Ground:
    """One installation. `begin` empties it; `judge` holds a finished crawl against the forum's truth and own log."""

    kind_of_world: type[World] = World

    def __init__(self, directory: Path, port: int = 0, **settings: str) -> None:
        self.server = RedisServer(directory / "redis", port)
        self.server.start()
        self.world = self.kind_of_world(directory, self.server)
        self.world.environment |= {"CRAWL_STORE_AT": "10", "CRAWL_REDIS_URL": self.server.url} | settings
        self.nursery = Nursery(directory, self.world.environment)
        self.database = directory / "crawl.db"
        self._seen = self._overrun = 0

    def forum(self, *options: str) -> None:
        """Start the demo forum; its faults are known to the judge by the log."""
        self.world.forum(*options)

    def begin(self, lease_ms: int = LEASE_MS, **gate: object) -> Site:
        """Empty Redis and database, and publish the site anew: one crawl begins."""
        self.nursery.kill_all()
        self.world.client.flushall()
        for file in self.database.parent.glob("crawl.db*"):
            file.unlink()
        self._wait_for_quiet()
        self._seen, self._overrun = len(self.world.requests()), self._overruns()
        return self.publish(lease_ms, **gate)

    def _wait_for_quiet(self, for_s: float = 0.3) -> None:
        """Wait until the forum has ended what dead workers asked it for."""
        size, since = -1, time.monotonic()
        log = self.world.directory / "requests.log"
        while time.monotonic() - since < for_s:
            if log.stat().st_size != size:
                size, since = log.stat().st_size, time.monotonic()
            self.nursery.pump(0.05)

    def publish(self, lease_ms: int = LEASE_MS, **gate: object) -> Site:
        """Publish the site with leases that end soon."""
        site = self.world.publish(self.base, **({"max_attempts": MANY_ATTEMPTS, "deadline_s": 1.0} | gate))
        once = dict.fromkeys(("min_s", "start_s", "max_s"), ONE_SCAN_S)
        site = site.model_copy(update={"interval": site.interval.model_copy(update=once)})
        self.publish_site(site, lease_ms)
        return site

    def publish_site(self, site: Site, lease_ms: int = LEASE_MS) -> None:
        """Publish a site file with leases that end soon."""
        terms = terms_of(site) | {"lease_ms": lease_ms}
        self.world.frontier.sites.publish(site.name, site.version, dump_site(site), terms, board_terms(site))

    @property
    def base(self) -> str:
        """The forum's address."""
        return self.world.base

    def wait_idle(self, every_s: float = 0.1) -> None:
        """Let the crawl end."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_idle():
            assert time.monotonic() < deadline, f"not idle within {PATIENCE_S} s: {self.world.count_requests()}"
            self.nursery.pump(every_s)

    def is_idle(self) -> bool:
        """Return whether nothing is open; after a recovery nothing may ever have been admitted."""
        return self.world.count_requests().open == 0 and self.world.frontier.outbox.size() == 0

    def rows(self) -> list[dict[str, object]]:
        """Read what the forum was asked for in this crawl, robots.txt aside."""
        return [row for row in self.world.requests()[self._seen :] if row["path"] != "/robots.txt"]

    def judge(self) -> Verdict:
        """Compare the database with the forum's truth, the ledger with itself, and count fetches by the forum's log."""
        truth = self.world.directory / "truth.json"
        faults = differences(self.database, truth) if self.database.exists() else ["there is no database"]
        counts = self.world.count_requests()
        if counts.imbalance():
            faults.append(counts.imbalance())
        if counts.dead or counts.parked:
            faults.append(f"{counts.dead} requests are dead, {counts.parked} parked")
        faults += [f"{flaw['name']}: {flaw['text']}" for flaw in self.check_deep()]
        rows = self.rows()
        asked = Counter(str(row["path"]) for row in rows)
        failed = Counter(str(row["path"]) for row in rows if row["fault"])
        paths = set(json.loads(truth.read_text())["paths"])
        faults += [f"{path} was never fetched" for path in sorted(paths - set(asked))]
        faults += [f"{path} was fetched and is no page" for path in sorted(set(asked) - paths)]
        extra = sum(max(0, times - 1 - failed[path]) for path, times in asked.items())
        return Verdict(tuple(faults), len(asked), sum(asked.values()), extra, self._overruns() - self._overrun)

    def _overruns(self) -> int:
        log = self.world.directory / "workers.log"
        return log.read_text("utf-8", "replace").count("lease lost before the commit") if log.exists() else 0

    def check_deep(self, *options: str) -> list[dict[str, str]]:
        """Return the problems of the ledger that `check --deep` finds, whatever else it finds at this moment."""
        command = [sys.executable, "-m", "crawl_tasks", "check", "--deep", "--json", *options]
        done = subprocess.run(
            command,
            env=self.world.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if not done.stdout:
            return [{"name": "check --deep", "text": done.stderr[-500:], "remedy": ""}]
        flaws = {kind.name for kind in FLAW_KINDS.values()}
        return [problem for problem in json.loads(done.stdout)["problems"] if problem["name"] in flaws]

    def close(self) -> None:
        """End everything that was started here."""
        self.nursery.close()
        self.world.close()
        self.server.stop()


@contextmanager
def new_ground(port: int = 0, kind: type[Ground] = Ground, **settings: str) -> Iterator[Ground]:
    """Make an installation in a directory of its own, with its Redis on a port, and remove it."""
    with TemporaryDirectory(prefix="crawl-chaos-") as directory:
        ground = kind(Path(directory), port, **settings)
        try:
            yield ground
        finally:
            ground.close()


__all__ = ["SITE", "Child", "Ground", "Nursery", "Verdict", "new_ground"]
