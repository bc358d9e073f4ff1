"""Ends of sessions by answers to guests: nothing is lost in silence. The whole table: session_table.py."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import redis

from crawl_tasks.fetch.browser import missing
from crawl_tasks.frontier.frontier import Frontier
from tests.frontier.session_table import ANSWERS, ENDS, PHASES, Cell, run

NOT_RIGHT = ("one node of two", "other password")
"""Ends after which nobody can read the rest as a member."""
PLACES = list(product(ENDS, ANSWERS))


@pytest.mark.parametrize("form", ["html", "json"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("turn", range(len(ENDS)))
def test_no_end_of_a_session_loses_a_thread_in_silence(
    client: redis.Redis, frontier: Frontier, tmp_path: Path, form: str, phase: str, turn: int
) -> None:
    # One cell of each row and of each column, others in each form and phase.
    place = turn + 3 * PHASES.index(phase) + (form == "json")
    cell = Cell(ENDS[turn], ANSWERS[place % len(ANSWERS)], form, phase)

    verdict = run(cell, client, frontier, tmp_path)

    allowed = ("right", "told") if cell.end in NOT_RIGHT else ("right",)
    assert verdict.partition(":")[0] in allowed, (cell, verdict)


@pytest.mark.parametrize(
    "cell",
    [
        Cell("third by another server", "fewer", "json", "news"),
        Cell("third by another server", "nothing", "json", "news"),
        Cell("one node of two", "fewer", "json", "news"),
        Cell("third by another server", "login form", "json", "first"),
        Cell("once", "login form", "json", "first"),
        Cell("cookie ends", "login form", "json", "first"),
    ],
)
def test_a_page_that_does_not_say_who_asked_is_no_proof(
    client: redis.Redis, frontier: Frontier, tmp_path: Path, cell: Cell
) -> None:
    verdict = run(cell, client, frontier, tmp_path)

    allowed = ("right", "told") if cell.end in NOT_RIGHT else ("right",)
    assert verdict.partition(":")[0] in allowed, verdict


@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize(
    ("end", "answer"),
    [
        pytest.param("each 9 requests", "404", marks=pytest.mark.long),
        pytest.param("each 9 requests", "fewer", marks=pytest.mark.long),
        ("once", "401"),
    ],
)
def test_a_session_that_ends_within_a_drawn_page_loses_nothing(
    client: redis.Redis, frontier: Frontier, tmp_path: Path, end: str, answer: str
) -> None:
    assert run(Cell(end, answer, "drawn"), client, frontier, tmp_path) == "right"
