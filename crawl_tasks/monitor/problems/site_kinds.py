"""Kinds of problems of one site. Causes come before their consequences: views show the first of a severity."""

from __future__ import annotations

from crawl_tasks.monitor.freshness import HIDDEN_SHARE, SHARE
from crawl_tasks.monitor.problems import site_conditions as conditions
from crawl_tasks.monitor.problems.kinds import AlertRule, Kind, Severity
from crawl_tasks.monitor.problems.site_conditions import of_growth, of_site

_NOT_PAUSED = "and on (site) crawl_site_paused == 0"
_NOT_DRAINING = "unless on (site) crawl_site_draining == 1"
_NOT_RESTING = "unless on (site) crawl_site_rest_seconds > 60"
_SHARE = {"share": "{{ $value | humanizePercentage }}"}
_STAGE = {"stage": "{{ $labels.stage }}"}
_HALF_AN_HOUR = {"count": "{{ $value | humanize }}", "span": "30 minutes"}


def _increase(series: str, span: str) -> str:
    return f"sum by (site) (increase({series}[{span}]))"


def _share_of_attempts(series: str, share: float, least: int) -> str:
    attempts = _increase("crawl_attempts_total", "15m")
    return f"{_increase(series, '15m')} / {attempts} > {share}\nand on (site) {attempts} >= {least}"


_ATTEMPTS = _increase("crawl_attempts_total", "30m")
_RESTORED = _increase('crawl_items_restored_total{kind="comment"}', "15m")
_COMMENTS = _increase('crawl_items_total{kind="comment"}', "15m")

# Without the clause on rests, quiet hours would page somebody every night.
_STUCK = f"""sum by (site) (max_over_time(crawl_requests{{state=~"ready|released|leased"}}[5m])) > 0
and on (site) {_increase("crawl_pages_total", "15m")} == 0
{_NOT_PAUSED}
{_NOT_RESTING}"""
# The second part lasts as long as a site is down, though it is asked once a day: no counter grows meanwhile.
_FAILING = f"""{_share_of_attempts("crawl_failures_total", conditions.FAILED_SHARE, conditions.FAILED_OF_LEAST)}
or clamp_max(max by (site) (crawl_failures_in_a_row) >= {conditions.ALL_FAIL_LEAST}, 1)
and on (site) {_increase("crawl_pages_total", "15m")} == 0"""
_BACKLOG = f"""crawl_open_requests >= on (site) {conditions.BACKLOG_SHARE} * crawl_backlog_limit
and on (site) max_over_time(crawl_board_overdue_seconds[10m]) > 0
{_NOT_PAUSED}
{_NOT_DRAINING}
{_NOT_RESTING}"""
_LATE = f"""crawl_boards{{state="late"}} > 0
{_NOT_PAUSED}
{_NOT_DRAINING}
{_NOT_RESTING}"""
_UNREADABLE = f"""{_increase('crawl_failures_total{reason="parse"}', "30m")}
> {conditions.UNREADABLE_SHARE} * {_ATTEMPTS}"""
_DENIED = f"""{_increase('crawl_failures_total{reason="access_denied"}', "30m")} >= {conditions.DENIED_LEAST}"""
_LOGIN_REFUSED = f"""{_increase('crawl_failures_total{reason="login"}', "30m")} > 0"""
# Pages that wait for a login are refused too: one cause, one alert.
_REFUSES = f"""crawl_site_refuses == 1 unless on (site) {_LOGIN_REFUSED}"""
_STALE = f"""histogram_quantile(0.95, sum by (site, le) (increase(crawl_freshness_seconds_bucket[1h])))
> {conditions.STALE_S}"""
_TURNS_LATE = _share_of_attempts("crawl_late_slots_total", conditions.LATE_SHARE, conditions.LATE_OF_LEAST)
_GOAL_MISSED = f"crawl_freshness_expected_share < {SHARE}"
_NEWS_HIDES = f"crawl_news_hidden_share > {HIDDEN_SHARE}"
_FLAPPING = f"""{_RESTORED} / {_COMMENTS} > {conditions.FLAP_SHARE}
and on (site) {_RESTORED} > {conditions.FLAP_LEAST}"""

_FEW_ITEMS = f"""{_increase("crawl_items_total", "15m")} / 15 < on (site) (crawl_site_min_items_per_minute > 0)
{_NOT_PAUSED}
{_NOT_RESTING}"""

