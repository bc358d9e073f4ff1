"""A partitioned export holds each chosen row once, and after a second one nothing of former days."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fsspec.core import url_to_fs

from crawl_tasks.model import Comment, Post
from crawl_tasks.store.export import export
from crawl_tasks.store.export_tree import export_partitions
from crawl_tasks.store.selection import ExportKind, RowSelection
from crawl_tasks.store.upsert import Store
from tests.store.rows import page

DAY_S = 86_400
FIRST, SECOND = 1_700_006_400, 1_700_006_400 + DAY_S  # 2023-11-15 and 2023-11-16
NEVER = 10**15  # a time of no calendar


@pytest.fixture
def edited(store: Store) -> Store:
    """Posts and comments of two days, each with a former text, and two whose times no calendar has."""
    for at, body in ((1.0, "old"), (2.0, "new")):
        store.write([
            page(*(
                item
                for day, created_at in enumerate((FIRST, SECOND))
                for item in (
                    Post(f"p{day}", at, "1", body=body, created_at=created_at),
                    Comment(f"p{day}", "c", at, body=body, created_at=created_at),
                )
            )),
            page(*(Comment("p0", f"n{sign}", at, body=body, created_at=sign * NEVER) for sign in (-1, 1))),
            page(Post("p9", at, "1", body=body, created_at=FIRST), site="other"),
        ])  # fmt: skip
    return store


def rows_in(directory: Path) -> list[str]:
    """Return the rows of all files with their day, each as a text."""
    found: list[str] = []
    for file in sorted(directory.rglob("rows.jsonl")):
        kind, site, day = (part.partition("=")[2] for part in file.parent.relative_to(directory).parts)
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            found.append(f"{day} {kind} {site} {row['post_id']} {row.get('comment_id')} {row.get('field')}")
    return sorted(found)


def keys_of(store: Store, out: Path) -> list[str]:
    export(store, str(out), RowSelection(has_versions=True))
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    return sorted(
        f"{row['kind']} {row['site']} {row['post_id']} {row.get('comment_id')} {row.get('field')}" for row in rows
    )


@pytest.mark.parametrize("options", [{}, {"overwrite": True}, {"resume": True}], ids=str)
def test_versions_of_posts_and_comments_of_a_day_share_a_file_and_none_is_lost(
    edited: Store, tmp_path: Path, options: dict[str, bool]
) -> None:
    rows = export_partitions(edited, str(tmp_path / "rows"), RowSelection(has_versions=True), **options)

    expected = keys_of(edited, tmp_path / "all")
    assert sorted(line.partition(" ")[2] for line in rows_in(tmp_path / "rows")) == expected
    assert rows == len(expected) == 14


def test_a_second_export_leaves_no_row_at_its_former_day(edited: Store, tmp_path: Path) -> None:
    export_partitions(edited, str(tmp_path))
    edited.write([page(Post("p1", 3.0, "1", created_at=FIRST), Comment("p1", "c", 3.0, created_at=FIRST))])
    edited.erase("other")
    kept = tmp_path / "notes.txt"
    kept.touch()

    export_partitions(edited, f"{tmp_path}//./", overwrite=True)

    rows = rows_in(tmp_path)
    assert len(rows) == 6
    assert not [line for line in rows if "2023-11-16" in line or "other" in line]
    assert not (tmp_path / "kind=post/site=site/day=2023-11-16").exists()
    assert kept.exists()


@pytest.mark.parametrize(
    ("choice", "gone"),
    [
        (
            RowSelection(kind=ExportKind.POSTS),
            {"post site 2023-11-15", "post site 2023-11-16", "post other 2023-11-15"},
        ),
        (RowSelection(sites=["other"]), {"post other 2023-11-15"}),
        (
            RowSelection(until=SECOND - 5),
            {"post site 2023-11-15", "comment site 2023-11-15", "post other 2023-11-15"},
        ),
        (RowSelection(since=SECOND), {"post site 2023-11-16", "comment site 2023-11-16"}),
    ],
    ids=["kind", "site", "until", "since"],
)
def test_files_of_other_kinds_sites_and_days_stay(
    edited: Store, tmp_path: Path, choice: RowSelection, gone: set[str]
) -> None:
    export_partitions(edited, str(tmp_path))
    before = partitions(tmp_path)
    edited.erase("site")
    edited.erase("other")

    export_partitions(edited, str(tmp_path), choice, overwrite=True)

    assert partitions(tmp_path) == before - gone


def partitions(directory: Path) -> set[str]:
    return {f"{kind} {site} {day}" for day, kind, site, *_ in (line.split() for line in rows_in(directory))}


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_an_address_is_cleaned_like_a_directory(edited: Store, tmp_path: Path, protocol: str) -> None:
    base = f"{protocol}://{tmp_path}/there"
    system, root = url_to_fs(base)
    export_partitions(edited, base)
    edited.erase("other")

    export_partitions(edited, base, overwrite=True)

    assert system.find(root)
    assert [file for file in system.find(root) if "site=other" in file] == []
