"""`crawl-tasks schedule`: what it shows, and what it changes on a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.schedule import span
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Items, Lease, Parsed, Request, Stage, State
from crawl_tasks.monitor.problems.registry import KINDS
from crawl_tasks.operate.schedule import HOLDING_SCANS
from tests.far import FarServer
from tests.frontier.by_hand import TERMS, board
from tests.unit.command_line import Command, run, site_text, write_site

MANY = 60


def test_the_problems_that_hold_scans_are_those_of_the_registry() -> None:
    assert HOLDING_SCANS - KINDS.keys() == set()


def rows(command: Command) -> dict[str, dict[str, object]]:
    lines = command("schedule", "list", "--json").stdout.splitlines()
    return {row["board"]: row for row in map(json.loads, lines)}


def test_the_schedule_says_how_often_and_when(command: Command) -> None:
    said = command("schedule", "list", "tiny")

    first, second = said.stdout.splitlines()
    assert first.split() == ["tiny/1", "every", "10m", "(60s", "to", "24h)", "due", "never", "scanned"]
    assert "tiny/b2" in second
    assert "every 60s (fixed)" in second


def test_the_schedule_of_many_sites_takes_few_round_trips(
    client: redis.Redis, redis_server: RedisServer, tmp_path: Path
) -> None:
    for number in range(MANY):
        Frontier(client, "test").sites.publish(f"site{number}", "v1", "{}", TERMS, [board("1")])

    with FarServer(redis_server.port, 0) as far:
        said = run("schedule", "list", "--most", "1", home=tmp_path, redis_url=f"redis://127.0.0.1:{far.port}/0")

    assert (said.exit_code, "--most 1 is the limit" in said.stdout, far.asked < MANY) == (Exit.OK, True, True)


def test_an_interval_is_changed_for_one_board_and_survives_publishing(command: Command) -> None:
    said = command("schedule", "set", "tiny/b2", "--interval", "5m")

    assert command("sites", "check").exit_code == Exit.OK
    assert said.stdout == "tiny: 1 board scanned every 5m\n"
    assert rows(command)["b2"]["fixed_ms"] == 300_000
    [line] = command("schedule", "list", "tiny/b2").stdout.splitlines()
    assert "set by hand" in line
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
        (["list", "tiny/9"], "site tiny has no board '9'; crawl-tasks schedule list tiny names them"),
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


def park_first_page(frontier: Frontier, client: redis.Redis, board: str) -> None:
    """Let the scan of one board end with a parked page, and that of the other board well."""
    frontier.produce()
    while waiting := client.zrange("test:s:tiny:released:list", 0, 0):
        held = frontier.lease("tiny", int(waiting[0]))
        assert isinstance(held, Lease)
        if held.request.key == board:
            assert frontier.fail(held, Verdict(State.PARKED, "parse", "no rows"))
        else:
            frontier.commit(held, Parsed(Items("tiny")))


def test_a_mended_file_asks_for_a_parked_board_page_at_its_new_address(
    command: Command, client: redis.Redis, tmp_path: Path
) -> None:
    frontier = Frontier(client, "test")
    park_first_page(frontier, client, "1")
    write_site(tmp_path, site_text().replace("/list/{board}/{page}", "/forum/{board}?p={page}"))

    said = command("sites", "check")

    assert "tiny: 1 failed page with another address now, ready again" in said.stdout
    [rid] = client.zrange("test:s:tiny:released:list", 0, -1)
    again = frontier.lease("tiny", int(rid))
    assert isinstance(again, Lease)
    assert again.request.address == "http://127.0.0.1:8765/forum/1?p=1"
    assert again.attempt == 1
    frontier.commit(again, Parsed(Items("tiny")))
    assert "0 problems" not in command("check").stdout  # beat is silent
    assert command("check").stdout.startswith("tiny: admitted 2 =")


def test_only_addresses_that_follow_from_the_file_are_changed(
    command: Command, client: redis.Redis, tmp_path: Path
) -> None:
    frontier = Frontier(client, "test")
    for number, path in ((1, "post/1"), (2, "link/2-of-a-row")):
        frontier.admit("tiny", [Request("tiny", Stage.POST, str(number), f"http://127.0.0.1:8765/{path}")])
    for rid in (1, 2):
        held = frontier.lease("tiny", rid)
        assert isinstance(held, Lease)
        frontier.fail(held, Verdict(State.DEAD, "timeout", ""))
    write_site(tmp_path, site_text().replace("/post/{post}", "/thread/{post}"))

    command("sites", "check")

    dead = Admin(frontier).failed.requests.list(Selection("tiny"))
    assert [one.request.address for one in dead] == ["http://127.0.0.1:8765/link/2-of-a-row"]


def test_schedule_now_says_why_nothing_happens(command: Command, client: redis.Redis) -> None:
    frontier = Frontier(client, "test")
    park_first_page(frontier, client, "1")
    command("pause", "tiny", "--why", "for the night")

    said = command("schedule", "now", "tiny/1").stderr

    assert "tiny: a page of 1 is parked, and holds its scan; mend it, then crawl-tasks failed retry --site tiny" in said
    assert "for the night; go on with crawl-tasks resume tiny" in said
    assert "list: no worker serves this queue" in said
    assert "comment" not in said
