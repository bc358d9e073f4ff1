"""Stopping sites and letting them go on; what was given up and what was refused, by the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from click.testing import Result

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import FailedKind
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Lease, Stage, State
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.frontier.by_hand import post
from tests.unit.command_line import run, site_text, write_site

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
    number = Inspector(frontier).count_requests("one").admitted + 1
    frontier.admit("one", [post(number)])
    lease = frontier.lease("one", released(client, Stage.POST)[-1])
    assert isinstance(lease, Lease)
    frontier.fail(lease, Verdict(state, reason, "some details"))
    return lease.rid


def test_all_sites_are_paused_and_go_on(command: Command, frontier: Frontier) -> None:
    frontier.produce()

    assert command("pause", "--all").exit_code == 0
    assert [counts.fields["paused"] for counts in Inspector(frontier).count_all(["one", "two"])] == ["1", "1"]
    assert command("resume", "--all").exit_code == 0
    assert [counts.fields["paused"] for counts in Inspector(frontier).count_all(["one", "two"])] == ["0", "0"]


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_all_sites_are_not_said_to_stand_or_go_where_a_cell_does_not_answer(
    verb: str, frontier: Frontier, redis_server: RedisServer, tmp_path: Path
) -> None:
    cells = f"a={redis_server.url} b=redis://127.0.0.1:1/0"

    result = run(verb, "--all", home=tmp_path, redis_url=cells)

    assert result.exit_code == Exit.BACKEND
    assert "the sites of the cell b were left out" in result.stderr
    paused = [counts.fields.get("paused", "0") for counts in Inspector(frontier).count_all(["one", "two"])]
    assert paused == ["1" if verb == "pause" else "0"] * 2


@pytest.mark.parametrize("words", [("pause",), ("pause", "one", "--all"), ("pause", "--wait"), ("resume",)])
def test_it_must_be_said_which_sites_are_meant(words: tuple[str, ...], command: Command) -> None:
    assert command(*words).exit_code == 2


def test_a_drained_site_begins_no_scan_and_finishes_what_is_open(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("one", [post(1)])

    result = command("pause", "one", "--drain")

    assert result.stdout == "one drains, 1 open, no new scan; go on with: crawl-tasks resume one\n"
    assert frontier.produce()[0] == 2  # those of site two
    assert isinstance(frontier.lease("one", released(client, Stage.POST)[0]), Lease)
    assert "one (draining)" in (status := command("status").stdout)
    assert "draining, no new scan begins since 20" in status
    assert "; go on with crawl-tasks resume one" in status
    client.zadd("test:boards", dict.fromkeys(client.zrange("test:boards", 0, -1), 0))
    command("resume", "one")
    assert frontier.produce()[0] == 2


def test_pause_waits_until_nothing_is_being_fetched(command: Command, frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("one", [post(1)])
    lease = frontier.lease("one", released(client, Stage.POST)[0])
    assert isinstance(lease, Lease)

    at_once = command("pause", "one")
    late = command("pause", "one", "--wait", "--within", "0.2")
    assert at_once.stdout == "one is paused, 1 being fetched; go on with: crawl-tasks resume one\n"
    assert (late.exit_code, "not quiet after 0.2 s: one; wait longer with --within" in late.stderr) == (1, True)
    frontier.fail(lease, Verdict(State.DELAYED, "unreachable", ""))

    quiet = command("pause", "one", "--wait")
    assert quiet.stdout == "one is paused, 0 being fetched; go on with: crawl-tasks resume one\n"


def test_a_drained_site_is_quiet_only_when_nothing_is_open(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("one", [post(1)])

    late = command("pause", "one", "two", "--drain", "--wait", "--within", "0.2")
    assert (late.exit_code, "not quiet after 0.2 s: one;" in late.stderr) == (1, True)
    lease = frontier.lease("one", released(client, Stage.POST)[0])
    assert isinstance(lease, Lease)
    frontier.fail(lease, Verdict(State.DEAD, "robots", ""))

    quiet = command("pause", "one", "two", "--drain", "--wait", "--within", "0.2")
    assert [line.split(";")[0] for line in quiet.stdout.splitlines()] == [
        "one drains, 0 open, no new scan",
        "two drains, 0 open, no new scan",
    ]


def test_what_was_given_up_is_chosen_by_reason_and_stage(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    first = give_up(frontier, client, State.DEAD, "robots")
    give_up(frontier, client, State.PARKED, "parse")

    assert command("failed", "list", "--reason", "robots").stdout.count("some details") == 1
    assert command("failed", "list", "--state", "parked").stdout.count("parse") == 1
    assert command("failed", "list", "--stage", "comment").stdout == "nothing failed\n"
    assert "reason    robots" in command("failed", "show", "--site", "one", str(first)).stdout
    assert command("failed", "show", "--site", "one", "999").exit_code == 2
    assert command("failed", "retry", "--site", "one", "--stage", "comment").stdout.startswith("0 pages")
    assert command("failed", "retry", "--site", "two").stdout.startswith("0 pages")
    assert command("failed", "retry", "--site", "one", "--stage", "post").stdout == "1 page is ready again\n"
    assert command("failed", "drop", "--all", "--state", "parked", "--yes").stdout == "1 page is dropped\n"
    assert Inspector(frontier).count_requests("one").imbalance() == ""


def test_what_was_refused_goes_back_where_it_came_from_or_away(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    client.lpush(
        "test:refused", "start: no such site\n{entry}", "post not JSON\ngarbage", "post not JSON\n\x1b]rubbish"
    )
    ids = [entry.id for entry in Admin(frontier).failed.of(FailedKind.MESSAGE).list()]
    message, start = ("--kind", "message"), ("--kind", "start")

    assert command("failed", "list", *message).stdout.splitlines()[-1].startswith("2 messages are shown; next: ")
    assert "start start: no such site" in command("failed", "list").stdout
    assert command("failed", "show", *message, ids[0][:8]).stdout.splitlines()[-1] == "content   \\x1b]rubbish"
    assert command("failed", "drop", *message, ids[0][:8], "--yes").stdout == "1 message is dropped\n"
    assert command("failed", "show", *message, "none").exit_code == 2
    assert command("failed", "show", *start, ids[1]).exit_code == 2
    assert command("failed", "retry", *message, "--all").stdout == "1 message is back on the queue\n"
    assert command("failed", "retry", *message, "--all").stdout == "0 messages are back on the queue\n"
    assert (client.llen("test:start"), client.llen("test:refused")) == (0, 1)
    assert command("failed", "retry", *start, "--all").stdout == "1 start entry is back under the start key\n"

    assert (client.lrange("post", 0, -1), client.lrange("test:start", 0, -1)) == ([b"garbage"], [b"{entry}"])
    assert command("failed", "list").stdout == "nothing failed\n"


def test_start_entries_go_back_to_the_key_of_the_settings(command: Command, client: redis.Redis) -> None:
    client.lpush("test:refused", "start: no such site\n{entry}", "start: no such site\n{other}")

    command("failed", "retry", "--kind", "start", "--all", start_key="theirs")

    assert sorted(client.lrange("theirs", 0, -1)) == [b"{entry}", b"{other}"]


@pytest.mark.parametrize(
    "words",
    [
        ("retry",),
        ("retry", "--site", "one", "--all"),
        ("retry", "7", "--site", "one"),
        ("retry", "--kind", "message"),
        ("retry", "--kind", "message", "3f2a", "--all"),
        ("drop", "--kind", "start", "--site", "one", "--all"),
        ("list", "--kind", "item", "--reason", "parse"),
        ("show", "7"),
        ("show", "--kind", "message", "--site", "one", "3f2a"),
    ],
)
def test_what_failed_is_chosen_by_what_its_kind_knows(words: tuple[str, ...], command: Command) -> None:
    result = command("failed", *words)

    assert (result.exit_code, "Usage: " in result.stderr) == (2, True)


@pytest.mark.parametrize("how", ["retry", "drop"])
def test_items_go_all_together_or_not_at_all(command: Command, client: redis.Redis, how: str) -> None:
    client.xadd("test:rejected", {"reason": "value too long", "items": "[]"})

    result = command("failed", how, "--kind", "item", "1-0", *(["--yes"] if how == "drop" else []))

    assert (result.exit_code, client.xlen("test:rejected")) == (2, 1)
    assert "a failed item is not sent back or dropped by its id" in result.stderr


def test_no_kind_is_hidden_behind_another(command: Command, frontier: Frontier, client: redis.Redis) -> None:
    client.lpush("test:refused", "start: no such site\n{entry}", "post not JSON\ngarbage")
    client.xadd("test:rejected", {"reason": "value too long", "items": "[]"})
    for _ in range(3):
        give_up(frontier, client, State.DEAD, "robots")

    lines = command("failed", "list", "--most", "2").stdout.splitlines()

    assert [line.split(" ", 1)[0] for line in lines if "; next: crawl-tasks failed retry --kind " in line] == [
        "2",
        "1",
        "1",
        "1",
    ]
    assert "2 pages are shown; more are not shown, --most 2 is the limit; next: " in lines[2]


@pytest.mark.parametrize(
    ("states", "option"), [([State.PARKED], " --state parked"), ([State.PARKED, State.DEAD], ""), ([State.DEAD], "")]
)
def test_the_next_step_takes_the_pages_that_are_shown(
    command: Command, frontier: Frontier, client: redis.Redis, states: list[State], option: str
) -> None:
    for state in states:
        give_up(frontier, client, state, "parse")

    shown = command("failed", "list").stdout.splitlines()[-1]

    assert shown.endswith(f"; next: crawl-tasks failed retry --kind page --site SITE{option}")


def test_what_failed_is_listed_where_no_site_is_published(
    client: redis.Redis, redis_server: RedisServer, tmp_path: Path
) -> None:
    client.lpush("test:refused", "start: no such site\n{entry}")

    listed = run("failed", "list", home=tmp_path, redis_url=redis_server.url)
    pages = run("failed", "list", "--kind", "page", home=tmp_path, redis_url=redis_server.url)

    assert (listed.exit_code, "start: no such site" in listed.stdout) == (0, True)
    assert (pages.exit_code, "no site is published" in pages.stderr) == (2, True)


@pytest.mark.parametrize(("answer", "code", "said"), [("n\n", 1, "nothing was changed"), ("", 2, "--yes does it")])
def test_a_question_that_is_not_answered_with_yes_changes_nothing(
    command: Command, frontier: Frontier, client: redis.Redis, answer: str, code: int, said: str
) -> None:
    give_up(frontier, client, State.DEAD, "robots")

    result = command("failed", "drop", "--site", "one", "--reason", "robots", answer=answer)

    assert (result.exit_code, said in result.stderr.splitlines()[-1]) == (code, True)
    assert "Drop the dead pages of one for robots?" in result.stdout
    assert Inspector(frontier).count_requests("one").dead == 1


def test_the_check_says_all_that_is_wrong_as_often_as_it_is_asked(
    command: Command, frontier: Frontier, tmp_path: Path
) -> None:
    write_site(tmp_path, site_text())
    first, second = command("check"), command("check")
    frontier.heartbeat("here:1", ["list", "post", "comment", "store", "control"])
    frontier.produce()
    well = command("check")

    assert first.stdout == second.stdout
    assert "critical  CrawlNoWorker: control: no worker serves this queue\n          start one: celery" in first.stdout
    assert (first.exit_code, well.exit_code, "critical" in well.stdout) == (1, 0, False)
    assert "ok        workers: 1 worker alive" in well.stdout


def test_status_and_check_say_why_nothing_is_fetched(command: Command, frontier: Frontier, client: redis.Redis) -> None:
    client.xadd("test:outbox", {"items": "[]"})
    client.xadd("test:rejected", {"reason": "value too long", "items": "[]"})
    Admin(frontier).restore.halt("a reason")
    frontier.heartbeat("here:1", ["list", "post", "comment", "store", "control"])  # a missing one would be the cause

    status = command("status", outbox_max="1").stdout
    check = command("check", outbox_max="1").stdout

    for said in (status, check):
        assert "all sites stand still: a reason" in said
        assert "the outbox is full: nothing is fetched while 1 pages wait" in said
        assert "1 page could not be stored and was rejected" in said
    assert "CrawlNoWorker" not in check
