"""Hooks of a site in real processes: its workers tell that it is idle, and a run that it is finished."""

from __future__ import annotations

from crawl_tasks.cli.exits import Exit
from tests.flow import noting_hooks
from tests.flow.test_standstill import run
from tests.flow.world import World
from tests.waiting import PATIENCE_S

HOOKS = "".join(f"  {name}: {noting_hooks.__name__}:{name}\n" for name in ("site_idle", "site_finished"))


def test_a_run_tells_that_its_site_is_idle_and_in_the_end_once_that_it_is_finished(world: World) -> None:
    world.forum()

    code = run(world, "-m", "crawl_tasks", more=f"hooks:\n{HOOKS}").wait(timeout=PATIENCE_S)

    assert code == Exit.OK, world.log_of("run")
    del world.processes["run"]
    *before, last = (world.directory / noting_hooks.FILE).read_text("utf-8").splitlines()
    assert {*before} == {"demo is idle"}
    assert last == "demo is finished: idle"
