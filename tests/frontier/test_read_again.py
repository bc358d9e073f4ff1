"""What a version of the site file read is asked for again, whatever the guard says."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.sites.old_rules import OldRules
from crawl_tasks.store.queries import readers
from crawl_tasks.store.tables import comments
from crawl_tasks.store.upsert import Store
from tests.frontier.small_crawl import RULES, SmallCrawl
from tests.unit.command_line import Command, run

PAGER = "<i class=pages>3</i>"
MENDED = RULES.replace("body: .say", "body: .says")


@pytest.fixture
def command(tmp_path: Path, redis_server: RedisServer) -> Command:
    return lambda *arguments: run(*arguments, home=tmp_path, redis_url=redis_server.url)


@pytest.fixture
def database(tmp_path: Path) -> str:
    (tmp_path / "state").mkdir()
    return f"sqlite:///{tmp_path}/state/crawl.db"


def crawled(crawl: SmallCrawl, database: str) -> str:
    """Crawl two threads, one of three comment pages, and store them; return the version that read them."""
    version = crawl.publish().version
    crawl.forum.board("1", 1, "10 0", "11 0")
    crawl.forum.thread("10", more=PAGER)
    crawl.forum.thread("11")
    for number in (2, 3):
        said = f"<div class=c data-id={number}><p class=say>b</p><p class=says>mended</p></div>"
        crawl.forum.pages[f"/comment/10/{number}"] = said
    crawl.scan()
    with Store(database) as store:
        crawl.store_into(store)
    return version


def test_what_a_version_read_is_fetched_again_by_the_next_one(
    crawl: SmallCrawl, command: Command, database: str
) -> None:
    old = crawled(crawl, database)
    new = crawl.publish(rules=MENDED).version

    result = command("seed", "demo", "--read-by", old)

    assert (result.exit_code, result.stdout) == (Exit.OK, f"admitted: 4 pages that {old} read\n")
    assert sorted(crawl.work()) == ["/comment/10/2", "/comment/10/3", "/post/10", "/post/11"]
    with Store(database) as store:
        crawl.store_into(store)
        assert readers(store, "demo") == [new]
        with store.database.reading() as connection:
            assert set(connection.scalars(select(comments.c.body))) == {"mended"}
    assert Inspector(crawl.frontier).count_requests("demo").imbalance() == ""


def test_a_version_that_read_nothing_is_a_wrong_usage_that_names_those_that_did(
    crawl: SmallCrawl, command: Command, database: str
) -> None:
    version = crawled(crawl, database)

    result = command("seed", "demo", "--read-by", "another")

    assert result.exit_code == Exit.USAGE
    assert f"no page of demo was read by 'another'; versions that read pages: {version}" in result.stderr


def test_pages_beyond_the_backlog_are_refused_and_asked_for_the_next_time(
    crawl: SmallCrawl, command: Command, database: str
) -> None:
    old = crawled(crawl, database)
    crawl.publish(rules=MENDED.replace("window: 50,", "window: 50, max_backlog: 1,"))
    fetched, codes = [], []

    for _ in range(20):
        codes.append(command("seed", "demo", "--read-by", old).exit_code)
        fetched += crawl.work()
        with Store(database) as store:
            crawl.store_into(store)

    assert (codes[0], codes[-1]) == (Exit.FAILURES, Exit.USAGE)  # nothing is left that it read
    assert sorted(set(fetched)) == ["/comment/10/2", "/comment/10/3", "/post/10", "/post/11"]


def test_a_mended_rule_says_how_many_threads_the_file_before_read_and_how_they_are_read_again(
    crawl: SmallCrawl, command: Command, database: str, tmp_path: Path
) -> None:
    old = crawled(crawl, database)
    sites = tmp_path / "sites"
    sites.mkdir()
    base = f'base: {crawl.forum.url}\nprivate_hosts: ["{crawl.forum.url.removeprefix("http://")}"]'
    mended = MENDED.replace("base: http://127.0.0.1:1", base) + "boards: [1]\n"
    (sites / "demo.yaml").write_text(mended, "utf-8")

    again = f"crawl-tasks seed demo --read-by {old}"
    told = [command("sites", "check").stderr, command("check", "--deep").stdout]
    # Another pace reads no page otherwise.
    (sites / "demo.yaml").write_text(mended.replace("window: 50", "window: 49"), "utf-8")
    told += [command("sites", "check").stderr]
    command(*again.split()[1:])
    crawl.work()
    with Store(database) as store:
        crawl.store_into(store)

    assert all("2 threads were read by the site file before, with other rules: http" in text for text in told)
    assert all(f"{again} reads them again" in text for text in told)
    assert "/post/10" in told[1]
    assert "read by the site file before" not in command("sites", "check").stderr + command("check", "--deep").stdout


def test_a_file_that_was_set_back_reads_as_it_did(crawl: SmallCrawl) -> None:
    first = crawl.publish().version
    second = crawl.publish(rules=MENDED).version
    crawl.publish(rules=MENDED.replace("window: 50", "window: 49"))
    assert OldRules.read(crawl.frontier.sites.old_rules("demo")) == OldRules((second,), (first,))

    crawl.publish()

    assert first not in OldRules.read(crawl.frontier.sites.old_rules("demo")).other
    assert second in OldRules.read(crawl.frontier.sites.old_rules("demo")).other


def test_another_order_of_dates_is_another_rule(crawl: SmallCrawl) -> None:
    first = crawl.publish(rules=MENDED).version

    crawl.publish(rules=f"{MENDED}\ndate_order: dmy\n")

    assert OldRules.read(crawl.frontier.sites.old_rules("demo")).other == (first,)
