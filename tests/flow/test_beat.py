"""Several beats at once: any of them may die, and every board is still scanned once in its interval."""

from __future__ import annotations

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.flow.world import CELERY, World
from tests.waiting import eventually

INTERVAL_MS = 1000
BEATS = 5


def start_beat(world: World, number: int) -> None:
    world.start(f"beat{number}", *CELERY, "beat", "-l", "info")


def scans(world: World, board: str) -> int:
    return int(world.client.hget(f"crawl:s:demo:board:{board}", "scan") or 0)


def test_of_five_beats_four_may_die_and_no_scan_is_doubled_or_missed(world: World) -> None:
    world.forum("--generation", "3")
    world.worker("all", "list,detail,store,control")
    boards = [board.board for board in Inspector(world.frontier).boards("demo")]
    Admin(world.frontier).board_schedule.change("demo", boards, Act.FIX, INTERVAL_MS)
    begun_ms = world.frontier.clock_ms()
    for number in range(BEATS):
        start_beat(world, number)
    eventually(lambda: all(scans(world, board) for board in boards))
    eventually(lambda: all("Sending due task produce" in world.log_of(f"beat{n}") for n in range(BEATS)))

    for number in range(BEATS - 1):
        before = {board: scans(world, board) for board in boards}
        world.kill(f"beat{number}")
        eventually(lambda before=before: all(scans(world, board) > before[board] for board in boards))

    assert take_snapshot(world.frontier).is_beat_alive
    world.frontier.sites.pause("demo")
    eventually(lambda: world.count_requests().leased == 0)
    slots = (world.frontier.clock_ms() - begun_ms) // INTERVAL_MS + 1
    for board in boards:
        assert BEATS <= scans(world, board) <= slots
        assert scans(world, board) - 1 <= world.fetched()[f"/list/{board}/1"] <= scans(world, board)


def test_a_beat_sends_again_when_redis_was_away(world: World) -> None:
    start_beat(world, 0)
    eventually(lambda: world.client.llen("control"))

    world.server.stop()
    eventually(lambda: "beat cannot send" in world.log_of("beat0"))
    world.server.start()
    world.client.delete("control")

    eventually(lambda: world.client.llen("control"))
