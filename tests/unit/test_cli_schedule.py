"""`crawl-tasks schedule`: what it shows, and what it changes on a real server."""

from __future__ import annotations

import json

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.schedule import span
from crawl_tasks.frontier.frontier import Frontier
from tests.unit.command_line import Command


def rows(command: Command) -> dict[str, dict[str, object]]:
    lines = command("schedule", "list", "--json").stdout.splitlines()
    return {row["board"]: row for row in map(json.loads, lines)}


def test_the_schedule_says_how_often_and_when(command: Command) -> None:
    said = command("schedule", "list", "tiny")

    first, second = said.stdout.splitlines()
    assert first.split() == ["tiny/1", "every", "10m", "(60s", "to", "24h)", "due", "never", "scanned"]
    assert "tiny/b2" in second
    assert "every 60s (fixed)" in second


def test_an_interval_is_changed_for_one_board_and_survives_publishing(command: Command) -> None:
    said = command("schedule", "set", "tiny/b2", "--interval", "5m")

    assert command("sites", "check").exit_code == Exit.OK
    assert said.stdout == "tiny: 1 board scanned every 5m\n"
    assert rows(command)["b2"]["fixed_ms"] == 300_000
    assert "set by hand" in command("schedule", "list").stdout
    assert command("schedule", "set", "tiny", "--site-file").exit_code == Exit.OK
    assert rows(command)["b2"]["interval_ms"] == 60_000


def test_all_boards_of_a_site_are_held_and_go_on(command: Command, client: redis.Redis) -> None:
    frontier = Frontier(client, "test")

    assert command("schedule", "hold", "tiny").stdout.startswith("tiny: 2 boards held")
    assert "2 stay held" in command("schedule", "now", "tiny").stdout
    assert frontier.produce()[0] == 0

    assert command("schedule", "go", "tiny/1").stdout == "tiny: 1 board scanned again\n"
    assert frontier.produce()[0] == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["now", "tiny/9"], "site tiny has no board '9'; crawl-tasks schedule list tiny names them"),
        (["now", "nowhere"], "site 'nowhere' is not published"),
        (["set", "tiny", "--interval", "soon"], "'soon' is no duration; write 90, 90s, 5m, 2h or 1d"),
        (["set", "tiny", "--interval", "0"], "not between a second and a year"),
        (["set", "tiny"], "give one of --interval and --site-file"),
        (["set", "tiny", "--interval", "5m", "--site-file"], "give one of --interval and --site-file"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_with_a_remedy(
    command: Command, arguments: list[str], complaint: str
) -> None:
    said = command("schedule", *arguments)

    assert said.exit_code == Exit.USAGE
    assert complaint in said.stderr


@pytest.mark.parametrize(
    ("ms", "text"), [(0, "0s"), (-5, "0s"), (90_000, "90s"), (300_000, "5m"), (7_200_000, "2h"), (172_800_000, "2d")]
)
def test_a_duration_is_written_in_its_largest_fitting_unit(ms: int, text: str) -> None:
    assert span(ms) == text
