"""A file under its final name is whole, one export's, and of one moment, whoever else writes or dies beside it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from crawl_tasks.errors import CrawlError
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.atomic_file import opened
from crawl_tasks.store.export import export
from crawl_tasks.store.selection import RowSelection
from crawl_tasks.store.upsert import Store
from tests.store.rows import page


def rows_in(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_two_exports_of_one_process_id_write_files_of_their_own(tmp_path: Path) -> None:
    with opened(str(tmp_path / "a"), overwrite=False) as first:
        first.write(b"first ")
        with opened(str(tmp_path / "b"), overwrite=False) as second:
            second.write(b"second")
        first.write(b"export")

    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [b"first export", b"second"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    out = tmp_path / "out"
    out.touch()
    out.chmod(mode)

    with opened(str(out), overwrite=True) as file:
        file.write(b"new")

    assert (out.read_bytes(), stat.S_IMODE(out.stat().st_mode)) == (b"new", mode)


KILLED = """
import os, sys
from crawl_tasks.store.atomic_file import opened
with opened(sys.argv[1], overwrite=False) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    sys.stdin.read()
"""


def test_the_part_of_a_killed_export_is_removed_by_the_next_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    dead, living = (
        subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / name)], **pipes) for name in ("dead", "living")
    )
    for process in (dead, living):
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    assert len(list(tmp_path.iterdir())) == 2

    with opened(str(tmp_path / "next"), overwrite=False) as file:
        file.write(b"whole")
    parts = [path.name for path in tmp_path.iterdir()]
    living.communicate()

    assert len(parts) == 2
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"next": b"whole", "living": b"half"}


def test_a_pipe_whose_reader_goes_away_is_an_error(store: Store, tmp_path: Path) -> None:
    store.write([Items("site", (), (), tuple(Comment("1", str(n), 1.0, body="x" * 200) for n in range(2000)))])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: pipe.open("rb").close())
    reader.start()

    with pytest.raises(CrawlError, match="its reader has gone away"):
        export(store, str(pipe))
    reader.join()


def test_a_name_of_an_open_file_of_ours_is_written_as_it_is(store: Store, tmp_path: Path) -> None:
    store.write([page(Post("1", 1.0, title="t"))])
    kept = tmp_path / "kept"
    kept.write_bytes(b"before\n")

    with kept.open("ab") as file:
        export(store, f"/dev/fd/{file.fileno()}", overwrite=False)
    reading, writing = os.pipe()
    export(store, f"/proc/self/fd/{writing}", overwrite=False)
    os.close(writing)
    with open(reading, "rb") as pipe:
        read = pipe.read()

    before, line = kept.read_bytes().splitlines()
    assert (before, json.loads(line)["post_id"], json.loads(read)["post_id"]) == (b"before", "1", "1")


def test_an_export_is_of_one_moment_though_rows_change_meanwhile(store: Store, tmp_path: Path) -> None:
    old = tuple(Comment("1", f"{n:05}", 1.0, body="old") for n in range(10_001))
    store.write([Items("site", (), (Post("1", 1.0, title="old"),), old)])

    def edit(_: int) -> None:
        store.write([page(Post("1", 2.0, title="new"), Comment("1", "09999", 2.0, body="new"))])

    export(store, str(tmp_path / "out"), RowSelection(has_versions=True), note=once(edit))

    rows = rows_in(tmp_path / "out")
    assert [row for row in rows if row["kind"] == "version" or "new" in (row.get("title"), row.get("body"))] == []
    assert len(rows) == 10_002


def once(call: Callable[[int], None]) -> Callable[[int], None]:
    calls = iter([call])
    return lambda number: next(calls, lambda _: None)(number)
