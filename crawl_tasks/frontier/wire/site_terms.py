"""The fields of a site's hash that each script reads: its terms, which the site file gives, and its state."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from crawl_tasks.model import Stage


class FieldType(StrEnum):
    """How a script reads a field. A field by stages is one word per stage, in the order of Stage."""

    NUMBER = "number"
    TEXT = "text"
    STAGES = "stages"
    FLAG = "flag"
    OPTIONAL = "optional"


class TermsField(NamedTuple):
    """A term of a site. The default is what a script takes where a publication did not name the term."""

    name: str
    type: FieldType
    default: str | int
    meaning: str


class StateField(NamedTuple):
    """A field of a site's state. Where it `is_by_stage`, the field of a stage is called NAME:STAGE."""

    name: str
    type: FieldType
    meaning: str
    is_by_stage: bool = False

    def fields(self) -> list[str]:
        """Return the names in the hash."""
        return [f"{self.name}:{stage.value}" for stage in Stage] if self.is_by_stage else [self.name]


_NUMBER, _TEXT, _STAGES = FieldType.NUMBER, FieldType.TEXT, FieldType.STAGES
_FLAG, _OPTIONAL = FieldType.FLAG, FieldType.OPTIONAL

SITE_TERMS: Final = (
    TermsField("window", _NUMBER, 1, "requests in flight at once"),
    TermsField("delay_ms", _NUMBER, 0, "time between the starts of two requests"),
    TermsField("lease_ms", _NUMBER, 45_000, "time for which a lease holds"),
    TermsField("max_attempts", _NUMBER, 5, "attempts before a request is given up"),
    TermsField("max_backlog", _NUMBER, 10_000, "open requests above which no list page goes, 0 for no limit"),
    TermsField("order", _STAGES, "fifo fifo fifo", "order within each ready list"),
    TermsField("guard", _STAGES, "rolling exact exact", "mode of the duplicate guard"),
    TermsField("rendered", _STAGES, "no no no", "whether a browser draws the pages"),
    TermsField("guard_length", _NUMBER, 0, "addresses that a rolling guard remembers, 0 for a time"),
    TermsField("guard_hits", _NUMBER, 0, "listings after which an unchanged page is requested again, 0 for never"),
    TermsField("guard_capacity", _NUMBER, 1_000_000, "addresses of one bloom filter"),
    TermsField("rolling_ms", _NUMBER, 86_400_000, "time for which a rolling guard remembers an address"),
    TermsField("full_pass_ms", _NUMBER, 0, "time between two full passes, 0 for none"),
    TermsField("breaker_after", _NUMBER, 5, "bad pages in a row that open a circuit breaker"),
    TermsField("breaker_percent", _NUMBER, 75, "bad pages among the last ones that open it, in percent"),
    TermsField("probe_ms", _NUMBER, 900_000, "longest time between two probes"),
    TermsField("slow_ms", _NUMBER, 10_000, "time above which an answer is slow"),
    TermsField("daily_budget", _NUMBER, 0, "requests in a day of the site's zone, 0 for no limit"),
    TermsField("daily_new", _NUMBER, 0, "new pages in a day of the site's zone, 0 for no limit"),
    TermsField("offsets", _TEXT, "", "offsets of the zone from UTC, as quiet_hours.lua describes them"),
    TermsField("quiet", _TEXT, "", "quiet hours, as quiet_hours.lua describes them"),
    TermsField("weights", _TEXT, "", "weights of list, post, comment and backfill, blanks between them"),
    TermsField("freshness", _TEXT, "", "list requests an hour, goal in hours, pages of all news, or empty"),
)
"""Terms that scripts read. publish.lua packs them into one field."""

KEPT_TERMS: Final = (
    TermsField("min_items", _TEXT, "0", "items a minute below which an alert is raised"),
    TermsField("old_addresses", _TEXT, "", "addresses by earlier versions of the file, as JSON"),
    TermsField("old_rules", _TEXT, "", "versions of the file with other rules, as JSON"),
)
"""Terms that only Python reads again."""

SITE_STATE: Final = (
    StateField("version", _OPTIONAL, "version of the site file; without it the site is not published"),
    StateField("terms", _OPTIONAL, "the terms as one field: version and JSON"),
    StateField("paused", _FLAG, "an operator paused the site"),
    StateField("draining", _FLAG, "an operator drains the site"),
    StateField("withdrawn", _FLAG, "the publisher has no file of the site any more"),
    StateField("next_at", _NUMBER, "time of the next slot, ms"),
    StateField("admitted", _NUMBER, "number of the last request"),
    StateField("levels", _TEXT, "priorities in use, highest first", is_by_stage=True),
    StateField("breaker", _OPTIONAL, "an open circuit breaker, as circuit_breaker.lua describes it", is_by_stage=True),
    StateField("results", _OPTIONAL, "last results, 1 for good and 0 for bad", is_by_stage=True),
    StateField("slow", _OPTIONAL, "level of the backoff, as backoff.lua describes it"),
    StateField("crawl_delay_ms", _NUMBER, "crawl delay of robots.txt"),
    StateField("spent", _OPTIONAL, "day and requests of the daily budget"),
    StateField("found", _OPTIONAL, "day and new pages of the daily limit"),
    StateField("credit", _OPTIONAL, "credit of the fair share, as fair_share.lua describes it"),
    StateField("max_children", _OPTIONAL, "children of a page, as backlog_limit.lua describes them"),
    StateField("lead", _NUMBER, "ms by which a message is released before its slot"),
    StateField("flushes", _OPTIONAL, "number of flushes of the guard"),
    StateField("flushing", _OPTIONAL, "cursor of a flush that has not ended"),
    StateField("failed_in_a_row", _OPTIONAL, "failed attempts since the last page that came"),
    StateField("fence", _NUMBER, "last token of a lease"),
    StateField("attempts", _NUMBER, "number of leases"),
    StateField("since", _NUMBER, "time of the site's first publication, ms"),
)
"""State that scripts read and write with each call for a site."""

TERM_NAMES: Final = frozenset(term.name for term in (*SITE_TERMS, *KEPT_TERMS))