LEDGER_UNBALANCED = Kind(
    "CrawlLedgerUnbalanced", Severity.CRITICAL, "the ledger does not balance: {reason}",
    "this is a defect: report it with the output of crawl-tasks status --json", "site", conditions.unbalanced,
)  # fmt: skip

BOARDS_GONE = Kind(
    "CrawlBoardsGone", Severity.WARNING, "{count} boards are gone at the forum, and nothing new is found on them",
    "crawl-tasks schedule list {subject} names them; give them the address that they have now, or take them out of the"
    " site file", "site", of_site(conditions.boards_gone), rule=AlertRule("crawl_boards_gone > 0", "5m"),
    one="1 board is gone at the forum, and nothing new is found on it",
)  # fmt: skip

BOARDS_NEW = Kind(
    "CrawlBoardsNew", Severity.WARNING, "{count} boards are new at the forum, and not in its site file: {boards}",
    "add them to boards in the site file; crawl-tasks schedule hold {subject}/BOARD, for one that is not wanted",
    "site", of_site(conditions.boards_new),
    rule=AlertRule(
        "crawl_boards_new > 0", "5m", {"count": "{{ $value }}", "boards": "crawl-tasks status {{ $labels.site }}"}
    ),
    one="1 board is new at the forum, and not in its site file: {boards}",
)  # fmt: skip

SCAN_GAP = Kind(
    "CrawlScanGap", Severity.WARNING,
    "{count} scans within a day showed nothing but new threads, and some before them may be missing: {board}",
    "crawl-tasks schedule set {subject}/BOARD --interval 5m looks more often; better, name boards in the site file"
    " that lead to all threads", "site", conditions.scan_gaps,
    rule=AlertRule(
        "crawl_site_scan_gap > 0", "5m", {"count": "{{ $value }}", "board": "crawl-tasks status {{ $labels.site }}"}
    ),
    one="1 scan within a day showed nothing but new threads, and some before them may be missing: {board}",
)  # fmt: skip

THREADS_SHORT = Kind(
    "CrawlThreadsShort", Severity.WARNING, "{count} threads have far fewer replies than their lists count: {threads}",
    "crawl-tasks try {subject} --url ADDRESS shows what is read; mend the rules for comments and further pages, and"
    " crawl-tasks sites check says how to read the threads again", "site", of_site(conditions.threads_short),
    rule=AlertRule(
        "crawl_threads_short > 0", "15m", {"count": "{{ $value }}", "threads": "crawl-tasks status {{ $labels.site }}"}
    ),
    one="1 thread has far fewer replies than its list counts: {threads}",
)  # fmt: skip

SECRETS_HIDDEN = Kind(
    "CrawlSecretsHidden", Severity.INFO,
    "{count} stored texts have *** in the place of a secret of the session: {names}",
    "nothing, if it is one; a cookie whose value is a word: name it in login.not_secret, and crawl-tasks sites check"
    " says how to read the threads again", "site", of_site(conditions.secrets_hidden),
    one="1 stored text has *** in the place of a secret of the session: {names}",
)  # fmt: skip

