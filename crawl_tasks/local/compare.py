"""The comparison of the database with the demo forum's ground truth, by the truth's JSON and the tables alone."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from crawl_tasks.store.upsert import Store

Value = str | int | tuple[str, ...] | None
Row = Mapping[str, Value]

POST_FIELDS = (
    "title", "author", "author_id", "created_at", "last_reply_at", "edited_at", "body", "reply_count", "view_count",
    "state",
)  # fmt: skip
COMMENT_FIELDS = ("parent_id", "depth", "author", "author_id", "created_at", "body", "state", "page")
MOST_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of one kind of rows: expected and stored numbers, and the errors. `examples` are for people."""

    expected: int
    stored: int
    missing: int
    surplus: int
    differing: Mapping[str, int]
    examples: tuple[str, ...] = field(default=())

    @property
    def is_equal(self) -> bool:
        """Return whether everything is there once, with equal fields."""
        return not (self.missing or self.surplus or self.differing)


def compare_with_truth(store: Store, site: str, truth_file: Path) -> dict[str, Comparison]:
    """Compare forums, posts and comments of a site, field by field."""
    truth = json.loads(truth_file.read_text("utf-8"))
    return {
        "forums": compare({row["forum_id"]: {"title": row["title"]} for row in truth["forums"]}, _forums(store, site)),
        "posts": compare({row["post_id"]: _true_post(row) for row in truth["posts"]}, _posts(store, site)),
        "comments": compare(
            {f"{row['post_id']}/{row['comment_id']}": {name: row[name] for name in COMMENT_FIELDS}
             for row in truth["comments"]},
            _comments(store, site),
        ),
    }  # fmt: skip


def compare(expected: Mapping[str, Row], stored: Mapping[str, Row]) -> Comparison:
    """Compare rows by key."""
    missing, surplus = expected.keys() - stored.keys(), stored.keys() - expected.keys()
    differing: Counter[str] = Counter()
    examples = [f"missing {key}" for key in sorted(missing)] + [f"surplus {key}" for key in sorted(surplus)]
    for key in sorted(expected.keys() & stored.keys()):
        for name, value in expected[key].items():
            present = stored[key].get(name)
            if present != value:
                differing[name] += 1
                examples.append(f"{key} {name}: {present!r:.200} should be {value!r:.200}")
    return Comparison(
        len(expected), len(stored), len(missing), len(surplus), dict(differing), tuple(examples[:MOST_EXAMPLES])
    )


def _true_post(row: Mapping[str, Value]) -> Row:
    lists = row["forum_ids"]
    names = lists if isinstance(lists, (list, tuple)) else ()
    return {
        **{name: row[name] for name in POST_FIELDS},
        "edits": row["edits"],
        "forum_ids": tuple(sorted(names)),
    }


def _forums(store: Store, site: str) -> dict[str, Row]:
    return {str(key): {"title": title} for key, title in _select(store, "forum_id, title", "forums", site)}


def _posts(store: Store, site: str) -> dict[str, Row]:
    lists: dict[str, list[str]] = {}
    for post_id, forum_id in _select(store, "post_id, forum_id", "memberships", site):
        lists.setdefault(str(post_id), []).append(str(forum_id))
    posts: dict[str, Row] = {}
    for key, extra, *values in _select(store, f"post_id, extra, {', '.join(POST_FIELDS)}", "posts", site):
        row = dict(zip(POST_FIELDS, values, strict=True))
        posts[str(key)] = {
            **row,
            "body": spelled(row["body"]),
            "state": row["state"] or "normal",
            "edits": int(json.loads(str(extra or "{}")).get("edits", 0)),
            "forum_ids": tuple(sorted(lists.get(str(key), []))),
        }
    return posts


def _comments(store: Store, site: str) -> dict[str, Row]:
    comments: dict[str, Row] = {}
    columns = f"post_id, comment_id, {', '.join(COMMENT_FIELDS)}"
    for post_id, comment_id, *values in _select(store, columns, "comments", site):
        row = dict(zip(COMMENT_FIELDS, values, strict=True))
        comments[f"{post_id}/{comment_id}"] = {**row, "body": spelled(row["body"]), "state": row["state"] or "normal"}
    return comments


def _select(store: Store, columns: str, table: str, site: str) -> Iterator[tuple[Value, ...]]:
    with store.database.reading() as connection:
        # No SQL injection: the names are ours, and a site's name has only small letters, digits, - and _ (its schema).
        for row in connection.exec_driver_sql(f"SELECT {columns} FROM {table} WHERE site = '{site}'"):  # noqa: S608
            yield tuple(row)


def spelled(text: Value) -> str | None:
    """Return a body in the form of the truth: NFC, single spaces, no empty lines."""
    if text is None:
        return None
    lines = (re.sub(r"\s+", " ", line).strip() for line in unicodedata.normalize("NFC", str(text)).split("\n"))
    return "\n".join(line for line in lines if line)


def requests_by_path(log_file: Path) -> Counter[str]:
    """Return the number of requests by path from the forum's access log, robots.txt excepted."""
    return Counter(row["path"] for row in _logged(log_file))


def needless_requests(log_file: Path) -> Counter[str]:
    """Return how often each page was requested again, by path.

    Requests that found a page gone are left out: each list that shows the page again is a reason to look again.
    """
    rows = [row for row in _logged(log_file) if row["status"] not in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}]
    paths = Counter(row["path"] for row in rows)
    return paths - Counter(paths.keys())


def _logged(log_file: Path) -> list[Mapping[str, Any]]:
    if not log_file.is_file():
        return []
    rows = [json.loads(line) for line in log_file.read_text("utf-8").splitlines()]
    return [row for row in rows if row["path"] != "/robots.txt"]
