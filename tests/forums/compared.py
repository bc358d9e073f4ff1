"""What is stored of a recorded forum against the truth about it, field by field, each difference named and counted."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.forums.recorded import Recording

DAY_S = 86_400
MINUTE_S = 59  # a remark's time is told without its seconds
Rows = dict[str, dict[str, Any]]


@dataclass
class Comparison:
    """Topics and replies together. `examples` are for people."""

    expected: int = 0
    stored: int = 0
    missing: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    differing: Counter[str] = field(default_factory=Counter)
    quirks: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        return not (self.missing or self.surplus or self.differing)


def compare(forum: Recording, truth: dict[str, Any], database: Path) -> Comparison:
    """Compare all topics and replies of the truth's boards with the database of a crawl."""
    posts, comments = _stored(database)
    topics = {str(topic["id"]): topic for topic in truth["topics"]}
    remarks = [reply for reply in truth["replies"] if reply["kind"] == "comment"]
    replies = {
        str(reply["id"]): reply
        for reply in truth["replies"]
        if str(reply["topic_id"]) in topics and reply["kind"] != "comment"
    }
    replies |= _named(_shown(remarks, forum.shown_remarks), comments)
    # A recording's own first topic, which its truth leaves out, lies in a board that the truth leaves out too.
    boards = {str(board["id"]) for board in truth["boards"]}
    posts = {key: row for key, row in posts.items() if row["forum_id"] in boards or key in topics}
    # A deleted topic whose row still stands in a list is marked, and nothing else is known of it.
    gone = {str(topic["id"]) for topic in truth["deleted_topics"]}
    posts = {key: row for key, row in posts.items() if not (key in gone and row["state"] == "deleted")}
    comments = {key: row for key, row in comments.items() if row["post_id"] in posts}
    found = Comparison(len(topics) + len(replies), len(posts) + len(comments))
    for kind, expected, stored in (("topic", topics, posts), ("reply", replies, comments)):
        found.missing += [f"{kind} {key}" for key in expected.keys() - stored.keys()]
        found.surplus += [f"{kind} {key}" for key in stored.keys() - expected.keys()]
    for key in topics.keys() & posts.keys():
        wanted = {"title": topics[key]["title"], "board": str(topics[key]["board_id"])}
        _fields(found, forum, truth, posts[key] | {"board": posts[key]["forum_id"]}, topics[key], wanted)
    for key in replies.keys() & comments.keys():
        reply, topic = replies[key], topics[str(replies[key]["topic_id"])]
        firsts = {None, str(topic["post_id"]), str(topic["id"])}
        row, parent = comments[key], str(reply["parent_id"])
        shown = parent if row["parent_id"] in firsts and parent in firsts else row["parent_id"]
        row = row | {"topic": row["post_id"], "parent": shown}
        _fields(found, forum, truth, row, reply, {"topic": str(topic["id"]), "parent": parent})
    return found


def _shown(remarks: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return the remarks that stand on the pages of their threads: the newest of each post."""
    below: dict[object, list[dict[str, Any]]] = {}
    for remark in sorted(remarks, key=lambda one: (-one["created"], -int(str(one["id"])[1:]))):
        below.setdefault(remark["parent_id"], []).append(remark)
    return [remark for some in below.values() for remark in some[:most]]


def _named(remarks: list[dict[str, Any]], comments: Rows) -> Rows:
    """Give remarks, whose ids no page shows, the ids under which they are stored, by parent, author and text."""
    ids = {(row["post_id"], row["author"], _bare(row["body"])): key for key, row in comments.items()}
    signs = [(str(one["topic_id"]), one["author"], _bare(one["text"])) for one in remarks]
    return {ids.get(sign, str(one["id"])): one | {"edited": False} for sign, one in zip(signs, remarks, strict=True)}


def _fields(
    found: Comparison, forum: Recording, truth: dict[str, Any], row: dict[str, Any], true: dict[str, Any],
    wanted: dict[str, str],
) -> None:  # fmt: skip
    label = f"{row.get('post_id')}/{true['id']}"
    # In place of a masked reply stands a sentence of the program: what it answered and its edits are not on the page.
    is_masked = true.get("state") == "masked" and row["state"] != "normal"
    for name, value in wanted.items() | {("author", true["author"])}:
        if is_masked and name == "parent" and row[name] is None:
            found.quirks["parent of a masked reply"] += 1
        elif _bare(row[name]) != _bare(value):
            found.differing[name] += 1
            found.examples.append(f"{label} {name}: {row[name]!r:.200} should be {value!r:.200}")
    slack = MINUTE_S if true.get("kind") == "comment" else forum.exact_s
    if forum.words_s and truth["taken"] - true["created"] < DAY_S:
        slack = forum.words_s
    if row["created_at"] is None or abs(row["created_at"] - true["created"]) > slack:
        found.differing["time"] += 1
        found.examples.append(f"{label} time: {row['created_at']} should be {true['created']} within {slack} s")
    if is_masked and true["edited"] and row["edited_at"] is None:
        found.quirks["edit of a masked reply"] += 1
    elif (row["edited_at"] is not None) is not true["edited"]:
        found.differing["edited"] += 1
        found.examples.append(f"{label} edited: {row['edited_at']} should be {true['edited']}")
    if (row["state"] != "normal") is not (true.get("state", "normal") != "normal"):
        found.differing["state"] += 1
        found.examples.append(f"{label} state: {row['state']} should be {true['state']}")
    body, text = _bare(row["body"]), _bare(true["text"])
    if body != text and body == _bare(forum.quirk(true["text"])):
        found.quirks["body"] += 1
    elif body != text:
        found.differing["body"] += 1
        at = next((i for i, (a, b) in enumerate(zip(body, text, strict=False)) if a != b), min(len(body), len(text)))
        near = slice(max(0, at - 30), at + 60)
        found.examples.append(f"{label} body at {at}: {body[near]!r} should be {text[near]!r}")


def _bare(text: str | None) -> str:
    """Return a text without any whitespace, the form in which the truth asks to be compared."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFC", text or ""))


def _stored(database: Path) -> tuple[Rows, Rows]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection, connection:
        connection.row_factory = sqlite3.Row
        posts = {row["post_id"]: dict(row) for row in connection.execute("SELECT * FROM posts")}
        comments = {row["comment_id"]: dict(row) for row in connection.execute("SELECT * FROM comments")}
        (count,) = connection.execute("SELECT count(*) FROM comments").fetchone()
    assert count == len(comments), f"{count - len(comments)} comments are stored under two posts"
    return posts, comments
