"""What a terminal shows of a crawl: the table and the JSON of status, the statistics at the end, the report."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import redis
from rich.console import Console

from crawl_tasks.cli.exits import Exit
from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import FailedRequest
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.page_logs import PageLog, slowest_pages
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.logs import ConsoleFormatter, JsonFormatter
from crawl_tasks.model import State
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.progress import fitting_table, plain_text, site_table
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot, Stored, take_snapshot
from crawl_tasks.monitor.top import COLUMNS, recent, top_table
from crawl_tasks.operate.crawl import Finish, Start
from crawl_tasks.operate.summary import crawl_stats
from crawl_tasks.web.static_report import crawl_report, write_report
from tests.unit.command_line import run
from tests.unit.test_web_pages import post, work


@pytest.fixture
def course(client: redis.Redis) -> tuple[Snapshot, Snapshot]:
    """A crawl of two sites: how it began and, a minute later, how it ended."""
    frontier = Frontier(client, "test")
    work(frontier, client, "quiet", 5)
    start = take_snapshot(frontier, ["quiet"])
    work(frontier, client, "busy", 30)
    end = take_snapshot(frontier)
    return start, replace(end, health=replace(end.health, at_ms=start.at_ms + 60_000))


def printed(table: object, width: int = 160) -> str:
    console = Console(width=width, record=True, file=StringIO())
    console.print(table)
    return console.export_text()


def test_the_busiest_site_stands_first_and_what_each_needs_beside_it(course: tuple[Snapshot, Snapshot]) -> None:
    start, end = course
    nothing = replace(
        end, health=start.health, sites=tuple(replace(site, counts=blank(site.counts)) for site in end.sites)
    )
    history = recent()
    history.note(nothing)
    history.note(end)

    shown = printed(top_table(end, history, most=10))

    assert [line.split()[0:2] for line in shown.splitlines() if "is parked" in line] == [
        ["busy", "28"],
        ["quiet", "3"],
    ]
    assert "2 sites, 0 workers, beat silent: 31 pages/min" in shown


def test_eighty_columns_cut_nothing_off_and_say_what_to_do(course: tuple[Snapshot, Snapshot]) -> None:
    start, end = course
    history = recent()
    history.note(start)
    history.note(end)

    busiest, watched = printed(top_table(end, history, 10, 80), 80), printed(site_table("status", end.sites), 80)

    narrow = printed(top_table(end, history, 10, 40), 40)
    assert "mend the cause" in " ".join(busiest.split())
    assert (max(map(len, narrow.splitlines())) <= 40, "parked" in narrow, "pages/min  " in narrow) == (
        True,
        True,
        False,
    )
    assert "…" not in busiest + watched
    assert max(map(len, (busiest + watched).splitlines())) <= 80


@pytest.mark.parametrize(("sites", "stages", "rows"), [(2, True, 2), (8, False, 8), (500, False, 14)])
def test_a_screen_never_shows_more_sites_than_it_has_lines(
    course: tuple[Snapshot, Snapshot], sites: int, stages: bool, rows: int
) -> None:
    one = course[1].sites[0]
    many = replace(course[1], sites=tuple(replace(one, name=f"site-{number}") for number in range(sites)))

    shown = printed(fitting_table("status", many, 20), 80)

    assert len(shown.splitlines()) < 20
    assert ("comment" in shown, len(re.findall(r"^ *[\w-]+ +all ", shown, re.MULTILINE))) == (stages, rows)
    assert ("486 sites more: crawl-tasks status --sort pages" in shown) == (sites == 500)


def test_status_says_of_a_site_all_that_is_to_be_done(course: tuple[Snapshot, Snapshot]) -> None:
    _, end = course

    text = plain_text(replace(end, sites=end.sites[:1]))

    nexts = re.findall(r"^  next     (\S.*?);", text, re.M)
    assert nexts == [
        "1 page is parked (parse)", "beat is silent, no new scans begin", "1 page is given up (status)"
    ]  # fmt: skip


def test_a_site_that_was_never_scanned_has_nothing_to_do_once_beat_is_alive(course: tuple[Snapshot, Snapshot]) -> None:
    _, end = course
    beating = replace(end, health=replace(end.health, produced_at_ms=end.at_ms))

    assert "beat is silent" not in plain_text(beating)
    assert "\nbeat is silent, no new scans begin; start celery -A crawl_tasks beat" in plain_text(end)
    assert "\npost: no worker serves this queue; start one: celery -A crawl_tasks worker -Q post" in plain_text(end)
    assert "\ncontrol: no worker serves this queue; start one: celery -A crawl_tasks worker -Q list" in plain_text(end)


def blank(counts: object) -> object:
    stages = {stage: replace(count, done=0) for stage, count in counts.stages.items()}  # type: ignore[attr-defined]
    return replace(counts, stages=stages)  # type: ignore[type-var]


@pytest.mark.parametrize("column", list(COLUMNS))
def test_the_greatest_of_a_column_stands_first(course: tuple[Snapshot, Snapshot], column: str) -> None:
    _, end = course
    one = end.sites[0]
    boards = replace(one.boards, late=0, overdue_since_ms=0)
    plain = SiteSnapshot("a", replace(blank(one.counts), fields={}, stats={}), boards)
    greatest = {
        "site": plain,
        "pages": replace(plain, counts=replace(one.counts, fields={}, stats={})),
        "open": replace(plain, counts=replace(plain.counts, leased=99)),
        "late": replace(plain, boards=replace(boards, late=2)),
        "posts": replace(plain, counts=replace(plain.counts, stats={"post:new": 5})),
        "failed": replace(plain, counts=replace(plain.counts, fields={"failed:status": "5"})),
        "overdue": replace(plain, boards=replace(boards, overdue=1, overdue_since_ms=1)),
    }
    history = recent()
    history.note(replace(end, sites=(plain, replace(plain, name="z"))))
    after = replace(end, sites=(plain, replace(greatest[column], name="z")))
    history.note(after := replace(after, health=replace(end.health, at_ms=end.at_ms + 60_000)))

    rows = [line.split() for line in printed(top_table(after, history, 10, sort=column)).splitlines()]

    assert [words[0] for words in rows if words and words[0] in "az"] == (
        ["a", "z"] if column == "site" else ["z", "a"]
    )


def test_a_table_takes_two_looks_to_tell_rates(client: redis.Redis, redis_server: RedisServer, tmp_path: Path) -> None:
    work(Frontier(client, "test"), client, "busy", 5)

    result = run("status", "--sort", "open", "--every", "0.2", home=tmp_path, redis_url=redis_server.url)
    as_json = run("status", "--sort", "open", "--json", home=tmp_path, redis_url=redis_server.url)

    assert (result.exit_code, "busy" in result.stdout, ": 0 pages/min" in result.stdout) == (0, True, True)
    assert (as_json.exit_code, "--sort is for people" in as_json.stderr) == (Exit.USAGE, True)


def test_status_as_json_has_what_the_counters_know(
    client: redis.Redis, redis_server: RedisServer, tmp_path: Path
) -> None:
    work(Frontier(client, "test"), client, "busy", 5)

    result = run("status", "--json", home=tmp_path, redis_url=redis_server.url)

    row = json.loads(result.stdout)
    [site] = row["sites"]
    assert (site["statuses"], site["given_up"]) == ({"200": 5}, {"parked:parse": 1, "dead:status": 1})
    assert row["times_ms"]["fetch"]["post"] == {"count": 5, "p50": 75.0, "p95": 97.5}


def test_status_of_an_emptied_redis_says_why_all_stands_still(
    client: redis.Redis, redis_server: RedisServer, tmp_path: Path
) -> None:
    Admin(Frontier(client, "test")).restore.halt("Redis was emptied; run: crawl-tasks recover")

    result = run("status", home=tmp_path, redis_url=redis_server.url)

    assert result.exit_code == Exit.BACKEND
    assert "all sites stand still: Redis was emptied; run: crawl-tasks recover" in result.stderr


def test_the_statistics_have_the_names_that_scrapys_users_know(course: tuple[Snapshot, Snapshot]) -> None:
    start, end = course

    stats = crawl_stats(Start(time.monotonic() - 60, start, Stored(0, 0)), end, Stored(0, 0), Finish.IDLE)

    assert stats["downloader/request_count"] == 31
    assert stats["downloader/response_status_count/200"] == 30
    assert (stats["given_up/dead/status"], stats["given_up/parked/parse"]) == (1, 1)


def test_the_report_shows_the_crawl_and_stands_alone(course: tuple[Snapshot, Snapshot], tmp_path: Path) -> None:
    start, end = course
    history = History(1000, 240, is_whole=True)
    history.note(start)
    history.note(end)

    failed = FailedRequest(7, State.DEAD, end.at_ms, "status", "410 <gone>", 1, post("busy", 1))
    slow = PageLog("busy", "list", 4321, "http://forum/list?<2>")
    stats = {"pages/all": 28, "<x>": 1}
    report = crawl_report("crawl", start, end, history, stats, failed=[failed], slowest=[slow])
    write_report(tmp_path / "report.html", report)

    text = (tmp_path / "report.html").read_text("utf-8")
    assert re.findall(r"(?:src=|<script|@import|url\()", text) == []
    assert ">28<" in text
    assert "&lt;x&gt;" in text
    assert "time of fetching" in text
    assert "busy: 1 page is parked (parse); mend the cause" in text
    assert ">now<" not in text
    rows = [re.sub("<[^>]+>", " ", row).split() for row in re.findall("<tr>.*?</tr>", text)]
    assert ["busy", "28", "0", "0", "2", "1", "1", "1"] in rows
    assert ["quiet", "0", "0", "0", "0", "1", "1", "1"] in rows
    assert any(row[4:] == ["post", failed.request.address, "410", "&lt;gone&gt;"] for row in rows)
    assert ["busy", "list", "4321", "ms", "http://forum/list?&lt;2&gt;"] in rows
    with pytest.raises(ConfigError, match="cannot be written"):
        write_report(tmp_path, text)


@pytest.mark.parametrize("formatter", [ConsoleFormatter(), JsonFormatter()])
def test_the_slowest_pages_are_those_that_the_workers_logged(tmp_path: Path, formatter: logging.Formatter) -> None:
    def line(address: str, at_s: float, ms: int, message: str = "page") -> str:
        said = {"site": "busy", "stage": "list", "url": address, "ms": ms, "msg": message, "created": at_s}
        return formatter.format(logging.makeLogRecord({"levelname": "INFO", "name": "worker", "msecs": 0, **said}))

    old, slow, quick = line("http://old", 1000, 900), line('http://a?"b c"', 2000, 500), line("http://c", 3000, 20)
    other = line("http://other", 2500, 700, "page is gone")
    (tmp_path / "list.log").write_text(f"{old}\nsomething else\n{quick}\n{other}\n", "utf-8")
    (tmp_path / "detail.log").write_text(f"{slow}\n{slow[:60]}", "utf-8")

    found = slowest_pages(tmp_path, 1_500_000)

    assert found == [PageLog("busy", "list", 500, 'http://a?"b c"'), PageLog("busy", "list", 20, "http://c")]


def test_a_long_crawl_is_kept_whole_with_fewer_readings(course: tuple[Snapshot, Snapshot]) -> None:
    _, end = course
    history = History(1000, 10, is_whole=True)

    for second in range(100):
        history.note(replace(end, health=replace(end.health, at_ms=second * 1000)))

    kept = [reading.at_ms for reading in history.of()]
    assert (kept[0], kept[-1], len(kept) <= 10) == (0, 99_000, True)


def test_a_sorted_table_that_is_watched_through_a_pipe_comes_look_by_look(
    client: redis.Redis, redis_server: RedisServer
) -> None:
    work(Frontier(client, "test"), client, "quiet", 5)
    command = [sys.executable, "-m", "crawl_tasks", "status", "--watch", "--sort", "pages", "--every", "0.2"]
    environment = os.environ | {"CRAWL_REDIS_URL": redis_server.url, "CRAWL_REDIS_PREFIX": "test"}

    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        rows = [next(line for line in process.stdout if "quiet" in line) for _ in range(2)]
        process.terminate()

    assert len(rows) == 2
