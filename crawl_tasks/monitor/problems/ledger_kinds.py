"""Kinds of problems that the deep check finds by comparing guard, ledger, queues and database."""

from __future__ import annotations

from crawl_tasks.frontier.admin.audit import Violation
from crawl_tasks.monitor.problems.kinds import Kind, Severity

_REBUILD = "crawl-tasks recover --force"
_MEND = "crawl-tasks check --mend"


# `check --mend` repairs flaws in place. A flaw that has lost data needs a rebuild from the database.
def _mendable(name: str, text: str) -> Kind:
    return Kind(name, Severity.WARNING, f"{text} ({{where}})", _MEND, "site")


def _lost(name: str, text: str, remedy: str = _REBUILD) -> Kind:
    return Kind(name, Severity.CRITICAL, f"{text} ({{where}})", remedy, "site")


FLAW_KINDS: dict[Violation, Kind] = {
    Violation.UNREADABLE: _lost("CrawlEntryUnreadable", "an entry is no request"),
    Violation.TWICE: _mendable("CrawlRequestTwice", "a request is in two places"),
    Violation.UNHELD: _mendable("CrawlRequestUnheld", "a request is open, but neither released nor leased"),
    Violation.ENTRYLESS: _mendable("CrawlEntryMissing", "a number is released or leased, but has no entry"),
    Violation.UNREAD_LIST: _mendable("CrawlListUnread", "nothing is taken from a ready list"),
    Violation.LOST: _lost("CrawlRequestsLost", "requests were admitted and are nowhere"),
    Violation.UNCOUNTED: _mendable("CrawlRequestsUncounted", "requests were never counted as admitted"),
    Violation.SCAN: _mendable("CrawlScanMiscounted", "the open list pages of a board are miscounted"),
    Violation.BLANK_BOARD: _lost("CrawlBoardBlank", "a board has no terms", "crawl-tasks sites check"),
    Violation.UNSCHEDULED: _mendable("CrawlBoardUnscheduled", "no scan of a board is planned"),
    Violation.UNATTENDED: _mendable("CrawlSiteUnattended", "nobody looks after the open requests of the site"),
    Violation.GUARD: _lost("CrawlGuardMiscounted", "a table of the guard has fewer or more fingerprints than it says"),
    Violation.STRANDED: _mendable("CrawlMessageStranded", "a message or claim is never given out again"),
    Violation.EMPTY: _mendable("CrawlMessageMissing", "a message or claim is gone, and its time is there"),
    Violation.OUTBOX: _lost(
        "CrawlOutboxUnreadable",
        "a page in the outbox cannot be read; its items are lost",
        "crawl-tasks failed list --kind message",
    ),
    Violation.UNSTORED: _lost("CrawlItemsLost", "items were deleted before they were stored"),
    Violation.BLANK_SITE: _lost("CrawlSiteBlank", "the terms of the site are gone"),
    Violation.OTHER_LEDGER: _lost(
        "CrawlLedgerOther",
        "Redis and the database do not belong together",
        "crawl-tasks recover",
    ),
    Violation.OLDER_LEDGER: _lost(
        "CrawlLedgerOlder", "Redis has lost its last writes, and what it knew by them", "crawl-tasks recover"
    ),
    Violation.UNGUARDED: _lost(
        "CrawlPageUnguarded", "the guard does not know a stored page and would have it fetched again"
    ),
    Violation.UNSTORED_PAGE: _lost(
        "CrawlPageUnstored", "the guard knows pages that are neither stored nor open, and nothing would fetch them"
    ),
    Violation.UNLISTED: _lost("CrawlPageUnlisted", "the database waits for a page that the ledger does not know"),
    Violation.FUTURE: _mendable(
        "CrawlRowsAhead", "rows are from the future, and nothing seen from now on would replace them"
    ),
}
"""The kind of each flaw."""

_READ_AGAIN = "nothing, if the forum counts otherwise; else a full pass reads them again: interval.full_pass_s"

# Forums count in ways of their own, and an operator may have dropped a request: a hint, never a flaw.
UNREAD_REVISIONS = Kind(
    "CrawlRevisionsUnread",
    Severity.INFO,
    "{count} posts are listed with another revision than the one their page was read at, and nothing is open",
    _READ_AGAIN,
    "site",
    singular="1 post is listed with another revision than the one its page was read at, and nothing is open",
)
OTHER_COUNTS = Kind(
    "CrawlCountsDiffer",
    Severity.INFO,
    "{count} threads have another number of comments than their list says, and nothing is open",
    _READ_AGAIN,
    "site",
    singular="1 thread has another number of comments than its list says, and nothing is open",
)
READ_BEFORE = Kind(
    "CrawlReadBefore",
    Severity.WARNING,
    "{count} threads were read by the site file before, with other rules: {threads}",
    "{command} reads them again",
    "site",
    singular="1 thread was read by the site file before, with other rules: {threads}",
)
DISAGREEMENT_KINDS = (UNREAD_REVISIONS, OTHER_COUNTS, READ_BEFORE)
"""What list and thread say differently, once nothing is open."""
