"""What leaves the store: whole files, valid lines, no formulas, no more memory than a portion of rows."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest

from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.export import export, fingerprints
from crawl_tasks.store.upsert import Store
from tests.store.rows import page

NASTY = [
    "=cmd|'/C calc'!A0",
    "+1",
    "-1",
    "@x",
    "\ttab",
    'say "hi", twice',
    "two\nlines",
    "four 😀 bytes",
    "'quoted",
    "",
]


@pytest.fixture
def filled(store: Store) -> Store:
    posts = [Post(str(number), 1.0, title=title, extra={"k": title}) for number, title in enumerate(NASTY)]
    comments = [Comment("0", str(number), 1.0, body=body, page=-1) for number, body in enumerate(NASTY)]
    store.write([page(*posts, *comments), page(Post("0", 1.0, title="elsewhere"), site="two")])
    return store


def read_jsonl(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_jsonl_has_one_object_per_line_posts_before_comments(filled: Store, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    written = export(filled, str(out))
    rows = read_jsonl(out)

    assert written == len(rows) == 21
    assert [row["kind"] for row in rows] == ["post"] * 11 + ["comment"] * 10
    assert [row["title"] for row in rows[:10]] == NASTY
    assert [row["body"] for row in rows[11:]] == NASTY
    assert rows[0]["extra"] == {"k": NASTY[0]}
    assert "stamps" not in rows[0]


@pytest.mark.parametrize(("kind", "number"), [("posts", 11), ("comments", 10), ("all", 21)])
@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_a_kind_can_be_chosen(filled: Store, tmp_path: Path, kind: str, number: int, format: str) -> None:
    assert export(filled, str(tmp_path / "out"), kind, format) == number


def test_a_site_can_be_chosen(filled: Store, tmp_path: Path) -> None:
    assert export(filled, str(tmp_path / "out"), site="two") == 1
    assert export(filled, str(tmp_path / "out"), site="none") == 0


def test_csv_survives_quotes_and_newlines_and_holds_no_formula(filled: Store, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"

    export(filled, str(out), "all", "csv", "site")
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    assert [row["body"] for row in rows[10:]] == [
        f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t"} else text for text in NASTY
    ]
    assert {row["page"] for row in rows[10:]} == {"-1"}  # a number is no formula
    assert rows[0]["comment_id"] == ""


def test_an_empty_export_is_an_empty_file_or_a_header(store: Store, tmp_path: Path) -> None:
    export(store, str(tmp_path / "a"), format="jsonl")
    export(store, str(tmp_path / "b"), format="csv")

    assert (tmp_path / "a").read_text() == ""
    assert (tmp_path / "b").read_text().startswith("kind,site,post_id")


def test_a_dash_is_stdout(filled: Store, capfd: pytest.CaptureFixture[str]) -> None:
    export(filled, "-", "posts", site="two")

    assert json.loads(capfd.readouterr().out)["title"] == "elsewhere"


def test_stdout_without_a_file_behind_it_is_written_too(filled: Store, capsys: pytest.CaptureFixture[str]) -> None:
    export(filled, "-", "posts", site="two")

    assert json.loads(capsys.readouterr().out)["title"] == "elsewhere"


def test_an_export_that_fails_leaves_the_old_file_and_no_rest(filled: Store, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("old")
    filled.close()
    with filled.database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE comments")

    with pytest.raises(CrawlError):
        export(filled, str(out))

    assert out.read_text() == "old"
    assert list(tmp_path.glob(".out*")) == []


def test_an_existing_file_is_replaced_unless_that_is_forbidden(filled: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("old")

    with pytest.raises(ConfigError, match="exists"):
        export(filled, str(out), overwrite=False)
    assert out.read_text() == "old"

    export(filled, str(out))
    assert len(read_jsonl(out)) == 21


def test_a_link_stays_a_link(filled: Store, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")

    export(filled, str(tmp_path / "link"))

    assert (tmp_path / "link").is_symlink()
    assert len(read_jsonl(tmp_path / "target")) == 21


def test_paths_that_cannot_be_written_are_named_in_one_line(filled: Store, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").touch()
    bad = ["/", str(tmp_path), f"{tmp_path}/none/out", f"{tmp_path}/file/out", f"{tmp_path}/loop", f"/{'x' * 4097}"]

    for out in [*bad, f"{tmp_path}/a\0b"]:
        with pytest.raises(ConfigError, match=r"^export: .*; name a file in a directory that you may write to$"):
            export(filled, out)


def test_a_full_device_is_an_error(filled: Store) -> None:
    with pytest.raises(CrawlError, match="No space left"):
        export(filled, "/dev/full")


def test_a_pipe_is_written_as_it_is(filled: Store, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(pipe.read_text().splitlines()))
    reader.start()

    export(filled, str(pipe))
    reader.join(10)

    assert len(lines) == 21


def test_a_reader_that_goes_away_ends_the_export_quietly(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/crawl.db"
    with Store(url) as store:
        store.write([Items("site", (), (), tuple(Comment("1", str(n), 1.0, body="x" * 200) for n in range(5000)))])
    program = (
        "import sys; from crawl_tasks.store.export import export; from crawl_tasks.store.upsert import Store; "
        "store = Store(sys.argv[1]).open(); export(store, '-'); store.close()"
    )

    pipe = subprocess.Popen([sys.executable, "-c", program, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert pipe.stdout is not None
    assert pipe.stderr is not None
    pipe.stdout.readline()
    pipe.stdout.close()
    said = pipe.stderr.read()
    pipe.stderr.close()

    assert (pipe.wait(30), said) == (0, b"")


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        for start in range(0, 20_000, 5000):
            some = tuple(Comment("1", f"{n:08}", 1.0, body="x" * 1000) for n in range(start, start + 5000))
            store.write([Items("site", (), (), some)])

        tracemalloc.start()
        export(store, str(tmp_path / "out"))
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak_bytes < 8_000_000  # the rows are 20 MB


def test_what_a_run_added_or_changed_can_be_told_from_what_was_there(store: Store, tmp_path: Path) -> None:
    store.write([page(Post("1", 1.0, title="same"), Post("2", 1.0, title="old"), Comment("1", "c1", 1.0, body="same"))])
    before = fingerprints(store, ["site"])
    again = (Post("1", 2.0, title="same"), Comment("1", "c1", 2.0, body="same"))
    store.write([page(*again, Post("2", 2.0, title="new"), Comment("1", "c2", 2.0, body="more"))])
    store.write([page(Post("3", 2.0), site="two")])

    rows = export(store, str(tmp_path / "out.jsonl"), sites=["site"], known=before)

    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(line["kind"], line["post_id"], line.get("comment_id")) for line in lines] == [
        ("post", "2", None),
        ("comment", "1", "c2"),
    ]
    assert rows == 2
