"""States of the processes of an installation: absent, killed, frozen, of another version, refused at their start."""

from __future__ import annotations

import os
import signal
import sys
from typing import Final

from tests.alerts.receiver import open_inbox
from tests.flow.world import CELERY, ROOT
from tests.waiting import eventually
from tests.watched.places import Installation
from tests.watched.whole import Act, WholeState


def ends(*names: str) -> Act:
    def act(there: Installation) -> None:
        for name in names:
            there.world.processes[name].terminate()
        for name in names:
            there.world.processes.pop(name).wait()

    return act


def kills(name: str) -> Act:
    return lambda there: there.world.kill(name)


def starts_beat(there: Installation) -> None:
    there.world.start("beat", *CELERY, "beat")


def _sender(there: Installation) -> None:
    there.world.start("alerts", sys.executable, "-m", "crawl_tasks", "alerts")
    eventually(lambda: there.world.client.hexists("crawl:stats", "alerts_at"))


_HASTY: Final = (
    "from crawl_tasks.monitor.alerts.notifier import Notifier; Notifier.__init__.__kwdefaults__['hold_ms'] = 1_000;"
    " from crawl_tasks.cli.main import main; main()"
)
"""Two minutes until the first message are long for a test."""


def _unheard_sender(there: Installation) -> None:
    there.inbox = there.stack.enter_context(open_inbox())
    there.inbox.status = 500
    there.world.environment["CRAWL_ALERT_TO"] = there.inbox.url
    there.world.start("alerts", sys.executable, "-c", _HASTY, "alerts")
    eventually(lambda: there.world.client.hexists("crawl:stats", "alerts_at"))


def _heed(there: Installation) -> None:
    there.inbox.status = 200
    starts_beat(there)


def _starts(there: Installation) -> int:
    return int(there.world.client.hget("crawl:stats", "worker_starts") or 0)


def _crash_again_and_again(there: Installation) -> None:
    for turn in range(4):
        there.world.worker(f"crashing{turn}", "list")
        there.world.kill(f"crashing{turn}")


def _die_at_birth(there: Installation) -> None:
    for turn in range(4):
        begun = _starts(there)
        there.world.start_worker(f"stillborn{turn}", "list")
        eventually(lambda known=begun: _starts(there) > known)
        there.world.kill(f"stillborn{turn}")


def _start_misconfigured(there: Installation) -> None:
    for turn in range(4):
        there.world.start_worker(f"refused{turn}", "detail", "--time-limit=9")
        assert there.world.processes.pop(f"refused{turn}").wait() != 0


def freezes(name: str) -> Act:
    return lambda there: os.killpg(there.world.processes[name].pid, signal.SIGSTOP)


def thaws(name: str) -> Act:
    return lambda there: os.killpg(there.world.processes[name].pid, signal.SIGCONT)


def _start_older(there: Installation) -> None:
    """Start a worker that takes itself for an older version."""
    metadata = there.world.directory / "older" / "crawl_tasks-0.0.1.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: crawl_tasks\nVersion: 0.0.1\n")
    with there.world.environment_of(PYTHONPATH=f"{metadata.parent.parent}{os.pathsep}{ROOT}"):
        there.world.worker("older", "detail")


def _start_with_other_key(there: Installation) -> None:
    with there.world.environment_of(CRAWL_START_KEY="elsewhere"):
        there.world.worker("other", "detail")


def _start_ahead(there: Installation) -> None:
    there.world.start("ahead", "faketime", "-f", "+1h", *CELERY, "worker", "-Q", "detail", "-n", "ahead@%h")


def _end_ahead(there: Installation) -> None:
    process = there.world.processes.pop("ahead")
    os.killpg(process.pid, signal.SIGTERM)  # faketime starts the worker as a child
    process.wait()


PROCESS_STATES = (
    WholeState("nodetail", "no worker of posts and comments", ("CrawlNoWorker comment", "CrawlNoWorker post"),
               ends("detail"), types="celery"),
    WholeState("nobeat", "beat is dead", ("CrawlBeatSilent",), kills("beat"), types="celery"),
    WholeState("nothing", "no process runs", ("CrawlBeatSilent", "CrawlNoWorker list"),
               ends("list", "detail", "store", "beat"), types="celery",
               also=tuple(f"CrawlNoWorker {queue}" for queue in ("post", "comment", "store", "control"))),
    WholeState("nostore", "no worker stores", ("CrawlNoWorker store",), ends("store"), types="celery"),
    WholeState("frozen", "a worker is frozen", ("CrawlNoWorker list",), freezes("list"), thaws("list"),
               also=("CrawlNoWorker control",)),
    WholeState("frozenstore", "the store worker is frozen", ("CrawlNoWorker store",), freezes("store"),
               thaws("store")),
    WholeState("frozenbeat", "beat is frozen", ("CrawlBeatSilent",), freezes("beat"), thaws("beat")),
    WholeState("crashing", "a worker is killed again and again", ("CrawlWorkersDie",), _crash_again_and_again,
               ends=False),
    WholeState("stillborn", "workers are killed before their first heartbeat", ("CrawlWorkersDie",), _die_at_birth,
               ends=False),
    WholeState("misconfigured", "workers refuse to start again and again", ("CrawlWorkersDie",),
               _start_misconfigured, ends=False),
    WholeState("nosender", "the sender of alerts is killed", ("CrawlAlertsSilent",), kills("alerts"), _sender,
               before=_sender),
    WholeState("unheard", "no receiver takes the messages of alerts", ("CrawlBeatSilent", "CrawlAlertsUnsent"),
               kills("beat"), _heed, before=_unheard_sender),
    WholeState("older", "a worker is of another version", ("CrawlVersionsDiffer",), _start_older, ends("older")),
    WholeState("otherkey", "a worker reads other start entries", ("CrawlStartKeysDiffer",), _start_with_other_key,
               ends("other")),
    WholeState("ahead", "the clock of a worker is an hour ahead", ("CrawlWorkerClock",), _start_ahead, _end_ahead),
)  # fmt: skip
