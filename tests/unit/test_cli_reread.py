"""`crawl-tasks reread`: a mended rule corrects what earlier pages gave, and the forum is not asked."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from click.testing import Result

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.store.upsert import Store
from tests.flow.world import ROOT
from tests.frontier.small_crawl import RULES, SmallCrawl, small_forum
from tests.frontier.test_archive import archiving
from tests.unit.command_line import run, site_text, write_site

WRONG = RULES.replace("robots: false", "robots: false\narchive: true").replace("body: .body", "body: h1")
RIGHT = WRONG.replace("body: h1", "body: .body")
PROBE = "select post_id, body, read_by from posts order by post_id"


@pytest.fixture
def crawl(client: redis.Redis, tmp_path: Path) -> Iterator[SmallCrawl]:
    """Return a crawl whose rules took the title for the text, of a thread that was edited and one that went."""
    with small_forum() as forum:
        crawl = SmallCrawl(client, Frontier(client, "test"), forum)
        archive = archiving(crawl, tmp_path / "state" / "archive")
        crawl.publish(rules=WRONG)
        forum.thread("1", "11 one", "12 two", body="first")
        forum.thread("2", body="only")
        forum.board("1", 1, "1 2", "2 0")
        crawl.scan()
        forum.thread("1", "11 one", body="edited")
        del forum.pages["/post/2"]
        forum.board("1", 1, "1 3", "2 1")
        crawl.scan()
        archive.close()
        with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
            crawl.store_into(store)
        forum.asked.clear()
        yield crawl


@pytest.fixture
def command(tmp_path: Path, redis_server: RedisServer) -> Callable[..., Result]:
    return lambda *arguments: run(*arguments, home=tmp_path, redis_url=redis_server.url, private_hosts="127.0.0.1")


def rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(home / "state" / "crawl.db")) as connection, connection:
        return connection.execute(query).fetchall()


def test_the_past_is_as_if_the_rule_had_always_been_right(
    crawl: SmallCrawl, command: Callable[..., Result], tmp_path: Path
) -> None:
    wrong = rows(tmp_path, PROBE)
    version = crawl.publish(rules=RIGHT).version

    result = command("reread", "demo")

    assert [body for _, body, _ in wrong] == ["post 1", "post 2"]
    assert result.exit_code == Exit.OK, result.output
    assert result.stdout == f"demo: 6 pages of 1 file read by {version}\n0 rows added, 2 changed, 0 removed\n"
    assert rows(tmp_path, PROBE) == [("1", "edited", version), ("2", "only", version)]
    assert rows(tmp_path, "select post_id, field, value from versions order by 1, 2") == [
        ("1", "body", "first"),
        ("2", "state", "normal"),
    ]
    assert rows(tmp_path, "select post_id, state from posts") == [("1", "normal"), ("2", "deleted")]
    assert crawl.forum.asked == []
    again = command("reread", "demo", "--since", "1d")
    assert again.stdout.endswith("0 rows added, 0 changed, 0 removed\n")


def test_a_page_that_todays_rules_cannot_read_keeps_what_it_gave(
    crawl: SmallCrawl, command: Callable[..., Result], tmp_path: Path
) -> None:
    crawl.publish(rules=RIGHT.replace("title: h1", "title: {css: h3, required: true}"))

    result = command("reread", "demo")

    assert result.exit_code == Exit.FAILURES
    assert "not read, left as it was: 1 post page, parse: " in result.stderr
    assert [body for _, body, _ in rows(tmp_path, PROBE)] == ["post 1", "post 2"]


def test_a_reread_that_was_killed_is_begun_again(
    crawl: SmallCrawl, command: Callable[..., Result], tmp_path: Path, redis_server: RedisServer
) -> None:
    crawl.publish(rules=RIGHT)
    code = """
import os
from crawl_tasks.store.corrections import Corrections
correct = Corrections._correct
def dying(self, shape, rows):
    correct(self, shape, rows)
    if shape.table.name == "posts":
        os._exit(9)
