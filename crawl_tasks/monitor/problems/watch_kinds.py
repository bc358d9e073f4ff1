"""Kinds of problems of watching a site: no page comes, or a board is not looked at, for a while or by a decision."""

from __future__ import annotations

from crawl_tasks.monitor.freshness import SHARE
from crawl_tasks.monitor.problems import watch_conditions as conditions
from crawl_tasks.monitor.problems.kinds import AlertRule, Kind, Severity
from crawl_tasks.monitor.problems.rule_queries import (
    NOT_DRAINING,
    NOT_FAILING,
    NOT_PAUSED,
    NOT_REFUSED,
    NOT_RESTING,
    SITE,
    latest,
)
from crawl_tasks.monitor.problems.site_conditions import of_site

_STATUS = "crawl-tasks status {{ $labels.site }}"
_NO_PAGES = f"""{latest("crawl_failures_in_a_row")} >= {conditions.NO_PAGE_LEAST}
{NOT_REFUSED}
{NOT_RESTING}"""
_BACKLOG = f"""{latest("crawl_open_requests")} >= {SITE} {conditions.BACKLOG_SHARE} * {latest("crawl_backlog_limit")}
and {SITE} max_over_time(crawl_board_overdue_seconds[10m]) > 0
{NOT_PAUSED}
{NOT_DRAINING}
{NOT_RESTING}"""
_LATE = f"""{latest('crawl_boards{state="late"}')} > 0
{NOT_PAUSED}
{NOT_DRAINING}
{NOT_RESTING}
{NOT_REFUSED}
{NOT_FAILING}
unless {SITE} {latest("crawl_freshness_expected_share")} < {SHARE}"""


NO_PAGES = Kind(
    "CrawlNoPages", Severity.WARNING,
    "no page came for {duration} though {count} attempts were made: {reason}",
    "crawl-tasks try {subject} shows how the forum answers; when it answers again, all goes on by itself (robots:"
    " within a day, as its robots.txt is read anew each day)", "site",
    conditions.no_pages,
    rule=AlertRule(_NO_PAGES, "1m", {"count": "{{ $value }}", "duration": "some time", "reason": _STATUS}),
)  # fmt: skip

BOARDS_UNWATCHED = Kind(
    "CrawlBoardsUnwatched", Severity.WARNING, "{count} boards are not watched, their first page was given up: {boards}",
    "crawl-tasks failed list --site {subject} --stage list says why (robots: its robots.txt forbids them); mend that,"
    " then crawl-tasks failed retry --site {subject} --stage list --state {state}",
    "site", of_site(conditions.boards_unwatched),
    rule=AlertRule(f"""{latest('crawl_boards{state=~"parked|dead"}')} > 0
{NOT_PAUSED}
{NOT_REFUSED}
{NOT_FAILING}""", "1m", {"count": "{{ $value }}", "boards": _STATUS, "state": "{{ $labels.state }}"}),
)  # fmt: skip

BOARDS_EMPTY = Kind(
    "CrawlBoardsEmpty", Severity.WARNING, "{count} boards showed threads, and show none any more: {boards}",
    "crawl-tasks try {subject} shows what a guest sees; log in by the site file, or mend it; take a closed board out",
    "site", of_site(conditions.boards_empty),
    rule=AlertRule(f"{latest('crawl_boards_empty')} > 0", "1m", {"count": "{{ $value }}", "boards": _STATUS}),
)  # fmt: skip

BOARDS_GONE = Kind(
    "CrawlBoardsGone", Severity.WARNING, "{count} boards are gone at the forum, and nothing new is found on them",
    "crawl-tasks schedule list {subject} names them; give them the address that they have now, or take them out of the"
    " site file", "site", of_site(conditions.boards_gone), rule=AlertRule(f"{latest('crawl_boards_gone')} > 0", "5m"),
    singular="1 board is gone at the forum, and nothing new is found on it",
)  # fmt: skip

