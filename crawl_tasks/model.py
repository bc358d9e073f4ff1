"""The nouns that travel between the steps of the flow: requests, leases, pages, items.

Everything here is a named tuple: immutable, and made at a quarter of the cost of a frozen dataclass. Items
cross the outbox as plain JSON arrays, in field order: add new fields at the end, with a default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from itertools import repeat
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar

UNREADABLE: Final = frozenset({"deleted", "masked"})
"""States in which a post or comment cannot be read."""


class Stage(StrEnum):
    """The three kinds of page of a forum, each with a queue of its own."""

    LIST = "list"
    POST = "post"
    COMMENT = "comment"


class State(StrEnum):
    """Where a request stands in the ledger, with the states it can go to.

    ready -> released -> leased -> done; leased -> delayed -> ready; leased -> parked -> ready;
    leased -> dead -> ready; released -> ready (lost message, or no slot at the gate); leased -> ready (expired).
    """

    READY = "ready"
    RELEASED = "released"
    LEASED = "leased"
    DELAYED = "delayed"
    PARKED = "parked"
    DEAD = "dead"
    DONE = "done"


class Priority(IntEnum):
    """Order within a stage, 0 to 9; a higher number is fetched sooner (AMQP's sense)."""

    BACKFILL = 2
    NORMAL = 5
    LIVE = 7
    URGENT = 9


class Reach(NamedTuple):
    """How far a walk over a board goes; a list page hands it on to the next one.

    `pages` list pages at most, 0 for all; threads whose last sign of life is before `since` (seconds since the epoch)
    are left out, and the walk ends there.

    `whole` names a full pass, which reads every page of every thread: its posts and comments carry the reach too. There
    `pages` is the last comment page known, and `read_from` the earliest `seen_at` of the pages read so far, 0 when one
    could not be relied upon. A thread of which comments were not seen is looked at again: `look` counts from 1,
    `missed_from` is the `read_from` of the first look, and pages that a cache made before `made_after` are those of the
    look before.

    `shown` names what stood on the page before, where pages are found one from the other.
    """

    pages: int = 0
    since: int = 0
    whole: str = ""
    read_from: float = 0
    shown: str = ""
    look: int = 1
    missed_from: float = 0
    made_after: float = 0


FULL_REACH = Reach()


class Request(NamedTuple):
    """One page to fetch.

    `key` is the board's id for lists and the post's id for posts and comments, as the forum spells it.
    `address` is an absolute, normalised, ASCII URL. `revision` is what the list page showed of the
    post's state (reply count, last reply time); the guard knows a request by (stage, key, page, revision).
    A request with `only_if_new` is admitted only when the same commit admitted something else
    before it: the next list page of a chain that stops where nothing is new. One with `only_if_named` tells of
    news in a thread that another board lists: it is admitted only when that thread was named before. `source` is the
    board whose list named the post. With `is_again` it is admitted whatever the guard says. With `is_hidden` that list
    says that the post is deleted: a post that is known is not asked for, and once the list says so no more, it is.
    It waits `wait_s` between its admission and its fetch.
    """

    site: str
    stage: Stage
    key: str
    address: str
    page: int = 1
    revision: str = ""
    priority: int = Priority.NORMAL
    only_if_new: bool = False
    only_if_named: bool = False
    reach: Reach = FULL_REACH
    source: str = ""
    is_hidden: bool = False
    is_again: bool = False
    wait_s: int = 0


class TurnSpan(NamedTuple):
    """A turn at the gate, given at `given_at`: its request is sent between the others. Seconds of `time.monotonic`."""

    given_at: float
    opens_at: float
    shuts_at: float


class Lease(NamedTuple):
    """The right to work on one request until `deadline_ms` (Redis' clock); `token` fences the commit.

    A site's tokens are milliseconds of Redis' clock, each larger than the one before, whatever the clock does: what is
    read under them is in the order in which it was asked for. The lease was given at `at_ms`.

    `tail` is the highest comment page of the thread ever admitted, 0 when none was. `validator` is what a board's first
    page was known by to its server at the last scan, where this one may ask by it. `delay_ms` lie between two requests
    for the site, and `turn` is when this one may be sent; None where they need not be apart.
    """

    rid: int
    token: int
    attempt: int
    request: Request
    site_version: str
    tail: int
    deadline_ms: int
    validator: str = ""
    delay_ms: int = 0
    at_ms: int = 0
    turn: TurnSpan | None = None


class Fetched(NamedTuple):
    """One response, whole and within its limits, after redirects.

    `headers` has lower-case names. `body` is decoded from its content encoding, still bytes of `charset`-to-be-found.
    With `is_unchanged` the page is the one that the validator we asked by was given with, and there is no body.
    `at_s` is the moment of the response by the site's Date header if it has a credible one, else by our
    clock, in seconds since the epoch: relative dates on the page are relative to it. `age_s` is how long the page had
    lain in a cache, in seconds, by its own headers where they are credible. `seen_at` orders what the page says among
    all observations: the lease's token in seconds, less `age_s`. No clock of the forum or of a worker is in it.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    at_s: float
    elapsed_ms: int = 0
    wire_bytes: int = 0
    is_unchanged: bool = False
    age_s: float = 0.0
    seen_at: float = 0.0


class Effort(NamedTuple):
    """What an attempt cost. `status` and sizes are 0 where there was no answer, or no whole one.

    The scripts are told the fields in this order; see count_effort() in frontier/lua/_site.lua.
    """

    status: int = 0
    wire_bytes: int = 0
    body_bytes: int = 0
    fetch_ms: int = 0
    parse_ms: int = 0


Extra: TypeAlias = dict[str, str | None]
"""What the model has no field for, by name. None: only this kind of page shows it, and shows it no more."""


class Forum(NamedTuple):
    """A board, as a list page shows it."""

    forum_id: str
    title: str | None = None
    url: str | None = None


class Post(NamedTuple):
    """A thread's first post. A field that is None was not on the page and leaves what is stored as it is.

    Times are seconds since the epoch. `body` is None while only the list page is known. `state` is
    `normal`, `deleted` or `masked`. `seen_at` is `Fetched.seen_at` of the page it was read from. With `is_page` that
    was the post's own page, or the answer that there is none.
    """

    post_id: str
    seen_at: float
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


class Comment(NamedTuple):
    """A reply in a thread. `parent_id` is the comment it answers, None when it answers the post.

    `page` is the comment page it stood on, `position` its place on that page, from 0.
    """

    post_id: str
    comment_id: str
    seen_at: float
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


class Sweep(NamedTuple):
    """The word of a full pass that read a thread to its end: which of its comments were not seen since `before`?

    They are looked for once more, in the pass `whole` with `priority`, before they are called deleted; `look` is the
    number of this look, from 1. It does not count where caches gave it pages of the look before. Those of the next one
    must be made after `made_after`.
    """

    post_id: str
    before: float
    whole: str = ""
    look: int = 1
    priority: int = 0
    made_after: float = 0
    counts: bool = True


class BoardPass(NamedTuple):
    """The word of a full pass that read a board's lists to their end: which of its posts were not seen since `before`?

    They are asked for by their own addresses, in the pass `whole` with `priority`.
    """

    forum_id: str
    before: float
    whole: str
    priority: int = 0


Item = TypeVar("Item", Forum, Post, Comment, Sweep, BoardPass)


class Visit(NamedTuple):
    """A request that was done, or admitted, at `at_ms` (Redis' clock); from these a lost ledger is rebuilt.

    The first four fields name the page.
    """

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


class Items(NamedTuple):
    """What one page gave to the store, and what was done and admitted with it. Crosses the outbox as one JSON array.

    `read_by` is the version of the site file by whose rules it was read.
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
        """Say whether there is anything to store."""
        return bool(self.forums or self.posts or self.comments or self.swept or self.passes or self.visits)

    @classmethod
    def from_json(cls, row: list[list[list[object]]], visits: tuple[Visit, ...] = ()) -> Items:
        """Read what a commit wrote; fields that a newer version added at the end are left out.

        Raises:
            TypeError: a row lacks a field it must have.
            ValueError: the row is not a site and its lists.
        """
        site, forums, posts, comments, *rest = row
        if not isinstance(site, str):
            raise TypeError(f"a site's name was expected, not {site!r}")
        return cls(
            site,
            _made(Forum, forums),
            _made(Post, posts),
            _made(Comment, comments),
            _made(Sweep, rest[0]) if rest else (),
            visits,
            _made(BoardPass, rest[1]) if len(rest) > 1 else (),
            str(rest[2]) if len(rest) > 2 else "",
        )


def _made(kind: type[Item], rows: list[list[object]]) -> tuple[Item, ...]:
    """Make items of rows, which nearly always have all the fields of their kind and no more."""
    if not rows:
        return ()
    if set(map(type, rows)) == {list} and set(map(len, rows)) == {len(kind._fields)}:
        return tuple(map(tuple.__new__, repeat(kind), rows))
    return tuple(kind._make(_fitted(kind, row)) for row in rows)


def _fitted(kind: type[Forum | Post | Comment | Sweep | BoardPass], row: list[object]) -> list[object]:
    """Bring a row to the length of its kind: cut what is unknown, add the defaults an older version did not write."""
    fields = kind._fields
    missing = fields[len(row) :]
    return row[: len(fields)] + [kind._field_defaults[name] for name in missing]


class Kind(StrEnum):
    """What is counted of what is stored."""

    POST = "post"
    COMMENT = "comment"


class Gain(NamedTuple):
    """What a batch brought of a site's posts or comments; `unchanged` ones were seen again.

    `filled` are posts that a list had shown before and whose page was stored now.
    `posted` has the posting times, where known, of those whose text was stored for the first time; `by_board` the same
    of posts whose board is known. `restored` are those among `changed` that were deleted and can be read again.
    """

    site: str
    kind: Kind
    new: int
    filled: int
    changed: int
    unchanged: int
    posted: tuple[int, ...] = ()
    by_board: Mapping[str, Sequence[int]] = MappingProxyType({})
    restored: int = 0


class Parsed(NamedTuple):
    """What a page says: items for the store and requests for the frontier, in the order to admit them.

    `tail` is the highest comment page among the children, 0 when there is none. `dropped` counts the items that
    the site's steps took out, by reason. With `is_cut` there are more pages than the site file lets us enter.
    """

    items: Items
    children: tuple[Request, ...] = ()
    tail: int = 0
    notes: tuple[str, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()
    is_cut: bool = False
