"""Bring about the states of sites, ask all places, and print a table: python -m tests.watched [NAME ...]."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.watched.states import STATES, State
from tests.watched.trial import Course, Trial

MOST_S = 240.0
HEAD = (
    "| state | told by all places | first told | by a rule | gone after mending | at fault |\n|---|---|---|---|---|---|"
)


def main() -> None:
    """Run the trial and print its table."""
    names = sys.argv[1:]
    states = [state for state in STATES if not names or state.name in names]
    with tempfile.TemporaryDirectory() as directory:
        trial = Trial(states, Path(directory))
        try:
            trial.start()
            trial.fall_ill(MOST_S)
            trial.ask()
            trial.look()
            trial.get_well(MOST_S)
            trial.give_up()
        finally:
            trial.there.close()
    sys.stdout.write("\n".join([HEAD, *(_row(state, trial.courses[state.name]) for state in states), ""]))


def _row(state: State, course: Course) -> str:
    kinds = ", ".join(f"`{name}`" for name in course.views["check"]) or "nothing"
    first = min((at for name, at in course.told.items() if name in state.kinds), default=None)
    rule = min((at for name, at in course.told.items() if name[5:] in state.rules), default=None)
    gone = course.ended if state.ends else None
    cells = [state.what, kinds, *map(_seconds, (first, rule, gone)), "; ".join(_faults(state, course)) or "none"]
    return f"| {' | '.join(cells)} |"


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.0f} s"


def _faults(state: State, course: Course) -> Iterator[str]:
    if not course.is_one_judgement:
        yield f"contradiction: {course.views}"
    found = course.views["check"]
    if missing := [name for name in state.kinds if name not in found]:
        yield f"silent: {', '.join(missing)}"
    if surplus := set(found) - set(state.kinds) - set(state.also):
        yield f"told besides: {', '.join(sorted(surplus))}"
    if state.ends and course.ended is None:
        yield "told after it was mended"
    yield from course.failed


if __name__ == "__main__":
    main()