BOARDS_NEW = Kind(
    "CrawlBoardsNew", Severity.WARNING, "{count} boards are new at the forum, and not in its site file: {boards}",
    "add them to boards in the site file; crawl-tasks schedule hold {subject}/BOARD, for one that is not wanted",
    "site", of_site(conditions.boards_new),
    rule=AlertRule(f"{latest('crawl_boards_new')} > 0", "5m", {"count": "{{ $value }}", "boards": _STATUS}),
    singular="1 board is new at the forum, and not in its site file: {boards}",
)  # fmt: skip

SCAN_GAP = Kind(
    "CrawlScanGap", Severity.WARNING,
    "{count} scans within a day showed nothing but new threads, and some before them may be missing: {board}",
    "crawl-tasks schedule set {subject}/BOARD --interval 5m looks more often; better, name boards in the site file"
    " that lead to all threads", "site", conditions.scan_gaps,
    rule=AlertRule(f"{latest('crawl_site_scan_gap')} > 0", "5m", {"count": "{{ $value }}", "board": _STATUS}),
    singular="1 scan within a day showed nothing but new threads, and some before them may be missing: {board}",
)  # fmt: skip

BACKLOG_FULL = Kind(
    "CrawlBacklogFull", Severity.WARNING, "{count} requests are open, new scans are held back",
    "the forum gives more than its pace allows: watch fewer boards, less often, or raise gate and max_backlog", "site",
    of_site(conditions.backlog_full, even_at_rest=False), rule=AlertRule(_BACKLOG, "30m"),
)  # fmt: skip

SITE_LATE = Kind(
    "CrawlSiteLate", Severity.WARNING, "{count} boards are not scanned on time",
    "crawl-tasks status {subject}; a full backlog, a slow forum or too few workers hold scans back", "site",
    of_site(conditions.boards_late, even_at_rest=False), rule=AlertRule(_LATE, "10m"),
)  # fmt: skip

STOPPED_LONG = Kind(
    "CrawlPausedLong", Severity.WARNING, "{state} for {duration}, and nothing new is seen{decided}",
    "crawl-tasks resume {subject} goes on; a site that is not wanted any more: crawl-tasks sites remove {subject}",
    "site", conditions.stopped_long,
    rule=AlertRule(f"{latest('crawl_site_stopped_seconds')} > {conditions.LONG_S}", "1m",
                   {"state": "paused or drained", "duration": "{{ $value | humanizeDuration }}", "decided": ""}),
)  # fmt: skip

HELD_LONG = Kind(
    "CrawlBoardsHeldLong", Severity.WARNING, "{count} boards are held for more than a day, and never scanned: {boards}",
    "crawl-tasks schedule go {subject}/{board} goes on; a board that is not wanted: take it out of the site file",
    "site", lambda window: conditions.boards_held(window, is_long=True),
    rule=AlertRule(f"{latest('crawl_boards_held_seconds')} > {conditions.LONG_S}\n{NOT_PAUSED}", "1m",
                   {"count": "some", "boards": _STATUS, "board": "BOARD"}),
)  # fmt: skip

WITHOUT_FILE = Kind(
    "CrawlSiteWithoutFile", Severity.WARNING, "its file is gone from {publisher}: no scan begins",
    "put the file back and run crawl-tasks sites check there, or: crawl-tasks sites remove {subject}", "site",
    of_site(conditions.withdrawn),
    rule=AlertRule(f"{latest('crawl_site_withdrawn')} > 0", "5m", {"publisher": "its directory"}),
)  # fmt: skip

HELD = Kind(
    "CrawlBoardsHeld", Severity.INFO, "{count} boards are held: {boards}",
    "crawl-tasks schedule go {subject}/{board} goes on", "site",
    lambda window: conditions.boards_held(window, is_long=False),
)  # fmt: skip
DRAINING = Kind(
    "CrawlDraining", Severity.INFO, "draining, no new scan begins{decided}",
    "go on with crawl-tasks resume {subject}", "site", conditions.draining,
)  # fmt: skip
PAUSED = Kind(
    "CrawlPaused", Severity.INFO, "paused{decided}", "go on with crawl-tasks resume {subject}", "site",
    conditions.paused,
)  # fmt: skip
