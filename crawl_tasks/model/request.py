"""The model of requests: stages, states, requests, leases and responses.

All of them are immutable named tuples, made at a quarter of the cost of a frozen dataclass.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple


class Stage(StrEnum):
    """The three kinds of forum page, each with a queue of its own."""

    LIST = "list"
    POST = "post"
    COMMENT = "comment"


class State(StrEnum):
    """The state of a request in the ledger, and the transitions to other states.

    Success: ready -> released -> leased -> done. After a failure: leased -> delayed -> ready, leased -> parked ->
    ready, leased -> dead -> ready. Back to the queue: released -> ready (lost message, or no slot at the gate), leased
    -> ready (lease expired).
    """

    READY = "ready"
    RELEASED = "released"
    LEASED = "leased"
    DELAYED = "delayed"
    PARKED = "parked"
    DEAD = "dead"
    DONE = "done"


class Priority(IntEnum):
    """The order within a stage, 0 to 9. A higher number is fetched sooner, as in AMQP.

    0 to BACKFILL is backfill, which waits behind new threads: first scans, walks, full passes, and all that they find.
    """

    BACKFILL = 2
    NORMAL = 5
    LIVE = 7
    URGENT = 9


class Reach(NamedTuple):
    """The extent of a walk over a board, which each list page passes on to the next.

    `pages` is the maximum number of list pages, 0 for all. Threads last active before `since` (seconds since the epoch)
    are left out, and the walk ends there.

    `whole` names a full pass, which reads every page of every thread. The requests for posts and comments of a pass
    carry the reach too. In these, `pages` is the last known comment page, and `read_from` the earliest `seen_at` of the
    pages read so far, 0 after a page that proves nothing. A thread with unseen comments is read again: `look` counts
    the readings from 1, `missed_from` is the `read_from` of the first one and `looked_from` that of the last one, and a
    page that a cache made before `made_after` belongs to the reading before.

    `shown` identifies the records of the page before, where each page leads to the next. `meta` is a JSON object that
    another program sent with its request. `is_unlisted` marks a pass's request for a thread that no list showed.
    """

    pages: int = 0
    since: int = 0
    whole: str = ""
    read_from: float = 0
    shown: str = ""
    look: int = 1
    missed_from: float = 0
    made_after: float = 0
    meta: str = ""
    looked_from: float = 0
    is_unlisted: bool = False


FULL_REACH = Reach()


class Request(NamedTuple):
    """One page to fetch.

    `key` is the board's id for a list, and the post's id for posts and comments, as the forum spells ids. `address` is
    an absolute, normalised ASCII URL. `revision` is the state of the post as shown on the list page (reply count, last
    reply time). The guard knows a request by (stage, key, page, revision). `source` is the board whose list named the
    post.

    With `only_if_new`, a request is admitted only if the same commit admitted another one before: the next list page of
    a chain, which stops where nothing is new. With `only_if_named`, a request is admitted only if the thread was named
    before: such a request tells of news in a thread that another board lists. With `is_again`, a request is admitted
    whatever the guard says. With `is_hidden`, the list says that the post is deleted: a known post is not requested
    until the list no longer says so. With `is_ping`, a front page shows a board with this revision, which begins with
    the time of the last post: the board is due where that is news. With `is_stored`, the database has the page with
    that revision, and with `is_stored_otherwise` with another one, or as a page that is gone. Both count for a guard of
    mode `database` only. `wait_s` is the time between admission and fetch,
    in seconds.
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
    is_ping: bool = False
    wait_s: int = 0
    is_stored: bool = False
    is_stored_otherwise: bool = False

    @property
    def meta(self) -> dict[str, object]:
        """Return the values that another program sent with its request, for a parser function."""
        return dict(json.loads(self.reach.meta)) if self.reach.meta else {}


class HttpRequest(NamedTuple):
    """A request as it is sent: a GET, or a POST where there is a `body`. A function changes it by `_replace`."""

    url: str
    headers: Mapping[str, str]
    body: bytes | None = None

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "GET" if self.body is None else "POST"


class SlotSpan(NamedTuple):
    """A slot of a throttled site, reserved at `given_at`, to send from `opens_at` to `shuts_at` (`time.monotonic`)."""

    given_at: float
    opens_at: float
    shuts_at: float


class Lease(NamedTuple):
    """The right to work on one request until `deadline_ms` (Redis' clock). `token` is the fencing token of the commit.

    The tokens of a site are milliseconds of Redis' clock, each larger than the one before, even if the clock goes back.
    Pages read under them are therefore ordered as they were requested. `at_ms` is the moment of the lease.

    `tail` is the highest comment page of the thread ever admitted, 0 if none was. `validator` is the HTTP validator of
    a board's first page at the last scan, where this request may send one. `delay_ms` is the time between two requests
    for the site, and `slot` the time to send this one, None for a site without delay.
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
    slot: SlotSpan | None = None


NO_SECRETS: Mapping[str, str] = MappingProxyType({})


class Fetched(NamedTuple):
    """One response, complete and within the limits, after redirects.

    `headers` has lower-case names. `body` is decoded from the content encoding, but still bytes in an unknown charset.
    With `is_unchanged` the server confirmed the validator that we sent, and there is no body.

    `at_s` is the moment of the response in seconds since the epoch, by the Date header if that is credible, else by our
    clock. Relative dates on the page count from `at_s`. `age_s` is the time that the page lay in a cache, in seconds,
    by the response's headers where these are credible. `seen_at` orders observations: the lease's token in seconds,
    less `age_s`. No clock of the forum or of a worker is part of `seen_at`.

    `is_behind_login` tells that the page was asked for as a member, `is_rendered` that its scripts were run. `gaps` are
    the requests of a drawn page that brought nothing, each with its reason: the page may be a part. `refused` are those
    that we did not send. `was_denied` tells
    that such a request to the site itself was answered as a guest's. `secrets` are texts that nobody may keep or show,
    each with what it is, as "cookie sid". With `is_unsigned` a page behind a login does not say whether a member asked
    for it.
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
    is_behind_login: bool = False
    is_rendered: bool = False
    gaps: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    was_denied: bool = False
    secrets: Mapping[str, str] = NO_SECRETS
    is_unsigned: bool = False


class Effort(NamedTuple):
    """The cost of an attempt. `status` and sizes are 0 without a complete answer.

    The scripts are given the fields in this order. See count_effort() in frontier/lua/lib/site.lua.
    """

    status: int = 0
    wire_bytes: int = 0
    body_bytes: int = 0
    fetch_ms: int = 0
    parse_ms: int = 0
