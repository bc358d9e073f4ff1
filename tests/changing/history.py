"""What was true of every post and comment, from the beginning to the rest: the judge's side of the forum."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from crawl_tasks.demo.content import Board, Reply
from tests.changing.topics import COUNT_ONLY, Forum, Topic

Value: TypeAlias = "str | int | float | None"
BEGAN = " began"
"""Ends the name under which a past keeps when each value of a fact began."""

Facts: TypeAlias = dict[str, Value]
Past: TypeAlias = dict[str, list[Value]]

ON_PAGE = ("title", "author", "created_at", "edited_at", "body", "reply_count", "view_count", "state", "flair")
IN_ROW = ("title", "author", "created_at", "reply_count", "view_count", "pinned", "state")
IN_FULL_ROW = ("last_reply_at", "edited_at", "edits")


class History:
    """Follows a forum change by change. Begins with the forum as it is."""

    def __init__(self, forum: Forum) -> None:
        self._forum = forum
        self._posts: dict[str, Past] = {}
        self._comments: dict[str, Past] = {}
        self._places: dict[str, list[str]] = {}
        self._was: dict[str, list[str]] = {}
        self._at = 0.0
        for topic in forum.topics.values():
            self._note(topic)

    def follow(self, at: float, done: Sequence[str]) -> None:
        """Take in what the last change touched."""
        self._at = at
        for post_id in dict.fromkeys(self._forum.touched):
            topic = self._forum.topics[post_id]
            self._note(topic)
            self._was.setdefault(post_id, []).append(f"{at:.2f} v{topic.version} {'; '.join(done)}")

    def _note(self, topic: Topic) -> None:
        _extend(self._posts.setdefault(topic.post_id, {}), post_facts(topic), self._at)
        places = self._places.setdefault(topic.post_id, [])
        places += [board for board in topic.boards if board not in places]
        for key, facts in comment_facts(topic, self._forum.board_of(topic)).items():
            _extend(self._comments.setdefault(key, {}), facts, self._at)
        for one in topic.removed:
            if (
                key := f"{topic.post_id}/{one.comment_id}"
            ) in self._comments:  # else it was gone before a page showed it
                _extend(self._comments[key], {"state": "deleted"}, self._at)

    def to_json(self) -> str:
        """Return the truth at rest: of each post and comment what is shown, what it was, and what happened to it."""
        topics = self._forum.topics
        comments = {
            key: facts
            for topic in topics.values()
            if not topic.gone
            for key, facts in comment_facts(topic, self._forum.board_of(topic)).items()
        }
        posts = {
            post_id: {
                "boards": topic.boards if topic.is_listed else (),
                "ever_on": self._places[post_id],
                "is_words": any(self._forum.boards[board].style.value == "relative" for board in topic.boards),
                "shown": seen_of_post(topic),
                "version": topic.version,
                "pages": topic.pages,
                "past": _values(self._posts[post_id]),
                "began": _began(self._posts[post_id]),
                "was": self._was.get(post_id, []),
            }
            for post_id, topic in topics.items()
        }
        rows = {
            key: {
                "shown": comments.get(key),
                "is_removed": self._is_removed(key) and key not in comments,
                "past": _values(past),
                "began": _began(past),
            }
            for key, past in self._comments.items()
        }
        boards = {board.board_id: board.title for board in self._forum.boards.values()}
        return json.dumps({"boards": boards, "posts": posts, "comments": rows}, ensure_ascii=False)

    def _is_removed(self, key: str) -> bool:
        """Return whether a comment is gone from a thread that stands."""
        topic = self._forum.topics[key.partition("/")[0]]
        return not topic.gone


def _values(past: Past) -> Past:
    return {name: values for name, values in past.items() if not name.endswith(BEGAN)}


def _began(past: Past) -> Past:
    return {name.removesuffix(BEGAN): values for name, values in past.items() if name.endswith(BEGAN)}


def _extend(past: Past, facts: Mapping[str, Value], at: float) -> None:
    for name, value in facts.items():
        values = past.setdefault(name, [])
        if not values or values[-1] != value:
            values.append(value)
            past.setdefault(f"{name}{BEGAN}", []).append(at)


def post_facts(topic: Topic) -> Facts:
    """Say everything that is true of a post."""
    return {
        "title": topic.title,
        "author": topic.author,
        "created_at": topic.created_at,
        "last_reply_at": topic.last_reply_at,
        "edited_at": topic.edited_at,
        "edits": str(topic.edits) if topic.edits else None,
        "body": topic.body.text,
        "reply_count": len(topic.replies),
        "view_count": topic.views,
        "state": "deleted" if topic.gone else "normal",
        "pinned": "1" if topic.is_pinned else "0",
        "flair": topic.flair or None,
    }


def seen_of_post(topic: Topic) -> Facts:
    """Say what the forum shows of a post now, on its page and on the lists."""
    names = set() if topic.gone else set(ON_PAGE)
    if topic.is_listed:
        names.update(IN_ROW)
        if set(topic.boards) - {COUNT_ONLY}:
            names.update(IN_FULL_ROW)
    facts = post_facts(topic)
    return {name: facts[name] for name in facts if name in names or name == "state"}


def comment_facts(topic: Topic, board: Board) -> dict[str, Facts]:
    """Say everything that is true of the comments of a thread, by post and comment."""
    found = {}
    for page in range(1, topic.pages + 1):
        replies = topic.page(page)
        for position, reply in enumerate(_nested(replies) if board.nests else replies):
            found[f"{topic.post_id}/{reply.comment_id}"] = {
                "parent_id": reply.parent_id,
                "depth": reply.depth,
                "author": reply.author,
                "created_at": reply.created_at,
                "body": reply.body.text,
                "state": reply.state.value,
                "page": page,
                "position": position,
            }
    return found


def _nested(replies: Sequence[Reply]) -> list[Reply]:
    """Put comments in the order of a page on which answers stand inside of what they answer."""
    here = {reply.comment_id for reply in replies}
    children: dict[str | None, list[Reply]] = {}
    for reply in replies:
        children.setdefault(reply.parent_id if reply.parent_id in here else None, []).append(reply)

    def walk(parent: str | None) -> list[Reply]:
        return [one for child in children.get(parent, []) for one in (child, *walk(child.comment_id))]

    return walk(None)
