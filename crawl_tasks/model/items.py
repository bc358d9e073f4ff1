"""The model of items: boards, posts, comments and reports that a page brings, and the page as parsed.

Items cross the outbox as plain JSON arrays in field order. New fields therefore go to the end, with a default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import repeat
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from crawl_tasks.model.request import Reach, Request

UNREADABLE: Final = frozenset({"deleted", "masked"})
"""States in which a post or comment cannot be read."""

Extra: TypeAlias = dict[str, str | None]
"""Fields that the model lacks, by name. None: only this kind of page shows the field, and no longer does."""


class Forum(NamedTuple):
    """A board as shown on a list page."""

    forum_id: str
    title: str | None = None
    url: str | None = None


class Post(NamedTuple):
    """The first post of a thread. A field that was not on the page is None and leaves the stored value unchanged.

    Times are seconds since the epoch. `body` is None while only the list page is known. `state` is `normal`, `deleted`
    or `masked`. `seen_at` is `Fetched.seen_at` of the page, filled in for parser functions. `is_page` is true if that
    page was the post's own, or the answer that the post does not exist. `author_id` is the forum's id of the author.
    """

    post_id: str
    seen_at: float = 0.0
    forum_id: str | None = None
    url: str | None = None
    title: str | None = None
    author: str | None = None
    created_at: int | None = None
    body: str | None = None
    body_html: str | None = None
    reply_count: int | None = None
    view_count: int | None = None
    last_reply_at: int | None = None
    edited_at: int | None = None
    state: str | None = None
    revision: str | None = None
    extra: Extra | None = None
    is_page: bool = False
    author_id: str | None = None


PLAIN_POST: Final = 15
"""The number of a post's leading fields that are stored as they are, all before `extra`."""


class Comment(NamedTuple):
    """A reply in a thread. `parent_id` is the answered comment, None for a reply to the post.

    `page` is the number of the comment page, `position` the index on that page, from 0. `author_id` is the forum's id
    of the author.
    """

    post_id: str
    comment_id: str
    seen_at: float = 0.0
    parent_id: str | None = None
    author: str | None = None
    created_at: int | None = None
    body: str | None = None
    body_html: str | None = None
    depth: int | None = None
    page: int | None = None
    position: int | None = None
    edited_at: int | None = None
    state: str | None = None
    extra: Extra | None = None
    author_id: str | None = None


PLAIN_COMMENT: Final = 13
"""The number of a comment's leading fields that are stored as they are, all before `extra`."""


class Sweep(NamedTuple):
    """The report of a full pass that read a thread to the end: which of its comments were not seen since `before`?

    Those are looked for once more, in the pass `whole` with `priority`, before they count as deleted. `look` is the
    number of this reading, from 1. `counts` is false if caches answered with pages of the reading before. The pages of
    the next reading must be made after `made_after`. This reading saw the thread from `read_from` on, and the last one
    that counted from `looked_from` on. A reading without a comment (`is_bare`) counts where the list says so too.
    """

    post_id: str
    before: float
    whole: str = ""
    look: int = 1
    priority: int = 0
    made_after: float = 0
    counts: bool = True
    read_from: float = 0
    looked_from: float = 0
    is_bare: bool = False


class BoardPass(NamedTuple):
    """The report of a full pass that read a board's lists to the end: which posts were not seen since `before`?

    Those are requested by their own addresses, in the pass `whole` with `priority`.
    """

    forum_id: str
    before: float
    whole: str
    priority: int = 0


Item = TypeVar("Item", Forum, Post, Comment, Sweep, BoardPass)


class Visit(NamedTuple):
    """A request done or admitted at `at_ms` (Redis' clock). A lost ledger is rebuilt from these."""

    site: str
    stage: str
    key: str
    page: int
    address: str
    priority: int
    reach: Reach
    revision: str
    at_ms: int
    is_done: bool


VISIT_PAGE: Final = 4
"""The number of a visit's leading fields that name the page."""

PLAIN_VISIT: Final = 6
"""The number of a visit's leading fields that are stored as they are, all before `reach`."""


def _check_position(kind: type[Post | Comment | Visit], position: int, field: str) -> None:
    """Raise TypeError if another field is at a position: a slice by number notices no new field."""
    if kind._fields[position] != field:
        raise TypeError(f"field {position} of {kind.__name__} is {kind._fields[position]}, not {field}")


