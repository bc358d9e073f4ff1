"""Which change follows which: drawn from the seed, so that the n-th change of two runs is the same."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

from crawl_tasks.demo.generator import Author, stream
from tests.changing import changes
from tests.changing.changes import Change, Desk
from tests.changing.topics import SIZE, Forum

WEIGHTS: tuple[tuple[int, Change], ...] = (
    (8, changes.new_post),
    (24, changes.reply),
    (5, partial(changes.edit, is_seen=True)),
    (7, partial(changes.edit, is_seen=False)),
    (5, changes.retitle),
    (6, changes.edit_comment),
    (4, partial(changes.delete, gone=410, is_listed=False)),
    (3, partial(changes.delete, gone=404, is_listed=True)),
    (3, partial(changes.delete, gone=404, is_listed=True, is_marked=True)),
    (3, changes.restore),
    (5, changes.remove_comments),
    (4, changes.put_back),
    (4, changes.cover),
    (3, changes.uncover),
    (4, changes.dip),
    (3, changes.fall),
    (4, changes.move),
    (3, changes.show_on_two),
    (4, changes.pin),
    (2, changes.flair),
    (2, changes.look),
    (2, changes.rename),
)
"""How often each change is made, beside the others."""

MEDDLING = (changes.remove_comments, changes.remove_comments, changes.put_back, changes.put_back, changes.reply)


class Script:
    """Makes one change after the other; what a change has to follow later is made in its turn."""

    def __init__(self, forum: Forum) -> None:
        self._forum = forum
        self._author = Author(forum.seed, SIZE, 0, forum.next_comment)
        self._later: defaultdict[int, list[Change]] = defaultdict(list)
        self.made = self.meddled = 0

    def next(self, now: float) -> list[str]:
        """Make the next change, and those that follow from earlier ones; say what was done."""
        self.made += 1
        self._forum.touched.clear()
        rng = stream(self._forum.seed, "change", self.made)
        desk = Desk(self._forum, self._author, rng, now, self._put_off)
        weights, drawn = zip(*WEIGHTS, strict=True)
        [change] = rng.choices(drawn, weights)
        return list(filter(None, (one(desk) for one in (*self._later.pop(self.made, ()), change))))

    def meddle(self, post_id: str, now: float) -> list[str]:
        """Change a thread of which somebody reads one page after the other: comments slide between two of them."""
        self.meddled += 1
        self._forum.touched.clear()
        rng = stream(self._forum.seed, "meddling", self.meddled)
        desk = Desk(self._forum, self._author, rng, now, self._put_off)
        return list(filter(None, [rng.choice(MEDDLING)(desk, post_id)]))

    def _put_off(self, by: int, change: Change) -> None:
        self._later[self.made + by].append(change)
