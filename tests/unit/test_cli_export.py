"""The export command: times and names as they are typed, and an end that leaves nothing half written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crawl_tasks.cli.exits import Exit
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.upsert import Store
from tests.unit.command_line import run
from tests.waiting import eventually


@pytest.mark.parametrize(
    ("option", "times"),
    [
        ("--since=2024-05-01T12:30:00+08:00", ["04:30", "12:30"]),
        ("--until=2024-05-01T12:30:00+08:00", ["04:00"]),
        ("--since=2024-05-01T12:30:00", ["12:30"]),
        ("--since=2024-05-01T04:30:00Z", ["04:30", "12:30"]),
        ("--until=2024-04-30T23:30-05:00", ["04:00"]),
    ],
)
def test_a_time_keeps_the_zone_that_it_was_given(tmp_path: Path, option: str, times: list[str]) -> None:
    moments = [datetime(2024, 5, 1, *clock, tzinfo=UTC) for clock in ((4, 0), (4, 30), (12, 30))]
    with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
        posts = tuple(Post(f"{at:%H:%M}", 1.0, created_at=int(at.timestamp())) for at in moments)
        store.write([Items("demo", posts=posts)])

    result = run("export", option, home=tmp_path)

    assert [json.loads(line)["post_id"] for line in result.stdout.splitlines()] == times


@pytest.mark.parametrize("typed", ["Zo\u00eb", "Zoe\u0308"], ids=["NFC", "NFD"])
def test_an_author_is_found_in_whichever_way_the_name_is_typed(tmp_path: Path, typed: str) -> None:
    with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
        posts = (
            Post("html", 1.0, author="Zo\u00eb"),
            Post("json", 1.0, author="Zoe\u0308"),
            Post("x", 1.0, author="Zoe"),
        )
        store.write([Items("demo", posts=posts)])

    result = run("export", "--author", typed, home=tmp_path)

    assert [json.loads(line)["post_id"] for line in result.stdout.splitlines()] == ["html", "json"]


def test_a_feed_ends_when_its_reader_has_gone_and_by_signals_without_a_traceback(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        store.write([Items("demo", posts=(Post("1", 1.0),))])
    command = [sys.executable, "-m", "crawl_tasks", "export", "--follow"]
    env = os.environ | {"CRAWL_DATABASE_URL": f"sqlite:///{tmp_path}/crawl.db"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    ends: list[tuple[int, bytes]] = []

    for number in (0, signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen(command, env=env, **pipes) as feed:
            assert feed.stdout is not None
            assert feed.stderr is not None
            assert feed.stdout.readline()
            if number:
                feed.send_signal(number)
            else:
                feed.stdout.close()
            said = feed.stderr.read()
        ends.append((feed.returncode, said))

    assert ends == [(0, b""), (Exit.INTERRUPTED, b""), (Exit.TERMINATED, b"")]


def test_an_export_that_is_ended_by_a_signal_leaves_no_part(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        for start in range(0, 60_000, 5000):
            some = tuple(Comment("1", str(n), 1.0, body="x" * 500) for n in range(start, start + 5000))
            store.write([Items("demo", comments=some)])
    command = [sys.executable, "-m", "crawl_tasks", "export", "-o", str(tmp_path / "out" / "rows.jsonl")]
    env = os.environ | {"CRAWL_DATABASE_URL": f"sqlite:///{tmp_path}/crawl.db"}
    (tmp_path / "out").mkdir()

    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as export:
            assert export.stderr is not None
            eventually(lambda: list((tmp_path / "out").iterdir()))
            export.send_signal(number)
            said = export.stderr.read()

        assert (export.returncode, said) == (128 + number, b"")
        assert list((tmp_path / "out").iterdir()) == []
