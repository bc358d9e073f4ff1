"""Without a full pass: which differences docs/changes.md names, since no list showed what a page would have said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.changing.history import IN_FULL_ROW, IN_ROW
from tests.changing.judge import Difference
from tests.changing.topics import COUNT_ONLY

_COMMENT = re.compile(r"comment \d+/(\d+)")


class Named:
    """Knows what the forum's answers showed of each thread last: on lists, and on each of its pages.

    A row tells news where its revision is neither what its board showed last nor the last news of the thread.
    """

    def __init__(self, truth: Mapping[str, Any], answers: Iterable[Mapping[str, Any]]) -> None:
        self._truth = truth
        self._rows: dict[str, int] = {}
        self._full_rows: dict[str, int] = {}  # of the boards whose rows show more than a count
        self._pages: dict[str, int] = {}
        self._read: dict[str, int] = {}  # when each page was, as the number of the answer
        self._news: dict[str, int] = {}  # when a list showed the last news of a thread
        self._words: dict[str, dict[str, str]] = {}  # of each board about a thread, and the last news as that of ""
        for number, answer in enumerate(answers, 1):
            if answer["path"].startswith("/list/"):
                board = answer["path"].split("/")[2]
                self._rows |= answer["versions"]
                self._full_rows |= answer["versions"] if board != COUNT_ONLY else {}
                self._hear(number, board, answer["revisions"])
            elif answer["versions"]:
                [self._pages[answer["path"]]] = answer["versions"].values()
                self._read[answer["path"]] = number

    def _hear(self, number: int, board: str, revisions: Mapping[str, str]) -> None:
        for post_id, revision in revisions.items():
            words = self._words.setdefault(post_id, {})
            if revision not in (words.get(board), words.get("")):
                self._news[post_id], words[""] = number, revision
            words[board] = revision

    def __contains__(self, one: Difference) -> bool:
        """Return whether a full pass only can find it."""
        post = self._truth["posts"].get(one.post_id)
        if post is None or one.kind.endswith(("never was", "invented", "order")):
            return False
        last = post["version"]
        kind, _, name = one.kind.partition(" ")
        rows = self._rows if name in (*IN_ROW, "missing") else self._full_rows if name in IN_FULL_ROW else {}
        if kind == "post" and rows.get(one.post_id) == last:
            return False
        if one.kind == "comment normal, is deleted" and self._page_of(one) == 0:
            return True  # it is marked by a full pass only
        if one.kind == "post normal, is deleted" and not post["boards"]:
            return True  # it left the lists before its page was asked for again
        page = f"/post/{one.post_id}"
        if kind == "comment":
            number = self._page_of(one)
            page = page if number < 2 else f"/comment/{one.post_id}/{number}"
            if number < post["pages"]:  # a page in the middle is not fetched again
                return self._pages.get(page) != last
        if self._pages.get(page) == last:
            return False
        # The last news that a list showed were asked for, and another state of the thread was read.
        news = self._news.get(one.post_id, 0)
        return news == 0 or self._read.get(page, 0) > news

    def _page_of(self, one: Difference) -> int:
        found = _COMMENT.match(one.text)
        shown = self._truth["comments"][f"{one.post_id}/{found[1]}"]["shown"] if found else None
        return int(shown["page"]) if shown else 0
