"""Guard, ledger, queues and database are held against each other; what is broken is found, and mended or rebuilt."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from sqlalchemy import delete

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.audit import Violation
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Comment, Items, Post, Request, Stage
from crawl_tasks.monitor.problems.kinds import Severity
from crawl_tasks.monitor.problems.ledger_kinds import FLAW_KINDS
from crawl_tasks.queues import QUEUES
from crawl_tasks.recovery import fsck
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import dump_site
from crawl_tasks.store.tables import requests
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import prepare_rebuild
from crawl_tasks.worker.store_task import OutboxConsumer
from crawl_tasks.worker.task_message import TaskMessage
from tests.frontier.by_hand import TERMS, post, posts
from tests.frontier.small_crawl import RULES, SmallCrawl, small_forum
from tests.unit.command_line import run, site_text, write_site

DEMO = "test:s:demo"


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsck, "SECOND_LOOK_S", 0)


@dataclass(frozen=True)
class Swing:
    """A crawl as it was once: its site, its keys, its database."""

    site: Site
    keys: dict[bytes, bytes]
    database: Path


@pytest.fixture(scope="module")
def swing(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Swing:
    """A crawl with a request of every kind: done, ready, released, leased, delayed, parked, dead, a full pass."""
    database = tmp_path_factory.mktemp("swing") / "crawl.db"
    with redis.Redis.from_url(redis_server.url) as client, small_forum() as forum:
        crawl = SmallCrawl(client, Frontier(client, "test"), forum)
        site = crawl.publish("boards: [1]\ninterval: {full_pass_s: 86400}\n")
        forum.board("1", 1, *(f"{number} 0" for number in range(10, 20)))
        for number in range(12, 20):
            forum.thread(str(number))
        forum.pages["/post/10"] = "<h1>no body, so the page is parked</h1>"
        forum.moved["/post/11"] = "/post/11"
        crawl.scan()
        forum.board("1", 1, *(f"{number} 5" for number in range(30, 90)))
        crawl.frontier.produce()
        make_due(client)
        crawl.frontier.produce()
        crawl.pages.handle(TaskMessage("demo", Stage.LIST, rid=released(client, Stage.LIST)))
        crawl.frontier.lease("demo", released(client, Stage.POST))
        with Store(f"sqlite:///{database}") as store:
            OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1).run()
        keys = {key: client.dump(key) or b"" for key in client.scan_iter("test:*")}
        client.flushall()  # the server is the run's own
    return Swing(site, keys, database)


@pytest.fixture
def site(swing: Swing, client: redis.Redis, frontier: Frontier) -> Site:
    for key, content in swing.keys.items():
        client.restore(key, 0, content, replace=True)
    return swing.site


@pytest.fixture
def store(swing: Swing, tmp_path: Path) -> Iterator[Store]:
    copy = shutil.copy(swing.database, tmp_path / "crawl.db")
    with Store(f"sqlite:///{copy}") as store:
        yield store


def make_due(client: redis.Redis) -> None:
    for name in ("test:boards", "test:fulls"):
        for board in client.zrange(name, 0, -1):
            client.zadd(name, {board: 0})
    client.hset(f"{DEMO}:board:1", "full_due", 0)


def released(client: redis.Redis, stage: Stage) -> int:
    return int(client.zrange(f"{DEMO}:released:{stage.value}", 0, 0)[0])


def flaws(frontier: Frontier, store: Store, *, mend: bool = False) -> set[Violation]:
    return {found.location.flaw for found in Check(frontier, store).run(mend=mend)}


def test_a_crawl_in_full_swing_has_no_flaw(frontier: Frontier, store: Store, site: Site) -> None:
    counts = Inspector(frontier).count_requests("demo")

    assert min(counts.done, counts.ready, counts.released, counts.leased, counts.parked, counts.dead) > 0
    assert Check(frontier, store).run() == []


FORGETTABLE = [
    "alive",
    "wake:",
    "answers:",
    "changes",
    "recent",
    "refused",
    "serves",
    "rejected",
    "starts",
    "stats",
    "ticker",
    ":kept:",
    ":overdue",
    ":pages:",
    ":stats",
    ":tripped:",
    ":tail:",
    ":unread:",
    ":unscanned",
]
"""Parts of names of keys that no request and no scan depends on."""


def test_each_single_key_that_is_lost_is_noticed(
    swing: Swing, frontier: Frontier, client: redis.Redis, store: Store, site: Site
) -> None:
    unnoticed = set()

    for key, content in swing.keys.items():
        client.delete(key)
        if not flaws(frontier, store):
            unnoticed.add(key.decode())
        client.restore(key, 0, content, replace=True)

    assert len(swing.keys) > 20
    assert {key for key in unnoticed if not any(part in key for part in FORGETTABLE)} == set()


def first(client: redis.Redis, key: str) -> bytes:
    return next(iter(client.hkeys(f"{DEMO}:{key}")))


def copy(client: redis.Redis, source: str, target: str) -> None:
    """Let a request stand in two places."""
    rid = first(client, source)
    text = client.hget(f"{DEMO}:{source}", rid) or b""
    if source == "open":  # there it stands behind a token
        text = b"1 x y\n" + rid + b" " + text.partition(b" ")[2]
    client.hset(f"{DEMO}:{target}", rid, text)


DAMAGES: dict[str, tuple[Callable[[redis.Redis], object], set[Violation]]] = {
    "released is gone": (lambda r: r.delete(f"{DEMO}:released:post"), {Violation.UNHELD, Violation.LOST}),
    "leased is gone": (lambda r: r.delete(f"{DEMO}:leased"), {Violation.UNHELD, Violation.LOST}),
    "leased without entry": (lambda r: r.zadd(f"{DEMO}:leased", {999: 1}), {Violation.ENTRYLESS, Violation.UNCOUNTED}),
    "open and dead": (lambda r: copy(r, "open", "dead"), {Violation.TWICE, Violation.UNCOUNTED}),
    "parked and dead": (lambda r: copy(r, "parked", "dead"), {Violation.TWICE, Violation.UNCOUNTED}),
    "a level forgotten": (lambda r: r.hset(DEMO, "levels:post", ""), {Violation.UNREAD_LIST, Violation.LOST}),
    "the counter is behind": (lambda r: r.hincrby(DEMO, "admitted", -3), {Violation.UNCOUNTED}),
    "a scan that does not end": (lambda r: r.hincrby(f"{DEMO}:board:1", "open", 1), {Violation.SCAN}),
    "a pass that does not end": (lambda r: r.hincrby(f"{DEMO}:board:1", "full_open", 1), {Violation.SCAN}),
    "a board out of the schedule": (lambda r: r.delete("test:boards"), {Violation.UNSCHEDULED}),
    "a full pass out of the schedule": (lambda r: r.delete("test:fulls"), {Violation.UNSCHEDULED}),
    "a site that nobody looks at": (lambda r: r.delete("test:due"), {Violation.UNATTENDED}),
    "a message off the index": (lambda r: r.hset("test:unacked", "tag", "[]"), {Violation.STRANDED}),
    "an index without message": (lambda r: r.zadd("test:unacked_index", {"tag": 1}), {Violation.EMPTY}),
    "a claim off the clock": (lambda r: r.hset("test:claimed", "7", "demo  {}"), {Violation.STRANDED}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_can_be_mended_is_mended(
    damage: str, frontier: Frontier, client: redis.Redis, store: Store, site: Site
) -> None:
    break_it, expected = DAMAGES[damage]
    break_it(client)

    assert flaws(frontier, store) == expected
    flaws(frontier, store, mend=True)

    assert Check(frontier, store).run() == []


def test_lists_and_threads_that_disagree_when_nothing_is_open_are_told(client: redis.Redis, tmp_path: Path) -> None:
    with small_forum() as forum, Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        crawl = SmallCrawl(client, Frontier(client, "test"), forum)
        crawl.publish("boards: [1]\n")
        forum.board("1", 1, "10 2", "11 0")
        forum.thread("10", "1 hello", "2 again")
        forum.thread("11")
        crawl.scan()
        assert list(Check(crawl.frontier, store).disagreements()) == []  # the outbox holds it all
        crawl.store_into(store)
        assert list(Check(crawl.frontier, store).disagreements()) == []

        store.write([Items("demo", posts=(Post("10", crawl.frontier.clock_ms() / 1000, reply_count=3, revision="3"),))])

        told = list(Check(crawl.frontier, store).disagreements())
        assert [(one.name, one.severity, one.text[:8]) for one in told] == [
            ("CrawlRevisionsUnread", Severity.INFO, "1 post i"),
            ("CrawlCountsDiffer", Severity.INFO, "1 thread"),
        ]
        crawl.frontier.admit("demo", [Request("demo", Stage.POST, "12", f"{forum.url}/post/12")])
        assert list(Check(crawl.frontier, store).disagreements()) == []  # something is open


def test_rows_from_the_future_are_named_and_brought_back(frontier: Frontier, store: Store, site: Site) -> None:
    now = frontier.clock_ms() / 1000
    store.write([Items("demo", comments=(Comment("10", "1", now + 60), Comment("10", "2", now + 1e8)))])

    assert [str(one) for one in Check(frontier, store).run()] == [
        "demo: rows are from the future, and nothing seen from now on would replace them (comments):"
        " crawl-tasks check --mend"
    ]
    assert flaws(frontier, store, mend=True) == {Violation.FUTURE}

    assert Check(frontier, store).run() == []
    assert store.newest("demo") == now + 60


LOSSES: dict[str, tuple[Callable[[redis.Redis], object], set[Violation]]] = {
    "no ledger at all": (lambda r: r.flushall(), {Violation.OTHER_LEDGER}),
    "a site without terms": (lambda r: r.delete(DEMO), {Violation.BLANK_SITE, Violation.UNLISTED}),
    "half of a published file": (lambda r: r.hset("test:sites", "demo", '{"name": "demo",'), {Violation.BLANK_SITE}),
    "no board": (lambda r: r.delete(f"{DEMO}:board:1"), {Violation.BLANK_BOARD}),
    "what was open": (lambda r: r.delete(f"{DEMO}:open"), {Violation.ENTRYLESS, Violation.SCAN, Violation.UNLISTED}),
    "an entry that is none": (
        lambda r: r.hset(f"{DEMO}:parked", first(r, "parked"), "garbage"),
        {Violation.UNREADABLE, Violation.UNLISTED},
    ),
    "an entry that is no JSON": (
        lambda r: r.hset(f"{DEMO}:parked", first(r, "parked"), b"1 x y\n" + first(r, "parked") + b" post 5 1 u ["),
        {Violation.UNREADABLE, Violation.UNLISTED},
    ),
    "the dead": (lambda r: r.delete(f"{DEMO}:dead"), {Violation.LOST, Violation.UNLISTED}),
    "fingerprints": (lambda r: r.delete(f"{DEMO}:seen:post:0"), {Violation.GUARD, Violation.UNGUARDED}),
    "the guard's sizes": (lambda r: r.hincrby(f"{DEMO}:seen", "post:n", 5), {Violation.GUARD}),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_cannot_be_mended_is_rebuilt(
    loss: str, frontier: Frontier, client: redis.Redis, store: Store, site: Site
) -> None:
    lose, expected = LOSSES[loss]
    lose(client)

    assert flaws(frontier, store) == expected
    assert flaws(frontier, store, mend=True) >= expected - {Violation.ENTRYLESS, Violation.SCAN}
    prepare_rebuild(frontier, store, None).run({"demo": site}, lambda _: None)

    assert Check(frontier, store).run() == []


@pytest.mark.parametrize("key", ["outbox", "rejected"])
def test_items_that_were_deleted_before_they_were_stored_are_noticed_and_fetched_again(
    key: str, crawl: SmallCrawl, client: redis.Redis, tmp_path: Path
) -> None:
    """Neither the thread's page nor the list page that named it is known to the database: only a walk finds them."""
    site = crawl.publish("boards: [1]\n")
    crawl.forum.board("1", 1, "10 0")
    crawl.forum.thread("10")
    with Store(f"sqlite:///{tmp_path / 'crawl.db'}") as store:
        text, epoch = crawl.frontier.sites.published("demo"), Admin(crawl.frontier).restore.epoch()
        store.keep("demo", text or "", epoch or "", crawl.frontier.ledger)
        crawl.scan()
        if key == "rejected":
            for page_id, _ in crawl.frontier.outbox.draw("store", 10).pages:
                Admin(crawl.frontier).failed.items.put(page_id, "refused")
        assert flaws(crawl.frontier, store) == set()
        client.delete(f"test:{key}")

        assert [str(found) for found in Check(crawl.frontier, store).run()] == [
            "demo: the guard knows pages that are neither stored nor open, and nothing would fetch them (post):"
            " crawl-tasks recover --force",
            "demo: items were deleted before they were stored (2 pages): crawl-tasks recover --force",
        ]
        prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None, walk=True)
        crawl.frontier.produce()

        assert crawl.work() == ["/list/1/1", "/post/10"]
        assert flaws(crawl.frontier, store) == set()


