"""Without a full pass: which differences docs/site-files.md names, since no list showed what a page would have said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.changing.history import IN_FULL_ROW, IN_ROW
from tests.changing.judge import Difference
from tests.changing.topics import COUNT_ONLY

_COMMENT = re.compile(r"comment \d+/(\d+)")


class Named:
    """Knows what the forum's answers showed of each thread last: on lists, and on each of its pages."""

    def __init__(self, truth: Mapping[str, Any], answers: Iterable[Mapping[str, Any]]) -> None:
        self._truth = truth
        self._rows: dict[str, int] = {}
        self._pages: dict[str, int] = {}
        for answer in answers:
            if answer["path"].startswith("/list/"):
                self._rows |= answer["versions"]
            elif answer["versions"]:
                [self._pages[answer["path"]]] = answer["versions"].values()

    def __contains__(self, one: Difference) -> bool:
        """Say whether a full pass only can find it."""
        post = self._truth["posts"].get(one.post_id)
        if post is None or one.kind.endswith(("never was", "invented", "order")):
            return False
        last, row = post["version"], self._rows.get(one.post_id)
        kind, _, name = one.kind.partition(" ")
        in_rows = {*IN_ROW, "missing", *(IN_FULL_ROW if set(post["boards"]) - {COUNT_ONLY} else ())}
        if kind == "post" and name in in_rows and row == last:
            return False
        if one.kind == "comment normal, is deleted" and self._page_of(one) == 0:
            return True  # it is marked by a full pass only
        if one.kind == "post normal, is deleted" and not post["boards"]:
            return True  # it left the lists before its page was asked for again
        page = f"/post/{one.post_id}"
        said, revisions = self._pages.get(page), post["revisions"]
        if kind == "comment":
            number = self._page_of(one)
            page = page if number < 2 else f"/comment/{one.post_id}/{number}"
            if number < post["pages"]:  # a page in the middle is not fetched again
                return self._pages.get(page) != last
        if self._pages.get(page) == last:
            return False
        # What the list showed last was asked for, and another state of the thread was read.
        return row is None or said is None or revisions[str(row)] == revisions[str(said)]

    def _page_of(self, one: Difference) -> int:
        found = _COMMENT.match(one.text)
        shown = self._truth["comments"][f"{one.post_id}/{found[1]}"]["shown"] if found else None
        return int(shown["page"]) if shown else 0
