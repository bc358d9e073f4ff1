"""Seeds, pauses, the dead and the ledger, through the command line against a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.terminal import named_addresses
from crawl_tasks.errors import BadStatus, ParseError, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.dead_letters import MOST_ITEMS
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.retry import RetryPolicy, judge
from crawl_tasks.model import Lease
from crawl_tasks.queues import QUEUES
from tests.unit.command_line import Command


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    return Frontier(client, "test")


def fail(frontier: Frontier, rid: int, error: ParseError | BadStatus) -> None:
    lease = frontier.lease("tiny", rid)
    assert isinstance(lease, Lease)
    assert frontier.fail(lease, judge(error, 1, RetryPolicy(3, 1, 1), 0.5))


def test_seeds_are_admitted_once_and_reported_line_by_line(command: Command, frontier: Frontier) -> None:
    first = command("seed", "tiny", "--post", "7", "--url", "http://127.0.0.1:8765/post/8")
    second = command("seed", "tiny", "--post", "7", "--post", "9")

    assert first.stdout.splitlines() == ["admitted: post 7", "admitted: url http://127.0.0.1:8765/post/8"]
    assert second.stdout.splitlines() == ["known: post 7", "admitted: post 9"]
    assert (first.exit_code, second.exit_code) == (Exit.OK, Exit.OK)
    assert Inspector(frontier).count_requests("tiny").admitted == 3


def test_a_board_can_be_seeded_again_and_again(command: Command, frontier: Frontier) -> None:
    results = [command("seed", "tiny", "--board", "1") for _ in range(2)]

    assert [result.stdout for result in results] == ["admitted: board 1\n"] * 2


def test_refused_seeds_are_named_and_the_others_still_admitted(command: Command, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(
        b"\xef\xbb\xbf# a comment\r\n\r\nhttp://127.0.0.1:8765/post/1\r\nhttp://elsewhere.example/\nfile:///etc/passwd\n"
        b"\x1b]0;title\x07\nhttp://127.0.0.1:8765/post/2"
    )

    result = command("seed", "tiny", str(lines))

    assert result.exit_code == Exit.FAILURES
    verdicts = [line.split(":")[0].split(",")[0] for line in result.stdout.splitlines()]
    assert verdicts == ["admitted", "refused", "refused", "refused", "admitted"]
    assert "\x1b" not in result.output
    assert "3 refused" in result.stderr


def test_seeds_stop_at_the_sites_max_backlog(command: Command) -> None:
    result = command("seed", "tiny", *(word for number in range(7) for word in ("--post", str(number))))

    assert result.exit_code == Exit.FAILURES
    verdicts = [line.split(",")[0].split(":")[0] for line in result.stdout.splitlines()]
    assert verdicts == ["admitted"] * 5 + ["refused"] * 2


def test_named_addresses_are_those_that_say_something() -> None:
    assert list(named_addresses(["\ufeffa\r\n", "  \n", "# no\n", " b ", "\n"])) == ["a", "b"]


def test_status_shows_states_boards_and_queues(command: Command) -> None:
    command("seed", "tiny", "--post", "1", "--post", "2", "--board", "1")

    status = json.loads(command("status", "--json").stdout)

    [site] = status["sites"]
    assert (site["site"], site["admitted"], site["released"], site["open"], site["balances"]) == ("tiny", 3, 3, 3, True)
    assert status["queues"] == {"list": 1, "post": 2, "comment": 0, "store": 0, "control": 0}
    assert site["boards"] == {
        "total": 2,
        "scanning": 0,  # a walk by hand is no scan
        "unscanned": 2,
        "overdue": 0,
        "late": 0,
        "overdue_since_ms": 0,
        **dict.fromkeys(("parked", "dead", "held", "waiting"), 0),
        "on_time": 2,
    }


def test_a_paused_site_says_so_until_it_is_resumed(command: Command) -> None:
    command("pause", "tiny")
    paused = command("status").stdout
    command("resume", "tiny")
    resumed = command("status").stdout

    assert "tiny (paused)" in paused
    assert "(paused)" not in resumed


def test_an_unknown_site_is_a_wrong_usage(command: Command) -> None:
    for arguments in (
        ("status", "no"),
        ("pause", "no"),
        ("try", "no", "--kept"),
        ("failed", "list", "--site", "no"),
        ("check", "no"),
    ):
        result = command(*arguments)

        assert result.exit_code == Exit.USAGE
        assert "'no' is not published; published are: tiny; crawl-tasks sites check" in result.stderr
    assert "did you mean tiny?" in command("status", "tinny").stderr
    assert "'no' is not published" in command("seed", "no", "--post", "1").stderr


def test_the_check_begins_with_the_ledger_and_fails_when_an_entry_is_gone(
    command: Command, client: redis.Redis, frontier: Frontier
) -> None:
    frontier.heartbeat("here:1", QUEUES)
    frontier.produce()
    command("seed", "tiny", "--post", "1")
    sound = command("check")
    client.delete("test:s:tiny:released:post")
    broken = command("check", "tiny")

    assert (sound.exit_code, broken.exit_code) == (Exit.OK, Exit.FAILURES), sound.output
    assert sound.stdout.splitlines()[0].endswith("done 0: balances")
    assert "the ledger does not balance: tiny: admitted" in broken.stdout.splitlines()[0]
    assert "critical  CrawlLedgerUnbalanced: tiny: the ledger does not balance" in broken.stdout


def test_what_was_given_up_is_listed_with_its_reason_and_can_be_tried_again(
    command: Command, frontier: Frontier
) -> None:
    command("seed", "tiny", "--post", "1", "--post", "2")
    fail(frontier, 1, BadStatus("answered 418 \x1b]0;title\x07"))
    fail(frontier, 2, ParseError("no title"))

    listed = command("failed", "list")
    rows = [json.loads(line) for line in command("failed", "list", "--json").stdout.splitlines()]
    retried = command("failed", "retry", "--site", "tiny", "--reason", "status")

    assert "dead tiny post http://127.0.0.1:8765/post/1 after 1 attempt: status answered 418" in listed.stdout
    assert "\x1b" not in listed.stdout
    assert [(row["state"], row["reason"], row["key"]) for row in rows] == [
        ("dead", "status", "1"),
        ("parked", "parse", "2"),
    ]
    assert retried.stdout == "1 page is ready again\n"
    assert (Inspector(frontier).count_requests("tiny").dead, Inspector(frontier).count_requests("tiny").parked) == (
        0,
        1,
    )


def test_items_that_were_laid_aside_are_listed_put_back_and_dropped(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    for items in (b"not json \x1b]0;title\x07", b"[]"):
        page_id = client.xadd("test:outbox", {"items": items})
        Admin(frontier).failed.items.put(page_id, "of a later version")
    first = next(Admin(frontier).failed.items.list()).id

    listed = command("failed", "list", "--kind", "item").stdout
    shown = command("failed", "show", "--kind", "item", first).stdout
    retried = command("failed", "retry", "--kind", "item").stdout
    waiting = frontier.outbox.size()
    for page_id, _ in frontier.outbox.draw("me", 10).pages:
        Admin(frontier).failed.items.put(page_id, "still")
    dropped = command("failed", "drop", "--kind", "item", "--yes").stdout

    assert f"{first} " in listed.splitlines()[0]
    assert "of a later version: not json" in listed
    assert "items     not json \\x1b]0;title\\x07" in shown
    assert "\x1b" not in listed + shown
    assert (retried, waiting) == ("2 pages with items are back before the store\n", 2)
    assert dropped == "2 pages with items are dropped\n"
    assert (Admin(frontier).failed.items.size(), frontier.outbox.size()) == (0, 0)
    assert command("failed", "list").stdout == "nothing failed\n"


def test_the_oldest_items_go_back_first(frontier: Frontier, client: redis.Redis) -> None:
    for reason in ("first", "second"):
        client.xadd("test:rejected", {"items": "[]", "reason": reason})

    assert Admin(frontier).failed.items.retry(Selection(most=1)) == 1
    assert [item.reason for item in Admin(frontier).failed.items.list()] == ["second"]


def test_with_too_many_rejected_items_the_rest_stays_in_the_outbox(
    frontier: Frontier, client: redis.Redis, command: Command
) -> None:
    for _ in range(MOST_ITEMS):
        client.xadd("test:rejected", {"items": "[]", "reason": "x"})
    page_id = client.xadd("test:outbox", {"items": "[]"})

    with pytest.raises(StoreError, match="crawl-tasks failed list --kind item"):
        Admin(frontier).failed.items.put(page_id, "x")

    assert frontier.outbox.size() == 1
    assert command("failed", "retry", "--kind", "item").stdout == (
        f"{MOST_ITEMS} pages with items are back before the store\n"
    )