def test_what_was_rejected_and_dropped_is_not_missed(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish("boards: [1]\n")
    crawl.forum.board("1", 1, "10 0")
    crawl.scan()
    for page_id, _ in crawl.frontier.outbox.draw("store", 10).pages:
        Admin(crawl.frontier).failed.items.put(page_id, "refused")

    Admin(crawl.frontier).failed.items.drop()

    assert Check(crawl.frontier, None).run() == []


def test_a_page_that_nobody_can_store_is_named(frontier: Frontier, client: redis.Redis, site: Site) -> None:
    page = client.xadd("test:outbox", {"items": "garbage"})

    found = Check(frontier, None).run()

    assert [(one.location.flaw, one.location.where) for one in found] == [(Violation.OUTBOX, page.decode())]


def test_a_finding_says_what_where_and_what_to_do(frontier: Frontier, client: redis.Redis, site: Site) -> None:
    client.hincrby(f"{DEMO}:board:1", "open", 1)

    lines = [str(one) for one in Check(frontier, None).run()]

    assert lines == ["demo: the open list pages of a board are miscounted (1): crawl-tasks check --mend"]
    assert FLAW_KINDS.keys() == set(Violation)


@pytest.mark.parametrize("mode", ["exact", "bloom"])
def test_a_large_guard_is_counted_in_pieces(mode: str, crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish(f"boards: [1]\nguard: {{post: {mode}}}\nguard_capacity: 1000\n")
    for start in range(0, 3000, 1000):
        crawl.frontier.admit("demo", [post(number)._replace(key=f"a{number}") for number in range(start, start + 1000)])

    assert Check(crawl.frontier, None).run() == []
    client.delete(f"{DEMO}:seen:post{'~' if mode == 'bloom' else ''}:1")

    assert {one.location.flaw for one in Check(crawl.frontier, None).run()} == {Violation.GUARD}


def test_only_the_sites_that_were_named_are_looked_through_and_mended(
    frontier: Frontier, client: redis.Redis, site: Site
) -> None:
    publish_site(frontier, parse_site(site_text("two"), "two.yaml"), None)
    client.hincrby(f"{DEMO}:board:1", "open", 1)

    assert Check(frontier, None, ["two"]).run(mend=True) == []
    assert [(one.site, one.location.flaw) for one in Check(frontier, None, ["demo"]).run()] == [
        ("demo", Violation.SCAN)
    ]


def test_the_command_names_what_is_broken_until_it_is_mended(
    redis_server: RedisServer, client: redis.Redis, frontier: Frontier, swing: Swing, tmp_path: Path, site: Site
) -> None:
    client.hincrby(f"{DEMO}:board:1", "open", 1)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    shutil.copy(swing.database, state / "crawl.db")
    (state / "crawl.db").chmod(0o600)
    write_site(tmp_path, site_text())
    frontier.heartbeat("here:1", QUEUES)
    frontier.produce()

    results = [
        run("check", *options, home=tmp_path, redis_url=redis_server.url)
        for options in (("--deep",), ("--mend",), ("--deep",), ())
    ]

    assert [(result.exit_code, result.stdout.splitlines()[-1]) for result in results] == [
        (1, "2 problems"), (1, "1 mended, 1 problem"), (1, "1 problem"), (1, "1 problem"),
    ]  # fmt: skip
    assert "warning   CrawlScanMiscounted: demo: the open list pages of a board are miscounted (1)" in results[0].stdout
    assert "mended    CrawlScanMiscounted: demo: " in results[1].stdout
    assert all("warning   CrawlParked: demo: 1 page is parked (parse)" in result.stdout for result in results)


def test_a_number_below_that_of_an_open_request_is_mended_to_it_and_given_to_no_second_one(
    frontier: Frontier, client: redis.Redis
) -> None:
    text = dump_site(parse_site(RULES + "boards: []\n", "demo.yaml"))
    frontier.sites.publish("demo", "v1", text, TERMS | {"window": 1}, [])
    frontier.admit("demo", posts(50))
    for _ in range(20):  # as if keys were lost
        client.rpop("test:s:demo:ready:post:5")
        client.lpop("test:s:demo:ready:post:5")
    client.hset("test:s:demo", "admitted", 3)

    Check(frontier, None).run(mend=True)

    frontier.admit("demo", posts(30, start=1000))
    entries = client.lrange("test:s:demo:ready:post:5", 0, -1)
    rids = [int(entry.split()[0]) for entry in entries] + [int(rid) for rid in client.hkeys("test:s:demo:open")]
    assert len(rids) == len(set(rids)) == 40
    client.hincrby("test:s:demo", "done:post", 20)  # what was lost, for the fixture


@pytest.mark.parametrize("guard", ["exact", "rolling"])
def test_a_page_that_only_the_guard_knows_is_found(guard: str, crawl: SmallCrawl, tmp_path: Path) -> None:
    crawl.publish(f"boards: [1, 2]\nguard: {guard}\n")
    for count in (0, 3):  # two lists that show another count have words of their own
        crawl.forum.board("1", 1, f"10 {count}", "11 0")
        crawl.forum.board("2", 1, f"10 {2 * count}", "11 0")
        crawl.forum.thread("10")
        crawl.forum.thread("11")
        crawl.scan()
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        crawl.store_into(store)
        assert Check(crawl.frontier, store).run() == []
        with store.database.writing() as connection:
            connection.execute(delete(requests).where(requests.c.stage == "post", requests.c.key == "11"))

        found = Check(crawl.frontier, store).run()

    assert [str(one) for one in found] == [
        "demo: the guard knows pages that are neither stored nor open, and nothing would fetch them (post):"
        " crawl-tasks recover --force"
    ]
