"""Four forums watched at once: one in order, one that fails now and then, one slow, one that an operator pauses."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Site
from tests.flow.world import CELERY, ROOT, World, whole_lines
from tests.waiting import eventually

FORUMS = {
    "healthy": (),
    "failing": (
        "--fault=error /post/[0-9]*7",  # for ever: buried after the last attempt
        "--fault=changed_markup /post/[0-9]*3",  # parked, and too few to shut the stage
        "--fault=error /comment/.* times=1",  # read at the second attempt
    ),
    "slow": ("--latency-ms", "150"),
    "paused": ("--latency-ms", "200"),  # so that much is left when it is paused
}
PAUSED_AFTER = 20
GATE = {"window": 8, "delay_s": 0.0, "retry_base_s": 0.2, "retry_max_s": 0.5}


@dataclass(frozen=True, slots=True)
class Visit:
    """One line of a forum's own log, robots.txt aside."""

    path: str
    stage: str
    status: str
    fault: str


class FourSites:
    """The forums, their sites, and a world of two list, three detail and one store process with all that watches."""

    def __init__(self, world: World) -> None:
        self.world = world
        for number, (name, options) in enumerate(FORUMS.items(), 1):
            files = [f"--{kind}={self._file(name, kind)}" for kind in ("port-file", "truth", "log")]
            command = [sys.executable, "-m", "tests.faulty", "--port=0", f"--seed={number}"]
            world.start(f"forum-{name}", *command, *files, *options)
        for name in FORUMS:  # one after the other is ready; all have started
            port = self._file(name, "port-file")
            eventually(lambda port=port: port.exists() and port.read_text().strip())
            publish_site(world.frontier, site_at(name, f"http://127.0.0.1:{int(port.read_text())}"), contact=None)

    def start_workers(self) -> None:
        """Start them side by side, and return when all consume."""
        queues = {"list1": "list", "list2": "list", "store": "store"}
        queues |= {f"detail{number}": "detail" for number in (1, 2, 3)}
        for name, queue in queues.items():
            threads = "1" if name == "store" else "8"
            self.world.start(
                name, *CELERY, "worker", "-Q", queue, "-n", f"{name}@%h", "-E", "-l", "info", "-c", threads
            )
        eventually(lambda: all(f"{name}@" in self.world.ready_workers() for name in queues), every_s=0.1)

    def done(self, name: str) -> int:
        return Inspector(self.world.frontier).count_requests(name).done

    def pause_in_time(self) -> None:
        """Pause the site that is to be paused when a few of its pages are done, and wait for those in hand."""
        eventually(lambda: self.done("paused") >= PAUSED_AFTER)
        self.world.frontier.sites.pause("paused")
        eventually(lambda: Inspector(self.world.frontier).count_requests("paused").leased == 0)

    def is_over(self) -> bool:
        """Return whether nothing is left to do but on the paused site."""
        all_counts = [Inspector(self.world.frontier).count_requests(name) for name in FORUMS if name != "paused"]
        return all(c.admitted and not c.open for c in all_counts) and self.world.frontier.outbox.size() == 0

    def visits(self, name: str) -> list[Visit]:
        rows = map(json.loads, whole_lines(self._file(name, "log")))
        return [
            Visit(str(row["path"]), str(row["path"]).split("/")[1], str(row["status"]), str(row["fault"]))
            for row in rows
            if row["path"] != "/robots.txt"
        ]

    def truth_file(self, name: str) -> Path:
        return self._file(name, "truth")

    def _file(self, name: str, kind: str) -> Path:
        return self.world.directory / f"{name}.{kind}"


def site_at(name: str, base: str) -> Site:
    """Return the demo forum's site under another name and place, scanned once an hour."""
    demo = load_site(ROOT / "config" / "sites" / "demo.yaml").relocated(base)
    changes = {"name": name, "gate": GATE, "interval": {"min_s": 3600, "start_s": 3600, "max_s": 3600}}
    return Site.model_validate(demo.model_dump(by_alias=True, exclude_defaults=True) | changes)
