"""Hold the database against the forum's ground truth, with nothing of the crawler in between: sqlite3 and JSON."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path

POST_FIELDS = (
    "title",
    "author",
    "author_id",
    "created_at",
    "edited_at",
    "last_reply_at",
    "reply_count",
    "view_count",
    "body",
    "state",
)
COMMENT_FIELDS = ("parent_id", "depth", "author", "author_id", "created_at", "body", "state", "page")
KNOWN_OF_DELETED = ("title", "author", "author_id", "reply_count", "view_count", "state")


def normal(text: str | None) -> str | None:
    """Bring a text to the form in which the truth gives it."""
    if text is None:
        return None
    lines = (" ".join(line.split()) for line in unicodedata.normalize("NFC", text).splitlines())
    return "\n".join(line for line in lines if line)


def _rows(database: Path, site: str, table: str, key: str) -> dict[str, sqlite3.Row]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection, connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute(f"select * from {table} where site = ?", (site,)).fetchall()
    keyed = {row[key]: row for row in rows}
    assert len(keyed) == len(rows), f"{table}: a {key} stands there twice"
    return keyed


def differences(database: Path, truth_file: Path, site: str = "demo") -> list[str]:
    """List what is missing, surplus or different; empty when the crawl is perfect."""
    truth = json.loads(truth_file.read_text("utf-8"))
    posts, comments = (_rows(database, site, f"{kind}s", f"{kind}_id") for kind in ("post", "comment"))
    found = [
        *_compare(truth["posts"], posts, "post_id", POST_FIELDS),
        *_compare(truth["comments"], comments, "comment_id", COMMENT_FIELDS),
    ]
    stands_on = {(row["post_id"], forum) for row in truth["posts"] for forum in row["forum_ids"]}
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection, connection:
        query = "select post_id, forum_id from memberships where site = ?"
        stored = set(connection.execute(query, (site,)).fetchall())
    found += [f"membership {pair}" for pair in sorted(stands_on ^ stored)]
    return found


def _compare(true_rows: list[dict], rows: dict[str, sqlite3.Row], key: str, fields: tuple[str, ...]) -> list[str]:
    found = []
    for true in true_rows:
        row = rows.pop(true[key], None)
        if row is None:
            found.append(f"{key} {true[key]} is missing")
            continue
        for name in KNOWN_OF_DELETED if key == "post_id" and true["state"] == "deleted" else fields:
            if normal_value(true[name]) != normal_value(row[name]):
                found.append(f"{key} {true[key]}: {name} is {row[name]!r}, not {true[name]!r}")
    return found + [f"{key} {surplus} is surplus" for surplus in rows]


def normal_value(value: object) -> object:
    return normal(value) if isinstance(value, str) else value
