"""A trial: sites fall ill one state each and get well again, and what each place says meanwhile is noted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.waiting import eventually
from tests.watched.places import PROMETHEUS, Installation, Row, get, judgement
from tests.watched.remedies import is_last, is_look, type_it, typed_commands
from tests.watched.states import State

THREADS: Final = 6
"""The threads of a forum of the trial."""


@dataclass
class Course:
    """The course of a state: seconds until each place told it and until none did, what differed, what did not work."""

    told: dict[str, float] = field(default_factory=dict)
    ended: float | None = None
    views: dict[str, list[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    @property
    def is_one_judgement(self) -> bool:
        """Return whether all places but the alert rules named the same problems in the same order."""
        return len({tuple(names) for place, names in self.views.items() if place != "rules"}) == 1


class Trial:
    """The states of one site each, in one installation."""

    def __init__(self, states: Sequence[State], directory: Path) -> None:
        self.states = states
        self.there = Installation(directory)
        self.there.world.environment["FORUM_PASS"] = "secret-password"
        for state in states:
            self.there.add(state.name, state.forum(), **state.site)
        code, text = self.there.command("sites", "check")
        assert code == 0, text
        self.courses = {state.name: Course() for state in states}
        self._problems: list[Row] = []

    def start(self) -> None:
        """Start all processes, and return when each healthy forum was crawled."""
        self.there.start()
        eventually(self._is_watched, every_s=0.5)

    def _is_watched(self) -> bool:
        try:
            rows = {row["site"]: row for row in json.loads(get(f"{self.there.exporter}/api/snapshot"))["sites"]}
            self.there.firing()
        except OSError:
            return False
        healthy = [rows[state.name] for state in self.states if not state.is_from_start]
        # Pages are open again and again, as the forums have news every few seconds.
        return all(row["boards"]["unscanned"] == 0 and row["stages"]["post"]["done"] >= THREADS for row in healthy)

    def fall_ill(self, most_s: float) -> None:
        """Begin all states, and wait until each is told by all places, for at most so long."""
        for state in self.states:
            state.begin(self.there, state.name)
        self._follow(most_s, self._note_told)

    def _note_told(self, at_s: float) -> bool:
        found, firing = judgement(self.there.snapshot()), self.there.firing()
        for state in self.states:
            told = self.courses[state.name].told
            for name in found.get(state.name, []):
                told.setdefault(name, at_s)
            for name in firing.get(state.name, ()):
                told.setdefault(f"rule {name}", at_s)
        return all(
            set(state.kinds) <= set(found.get(state.name, []))
            and (PROMETHEUS is None or set(state.rules) <= firing.get(state.name, set()))
            for state in self.states
        )

    def look(self) -> None:
        """Type the commands of remedies that look, in the states that they are for."""
        for state in self.states:
            for typed in typed_commands(self._problems, state.name):
                if is_look(typed):
                    self.courses[state.name].failed += type_it(self.there, typed)

    def ask(self) -> int:
        """Ask each place until all say the same, for some looks at most, and return the exit code of `check`."""
        for _ in range(5):
            snapshot = judgement(self.there.snapshot())
            code, self._problems = self.there.check()
            status, check = judgement(self.there.status()), judgement(self.there.check()[1])
            rules = self.there.firing()
            for name, course in self.courses.items():
                views = {"check": check, "status": status, "api": snapshot}
                course.views = {place: view.get(name, []) for place, view in views.items()}
                course.views["rules"] = sorted(rules.get(name, ()))
            if all(course.is_one_judgement for course in self.courses.values()):
                break
        return code

    def get_well(self, most_s: float) -> None:
        """Mend each cause, type the commands of its remedies, and wait until none is told, for at most so long."""
        for state in self.states:
            state.mend(self.there, state.name)
            self._type_remedies(state)
        self._follow(most_s, self._note_ended)

    def _type_remedies(self, state: State) -> None:
        commands = typed_commands(self._problems, state.name)
        failed = self.courses[state.name].failed
        if state.types and not any(" ".join(typed).startswith(state.types) for typed in commands):
            failed.append(f"no remedy names {state.types}")
        for typed in commands:
            if not is_look(typed) and not is_last(typed):
                failed += type_it(self.there, typed)

    def give_up(self) -> None:
        """Type the commands of remedies that give a site up."""
        for state in self.states:
            for typed in typed_commands(self._problems, state.name):
                if is_last(typed):
                    self.courses[state.name].failed += type_it(self.there, typed)

    def _note_ended(self, at_s: float) -> bool:
        found = judgement(self.there.snapshot())
        for state in self.states:
            course = self.courses[state.name]
            if set(found.get(state.name, [])) & set(state.kinds):
                course.ended = None
            elif course.ended is None:
                course.ended = at_s
        return all(self.courses[state.name].ended is not None for state in self.states if state.ends)

    @staticmethod
    def _follow(most_s: float, note: Callable[[float], bool]) -> None:
        began = time.monotonic()
        while not note(time.monotonic() - began) and time.monotonic() - began < most_s:
            time.sleep(1.0)
