"""States of a whole installation, each in an installation of its own: what all places say, and until when."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from crawl_tasks.monitor.problems.registry import KINDS
from tests.waiting import eventually
from tests.watched.backends import BACKEND_STATES
from tests.watched.forum import Forum
from tests.watched.places import PROMETHEUS, Installation, Row, judgement
from tests.watched.processes import PROCESS_STATES
from tests.watched.remedies import is_last, is_look, start_celery, type_it, typed_commands
from tests.watched.whole import WholeState

MOST_S: Final = 180.0
WHOLE_STATES: Final = (*PROCESS_STATES, *BACKEND_STATES)


def try_whole(state: WholeState, directory: Path) -> str:
    """Bring about a state, and return a line of the table."""
    there = Installation(directory)
    try:
        _start(there, state)
        state.begin(there)
        told, rules, faults = _follow(there, state)
        code, rows = there.check()
        views = {"check": _names(rows), "status": _names(there.status()), "api": _names(there.snapshot())}
        if not views["status"]:
            del views["status"]  # it ends with an error that says the same
        if len({tuple(view) for view in views.values()}) != 1:
            faults.append(f"contradiction: {views}")
        faults += [f"told besides: {name}" for name in views["check"] if name not in state.kinds + state.also]
        faults += _type(there, rows, looks=True)
        state.mend(there)
        faults += _type_mends(there, state, rows)
        gone = _end(there, state)
        if state.ends and gone is None:
            faults.append("told after it was mended")
        cells = [state.what, ", ".join(f"`{name}`" for name in views["check"]), str(code), _seconds(told)]
        fired = ", ".join(f"{subject}: {names}" for subject, names in rules.items())
        return f"| {' | '.join([*cells, fired or '-', _seconds(gone), '; '.join(faults) or 'none'])} |"
    finally:
        there.close()


def _start(there: Installation, state: WholeState) -> None:
    state.prepare(there)
    there.add("forum", Forum(), more=state.site)
    code, text = there.command("sites", "check")
    assert code == 0, text
    for name in state.workers:
        there.world.start_worker(name, name)
    for name in state.workers:
        there.world.wait_for_worker(name)
    there.start(workers=False)
    eventually(lambda: _answers(there), every_s=0.5)
    state.before(there)
    eventually(lambda: there.posts_done() > 0 or state.is_from_start, every_s=0.5)
    time.sleep(5)


def _type(there: Installation, rows: list[Row], *, looks: bool) -> list[str]:
    """Type the commands that look, or the others but for those that give a site up."""
    return [
        fault
        for subject in {row["subject"] for row in rows}
        for typed in typed_commands(rows, subject)
        if typed and is_look(typed) == looks and not is_last(typed)
        for fault in type_it(there, typed)
    ]


def _type_mends(there: Installation, state: WholeState, rows: list[Row]) -> list[str]:
    if not state.types:
        return []
    if state.types == "celery":
        return [] if start_celery(there, rows) else ["no remedy names celery"]
    subjects = {row["subject"] for row in rows}
    commands = [" ".join(typed) for subject in subjects for typed in typed_commands(rows, subject)]
    named = any(command.startswith(state.types) for command in commands)
    return _type(there, rows, looks=False) if named else [f"no remedy names {state.types}"]


def _end(there: Installation, state: WholeState) -> float | None:
    """Wait until the state is told no more, and return after how many seconds."""
    began = time.monotonic()
    while state.ends and time.monotonic() - began < MOST_S:
        if not set(_names(there.snapshot())) & set(state.kinds):
            return time.monotonic() - began
        time.sleep(0.5)
    return None


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.0f} s"


def _follow(there: Installation, state: WholeState) -> tuple[float | None, dict[str, list[str]], list[str]]:
    """Wait until the state is told and its rules fire. Return when it was told, what fires, and what is silent."""
    wanted = {name for name in state.kinds if KINDS[name.split()[0]].rule}
    began = time.monotonic()
    told: float | None = None
    firing: dict[str, list[str]] = {}
    while time.monotonic() - began < MOST_S:
        found = _names(there.snapshot())
        firing = {subject: sorted(names) for subject, names in there.firing().items() if names}
        fired = {f"{name} {subject}".strip() for subject, names in firing.items() for name in names}
        if told is None and set(state.kinds) <= set(found):
            told = time.monotonic() - began
        if told is not None and (PROMETHEUS is None or wanted <= fired):
            break
        time.sleep(1)
    else:
        return (
            told,
            firing,
            [f"silent: {name}" for name in state.kinds if name not in found]
            + [f"no rule fires: {name}" for name in wanted - fired],
        )
    return told, firing, []


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