Corrections._correct = dying
from crawl_tasks.cli.main import cli
cli(["reread", "demo"])
"""
    environment = {
        "CRAWL_STATE_DIR": str(tmp_path / "state"),
        "CRAWL_REDIS_URL": redis_server.url,
        "CRAWL_REDIS_PREFIX": "test",
        "CRAWL_PRIVATE_HOSTS": "127.0.0.1",
    }
    killed = subprocess.run([sys.executable, "-c", code], env=os.environ | environment, cwd=ROOT, check=False)

    result = command("reread", "demo")

    assert killed.returncode == 9
    assert result.exit_code == Exit.OK, result.output
    assert [body for _, body, _ in rows(tmp_path, PROBE)] == ["edited", "only"]
    assert [path.name for path in (tmp_path / "state" / "archive").iterdir()] == ["demo"]


def test_pages_in_hand_are_waited_for(crawl: SmallCrawl, command: Callable[..., Result], tmp_path: Path) -> None:
    # Committed by the wrong rules, and not stored yet.
    archive = archiving(crawl, tmp_path / "state" / "archive")
    crawl.forum.thread("3", body="late")
    crawl.forum.board("1", 1, "3 0")
    crawl.scan()
    archive.close()
    crawl.publish(rules=RIGHT)

    result = command("reread", "demo")

    assert result.exit_code == Exit.OK, result.output
    assert crawl.frontier.outbox.size() == 0
    assert ("3", "late") in [row[:2] for row in rows(tmp_path, PROBE)]


def test_pages_of_threads_are_stored_under_the_ids_that_the_mended_rule_reads_from_lists(
    crawl: SmallCrawl, command: Callable[..., Result], tmp_path: Path
) -> None:
    archive = archiving(crawl, tmp_path / "state" / "archive")
    crawl.forum.thread("7", body="text")
    row = "<div class=row data-id=7 data-key=k7><a class=t href=/post/7>post 7</a><i class=n>0</i></div>"
    crawl.forum.pages["/list/1/1"] = row
    crawl.scan()
    archive.close()
    linked = RIGHT.replace("post_id: {attr: data-id}", "post_id: {attr: data-key}, url: {css: .t, attr: href}")
    crawl.publish(rules=linked.replace("  address: /post/{post}\n", ""))

    command("reread", "demo")

    assert ("k7", "text") in [row[:2] for row in rows(tmp_path, PROBE)]


def test_pages_that_were_leased_after_a_reread_began_are_left_alone(
    crawl: SmallCrawl, command: Callable[..., Result], tmp_path: Path
) -> None:
    archive = archiving(crawl, tmp_path / "state" / "archive")
    in_an_hour = crawl.frontier.clock_ms() + 3_600_000
    crawl.client.hset("test:s:demo", "fence", in_an_hour)
    crawl.forum.thread("3", body="late")
    crawl.forum.board("1", 1, "3 0")
    crawl.scan()
    archive.close()

    result = command("reread", "demo")

    assert result.stdout.startswith("demo: 6 pages of "), result.output


def test_a_site_without_an_archive_is_told_where_one_comes_from(
    crawl: SmallCrawl, redis_server: RedisServer, tmp_path: Path
) -> None:
    result = run("reread", "demo", home=tmp_path, redis_url=redis_server.url, private_hosts="127.0.0.1",
        archive_dir=str(tmp_path / "nowhere"))  # fmt: skip

    assert result.exit_code == Exit.USAGE
    assert f"demo has no archive in {tmp_path}/nowhere" in result.stderr


def test_check_tells_of_a_full_disk_of_the_archive_and_of_the_missing_package(
    command: Callable[..., Result], tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_site(tmp_path, site_text() + "archive: true\n")
    fitting = command("check").stdout
    monkeypatch.setitem(sys.modules, "warcio", None)

    said = run("check", home=tmp_path, redis_url=redis_server.url, archive_free_bytes=str(1 << 60)).stdout

    assert "is full" not in fitting
    assert "pip install 'crawl-tasks[archive]'" not in fitting
    assert "is full" in said
    assert "tiny shall be archived, and warcio is not installed" in said
