"""Whoever looks again sees what a first look would see, and reads only the sites that changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import resources

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.frontier.scripts import Verb
from crawl_tasks.model import Effort, Items, Lease, Parsed, Request, Stage, State
from crawl_tasks.monitor.cell_snapshots import KEPT_MS, Snapshots
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.operate.crawl import is_idle
from tests.frontier.by_hand import NOTHING, TERMS, lease, posts, released
from tests.waiting import eventually

EFFORT = Effort(200, 700, 3000, 120, 3)
BOARD = BoardTerms("news", '1 ! list 5 http://127.0.0.1/news ["news",1,"@SCAN@"]', 60_000, 1, 600_000)
NO_SITE_OF_ITS_OWN = {
    Verb.COUNT_REQUESTS,
    Verb.CLAIM_STARTS,
    Verb.KEEP_PAGE,
    Verb.FIND_UNKNOWN,
    Verb.AUDIT_GUARD,
    Verb.LIST_BOARDS,
    Verb.STAGE_BOARDS,
}
"""Verbs that name a site and leave everything that is shown of it as it was."""


def fail(frontier: Frontier, held: Lease, state: State, delay_ms: int = 0) -> None:
    frontier.fail(held, Verdict(state, "status", "x", delay_ms=delay_ms, slows_site=True), EFFORT)


def test_every_verb_is_seen_by_the_next_look(frontier: Frontier, client: redis.Redis) -> None:
    held: list[Lease] = []
    steps: dict[str, Callable[[], object]] = {
        "publish": lambda: frontier.sites.publish("demo", "v2", "{}", TERMS | {"window": 9}, [BOARD]),
        "produce": frontier.produce,
        "admit": lambda: frontier.admit("demo", posts(9)),
        "lease": lambda: held.extend(lease(frontier, rid) for rid in released(client)[:5]),
        "commit": lambda: frontier.commit(held[0], Parsed(Items("demo"), dropped=(("old", 1),)), effort=EFFORT),
        "delay": lambda: fail(frontier, held[1], State.DELAYED, 1),
        "park": lambda: fail(frontier, held[2], State.PARKED),
        "bury": lambda: fail(frontier, held[3], State.DEAD),
        "tick": lambda: eventually(lambda: frontier.tick("t") and not client.zcard("test:s:demo:delayed")),
        "revive": lambda: Admin(frontier).failed.requests.retry(Selection("demo", State.DEAD)),
        "drop": lambda: Admin(frontier).failed.requests.drop(Selection("demo", State.PARKED)),
        "refuse": lambda: frontier.sites.pause("demo") or frontier.lease("demo", released(client)[0]),
        "resume": lambda: frontier.sites.resume("demo"),
        "heed": lambda: frontier.sites.set_crawl_delay("demo", 3.0),
        "hold": lambda: Admin(frontier).board_schedule.change("demo", ["news"], Act.HOLD),
        "stored": lambda: frontier.outbox.ack(
            {"demo": [frontier.outbox.draw("me", 9).pages[0][0]]}, {"demo": {"post:new": 3}}
        ),
        "drain": lambda: frontier.sites.drain("demo"),
    }
    lookout = Snapshots(frontier)
    before = lookout.look()

    for name, step in steps.items():
        step()
        seen = lookout.look()

        assert seen.sites == take_snapshot(frontier).sites, name
        assert name == "hold" or seen.sites != before.sites, name  # a board that waits is not counted
        before = seen
    frontier.commit(held[4], Parsed(Items("demo")))


@pytest.mark.parametrize("verb", sorted(set(Verb) - NO_SITE_OF_ITS_OWN))
def test_a_script_that_writes_of_a_site_says_that_it_changed(verb: Verb) -> None:
    text = (resources.files("crawl_tasks.frontier") / "lua" / f"{verb}.lua").read_text("utf-8")

    touches = "load_site(" in text or "':s:' .." in text
    assert not touches or any(told in text for told in ("release(site", "note_change(", "return lease_request("))


def test_a_site_that_did_not_change_is_not_read_again(frontier: Frontier) -> None:
    frontier.sites.publish("other", "v1", "{}", TERMS, [])
    lookout = Snapshots(frontier)
    demo, other = lookout.look().sites
    frontier.admit("other", [Request("other", Stage.POST, "1", "http://127.0.0.1/post/1")])

    again = lookout.look().sites

    assert again[0] is demo
    assert (again[1] is other, again[1].counts.open) == (False, 1)


def test_a_site_is_read_again_after_a_while_whatever_the_scripts_say(
    frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookout = Snapshots(frontier)
    lookout.look()
    client.hset("test:s:demo", "known", 7)  # no script of ours did this

    unseen = lookout.look().sites[0].counts.count("known")
    later = Inspector(frontier).health([]).at_ms + KEPT_MS
    monkeypatch.setattr("crawl_tasks.frontier.inspect.reads.clock_ms", lambda _: later)

    assert (unseen, lookout.look().sites[0].counts.count("known")) == (0, 7)


def test_a_forgotten_site_is_shown_no_more(frontier: Frontier) -> None:
    frontier.sites.publish("other", "v1", "{}", TERMS, [])
    lookout = Snapshots(frontier)
    lookout.look()

    Admin(frontier).restore.wipe("other")

    assert [site.name for site in lookout.look().sites] == ["demo"]


def test_a_run_goes_on_for_a_page_that_was_committed_while_its_snapshot_was_read(frontier: Frontier) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    frontier.admit("demo", [Request("demo", Stage.POST, "1", "http://forum.test/1")])
    before = take_snapshot(frontier)
    frontier.commit(lease(frontier, released(frontier.client)[0]), NOTHING)
    torn = replace(take_snapshot(frontier), health=before.health)

    assert torn.open == torn.outbox == 0
    assert not is_idle(torn, Cells([frontier]), 0)
    frontier.outbox.ack({"demo": [page_id for page_id, _ in frontier.outbox.draw("a", 9, takeover_ms=0).pages]})
    assert is_idle(torn, Cells([frontier]), 0)
