"""Sites in many states at once, with real processes: all places say the same of each, and what they advise works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawl_tasks.cli.exits import Exit
from tests.watched.places import PROMETHEUS
from tests.watched.runs import run_ill
from tests.watched.states import STATES, State
from tests.watched.trial import Course, Trial

pytestmark = pytest.mark.flow

IN_CI = [state for state in STATES if state.in_ci]
OF_RUNS = [state for state in STATES if state.name in ("denied", "miscounted")]
MOST_S = 120.0


@pytest.fixture(scope="module")
def courses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Course]]:
    trial = Trial(IN_CI, tmp_path_factory.mktemp("watched"))
    try:
        trial.start()
        trial.fall_ill(MOST_S)
        assert trial.ask() == Exit.FAILURES
        trial.get_well(MOST_S)
        yield trial.courses
    finally:
        trial.there.close()


@pytest.mark.parametrize("state", IN_CI, ids=[state.name for state in IN_CI])
def test_all_places_say_the_same_of_a_state_and_it_ends_by_what_they_advise(
    state: State, courses: dict[str, Course]
) -> None:
    course = courses[state.name]
    found = course.views["check"]

    assert course.is_one_judgement, course.views
    assert found[: len(state.kinds)] == list(state.kinds)
    assert set(found) <= {*state.kinds, *state.also}
    assert PROMETHEUS is None or set(state.rules) <= set(course.views["rules"]), course
    assert course.failed == []
    assert course.ended is not None or not state.ends


@pytest.mark.parametrize(
    "state",
    [pytest.param(state, id=state.name, marks=[pytest.mark.long] * (state.name == "denied")) for state in OF_RUNS],
)
def test_a_run_ends_as_check_says(state: State, tmp_path_factory: pytest.TempPathFactory) -> None:
    end = run_ill(state, tmp_path_factory.mktemp("run"))

    assert set(state.kinds) <= {row["name"] for row in end.rows}
    assert (end.code, end.unsaid) == (Exit.FAILURES, []), end.said
