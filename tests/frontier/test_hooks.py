"""Functions of a site are told of events beside its pages; one that raises or hangs harms no page and no other site."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import IdleState
from crawl_tasks.model import Request, Stage
from crawl_tasks.model.own_counters import MOST_NAMES, OWN_FAILURES, count, put_back, take_counted
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.operate.crawl import Finish, tell_end
from crawl_tasks.queues import QUEUES
from crawl_tasks.schedule.ticker import Ticker
from crawl_tasks.sites.event_hooks import Hooks
from crawl_tasks.store.upsert import Store
from crawl_tasks.web.exposition import Writer
from crawl_tasks.web.metrics import FAMILIES
from crawl_tasks.worker.hook_runner import HookRunner
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.frontier.by_hand import TERMS, posts, released
from tests.frontier.small_crawl import RULES, SmallCrawl
from tests.unit import hook_functions
from tests.waiting import PATIENCE_S, eventually

HOOKS = "tests.unit.hook_functions"


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    hook_functions.told.clear()
    hook_functions.goes_on.clear()
    take_counted()
    yield
    hook_functions.goes_on.set()


def hooks(*events: str) -> str:
    return "hooks: {" + ", ".join(f"{event}: '{HOOKS}:{event}'" for event in events) + "}\n"


def board_of_three(crawl: SmallCrawl, rules: str) -> None:
    crawl.publish(f"boards: [1]\n{rules}")
    crawl.forum.board("1", 1, "10 0", "11 0", "12 0")
    for number in ("10", "11"):
        crawl.forum.thread(number)
    crawl.forum.pages["/post/12"] = "<h1>no body</h1>"


def test_failed_pages_dropped_and_stored_items_and_filtered_requests_are_told(
    crawl: SmallCrawl, tmp_path: Path
) -> None:
    events = ("page_failed", "item_dropped", "request_filtered", "item_stored")
    board_of_three(crawl, hooks(*events) + f"items: ['{HOOKS}:drop_spam']\n")

    crawl.scan()
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1).run()
        crawl.scan()
        eventually(lambda: len(hook_functions.told) >= 9)

    told = set(hook_functions.told)
    assert ("failed", "demo", "12", "parse", "parked") in told
    assert ("dropped", "11", "spam") in told
    assert {("filtered", number, "1") for number in ("10", "11", "12")} <= told
    assert ("stored", "demo", "10") in told
    assert ("stored", "demo", "11") not in told


def ends(told: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [one for one in told if one[0] in ("idle", "ended")]


def test_a_site_is_idle_once_after_each_scan_and_its_crawl_ends_only_where_no_scan_follows(
    crawl: SmallCrawl, tmp_path: Path
) -> None:
    board_of_three(crawl, hooks("site_idle", "site_finished"))
    idle = ("idle", "demo")

    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        for scans in (1, 2):
            crawl.scan()
            crawl.store_into(store)
            eventually(lambda expected=scans: ends(hook_functions.told) == [idle] * expected)
        crawl.frontier.sites.drain("demo")
        crawl.frontier.admit("demo", [posts(1)[0]._replace(address=f"{crawl.forum.url}/post/10", revision="later")])
        crawl.work()
        eventually(lambda: ends(hook_functions.told) == [idle] * 3)
        crawl.store_into(store)
        eventually(lambda: ends(hook_functions.told)[3:] == [("ended", "demo", "idle")])


@pytest.mark.parametrize("is_last_page_gone", [False, True])
def test_the_crawl_of_a_site_without_boards_ends_when_its_last_page_is_stored(
    crawl: SmallCrawl, tmp_path: Path, is_last_page_gone: bool
) -> None:
    site = crawl.publish(f"boards: []\n{hooks('site_idle', 'site_finished')}")
    crawl.forum.thread("1")
    if not is_last_page_gone:
        crawl.forum.thread("2")

    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        crawl.frontier.admit("demo", [one._replace(address=f"{site.base}/post/{one.key}") for one in posts(2)])
        crawl.work()
        eventually(lambda: ends(hook_functions.told) == [("idle", "demo")])
        runner = HookRunner()
        OutboxConsumer(crawl.frontier, lambda: store, batch=1, worth=1, hooks=runner).run()
        runner.finish(PATIENCE_S)

    assert ends(hook_functions.told) == [("idle", "demo"), ("ended", "demo", "idle")]


def test_the_crawl_ends_with_a_last_page_that_fails_when_all_others_are_stored(
    crawl: SmallCrawl, tmp_path: Path
) -> None:
    site = crawl.publish(f"boards: []\n{hooks('site_idle', 'site_finished')}")
    crawl.forum.thread("1")
    crawl.forum.pages["/post/2"] = "<h1>no body</h1>"
    first, second = (one._replace(address=f"{site.base}/post/{one.key}") for one in posts(2))

    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        crawl.frontier.admit("demo", [first])
        crawl.work()
        crawl.frontier.admit("demo", [second])
        OutboxConsumer(crawl.frontier, lambda: store, batch=1, worth=1).run()
        crawl.work()
        eventually(lambda: len(ends(hook_functions.told)) == 3)

    assert ends(hook_functions.told) == [("idle", "demo"), ("idle", "demo"), ("ended", "demo", "idle")]


def test_a_page_that_waits_behind_robots_txt_has_not_failed(crawl: SmallCrawl, client: redis.Redis) -> None:
    rules = RULES.replace("robots: false\n", "").replace("delay_s: 0,", "delay_s: 20,")
    crawl.publish(f"boards: []\n{hooks('page_failed')}", rules=rules)
    crawl.forum.pages["/post/12"] = "<h1>no body</h1>"
    crawl.frontier.admit("demo", [Request("demo", Stage.POST, "12", f"{crawl.forum.url}/post/12")])

    crawl.work()
    [entry] = client.zrange("test:s:demo:delayed", 0, -1)
    client.zadd("test:s:demo:delayed", {entry: 0})
    client.hset("test:s:demo", "next_at", crawl.frontier.clock_ms())
    client.zadd("test:due", {"demo": 0})
    crawl.frontier.tick("me")
    crawl.work()
    eventually(lambda: hook_functions.told)

    assert crawl.forum.asked == ["/robots.txt", "/post/12"]
    assert hook_functions.told == [("failed", "demo", "12", "parse", "parked")]


def test_an_expired_lease_that_leaves_a_site_idle_is_told_by_the_process_that_ticks(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.sites.publish("one", "v1", "{}", TERMS | {"lease_ms": 1, "max_attempts": 1}, [])
    frontier.sites.publish("two", "v1", "{}", TERMS | {"lease_ms": 1, "max_attempts": 1}, [])
    frontier.admit("one", posts(1))
    frontier.admit("two", posts(1))
    told: list[tuple[str, IdleState]] = []
    ticker = Ticker(frontier, on_idle=lambda site, state: told.append((site, state)))

    frontier.lease("one", released(client)[0])
    eventually(lambda: ticker.once() and told)
    ticker.once()

    assert told == [("one", IdleState.ENDED)]


def test_the_end_of_a_run_is_told_by_the_run_alone(crawl: SmallCrawl, tmp_path: Path) -> None:
    site = crawl.publish(f"boards: []\n{hooks('site_finished')}")
    crawl.forum.thread("1")
    crawl.frontier.sites.run_only(["demo"], 60_000)

    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        crawl.frontier.admit("demo", [posts(1)[0]._replace(address=f"{site.base}/post/1")])
        crawl.work()
        crawl.store_into(store)
    tell_end(Cells([crawl.frontier]), [site], Finish.INTERRUPTED)

    assert hook_functions.told == [("ended", "demo", "interrupted")]
    assert Inspector(crawl.frontier).count_requests("demo").stats["own:ended"] == 1


def test_a_process_that_ends_waits_for_its_hooks_and_not_for_one_that_hangs() -> None:
    seconds = iter(range(10**9))
    good, bad = HookRunner(), HookRunner(clock=lambda: next(seconds))

    for number in range(100):
        good.tell(str(number), Hooks(site_idle=f"{HOOKS}:site_idle"), "site_idle")
    good.finish(within_s=PATIENCE_S)
    bad.tell("one", Hooks(site_idle=f"{HOOKS}:hangs"), "site_idle")
    bad.finish(within_s=5)

    assert len(hook_functions.told) == 100
    assert bad.is_busy


def test_filtered_requests_are_logged_for_debugging(crawl: SmallCrawl, caplog: pytest.LogCaptureFixture) -> None:
    board_of_three(crawl, "")
    crawl.scan()

    with caplog.at_level(logging.DEBUG, "crawl_tasks.worker.page_commit"):
        crawl.scan()

    filtered = [record.filtered for record in caplog.records if "guard knows" in record.message]
    assert [address.rpartition("/")[2] for address in filtered] == ["10", "11", "12"]


@pytest.mark.parametrize("bad", ["raises", "hangs", "is_not_there"])
def test_a_hook_that_fails_harms_no_page_and_no_hook_of_another_site(crawl: SmallCrawl, bad: str) -> None:
    board_of_three(crawl, f"hooks: {{page_failed: '{HOOKS}:{bad}'}}\n")

    crawl.scan()

    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.done, counts.parked, counts.imbalance()) == (3, 1, "")


def test_a_hook_that_hangs_is_left_behind_three_times_and_others_go_on() -> None:
    now = [0.0]
    runner = HookRunner(hangs_after_s=30, clock=lambda: now[0])
    bad = Hooks(page_failed=f"{HOOKS}:hangs")
    good = Hooks(item_stored=f"{HOOKS}:item_stored")

    class Item:
        post_id = "7"

    for done in range(1, 4):
        runner.tell("one", bad, "page_failed")
        eventually(lambda: runner.is_busy)
        now[0] += 31
        runner.tell("two", good, "item_stored", item=Item)
        eventually(lambda expected=done: len(hook_functions.told) == expected)

    assert take_counted() == {"one": {"hook_hung": 3}}
    assert hook_functions.told == [("stored", "two", "7")] * 3


def test_more_events_than_wait_are_lost_and_counted() -> None:
    runner = HookRunner(most_waiting=5)
    bad = Hooks(page_failed=f"{HOOKS}:hangs")
    runner.tell("one", bad, "page_failed")
    eventually(lambda: runner.is_busy)

    for _ in range(9):
        runner.tell("one", bad, "page_failed")

    assert take_counted() == {"one": {"hook_lost": 4}}


def test_own_counters_come_to_the_exporter_for_their_site_alone(frontier: Frontier) -> None:
    frontier.sites.publish("other", "v1", "{}", TERMS, [])
    ticker = Ticker(frontier)
    for _ in range(2):
        count("demo", "Failed pages!", 3)
        count("gone", "x")
        ticker.flush_counters()

    text = Writer(FAMILIES).write(take_snapshot(frontier))

    assert 'crawl_own_total{site="demo",name="failed_pages"} 6' in text
    # Alerts ask for the increase of these, which needs a sample before the first failure.
    assert set(re.findall(r'crawl_own_total\{site="other",name="(\w+)"\} 0', text)) == set(OWN_FAILURES)
    assert text.count('crawl_own_total{site="other"') == len(OWN_FAILURES)
    assert 'crawl_own_total{site="gone"' not in text
    assert take_counted() == {}


def test_names_of_own_counters_are_bounded(frontier: Frontier, client: redis.Redis) -> None:
    # A site of its own: the names of a process count for as long as it lives.
    frontier.sites.publish("bounded", "v1", "{}", TERMS, [])
    for start in (0, 5000):
        for number in range(start, start + MOST_NAMES + 50):
            count("bounded", f"post {number}")
        counted = take_counted()
        assert len(counted["bounded"]) <= MOST_NAMES + 1
        frontier.count_own(counted)

    names = [name for name in client.hkeys("test:s:bounded:stats") if name.startswith(b"own:")]
    assert len(names) <= MOST_NAMES + 1


def test_counters_that_could_not_be_written_are_kept() -> None:
    count("demo", "x", 2)
    put_back(take_counted())
    count("demo", "x")

    assert take_counted() == {"demo": {"x": 3}}


def test_a_function_gives_requests_their_priority_and_its_failure_costs_nothing(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    board_of_three(crawl, "")
    more = f"boards: [1]\npriority_of: '{HOOKS}:newest_first'\n"
    crawl.publish(more, rules=RULES.replace("window: 50", "window: 1"))

    fetched = crawl.scan()

    assert fetched == ["/list/1/1", "/post/11", "/post/10", "/post/12"]  # the last keeps that of a first scan
    assert take_counted()["demo"]["priority_failed"] == 1


def test_too_few_items_a_minute_raise_an_alert_for_that_site_alone(frontier: Frontier, client: redis.Redis) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS | {"min_items": "2"}, [])
    frontier.sites.publish("other", "v1", "{}", TERMS, [])
    frontier.heartbeat("here:1", QUEUES)
    frontier.produce()
    first = take_snapshot(frontier).marks()
    before = replace(first, at_ms=first.at_ms - 600_000)

    def alerts(items: int) -> list[str]:
        client.hset("test:s:demo:stats", "post:new", items)
        client.hincrby("test:changes", "demo", 1)
        found = find_problems(replace(take_snapshot(frontier), before=before))
        return [f"{one.subject}: {one.text}" for one in found if one.name == "CrawlFewItems"]

    assert alerts(21) == []
    assert alerts(19) == ["demo: 1.9 items a minute, fewer than min_items_per_minute"]
    frontier.admit("demo", posts(1))
    frontier.sites.pause("demo")
    assert alerts(0) == []
