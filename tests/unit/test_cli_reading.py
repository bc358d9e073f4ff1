"""Commands that only look: check, try URL, export."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet
import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.logs import printable
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.upsert import Store
from tests.threaded_forum import ThreadedForum
from tests.unit.command_line import run, site_text, write_site

DEMO = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"


@pytest.fixture
def forum(tmp_path: Path) -> Iterator[ThreadedForum]:
    """The demo forum, with its site file in the sites directory."""
    with ThreadedForum(DemoForum(1)) as server:
        text = DEMO.read_text("utf-8").replace("http://127.0.0.1:8765", server.url)
        write_site(tmp_path, text.replace("127.0.0.1:8765", server.url.removeprefix("http://")), "demo")
        yield server


def test_an_address_is_read_as_json_and_nothing_is_written(tmp_path: Path, forum: ThreadedForum) -> None:
    truth = next(post for post in DemoForum(1).truth().posts if post.status == 200)

    result = run("try", f"{forum.url}/post/{truth.post_id}", home=tmp_path)
    body = run("try", f"{forum.url}/post/{truth.post_id}", "--body", home=tmp_path)

    assert result.exit_code == Exit.OK, result.output
    assert json.loads(result.stdout)["posts"][0]["title"] == truth.title
    assert "nothing is stored" in result.stderr
    assert f"<title>{truth.title}" in body.stdout
    assert not (tmp_path / "state").exists()


def test_a_page_by_its_address_can_become_a_test_case(tmp_path: Path, forum: ThreadedForum) -> None:
    saved = run("try", f"{forum.url}/list/1/1", "--save", home=tmp_path)
    checked = run("sites", "check", "--no-publish", home=tmp_path)

    assert "kept as " in saved.stderr
    assert "demo: 1 kept pages read as before" in checked.stdout


@pytest.mark.parametrize(
    ("what", "code", "text"),
    [
        (("http://elsewhere.example/post/1",), Exit.USAGE, "is no page of a known site; known are demo"),
        (("no",), Exit.USAGE, "no.yaml: there is no such site; there are: demo"),
        (("{forum}/post/999999999",), Exit.FAILURES, "404"),
        (("file:///etc/passwd",), Exit.FAILURES, "http"),
        (("{forum}/post/1", "--kept"), Exit.USAGE, "--url and --kept are for a NAME"),
        (("demo", "--body"), Exit.USAGE, "--body is for a URL"),
        (("demo", "--url", "{forum}/post/1", "--kept"), Exit.USAGE, "one of them"),
        (("demo", "--revive"), Exit.USAGE, "--stage and --revive go with --kept"),
    ],
)
def test_what_cannot_be_tried_is_one_clear_line(
    tmp_path: Path, forum: ThreadedForum, what: tuple[str, ...], code: int, text: str
) -> None:
    result = run("try", *(word.format(forum=forum.url) for word in what), home=tmp_path)

    assert result.exit_code == code
    assert text in result.stderr.splitlines()[-1]


def test_the_check_names_each_thing_and_the_remedy_of_each_problem(tmp_path: Path, redis_server: RedisServer) -> None:
    write_site(tmp_path, site_text())

    result = run("check", "--json", home=tmp_path, redis_url=redis_server.url)

    assert result.exit_code == Exit.FAILURES, result.output
    told = json.loads(result.stdout)
    facts = {fact["subject"] for fact in told["facts"]}
    assert {"python", "celery", "sites", "redis", "database"} <= facts
    assert (told["ledger"], told["mended"]) == ([], [])
    assert {
        "name": "CrawlNoWorker",
        "severity": "critical",
        "subject": "post",
        "text": "no worker serves this queue",
        "remedy": "start one: celery -A crawl_tasks worker -Q post",
        "cell": "",
    } in told["problems"]


def test_the_check_fails_where_redis_may_throw_the_ledger_away(
    tmp_path: Path, redis_server: RedisServer, client: redis.Redis
) -> None:
    write_site(tmp_path, site_text())
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("appendonly", "no")

    result = run("check", home=tmp_path, redis_url=redis_server.url)
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("appendonly", "yes")

    assert result.exit_code == Exit.FAILURES
    assert "critical  CrawlRedisEvicts: maxmemory-policy is allkeys-lru" in result.stdout
    assert "warning   CrawlRedisForgets: appendonly is off" in result.stdout
    assert "\n          CONFIG SET appendonly yes\n" in result.stdout


@pytest.mark.parametrize(
    ("site", "settings", "code", "text"),
    [
        ("name: [", {}, Exit.BACKEND, "critical  CrawlSiteFile: "),
        (site_text(base="https://forum.example", private=""), {}, Exit.BACKEND, "critical  CrawlSiteFile: "),
        ("", {"sites_dir": "/nowhere"}, Exit.BACKEND, "info      CrawlNoSiteFile: "),
        (site_text(), {}, Exit.BACKEND, "be judged: Redis at redis://127.0.0.1:1/0 does not answer"),
        (site_text(), {"database_url": "oracle://me:secret@h/x"}, Exit.BACKEND, "critical  CrawlDatabaseDown: "),
    ],
)
def test_the_check_goes_on_after_a_failure_and_ends_with_the_gravest(
    tmp_path: Path, site: str, settings: dict[str, str], code: int, text: str
) -> None:
    write_site(tmp_path, site)

    result = run("check", home=tmp_path, **settings)

    assert result.exit_code == code
    assert text in result.stdout
    assert "secret" not in result.output
    assert "critical  CrawlRedisDown: " in result.stdout


def test_export_writes_rows_once_and_does_not_replace_a_file_unasked(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
        store.write([Items("demo", posts=(Post("1", 1.0, title="=1+1"),), comments=(Comment("1", "2", 1.0),))])
    out = tmp_path / "out.csv"

    stream = run("export", "--kind", "posts", home=tmp_path)
    first = run("export", "-o", str(out), home=tmp_path)
    second = run("export", "-o", str(out), home=tmp_path)
    forced = run("export", "-o", str(out), "--force", "--site", "none", home=tmp_path)

    assert [json.loads(line)["post_id"] for line in stream.stdout.splitlines()] == ["1"]
    assert (first.exit_code, second.exit_code, forced.exit_code) == (Exit.OK, Exit.USAGE, Exit.OK)
    assert "2 rows in" in first.stderr
    assert "stored of site none; sites with posts: demo" in forced.stderr
    assert len(out.read_text("utf-8").splitlines()) == 1


def test_export_goes_on_after_the_change_that_a_reader_names(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
        for number in ("1", "2"):
            store.write([Items("demo", posts=(Post(number, 1.0, title="t"),))])

    first = run("export", "--after", "0", home=tmp_path)
    known = json.loads(first.stdout.splitlines()[0])["change_id"]
    second = run("export", "--after", str(known), home=tmp_path)
    into_a_file = run("export", "--follow", "-o", str(tmp_path / "out"), home=tmp_path)

    assert [json.loads(line)["post_id"] for line in first.stdout.splitlines()] == ["1", "2"]
    assert [json.loads(line)["post_id"] for line in second.stdout.splitlines()] == ["2"]
    assert "up to change 2" in second.stderr
    assert (into_a_file.exit_code, "export --follow > FILE" in into_a_file.stderr) == (Exit.USAGE, True)


def test_one_line_gives_the_comments_of_the_last_week_on_some_boards(tmp_path: Path) -> None:
    now = int(time.time())
    with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
        for board in ("1", "2", "3"):
            comments = (Comment(board, "new", now, created_at=now - 86_400), Comment(board, "old", now, created_at=1))
            store.write([Items("bikes", posts=(Post(board, now, board),), comments=comments)])
    line = "export --kind comments --site bikes --board 1 --board 3 --since 7d --fields post_id,comment_id -o"

    result = run(*line.split(), str(tmp_path / "week.parquet"), home=tmp_path)

    assert "2 rows in" in result.stderr
    assert pyarrow.parquet.read_table(tmp_path / "week.parquet").to_pylist() == [
        {"post_id": "1", "comment_id": "new"},
        {"post_id": "3", "comment_id": "new"},
    ]


def test_a_partitioned_export_is_a_directory_that_can_be_resumed(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
        store.write([Items("demo", comments=(Comment("1", "2", 1.0, created_at=1_700_000_000),))])
    line = ("export", "--partition", "--format", "csv.gz", "-o", str(tmp_path / "rows"))

    first, again = run(*line, home=tmp_path), run(*line, home=tmp_path)
    resumed = run(*line, "--resume", home=tmp_path)

    assert (tmp_path / "rows/kind=comment/site=demo/day=2023-11-14/rows.csv.gz").exists()
    assert "1 rows in" in first.stderr
    assert (again.exit_code, "exists" in again.stderr) == (Exit.USAGE, True)
    assert "0 rows in" in resumed.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--board 1", "--board is of one site"),
        ("--board 1 --site a --site b", "--board is of one site"),
        ("--after 0 --versions", "rows as they are now"),
        ("--follow --partition", "rows as they are now"),
        ("--partition", "-o DIRECTORY"),
        ("--resume -o x", "--resume goes with --partition"),
        ("--fields post_id,colour", "there is no field colour"),
        ("--since tomorrow", "neither a time ago"),
        ("--follow --state normal", "take no --state"),
        ("--after 0 --site a --board 1", "take no --board"),
        ("--after 0 --author ann", "take no --author"),
        ("--after 0 --since 7d", "take no --since"),
        ("--after 0 --until 2026-01-31", "take no --until"),
        ("--after 0 --fields post_id,title", "need change_id, comment_id, kind, site too"),
        ("--after 0 --kind posts --fields post_id,title", "need change_id, kind, site too"),
    ],
)
def test_options_of_an_export_that_do_not_go_together_are_refused(tmp_path: Path, options: str, text: str) -> None:
    result = run("export", *options.split(), home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert text in result.stderr


def test_export_of_what_was_never_crawled_is_one_line(tmp_path: Path) -> None:
    result = run("export", home=tmp_path)

    assert result.exit_code == Exit.BACKEND
    [line] = result.stderr.splitlines()
    assert "crawl first" in line


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain 你好 🙂", "plain 你好 🙂"), ("\x1b[31mred", "\\x1b[31mred"), ("a\nb", "a\\nb"), ("\u202eb", "\\u202eb")],
)
def test_text_of_strangers_cannot_steer_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("command", [("export",), ("run", "--until-idle")], ids=" ".join)
def test_a_file_of_a_format_that_is_not_written_is_refused_before_any_work(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    result = run(*command, "-o", str(tmp_path / "x.xlsx"), home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert ".xlsx is no format of an export; name a file .jsonl, .csv or .parquet" in result.stderr
    assert not (tmp_path / "x.xlsx").exists()


STEERING = "a\x1b]0;x\x07\x9b31m\u202eb\tc"


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_foreign_text_does_not_steer_a_terminal_and_a_pipe_gets_it_whole(tmp_path: Path, form: str) -> None:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        store.write([Items("demo", posts=(Post("1", 1.0, extra={"x": STEERING}),))])
    command = [sys.executable, "-m", "crawl_tasks", "export", "--format", form]
    environment = os.environ | {"CRAWL_STATE_DIR": str(tmp_path)}
    ours, theirs = pty.openpty()

    piped = subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode()
    with subprocess.Popen(command, env=environment, stdout=theirs) as process:
        os.close(theirs)
        shown = read_all(ours).decode()
        assert process.wait() == 0

    assert [sign for sign in "\x1b\x07\x9b\u202e" if sign in shown] == []
    assert "\\u009b31m\\u202eb" in shown
    assert "\x9b31m\u202eb" in piped


def test_an_export_shows_its_progress_on_a_terminal_alone(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        store.write([Items("demo", posts=(Post("1", 1.0, title="t"), Post("2", 1.0, title="t")))])
    command = [sys.executable, "-m", "crawl_tasks", "export", "--force", "-o", str(tmp_path / "rows.jsonl")]
    environment = os.environ | {"CRAWL_STATE_DIR": str(tmp_path)}
    ours, theirs = pty.openpty()

    piped = subprocess.run(command, env=environment, capture_output=True, check=True).stderr.decode()
    with subprocess.Popen(command, env=environment, stderr=theirs) as process:
        os.close(theirs)
        shown = read_all(ours).decode()
        assert process.wait() == 0

    assert piped == f"2 rows in {tmp_path}/rows.jsonl\n"
    assert "2/2" in shown


def read_all(descriptor: int) -> bytes:
    """Read what a terminal was sent, up to its end."""
    pieces: list[bytes] = []
    with open(descriptor, "rb", buffering=0) as terminal, suppress(OSError):  # an error is its end
        while piece := terminal.read(65536):
            pieces.append(piece)
    return b"".join(pieces)
