"""`crawl-tasks try --kept`: pages that could not be read are read by the mended file, and go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from click.testing import Result

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Stage
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.small_crawl import RULES, SmallCrawl, small_forum
from tests.unit.command_line import run, write_site

Command = Callable[..., Result]


@pytest.fixture
def crawl(client: redis.Redis) -> Iterator[SmallCrawl]:
    """Return a crawl of a forum that was given another layout: its post stage was shut by the first five posts."""
    with small_forum() as forum:
        crawl = SmallCrawl(client, Frontier(client, "test"), forum)
        crawl.publish()
        crawl.forum.board("1", 1, *(f"{number} 0" for number in range(1, 9)))
        for number in range(1, 9):
            crawl.forum.pages[f"/post/{number}"] = f"<h2>post {number}</h2><div class=body>hello"
        crawl.scan()
        yield crawl


@pytest.fixture
def command(tmp_path: Path, redis_server: RedisServer, crawl: SmallCrawl) -> Command:
    place = crawl.forum.url.removeprefix("http://")
    text = RULES.replace("http://127.0.0.1:1", crawl.forum.url)
    write_site(tmp_path, f'{text}boards: [1]\nprivate_hosts: ["{place}"]\n', "demo")
    return lambda *arguments: run(*arguments, home=tmp_path, redis_url=redis_server.url)


def mend(home: Path) -> None:
    path = home / "sites" / "demo.yaml"
    path.write_text(path.read_text("utf-8").replace("title: h1", "title: h2"), "utf-8")


def test_what_is_kept_is_listed_and_status_tells_of_the_open_circuit_breaker(command: Command) -> None:
    listed = command("failed", "list", "--kept", "--site", "demo", "--stage", "post")
    others = command("failed", "list", "--kept", "--stage", "list")
    rows = [json.loads(line) for line in command("failed", "list", "--kept", "--json").stdout.splitlines()]
    status = command("status", "demo")

    assert listed.stdout.splitlines()[-1] == "5 pages are shown; next: crawl-tasks try SITE --kept"
    assert "post: title found nothing" in listed.stdout.splitlines()[0]
    assert {(row["kind"], row["site"], row["stage"]) for row in rows} == {("kept", "demo", "post")}
    assert others.stdout == "no page is kept\n"
    assert command("failed", "list", "--kept", "--reason", "parse").exit_code == Exit.USAGE
    assert "circuit breaker open since" in status.stdout


def test_a_file_that_is_not_mended_revives_nothing(command: Command, crawl: SmallCrawl) -> None:
    result = command("try", "demo", "--kept", "--revive")

    assert result.exit_code == Exit.FAILURES
    assert "missing  demo: post: title found nothing" in result.stdout
    assert Inspector(crawl.frontier).count_requests("demo").parked == 5


def test_a_mended_file_shows_its_fields_and_publishes_nothing_by_itself(
    command: Command, tmp_path: Path, crawl: SmallCrawl
) -> None:
    mend(tmp_path)

    result = command("try", "demo", "--kept", "--stage", "post")

    assert result.exit_code == Exit.OK, result.output
    assert any(line.split()[:4] == ["title", "1", "of", "1"] for line in result.stdout.splitlines())
    assert list(take_snapshot(crawl.frontier).sites[0].open_breakers) == [Stage.POST]


def test_a_kept_page_can_become_a_test_case(command: Command, tmp_path: Path) -> None:
    mend(tmp_path)

    result = command("try", "demo", "--kept", "--save")

    assert result.exit_code == Exit.OK, result.output
    assert len(list((tmp_path / "sites" / "demo.cases").glob("post-*.json"))) == 5


def test_a_mended_file_is_published_and_what_was_parked_is_fetched(
    command: Command, tmp_path: Path, crawl: SmallCrawl
) -> None:
    mend(tmp_path)

    result = command("try", "demo", "--kept", "--revive")
    crawl.work()

    assert result.stdout.splitlines()[-1] == "demo is published; 5 parked requests are ready again"
    assert (
        Inspector(crawl.frontier).count_requests("demo").done,
        Inspector(crawl.frontier).count_requests("demo").parked,
    ) == (9, 0)
    assert command("try", "demo", "--kept").stdout == "no page of demo is kept\n"
