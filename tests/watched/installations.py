"""States of a whole installation, each in an installation of its own: what all places say, and until when."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.flow.world import CELERY
from tests.waiting import eventually
from tests.watched.forum import Forum
from tests.watched.places import Installation, Row, judgement

Act = Callable[[Installation], None]

MOST_S: Final = 150.0


def _nothing(there: Installation) -> None:
    time.sleep(0)


def ends(*names: str) -> Act:
    def act(there: Installation) -> None:
        for name in names:
            there.world.processes[name].terminate()
        for name in names:
            there.world.processes.pop(name).wait()

    return act


def kills(name: str) -> Act:
    return lambda there: there.world.kill(name)


def starts_worker(name: str, queues: str) -> Act:
    return lambda there: there.world.start_worker(name, queues) and None


def starts_beat(there: Installation) -> None:
    there.world.start("beat", *CELERY, "beat")


def _sender(there: Installation) -> None:
    there.world.start("alerts", sys.executable, "-m", "crawl_tasks", "alerts")
    eventually(lambda: there.world.client.hexists("crawl:stats", "alerts_at"))


def _crash_again_and_again(there: Installation) -> None:
    for turn in range(4):
        births = there.world.client.zcard("crawl:births")
        there.world.worker(f"crashing{turn}", "list")
        eventually(lambda known=births: there.world.client.zcard("crawl:births") > known)
        there.world.kill(f"crashing{turn}")


def _freeze(name: str) -> Act:
    return lambda there: os.killpg(there.world.processes[name].pid, signal.SIGSTOP)


def _thaw(name: str) -> Act:
    return lambda there: os.killpg(there.world.processes[name].pid, signal.SIGCONT)


def _fill_redis(there: Installation) -> None:
    there.world.client.config_set("maxmemory", 1)


def _free_redis(there: Installation) -> None:
    there.world.client.config_set("maxmemory", 0)


def _empty_redis(there: Installation) -> None:
    there.world.client.flushall()


def _recover(there: Installation) -> None:
    code, text = there.command("recover")
    assert code == 0, text


def _lock_database(there: Installation) -> None:
    there.locker = sqlite3.connect(there.world.directory / "crawl.db", isolation_level=None)  # type: ignore[attr-defined]
    there.locker.execute("begin exclusive")  # type: ignore[attr-defined]


def _unlock_database(there: Installation) -> None:
    there.locker.rollback()  # type: ignore[attr-defined]
    there.locker.close()  # type: ignore[attr-defined]


def _break_database(there: Installation) -> None:
    with closing(sqlite3.connect(there.world.directory / "crawl.db")) as database:
        database.execute("alter table comments rename to comments_away")
        database.commit()


def _mend_database(there: Installation) -> None:
    with closing(sqlite3.connect(there.world.directory / "crawl.db")) as database:
        database.execute("drop table if exists comments")
        database.execute("alter table comments_away rename to comments")
        database.commit()


@dataclass(frozen=True)
class WholeState:
    """A state of an installation. `kinds` are told of it, by name and subject."""

    name: str
    what: str
    kinds: tuple[str, ...]
    begin: Act
    mend: Act = _nothing
    before: Act = _nothing
    workers: tuple[str, ...] = ("list", "detail", "store")
    ends: bool = True


WHOLE_STATES = (
    WholeState("nodetail", "no worker of posts and comments", ("CrawlNoWorker comment", "CrawlNoWorker post"),
               ends("detail"), starts_worker("detail", "detail")),
    WholeState("nobeat", "beat is dead", ("CrawlBeatSilent",), kills("beat"), starts_beat),
    WholeState("nothing", "no process runs", ("CrawlBeatSilent", "CrawlNoWorker list"),
               ends("list", "detail", "store", "beat"), ends=False),
    WholeState("nostore", "no worker stores", ("CrawlNoWorker store",), ends("store"), starts_worker("store", "store")),
    WholeState("frozen", "a worker is frozen", ("CrawlNoWorker list",), _freeze("list"), _thaw("list")),
    WholeState("crashing", "a worker is killed again and again", ("CrawlWorkersDie",), _crash_again_and_again,
               ends=False),
    WholeState("nosender", "the sender of alerts is killed", ("CrawlAlertsSilent",), kills("alerts"), _sender,
               before=_sender),
    WholeState("full", "Redis is full", ("CrawlRedisRefuses",), _fill_redis, _free_redis),
    WholeState("emptied", "Redis was emptied", ("CrawlHalted",), _empty_redis, _recover),
    WholeState("locked", "the database is locked", ("CrawlStoreFails",), _lock_database, _unlock_database),
    WholeState("tableless", "a table of the database is gone", ("CrawlStoreFails",), _break_database, _mend_database),
)  # fmt: skip


def try_whole(state: WholeState, directory: Path) -> str:
    """Bring about a state, and return a line of the table."""
    there = Installation(directory)
    try:
        there.add("forum", Forum())
        assert there.command("sites", "check")[0] == 0
        for name in state.workers:
            there.world.start_worker(name, name)
        for name in state.workers:
            there.world.wait_for_worker(name)
        there.start(workers=False)
        eventually(lambda: _answers(there), every_s=0.5)
        eventually(lambda: (there.world.directory / "crawl.db").exists())
        state.before(there)
        time.sleep(5)
        state.begin(there)
        told, rules, silent = _follow(there, state)
        code, rows = there.check()
        views = {"check": _names(rows), "status": _names(there.status()), "api": _names(there.snapshot())}
        if not views["status"]:
            del views["status"]  # it ends with an error that says the same
        state.mend(there)
        began = time.monotonic()
        gone = None
        while state.ends and gone is None and time.monotonic() - began < MOST_S:
            gone = None if set(_names(there.snapshot())) & set(state.kinds) else time.monotonic() - began
            time.sleep(0.5)
        same = len({tuple(view) for view in views.values()}) == 1
        return (
            f"{state.name:10} check={code} {views['check']} {'' if same else views} told={told} silent={silent}"
            f" rules={rules} gone={gone} left={_names(there.check()[1])}"
        )
    finally:
        there.close()


def _follow(there: Installation, state: WholeState) -> tuple[float | None, dict[str, list[str]], list[str]]:
    began = time.monotonic()
    told: float | None = None
    firing: dict[str, list[str]] = {}
    while time.monotonic() - began < MOST_S:
        found = _names(there.snapshot())
        firing = {subject: sorted(names) for subject, names in there.firing().items() if names}
        fired = {f"{name} {subject}".strip() for subject, names in firing.items() for name in names}
        if told is None and set(state.kinds) <= set(found):
            told = time.monotonic() - began
        if told is not None and set(state.kinds) <= fired:
            break
        time.sleep(1)
    found = _names(there.snapshot())
    return told, firing, [name for name in state.kinds if name not in found]


def _names(rows: list[Row]) -> list[str]:
    return [f"{name} {subject}".strip() for subject, names in judgement(rows).items() for name in names]


def _answers(there: Installation) -> bool:
    try:
        there.snapshot()
        there.firing()
    except OSError:
        return False
    return True


def main() -> None:
    """Try the named states, or all."""
    for state in WHOLE_STATES:
        if not sys.argv[1:] or state.name in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as directory:
                sys.stdout.write(f"{try_whole(state, Path(directory))}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