SITE_KINDS = (
    LEDGER_UNBALANCED,
    Kind("CrawlBacklogFull", Severity.WARNING, "{count} requests are open, new scans are held back",
         "the forum gives more than its pace allows: watch fewer boards, less often, or raise gate and"
         " max_backlog", "site", of_site(conditions.backlog_full, even_at_rest=False),
         rule=AlertRule(_BACKLOG, "30m")),
    Kind("CrawlSiteLate", Severity.WARNING, "{count} boards are not scanned on time",
         "crawl-tasks status {subject}; a full backlog, a slow forum or too few workers hold scans back", "site",
         of_site(conditions.boards_late, even_at_rest=False),
         rule=AlertRule(_LATE, "10m")),
    BOARDS_GONE,
    BOARDS_NEW,
    SCAN_GAP,
    THREADS_SHORT,
    SECRETS_HIDDEN,
    Kind("CrawlNoProgress", Severity.CRITICAL, "{count} requests wait and no page was fetched for 15 minutes",
         "crawl-tasks check; are workers alive, does the forum answer (crawl-tasks try {subject})?", "site",
         conditions.no_progress, takes_window=True,
         rule=AlertRule(_STUCK, "5m"), one="1 request waits and no page was fetched for 15 minutes"),
    Kind("CrawlFewItems", Severity.WARNING, "{count} items a minute, fewer than min_items_per_minute",
         "crawl-tasks status {subject} shows what fails or waits; a quiet forum needs a lower min_items_per_minute",
         "site", conditions.few_items, takes_window=True,
         rule=AlertRule(_FEW_ITEMS, "5m", {"count": "{{ $value | humanize }}"})),
    Kind("CrawlErrorRatio", Severity.WARNING, "{share} of the attempts fail",
         "crawl-tasks status {subject} names the reasons; crawl-tasks failed list --site {subject} the pages", "site",
         conditions.failing, takes_window=True,
         rule=AlertRule(_FAILING, "5m", _SHARE)),
    Kind("CrawlParserBroken", Severity.CRITICAL, "{count} pages within {span} are not what the site file says",
         "crawl-tasks failed list --site {subject} --state parked; mend the site file, then crawl-tasks"
         " failed retry --site {subject} --state parked", "site", of_growth(conditions.unreadable), takes_window=True,
         rule=AlertRule(_UNREADABLE, "5m", _HALF_AN_HOUR), one="1 page within {span} is not what the site file says"),
    Kind("CrawlMismatch", Severity.CRITICAL,
         "its pages contradict each other, so that its rules read something wrong: {reason}",
         "crawl-tasks try {subject} holds lists and threads against each other; mend the site file", "site",
         conditions.mismatching,
         rule=AlertRule("crawl_site_mismatch == 1", "1m",
                        {"reason": "crawl-tasks status {{ $labels.site }} says which"})),
    Kind("CrawlHung", Severity.CRITICAL, "{count} pages hung within {span}; each held a thread of a worker for good",
         "crawl-tasks failed list --site {subject} --state parked names the function, the worker's log has the"
         " stack; mend it, then crawl-tasks failed retry --site {subject} --state parked", "site",
         of_growth(conditions.hanging), takes_window=True,
         rule=AlertRule(f"""{_increase('crawl_failures_total{reason="hung"}', "30m")} > 0""", fields=_HALF_AN_HOUR),
         one="1 page hung within {span}; it held a thread of a worker for good"),
    Kind("CrawlDenied", Severity.CRITICAL, "{count} pages were denied within {span}",
         "the forum may not want us: crawl-tasks pause {subject}, ask its operator, or log in by the site file",
         "site", of_growth(conditions.denied), takes_window=True,
         rule=AlertRule(_DENIED, fields=_HALF_AN_HOUR)),
    Kind("CrawlLoginRefused", Severity.CRITICAL, "no login succeeds, its pages wait: {reason}",
         "mend the secrets (FORUM_...) or login in the site file; crawl-tasks try {subject} logs in anew", "site",
         of_site(conditions.login_refused),
         rule=AlertRule(_LOGIN_REFUSED, fields={"reason": "crawl-tasks status {{ $labels.site }} says why"})),
    Kind("CrawlArchiveFails", Severity.CRITICAL,
         "{count} attempts within {span} found that the archive cannot be written, and fetched nothing",
         "free some space on the disk of CRAWL_ARCHIVE_DIR, or mend what the worker's log says; all goes on by itself",
         "site", of_growth(conditions.unarchived), takes_window=True,
         rule=AlertRule(f"""{_increase('crawl_failures_total{reason="archive"}', "30m")} > 0""", fields=_HALF_AN_HOUR),
         one="1 attempt within {span} found that the archive cannot be written, and fetched nothing"),
    Kind("CrawlQuarantined", Severity.CRITICAL,
         "the circuit breaker of {stage} pages is open: they cannot be read, and wait",
         "crawl-tasks try {subject} --kept shows what is read; mend the site file, then crawl-tasks try"
         " {subject} --kept --revive", "site", of_site(conditions.unreadable_stages),
         rule=AlertRule("crawl_breaker_open == 1 unless crawl_site_refuses == 1", fields=_STAGE)),
    Kind("CrawlSiteRefuses", Severity.WARNING,
         "the site refuses {stage} pages for now (429, 503, all gone, no robots.txt): they wait, and a probe goes now"
         " and then",
         "nothing, if it is busy or away: all goes on by itself; else lengthen gate.delay_s, ask its operator, or mend"
         " its addresses. crawl-tasks try {subject} shows how it answers", "site", of_site(conditions.refused_stages),
         rule=AlertRule(_REFUSES, "2m", _STAGE)),
    Kind("CrawlStale", Severity.WARNING, "1 of 20 posts is stored later than {duration} after it was written",
         "crawl-tasks schedule list {subject} shows the intervals; shorten those of busy boards", "site",
         of_growth(conditions.stale), takes_window=True,
         rule=AlertRule(_STALE, "15m", {"duration": "{{ $value | humanizeDuration }}"})),
    Kind("CrawlGoalMissed", Severity.WARNING,
         "{share} of new replies are expected within the goal of {duration}; 95 % need {count} list requests a second",
         "crawl-tasks schedule list {subject} shows what is late; watch a page of all news (boards: kind: news or"
         " front), raise freshness.requests_s and the gate, or set a larger goal_s",
         "site", of_site(conditions.goal_missed),
         rule=AlertRule(_GOAL_MISSED, "30m", {**_SHARE, "duration": "goal_s", "count": "more"})),
    Kind("CrawlNewsHides", Severity.WARNING,
         "the page of all news hid {share} of the new replies, which the boards' own scans found",
         "it leaves boards out, or a guest does not see them: trust the boards, and take the page out of the site file"
         " if the share grows", "site", of_site(conditions.news_hidden), rule=AlertRule(_NEWS_HIDES, fields=_SHARE)),
    Kind("CrawlSlotsLate", Severity.WARNING,
         "{share} of the throttle slots are late: the site is asked more slowly",
         "a fetching machine has too much to do, or is far from Redis: fewer threads, more machines, a nearer"
         " Redis", "site", of_growth(conditions.turns_late), takes_window=True,
         rule=AlertRule(_TURNS_LATE, "5m", _SHARE)),
    Kind("CrawlCommentsFlap", Severity.WARNING,
         "{share} of the comments had been called deleted, and are there again",
         "full passes do not see all comments: compare a thread with its pages (crawl-tasks try {subject}),"
         " mend the site file; meanwhile a longer interval.full_pass_s", "site", of_growth(conditions.comments_flap),
         takes_window=True,
         rule=AlertRule(_FLAPPING, "1m", _SHARE)),
    Kind("CrawlParked", Severity.WARNING, "{count} pages are parked ({reason})",
         "mend the cause (crawl-tasks failed list --site {subject} --state parked), then crawl-tasks failed"
         " retry --site {subject} --state parked", "site", of_site(conditions.parked),
         one="1 page is parked ({reason})"),
    Kind("CrawlGivenUp", Severity.INFO, "{count} pages are given up ({reason})",
         "crawl-tasks failed list --site {subject} --state dead says why; crawl-tasks failed retry --site"
         " {subject} --state dead asks again", "site", of_site(conditions.given_up),
         one="1 page is given up ({reason})"),
    Kind("CrawlRetrying", Severity.INFO, "{count} pages are to be tried again ({reason})",
         "nothing, while they become fewer; crawl-tasks try {subject} shows how the forum answers", "site",
         of_site(conditions.retrying), one="1 page is to be tried again ({reason})"),
    Kind("CrawlSlowedDown", Severity.INFO, "asked {count} times more slowly, since the forum answers slowly or badly",
         "nothing, if the forum is only busy; crawl-tasks try {subject} shows how it answers", "site",
         of_site(conditions.slowed_down)),
    Kind("CrawlResting", Severity.INFO, "rests for {duration}",
         "nothing: Retry-After, quiet hours and a spent budget end by themselves (gate in the site file)", "site",
         conditions.resting),
    Kind("CrawlLinksCapped", Severity.INFO, "links were left out by {caps}",
         "nothing, if those pages are not wanted; else raise the cap in the site file", "site",
         of_site(conditions.links_capped)),
    Kind("CrawlSiteWithoutFile", Severity.WARNING, "its file is gone from {publisher}: no scan begins",
         "put the file back and run crawl-tasks sites check there, or: crawl-tasks sites remove {subject}", "site",
         of_site(conditions.withdrawn)),
    Kind("CrawlDraining", Severity.INFO, "draining, no new scan begins{decided}",
         "go on with crawl-tasks resume {subject}", "site", of_site(conditions.draining)),
    Kind("CrawlPaused", Severity.INFO, "paused{decided}", "go on with crawl-tasks resume {subject}", "site",
         conditions.paused),
)  # fmt: skip