_check_position(Post, PLAIN_POST, "extra")
_check_position(Comment, PLAIN_COMMENT, "extra")
_check_position(Visit, VISIT_PAGE, "address")
_check_position(Visit, PLAIN_VISIT, "reach")


class Items(NamedTuple):
    """The result of one page for the store, with the requests done and admitted. One JSON array in the outbox.

    `read_by` is the version of the site file whose rules read the page.
    """

    site: str
    forums: tuple[Forum, ...] = ()
    posts: tuple[Post, ...] = ()
    comments: tuple[Comment, ...] = ()
    swept: tuple[Sweep, ...] = ()
    visits: tuple[Visit, ...] = ()
    passes: tuple[BoardPass, ...] = ()
    read_by: str = ""

    def __bool__(self) -> bool:
        """Return whether there is anything to store."""
        return bool(self.forums or self.posts or self.comments or self.swept or self.passes or self.visits)

    @classmethod
    def from_json(cls, row: list[list[list[object]]], visits: tuple[Visit, ...] = ()) -> Items:
        """Return the items that a commit wrote. Parts and fields that a newer version added at the end are left out.

        Raises:
            TypeError: A row lacks a required field.
            ValueError: The array is not a site and its lists.
        """
        site, forums, posts, comments, swept, passes, read_by, *_ = row
        if not isinstance(site, str):
            raise TypeError(f"a site's name was expected, not {site!r}")
        return cls(
            site,
            _made(Forum, forums),
            _made(Post, posts),
            _made(Comment, comments),
            _made(Sweep, swept),
            visits,
            _made(BoardPass, passes),
            str(read_by),
        )


def _made(kind: type[Item], rows: list[list[object]]) -> tuple[Item, ...]:
    """Return rows as items of a kind."""
    if not rows:
        return ()
    # Nearly all rows have all the fields of their kind. Then tuple.__new__ spares a Python call for each.
    if set(map(type, rows)) == {list} and set(map(len, rows)) == {len(kind._fields)}:
        return tuple(map(tuple.__new__, repeat(kind), rows))
    return tuple(kind._make(_fitted(kind, row)) for row in rows)


def _fitted(kind: type[Forum | Post | Comment | Sweep | BoardPass], row: list[object]) -> list[object]:
    """Return a row in the length of its kind: unknown fields cut, defaults for fields that an older version lacked."""
    fields = kind._fields
    missing = fields[len(row) :]
    return row[: len(fields)] + [kind._field_defaults[name] for name in missing]


class Kind(StrEnum):
    """The kinds of stored item that are counted."""

    POST = "post"
    COMMENT = "comment"


class StoredChange(NamedTuple):
    """The counts of one stored batch of a site's posts or comments. `unchanged` ones were seen again.

    `filled` counts the posts known from a list whose page was stored now. `posted` holds the posting times, where
    known, of items whose text was stored for the first time. `by_board` holds the same of posts, and of the last week's
    comments, where their board is known. `restored` counts the items among `changed` that were deleted and can be read
    again.
    """

    site: str
    kind: Kind
    new: int
    filled: int
    changed: int
    unchanged: int
    posted: tuple[int, ...] = ()
    # All instances share a default, so it must not change.
    by_board: Mapping[str, Sequence[int]] = MappingProxyType({})
    restored: int = 0


class Parsed(NamedTuple):
    """The content of a page: items for the store and requests for the frontier, in the order of admission.

    `tail` is the highest comment page among the children, 0 without one. `dropped` counts the items that the site's
    steps dropped, by reason. With `is_cut`, the forum has more pages, or the page more records, than are taken.
    `oldest_at` is the last reply of a list page's last row, 0 where the rows are in no such order. `broke_off` tells
    that the page ends in its middle, where it does. `extent` is `newest` for a page of the threads with the last
    only news, and `single` for a list that has no other page.
    """

    items: Items
    children: tuple[Request, ...] = ()
    tail: int = 0
    notes: tuple[str, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()
    is_cut: bool = False
    oldest_at: int = 0
    broke_off: str = ""
    extent: Literal["", "newest", "single"] = ""
