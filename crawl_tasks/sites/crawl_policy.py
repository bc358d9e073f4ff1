"""The crawl policy of a site: pace, order, priority, guard and interval, each with a range. Part of `Site`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from crawl_tasks.model import Stage
from crawl_tasks.sites.field_rules import Part, require

Whole = Annotated[int, Field(strict=True)]
Seconds = Annotated[float, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]


Hours = Annotated[str, StringConstraints(pattern=r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$")]


class Order(StrEnum):
    """The order in which requests of a stage are fetched."""

    FIFO = "fifo"
    LIFO = "lifo"


class GuardMode(StrEnum):
    """The time for which the duplicate guard remembers an address."""

    EXACT = "exact"
    ROLLING = "rolling"
    BLOOM = "bloom"
    DATABASE = "database"
    OFF = "off"


class Weights(Part):
    """The weights of the fair share: how the kinds of work divide the gate when several wait."""

    list: Whole = Field(default=4, ge=1, le=100, description="Weight of list pages.")
    post: Whole = Field(default=8, ge=1, le=100, description="Weight of posts.")
    comment: Whole = Field(default=4, ge=1, le=100, description="Weight of comment pages.")
    backfill: Whole = Field(default=1, ge=1, le=100, description="Weight of backfill: all requests of priority 0 to 2.")


class Gate(Part):
    """The rate limits of a forum, for all workers together."""

    window: Whole = Field(default=1, ge=1, le=256, description="Requests in flight at once.")
    delay_s: Seconds = Field(default=1.0, ge=0, le=3600, description="Seconds between the starts of two requests.")
    slow_s: Seconds = Field(
        default=10.0, ge=0.1, le=600, description="An answer that takes longer slows the site down, as a timeout does."
    )
    deadline_s: Seconds = Field(
        default=30.0, ge=1, le=600, description="Seconds one attempt may take, redirects included."
    )
    max_attempts: Whole = Field(default=5, ge=1, le=100, description="Attempts before a request is dead.")
    retry_base_s: Seconds = Field(
        default=5.0, ge=0.1, le=3600, description="Seconds before the second attempt; doubles."
    )
    retry_max_s: Seconds = Field(default=600.0, ge=0.1, le=86400, description="Most seconds between two attempts.")
    max_backlog: Whole = Field(
        default=10_000, ge=1, le=10_000_000, description="Open requests above which no list page goes."
    )
    daily_budget: Whole = Field(
        default=0, ge=0, le=100_000_000, description="Requests in a day of the site's zone; 0: no limit."
    )
    daily_new: Whole = Field(
        default=1_000_000, ge=0, le=1_000_000_000,
        description="Boards, threads and comment pages that links become in a day of the site's zone, history"
        " at most half of them, against endless links; 0: no limit.",
    )  # fmt: skip
    quiet_hours: tuple[Hours, ...] = Field(
        default=(),
        max_length=10,
        description="Hours of the site's zone at which it is not asked, as a list: ['23:00-07:00'].",
    )
    weights: Weights = Field(default=Weights(), description="How the kinds of work share it.")
    max_wire_bytes: Whole = Field(default=8 << 20, ge=1024, le=1 << 30, description="Most bytes taken from the wire.")
    max_body_bytes: Whole = Field(default=16 << 20, ge=1024, le=1 << 30, description="Most bytes of a decoded body.")
    max_redirects: Whole = Field(default=5, ge=0, le=20, description="Redirects followed in one attempt.")

    @field_validator("quiet_hours")
    @classmethod
    def _hours_have_a_length(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for hours in value:
            begin, _, end = hours.partition("-")
            # 23:00-23:00 could mean no minute or the whole day.
            require(begin != end, f"ends when it begins: {hours}; pause the site instead")
        return value

    @model_validator(mode="after")
    def _retries_grow(self) -> Self:
        require(self.retry_base_s <= self.retry_max_s, "retry_base_s may not be above retry_max_s")
        return self


def one_word_for_all(value: object) -> object:
    """Return `lifo` or `7` as a mapping with that value for every stage."""
    return dict.fromkeys((stage.value for stage in Stage), value) if isinstance(value, (str, int)) else value


class Orders(Part):
    """The order within each stage and priority. One word sets all three."""

    list: Order = Field(default=Order.FIFO, description="Order of list pages.")
    post: Order = Field(default=Order.FIFO, description="Order of posts.")
    comment: Order = Field(default=Order.FIFO, description="Order of comment pages.")


class Priorities(Part):
    """The priority of each stage, 0 to 9. A higher number is fetched sooner. One number sets all three."""

    list: Whole = Field(default=5, ge=0, le=9, description="Priority of list pages.")
    post: Whole = Field(default=5, ge=0, le=9, description="Priority of posts.")
    comment: Whole = Field(default=5, ge=0, le=9, description="Priority of comment pages.")


class Guards(Part):
    """The duplicate guard of each stage. One word sets all three."""

    list: GuardMode = Field(default=GuardMode.ROLLING, description="Guard of list pages.")
    post: GuardMode = Field(default=GuardMode.EXACT, description="Guard of posts.")
    comment: GuardMode = Field(default=GuardMode.EXACT, description="Guard of comment pages.")

    @field_validator("list")
    @classmethod
    def _is_in_redis(cls, mode: GuardMode) -> GuardMode:
        # The database learns of a page seconds after its commit: too late for the pages of one scan.
        require(mode is not GuardMode.DATABASE, "the database guards no lists; say {post: database, comment: database}")
        return mode


class Breaker(Part):
    """The circuit breaker of a stage: pages that say nothing stop its requests, and probes are sent now and then."""

    after: Whole = Field(
        default=5,
        ge=1,
        le=100,
        description="Pages of a stage in a row that could not be read, after which its circuit breaker opens; "
        "twice as many where others were read between.",
    )
    percent: Whole = Field(
        default=75, ge=10, le=100, description="Percent of the last 20 pages of a stage that do the same."
    )
    probe_s: Seconds = Field(
        default=900.0, ge=1, le=86_400, description="Seconds between two probes of an open breaker."
    )


class Schedule(StrEnum):
    """The revisit policy of a site's boards."""

    FIXED = "fixed"
    ADAPTIVE = "adaptive"
    PRICED = "priced"


class Freshness(Part):
    """The goal and the budget of the priced schedule."""

    goal_s: Seconds = Field(
        default=600.0,
        ge=1,
        le=31_536_000,
        description="Seconds from a reply to the scan that shows it, for 95 of 100. No more is spent than that takes.",
    )
    requests_s: Seconds | None = Field(
        default=None, gt=0, le=1000, description="List requests a second at most; without it, half of the gate's rate."
    )


class Interval(Part):
    """The interval between scans of a board. Busy boards move towards min_s, quiet ones towards max_s."""

    min_s: Seconds = Field(
        default=60.0, ge=1, le=31_536_000, description="Seconds between scans of a busy board; half the goal, if less."
    )
    start_s: Seconds = Field(
        default=600.0,
        ge=1,
        le=31_536_000,
        description="Seconds before the second scan of a board, and between all scans where the schedule is fixed.",
    )
    max_s: Seconds = Field(default=86_400.0, ge=1, le=31_536_000, description="Seconds between scans of a quiet board.")
    full_pass_s: Seconds = Field(
        default=0.0, ge=0, le=31_536_000, description="Seconds between full passes over a board; 0: none."
    )

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        require(self.min_s <= self.start_s <= self.max_s, f"must keep min_s <= start_s ({self.start_s:g}) <= max_s")
        return self
