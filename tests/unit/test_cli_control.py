"""Stopping sites and letting them go on; what was given up and what was refused, by the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from click.testing import Result

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Lease, Stage, State
from crawl_tasks.publishing import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.frontier.by_hand import post
from tests.unit.command_line import run, site_text

Command = Callable[..., Result]


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    frontier = Frontier(client, "test", outbox_max=5000)
    for name in ("one", "two"):
        publish_site(frontier, parse_site(site_text(name), f"{name}.yaml"), None)
    return frontier


@pytest.fixture
def command(frontier: Frontier, redis_server: RedisServer, tmp_path: Path) -> Command:
    def call(*words: str, **settings: str) -> Result:
        return run(*words, home=tmp_path, redis_url=redis_server.url, **settings)

    return call


def released(client: redis.Redis, stage: Stage, site: str = "one") -> list[int]:
    return [int(rid) for rid in client.zrange(f"test:s:{site}:released:{stage.value}", 0, -1)]


def give_up(frontier: Frontier, client: redis.Redis, state: State, reason: str) -> int:
    """Let a post of site one end so; give its number."""
    number = frontier.census("one").admitted + 1
    frontier.admit("one", [post(number)])
    lease = frontier.lease("one", released(client, Stage.POST)[-1])
    assert isinstance(lease, Lease)
    frontier.fail(lease, Verdict(state, reason, "some details"))
    return lease.rid


def test_all_sites_are_paused_and_go_on(command: Command, frontier: Frontier) -> None:
    frontier.produce()

    assert command("pause", "--all").exit_code == 0
    assert [census.fields["paused"] for census in frontier.censuses(["one", "two"])] == ["1", "1"]
    assert command("resume", "--all").exit_code == 0
    assert [census.fields["paused"] for census in frontier.censuses(["one", "two"])] == ["0", "0"]


@pytest.mark.parametrize("words", [("pause",), ("drain", "one", "--all"), ("stop",), ("resume",)])
def test_it_must_be_said_which_sites_are_meant(words: tuple[str, ...], command: Command) -> None:
    assert command(*words).exit_code == 2


def test_a_drained_site_begins_no_scan_and_finishes_what_is_open(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("one", [post(1)])

    result = command("drain", "one")

    assert result.stdout == "one: 1 open; no new scan until: crawl-tasks resume one\n"
    assert frontier.produce()[0] == 2  # those of site two
    assert isinstance(frontier.lease("one", released(client, Stage.POST)[0]), Lease)
    assert "one (draining)" in (status := command("status").stdout)
    assert "draining, no new scans begin: go on with crawl-tasks resume one" in status
    client.zadd("test:boards", dict.fromkeys(client.zrange("test:boards", 0, -1), 0))
    command("resume", "one")
    assert frontier.produce()[0] == 2


def test_stop_returns_when_nothing_is_being_fetched(command: Command, frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("one", [post(1)])
    lease = frontier.lease("one", released(client, Stage.POST)[0])
    assert isinstance(lease, Lease)

    late = command("stop", "one", "--within", "0.2")
    assert (late.exit_code, "not quiet after 0.2 s: one; see: crawl-tasks status one" in late.stderr) == (1, True)
    frontier.fail(lease, Verdict(State.DELAYED, "unreachable", ""))

    assert command("stop", "one").stdout == "nothing is being fetched from one; go on with: crawl-tasks resume one\n"


def test_what_was_given_up_is_chosen_by_reason_and_stage(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    first = give_up(frontier, client, State.DEAD, "robots")
    give_up(frontier, client, State.PARKED, "parse")

    assert command("dead", "list", "--reason", "robots").stdout.count("some details") == 1
    assert command("dead", "list", "--parked").stdout.count("parse") == 1
    assert command("dead", "list", "--stage", "comment").stdout == "nothing was given up\n"
    assert "reason    robots" in command("dead", "show", "one", str(first)).stdout
    assert command("dead", "show", "one", "999").exit_code == 2
    assert command("dead", "retry", "one", "--stage", "comment").stdout.startswith("0 requests")
    assert command("dead", "retry", "one", "--stage", "post").stdout == "1 request of one is ready again\n"
    assert command("dead", "drop", "one", "--parked", "--yes").stdout == "1 request of one is dropped\n"
    assert frontier.census("one").imbalance() == ""


def test_what_was_refused_goes_back_where_it_came_from_or_away(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    client.lpush("test:refused", "start: no such site\n{entry}", "post not JSON\ngarbage", "post not JSON\nrubbish")
    ids = [entry.id for entry in frontier.refused.all()]

    assert command("refused", "list").stdout.splitlines()[-1] == "3 refused"
    assert command("refused", "show", ids[0][:8]).stdout.splitlines()[-1] == "rubbish"
    assert command("refused", "drop", ids[0][:8]).stdout == "1 are dropped\n"
    assert command("refused", "drop").exit_code == 2
    assert command("refused", "show", "none").exit_code == 2
    assert command("refused", "retry", "--all").stdout == "2 are back where they came from\n"

    assert (client.lrange("post", 0, -1), client.lrange("test:start", 0, -1)) == ([b"garbage"], [b"{entry}"])
    assert command("refused", "list").stdout == "nothing was refused\n"


@pytest.mark.parametrize(("answer", "code", "said"), [("n\n", 1, "nothing was changed"), ("", 2, "--yes does it")])
def test_a_question_that_is_not_answered_with_yes_changes_nothing(
    command: Command, frontier: Frontier, client: redis.Redis, answer: str, code: int, said: str
) -> None:
    give_up(frontier, client, State.DEAD, "robots")

    result = command("dead", "drop", "one", answer=answer)

    assert (result.exit_code, said in result.stderr.splitlines()[-1]) == (code, True)
    assert frontier.census("one").dead == 1


def test_one_look_for_alerts_says_all_that_is_wrong_as_often_as_it_is_asked(
    command: Command, frontier: Frontier
) -> None:
    first, second = command("alerts", "--once"), command("alerts", "--once")
    frontier.present("here:1", ["list", "post", "comment", "store", "control"])
    frontier.produce()
    well = command("alerts", "--once")

    assert first.stdout == second.stdout
    assert "critical  CrawlNoWorker: no worker serves the queue control; start one: celery" in first.stdout
    assert (first.exit_code, well.exit_code, well.stdout) == (1, 0, "")


def test_status_and_doctor_say_why_nothing_is_fetched(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    client.xadd("test:outbox", {"items": "[]"})
    client.xadd("test:shelf", {"reason": "value too long", "items": "[]"})
    frontier.memory.halt("a reason")

    status = command("status", outbox_max="1").stdout
    doctor = command("doctor", outbox_max="1").stdout

    assert "all sites stand still: a reason" in status
    assert "storing is behind: nothing is fetched while 1 pages wait" in status
    assert "all sites stand still: a reason" in doctor
    assert "1 pages wait, nothing is fetched" in doctor
    assert "laid aside: 1 (crawl-tasks shelf list)" in status
    assert "1 page could not be stored and laid aside (value too long)" in doctor
    assert "0 worker processes" in doctor
