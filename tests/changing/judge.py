"""The database against the truth of a forum that changed: every field, every state, the order of every version."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, permutations
from pathlib import Path
from typing import Any

from sqlalchemy import Table, select

from crawl_tasks.store import tables
from crawl_tasks.store.upsert import Store
from tests.flow.judge import normal_value

Row = dict[str, Any]  # of a table
Group = tuple[float, list[Any]]  # when it was last seen, and the values that were seen then
TIMES = ("created_at", "last_reply_at", "edited_at")
EXTRA = ("pinned", "edits", "flair")
TRACKED = {"post": ("title", "body", "state"), "comment": ("body", "state")}
MOST_TIES = 6
AGE_STEP_S = 1.0
"""The step in which caches count a copy's age."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as it should be. `kind` is what is counted, `post_id` whose log explains it."""

    kind: str
    post_id: str
    text: str


def by_kind(found: list[Difference]) -> list[str]:
    """Count differences by their kind, with one example each."""
    kinds: dict[str, list[str]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one.text)
    return [f"{len(texts)} times {kind}, as: {texts[0]}" for kind, texts in kinds.items()]


class Judge:
    """Compares what is stored with what was written when the forum came to rest.

    A moment that a page gives in words is known to `words_s` seconds. What cannot be seen any more (a thread that is
    gone, a comment that was removed) must be marked so if it was stored, and have values that it once had.
    """

    def __init__(self, store: Store, truth_file: Path, site: str, words_s: int = 60) -> None:
        self._store, self._site, self._words_s = store, site, words_s
        self.truth: dict[str, dict[str, Any]] = json.loads(truth_file.read_text("utf-8"))

    def differences(self) -> list[Difference]:
        """List what is wrong; empty when the crawl knows all there is to know."""
        posts = {row["post_id"]: row for row in self._rows(tables.posts)}
        comments = {f"{row['post_id']}/{row['comment_id']}": row for row in self._rows(tables.comments)}
        return [
            *self._of_posts(posts),
            *self._of_comments(comments),
            *self._of_memberships(posts),
            *self._of_versions({"post": posts, "comment": comments}),
        ]

    def _rows(self, table: Table) -> list[Row]:
        with self._store.database.reading() as connection:
            rows = connection.execute(select(table).where(table.c.site == self._site))
            return [dict(row._mapping) for row in rows]

    def _of_posts(self, rows: Mapping[str, Row]) -> Iterator[Difference]:
        posts = self.truth["posts"]
        for surplus in rows.keys() - posts.keys():
            yield Difference("post never was", surplus, f"post {surplus} never was")
        for post_id, true in posts.items():
            shown, row = true["shown"], rows.get(post_id)
            if row is None:
                if true["boards"]:
                    yield Difference("post missing", post_id, f"post {post_id} is missing, on boards {true['boards']}")
                continue
            extra = json.loads(row["extra"] or "{}")
            stored = row | {name: extra.get(name) for name in EXTRA}
            yield from self._of_fields("post", post_id, post_id, true, stored)
            if shown["state"] == "normal" and row["forum_id"] not in true["boards"]:
                text = f"post {post_id} forum_id is {row['forum_id']}, not of {true['boards']}"
                yield Difference("post forum_id", post_id, text)

    def _of_comments(self, rows: Mapping[str, Row]) -> Iterator[Difference]:
        comments = self.truth["comments"]
        for surplus in rows.keys() - comments.keys():
            yield Difference("comment never was", surplus.partition("/")[0], f"comment {surplus} never was")
        for key, true in comments.items():
            post_id, row = key.partition("/")[0], rows.get(key)
            if row is None:
                if true["shown"]:
                    yield Difference("comment missing", post_id, f"comment {key} is missing")
                continue
            seen = true | {"shown": true["shown"] or ({"state": "deleted"} if true["is_removed"] else {})}
            seen["is_words"] = self.truth["posts"][post_id]["is_words"]
            yield from self._of_fields("comment", key, post_id, seen, row)

    def _of_fields(self, what: str, key: str, post_id: str, true: Row, row: Row) -> Iterator[Difference]:
        for name, past in true["past"].items():
            found = normal_value(row[name]) if name != "state" else row[name] or "normal"
            if name in true["shown"] and true["shown"][name] is not None:
                allowed = [true["shown"][name]]
            else:  # what a page does not show leaves what is stored as it is
                allowed = [None, *past]
            if not self._is_one_of(name, found, allowed, true.get("is_words")):
                kind = f"{what} {name}" if name != "state" else f"{what} {found}, is {allowed[-1]}"
                if name == "state" and found not in past:
                    kind = f"{what} {found}, never was"
                yield Difference(kind, post_id, f"{what} {key} {name} is {found!r:.200}, not {allowed[-1]!r:.200}")

    def _is_one_of(self, name: str, found: object, allowed: list[Any], is_words: object) -> bool:
        if name in TIMES and is_words and found is not None:
            return any(one is not None and abs(int(str(found)) - one) <= self._words_s for one in allowed)
        return found in map(normal_value, allowed)

    def _of_memberships(self, rows: Mapping[str, Row]) -> Iterator[Difference]:
        stored: defaultdict[str, set[str]] = defaultdict(set)
        for row in self._rows(tables.memberships):
            stored[row["post_id"]].add(row["forum_id"])
        for post_id, true in self.truth["posts"].items():
            found, now, ever = stored[post_id], set(true["boards"]), set(true["ever_on"])
            if post_id in rows and not now <= found <= ever:
                text = f"post {post_id} stands on {sorted(found)}, not {sorted(now)} (ever: {sorted(ever)})"
                yield Difference("membership", post_id, text)

    def _of_versions(self, rows: Mapping[str, Mapping[str, Row]]) -> Iterator[Difference]:
        """Hold the values of each text, by the last time they were seen, against the order in which they were true."""
        past = {"post": self.truth["posts"], "comment": self.truth["comments"]}
        fields: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in self._rows(tables.versions):
            key = row["post_id"] if row["kind"] == "post" else f"{row['post_id']}/{row['comment_id']}"
            fields[row["kind"], key, row["field"]].append(row)
        for (kind, key, name), versions in fields.items():
            true = past[kind].get(key)
            if true is None or key not in rows[kind]:
                continue  # said already, or a row that was never there
            history = [normal_value(value) for value in true["past"][name]]
            began = true["began"][name]
            versions.sort(key=lambda row: row["seen_at"])
            groups: list[Group] = [
                (at, [normal_value(one["value"]) for one in same]) for at, same in groupby(versions, _seen_at)
            ]
            groups.append((float("inf"), [normal_value(rows[kind][key][name])]))
            values = [group for _, group in groups]
            post_id = versions[0]["post_id"]
            if invented := [value for same in values for value in same if value not in history]:
                yield Difference(
                    f"{kind} {name} invented", post_id, f"{kind} {key} {name} never was {invented[0]!r:.200}"
                )
            elif not _is_in_order(groups, history, began):
                text = f"{kind} {key} {name} was seen as {_short(values)}, and was {_short([[one] for one in history])}"
                yield Difference(f"{kind} {name} versions' order", post_id, text)


def _seen_at(row: Row) -> float:
    return float(row["seen_at"])


def _is_in_order(groups: list[Group], history: list[Any], began: list[float]) -> bool:
    """Return whether the groups, one after the other, are a subsequence; within a group any order will do.

    A copy out of a cache says its age in whole seconds. So a value that ended less than AGE_STEP_S before another was
    seen may be stored as the newer of the two.
    """
    at, before = 0, float("inf")
    for seen_at, group in groups:
        first = at
        while first and (first == len(began) or before - began[first] < AGE_STEP_S):
            first -= 1
        orders = permutations(group) if len(group) <= MOST_TIES else [tuple(group)]
        ends = [end for order in orders if (end := _end_of(order, history, first)) is not None]
        if not ends:
            return False
        at, before = max(at, min(ends)), seen_at
    return True


def _end_of(values: tuple[Any, ...], history: list[Any], at: int) -> int | None:
    for value in values:
        if value not in history[at:]:
            return None
        at = history.index(value, at) + 1
    return at


def _short(groups: list[list[Any]]) -> str:
    return " -> ".join("+".join(f"…{str(value)[-16:]!r}" for value in group) for group in groups)
