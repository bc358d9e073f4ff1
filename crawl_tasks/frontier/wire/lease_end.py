"""The arguments of the verbs that end a lease, in the order in which they are sent. Lua has a local for each.

Both begin with the lease: its site, number and token, by which answers.lua knows a call that is sent again.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, NamedTuple, get_type_hints

from crawl_tasks.frontier.wire.site_terms import FieldType
from crawl_tasks.model import Stage

_NUMBER, _TEXT, _FLAG = FieldType.NUMBER, FieldType.TEXT, FieldType.FLAG


class CommitFields(NamedTuple):
    """The arguments of commit.lua. Behind them stand the lines of the children."""

    name: Annotated[str, _TEXT, "site"]
    rid: Annotated[int, _TEXT, "number of the request"]
    token: Annotated[int, _TEXT, "token of the lease"]
    items: Annotated[bytes, _TEXT, "items as a JSON array without its last bracket; Lua adds the trail"]
    tail: Annotated[int, _NUMBER, "tail page to remember for the thread, 0 for none"]
    store_at: Annotated[int, _NUMBER, "length of the outbox from which the store task is called at once"]
    outcome: Annotated[str, _TEXT, "outcome to count beside done, as gone:post, empty for a page as usual"]
    effort: Annotated[str, _TEXT, "cost of the attempt, as count_effort() reads it, empty where nothing was sent"]
    dropped: Annotated[str, _TEXT, "items that were dropped, as `reason count reason count`"]
    validator: Annotated[str, _TEXT, "HTTP validator, as `version text`, empty for none"]
    item_count: Annotated[int, _TEXT, "number of items, for monitoring"]
    again_word: Annotated[str, _TEXT, "guard word of a page that is gone or came in part, empty for others"]
    last_replies: Annotated[
        str,
        _TEXT,
        "time of each child's last reply in s, 0 for unknown; before them newest or single; empty for a thread",
    ]
    names_filtered: Annotated[int, _FLAG, "1 to name the children that the guard knew"]
    chain: Annotated[str, _TEXT, "for the next page of a chain, the terms of lease_next(), empty for none"]


class FailFields(NamedTuple):
    """The arguments of fail.lua."""

    name: Annotated[str, _TEXT, "site"]
    rid: Annotated[int, _TEXT, "number of the request"]
    token: Annotated[int, _TEXT, "token of the lease"]
    state: Annotated[str, _TEXT, "next state: delayed, parked or dead"]
    delay_ms: Annotated[int, _NUMBER, "time to wait when delayed"]
    reason: Annotated[str, _TEXT, "reason of the failure"]
    rest_ms: Annotated[int, _NUMBER, "time for which the whole site rests, 0 for none"]
    details: Annotated[str, _TEXT, "details, one line"]
    effort: Annotated[str, _TEXT, "cost of the attempt, as count_effort() reads it, empty where nothing was sent"]
    says_nothing: Annotated[int, _FLAG, "1 where the page came and was unreadable, for the circuit breaker"]
    slows_site: Annotated[int, _FLAG, "1 to raise the site's backoff"]
    scope: Annotated[str, _TEXT, "scope of the failure: page, site or nothing"]
    is_named: Annotated[int, _FLAG, "1 where the site named the time of its rest"]


class CommitOutcome(StrEnum):
    """The outcome of a page beside done, which commit.lua counts for its stage."""

    GONE = "gone"
    UNCHANGED = "unchanged"
    CUT = "cut"

    def of(self, stage: Stage) -> str:
        """Return the outcome as commit.lua reads it."""
        return f"{self.value}:{stage.value}"


class FieldRow(NamedTuple):
    """An argument: its name, the way Lua reads it, its meaning."""

    name: str
    type: FieldType
    meaning: str


def _rows(fields: type[tuple[object, ...]]) -> tuple[FieldRow, ...]:
    hints = get_type_hints(fields, include_extras=True)
    return tuple(FieldRow(name, *hint.__metadata__) for name, hint in hints.items())


COMMIT_ROWS: Final = _rows(CommitFields)
FAIL_ROWS: Final = _rows(FailFields)
