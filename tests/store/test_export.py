"""What leaves the store: whole files, valid lines, no formulas, no more memory than a portion of rows."""

from __future__ import annotations

import csv
import gc
import gzip
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pandas
import pyarrow.parquet
import pytest
from fsspec.core import url_to_fs
from fsspec.implementations.memory import MemoryFileSystem

from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.export import count_rows, export
from crawl_tasks.store.export_tree import export_partitions
from crawl_tasks.store.output_format import FORMATS, FileFormat, OutputFormat, format_of
from crawl_tasks.store.selection import ExportKind, RowSelection
from crawl_tasks.store.upsert import Store
from tests.store.rows import page

CSV = OutputFormat(FileFormat.CSV)
PARQUET = OutputFormat(FileFormat.PARQUET)
NASTY = [
    "=cmd|'/C calc'!A0",
    "\uff1d1+1",
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
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_kind_can_be_chosen(filled: Store, tmp_path: Path, kind: str, number: int, form: OutputFormat) -> None:
    assert export(filled, str(tmp_path / "out"), RowSelection(ExportKind(kind)), form) == number


def test_a_site_can_be_chosen(filled: Store, tmp_path: Path) -> None:
    assert export(filled, str(tmp_path / "out"), RowSelection(sites=["two"])) == 1
    assert export(filled, str(tmp_path / "out"), RowSelection(sites=["none"])) == 0


def test_csv_survives_quotes_and_newlines_and_holds_no_formula(filled: Store, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"

    export(filled, str(out), RowSelection(sites=["site"]), CSV)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    assert [row["body"] for row in rows[10:]] == [
        f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\uff1d", "'"} else text for text in NASTY
    ]
    assert [row["body"].removeprefix("'") for row in rows[-len(NASTY) :]] == NASTY
    assert {row["page"] for row in rows[10:]} == {"-1"}  # a number is no formula
    assert rows[0]["comment_id"] == ""


def test_an_empty_export_is_an_empty_file_or_a_header(store: Store, tmp_path: Path) -> None:
    export(store, str(tmp_path / "a"))
    export(store, str(tmp_path / "b"), form=CSV)

    assert (tmp_path / "a").read_text() == ""
    assert (tmp_path / "b").read_text().startswith("kind,site,post_id")


def test_a_dash_is_stdout(filled: Store, capfd: pytest.CaptureFixture[str]) -> None:
    export(filled, "-", RowSelection(ExportKind.POSTS, ["two"]))

    assert json.loads(capfd.readouterr().out)["title"] == "elsewhere"


def test_stdout_without_a_file_behind_it_is_written_too(filled: Store, capsys: pytest.CaptureFixture[str]) -> None:
    export(filled, "-", RowSelection(ExportKind.POSTS, ["two"]))

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
    before = store.last_change()
    again = (Post("1", 2.0, title="same"), Comment("1", "c1", 2.0, body="same"))
    store.write([page(*again, Post("2", 2.0, title="new"), Comment("1", "c2", 2.0, body="more"))])
    store.write([page(Post("3", 2.0), site="two")])

    rows = export(store, str(tmp_path / "out.jsonl"), RowSelection(sites=["site"]), after=before)

    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(line["kind"], line["post_id"], line.get("comment_id")) for line in lines] == [
        ("post", "2", None),
        ("comment", "1", "c2"),
    ]
    assert rows == 2


DAY_S = 86_400
NOON = 1_700_000_000 // DAY_S * DAY_S + DAY_S // 2


@pytest.fixture
def week(store: Store) -> Store:
    """Two boards and two sites, a comment a day by turns of authors, one without a time of the forum."""
    threads = [Post(board, NOON, board, title=f"thread {board}", created_at=NOON - 9 * DAY_S) for board in ("1", "2")]
    comments = [
        Comment(
            "12"[day % 2],
            f"c{day}",
            float(NOON),
            author=("ann", "王小明")[day % 2],
            created_at=NOON - day * DAY_S,
            body=f"day {day}",
            state="deleted" if day == 3 else None,
        )
        for day in range(7)
    ]
    store.write([page(*threads, *comments, Comment("2", "untimed", NOON - 1.75 * DAY_S, body="untimed"))])
    store.write([page(Post("1", 1.0, "1", title="elsewhere"), Comment("1", "c0", 1.0), site="two")])
    return store


def chosen(store: Store, directory: Path, **choice: object) -> list[str]:
    """Return the ids of the comments that a selection exports."""
    out = directory / "chosen.jsonl"
    export(store, str(out), RowSelection(**({"kind": ExportKind.COMMENTS} | choice)))  # type: ignore[arg-type]
    return [str(row["comment_id"]) for row in read_jsonl(out)]


@pytest.mark.parametrize(
    ("choice", "ids"),
    [
        ({"sites": ["two"]}, ["c0"]),
        ({"sites": ["site"], "boards": ["1"]}, ["c0", "c2", "c4", "c6"]),
        ({"authors": ["王小明"]}, ["c1", "c3", "c5"]),
        ({"states": ["deleted"]}, ["c3"]),
        ({"states": ["normal"], "authors": ["王小明"]}, ["c1", "c5"]),
        ({"sites": ["site"], "since": NOON - 2 * DAY_S}, ["c0", "c2", "c1", "untimed"]),
        ({"sites": ["site"], "since": NOON - 2 * DAY_S, "until": NOON - DAY_S}, ["c2", "untimed"]),
        ({"sites": ["site"], "since": NOON - 3 * DAY_S, "boards": ["2"], "authors": ["王小明"]}, ["c1", "c3"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_rows_are_chosen_by_site_board_author_state_and_time(
    week: Store, tmp_path: Path, choice: dict[str, Any], ids: list[str]
) -> None:
    assert chosen(week, tmp_path, **choice) == ids


def test_columns_are_chosen_and_come_in_that_order(week: Store, tmp_path: Path) -> None:
    export(week, str(tmp_path / "out.csv"), RowSelection(fields=["forum_id", "kind", "comment_id"]), CSV)
    with pytest.raises(ConfigError, match="there is no field colour; there are kind, site, post_id"):
        RowSelection(fields=["colour"]).sources()

    lines = (tmp_path / "out.csv").read_text("utf-8").splitlines()
    assert lines[0] == "forum_id,kind,comment_id"
    assert {"1,post,", "1,comment,c0", "2,comment,c1"} <= set(lines)


def test_former_texts_come_with_the_rows_that_were_chosen(week: Store, tmp_path: Path) -> None:
    week.write([page(Comment("1", "c0", NOON + 1.0, body="edited"), Comment("2", "c1", NOON + 1.0, body="edited"))])

    export(week, str(tmp_path / "out"), RowSelection(boards=["1"], sites=["site"], has_versions=True))

    [version] = [row for row in read_jsonl(tmp_path / "out") if row["kind"] == "version"]
    assert version["comment_id"] == "c0"
    assert (version["field"], version["value"], version["forum_id"]) == ("body", "day 0", "1")


def test_times_carry_their_zone_and_ids_stay_text(store: Store, tmp_path: Path) -> None:
    store.write([page(Post("007", 1_700_000_000.25, created_at=1_700_000_000, edited_at=10**15))])
    for form in FORMATS:
        export(store, str(tmp_path / f"out.{form.name}"), RowSelection(ExportKind.POSTS), form)

    [line] = read_jsonl(tmp_path / "out.jsonl")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        [cells] = csv.DictReader(file)
    [row] = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist()
    for found in (line, cells):
        assert (found["post_id"], found["created_at"]) == ("007", "2023-11-14T22:13:20Z")
        assert str(found["seen_at"]).startswith("2023-11-14T22:13:20.25")
        assert not found["edited_at"]  # no time of this calendar
    assert row["post_id"] == "007"
    assert row["created_at"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (row["seen_at"] - row["created_at"]).total_seconds() == 0.25
    assert row["edited_at"] is None


def test_every_format_holds_the_same_rows(filled: Store, tmp_path: Path) -> None:
    for form in FORMATS:
        export(filled, str(tmp_path / f"out.{form.name}"), form=form)
    plain = (tmp_path / "out.jsonl").read_bytes()
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist()

    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == plain
    with pyarrow.input_stream(tmp_path / "out.jsonl.zst", compression="zstd") as file:
        assert file.read() == plain
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == (tmp_path / "out.csv").read_bytes()
    names = ("kind", "site", "post_id", "comment_id", "title", "body")
    assert [tuple(row[name] for name in names) for row in table] == [
        tuple(row.get(name) for name in names) for row in read_jsonl(tmp_path / "out.jsonl")
    ]
    assert [json.loads(row["extra"] or "null") for row in table[:10]] == [{"k": title} for title in NASTY]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_an_export_that_fails_midway_leaves_nothing_in_any_format(
    filled: Store, tmp_path: Path, form: OutputFormat
) -> None:
    with filled.database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE comments")

    directory = tmp_path / "new"
    directory.mkdir()

    with pytest.raises(CrawlError):
        export(filled, str(directory / "out"), form=form)
    gc.collect()  # what is left of a writer must not write when it is collected

    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.b.jsonl", "jsonl"),
        ("a", "jsonl"),
        ("-", "jsonl"),
        ("A.CSV.GZ", "csv.gz"),
        ("a.ndjson.zst", "jsonl.zst"),
        ("a.parquet", "parquet"),
    ],
)
def test_the_ending_of_a_name_says_the_format(name: str, form: str) -> None:
    assert format_of(name).name == form


@pytest.mark.parametrize("name", ["a.xlsx", "a.gz", "a.csv.bz2", "a.parquet.gz", "a.csv.txt"])
def test_an_unknown_ending_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"is no format of an export; name a file \.jsonl, \.csv or \.parquet"):
        format_of(name)


def test_formats_that_need_a_package_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawl_tasks.store.output_format.find_spec", lambda _: None)

    for name in ("a.parquet", "a.csv.zst"):
        with pytest.raises(ConfigError, match=r"pip install 'crawl-tasks\[parquet\]'"):
            format_of(name)
    assert format_of("a.csv.gz").name == "csv.gz"


def partitions(directory: Path) -> dict[str, list[str]]:
    """Return the ids in each file, by kind, site and day."""
    return {
        str(file.parent.relative_to(directory)): [
            row.get("comment_id") for row in pyarrow.parquet.ParquetFile(file).read().to_pylist()
        ]
        for file in sorted(directory.rglob("rows.parquet"))
    }


def day(number: int) -> str:
    return datetime.fromtimestamp(NOON - number * DAY_S, UTC).date().isoformat()


def test_partitions_are_files_of_whole_days(week: Store, tmp_path: Path) -> None:
    choice = RowSelection(ExportKind.COMMENTS, sites=["site", "two"], since=NOON - 2 * DAY_S + 7, until=NOON - DAY_S)

    rows = export_partitions(week, str(tmp_path), choice, PARQUET)

    assert partitions(tmp_path) == {
        f"kind=comment/site=site/day={day(2)}": ["c2", "untimed"],
        f"kind=comment/site=site/day={day(1)}": ["c1"],
    }
    assert rows == 3


def test_partitions_are_read_as_one_table_by_others(week: Store, tmp_path: Path) -> None:
    export_partitions(week, str(tmp_path), form=PARQUET)
    query = "SELECT count(*), count(DISTINCT day), count(DISTINCT site) FROM read_parquet(?, hive_partitioning = true)"

    assert duckdb.execute(query, [f"{tmp_path}/kind=comment/**/*.parquet"]).fetchall() == [(9, 8, 2)]
    assert len(pandas.read_parquet(tmp_path / "kind=comment")) == 9


def test_an_interrupted_partitioned_export_goes_on_where_a_file_is_missing(week: Store, tmp_path: Path) -> None:
    export_partitions(week, str(tmp_path), form=PARQUET)
    before = partitions(tmp_path)
    gone = tmp_path / f"kind=comment/site=site/day={day(4)}" / "rows.parquet"
    gone.unlink()
    week.write([page(Comment("1", "c9", 1.0, created_at=NOON))])

    with pytest.raises(ConfigError, match="exists"):
        export_partitions(week, str(tmp_path), form=PARQUET)
    rows = export_partitions(week, str(tmp_path), form=PARQUET, resume=True)

    assert (rows, partitions(tmp_path)) == (1, before)
    assert export_partitions(week, str(tmp_path), form=PARQUET, overwrite=True) == 13
    assert partitions(tmp_path)[f"kind=comment/site=site/day={day(0)}"] == ["c0", "c9"]


@pytest.mark.parametrize("form", [OutputFormat(), PARQUET], ids=["jsonl", "parquet"])
@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_an_address_takes_the_same_files_as_a_directory(
    week: Store, tmp_path: Path, protocol: str, form: OutputFormat
) -> None:
    base = f"{protocol}://{tmp_path}/there"
    system, root = url_to_fs(base)
    one, parts = f"{base}/rows.{form.name}", f"{base}/parts"

    told: list[int] = []
    rows = export(week, one, form=form, overwrite=False)
    export_partitions(week, parts, form=form, note=told.append)
    gone = next(file for file in system.find(f"{root}/parts") if "kind=post" in file)
    system.rm(gone)
    again = export_partitions(week, parts, form=form, resume=True)
    export(week, str(tmp_path / "here"), form=form)
    export_partitions(week, str(tmp_path / "parts"), form=form)

    assert system.cat(f"{root}/rows.{form.name}") == (tmp_path / "here").read_bytes()
    assert (rows, sum(told)) == (count_rows(week, RowSelection()),) * 2
    assert 0 < again < rows
    assert {file.removeprefix(f"{root}/parts"): system.cat(file) for file in system.find(f"{root}/parts")} == {
        str(file).removeprefix(f"{tmp_path}/parts"): file.read_bytes() for file in (tmp_path / "parts").rglob("*.*")
    }
    with pytest.raises(ConfigError, match="exists"):
        export(week, one, form=form, overwrite=False)


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_an_export_to_an_address_that_fails_leaves_what_was_there(filled: Store, tmp_path: Path, protocol: str) -> None:
    one = f"{protocol}://{tmp_path}/there/rows.jsonl"
    export(filled, one, RowSelection(ExportKind.POSTS))
    system, path = url_to_fs(one)
    before = system.cat(path)
    with filled.database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE comments")

    with pytest.raises(CrawlError):
        export(filled, one)

    assert system.cat(path) == before
    assert system.find(f"{tmp_path}/there") == [path]


class Buckets(MemoryFileSystem):
    """An object store, in which a missing bucket would be made by a directory of its name."""

    protocol = ("oss",)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        raise AssertionError(f"{path} is made")


def test_no_bucket_is_made_of_a_misspelt_address(filled: Store) -> None:
    fsspec.register_implementation("oss", Buckets, clobber=True)

    export(filled, "oss://bucket/rows.jsonl")

    assert Buckets().exists("oss://bucket/rows.jsonl")


def test_an_address_of_an_unknown_protocol_is_one_line(filled: Store) -> None:
    with pytest.raises(ConfigError, match=r"crawl-tasks\[files\]"):
        export(filled, "nowhere://bucket/rows.jsonl")


@pytest.mark.parametrize("form", [CSV, PARQUET], ids=["csv", "parquet"])
def test_other_formats_hold_no_more_in_memory(tmp_path: Path, form: OutputFormat) -> None:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        for start in range(0, 4000, 500):
            rows = tuple(Comment("1", f"{n:08}", 1.0, body="x" * 20_000) for n in range(start, start + 500))
            store.write([Items("site", (), (), rows)])

        tracemalloc.start()
        export(store, str(tmp_path / "out"), form=form)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak_bytes < 40_000_000  # the rows are 80 MB
