"""Kinds of problems of one site. Causes come before their consequences: views show the first of a severity."""

from __future__ import annotations

from crawl_tasks.errors import AccessDenied, ArchiveFailed, ParseError
from crawl_tasks.model.own_counters import OWN_FAILURES
from crawl_tasks.monitor.freshness import HIDDEN_SHARE, SHARE
from crawl_tasks.monitor.problems import site_conditions as conditions
from crawl_tasks.monitor.problems import watch_kinds
from crawl_tasks.monitor.problems.kinds import AlertRule, Kind, Severity
from crawl_tasks.monitor.problems.rule_queries import (
    IS_OLD,
    NOT_FAILING,
    NOT_PAUSED,
    NOT_REFUSED,
    NOT_RESTING,
    SITE,
    increase,
    latest,
    share_of_attempts,
)
from crawl_tasks.monitor.problems.site_conditions import of_growth, of_site

_STATUS = "crawl-tasks status {{ $labels.site }}"
_SHARE = {"share": "{{ $value | humanizePercentage }}"}
_STAGE = {"stage": "{{ $labels.stage }}"}
_HALF_AN_HOUR = {"count": "{{ $value | humanize }}", "span": "30 minutes"}

_ATTEMPTS = increase("crawl_attempts_total", "30m")
_PAGES = increase("crawl_pages_total", "15m")
_RESTORED = increase('crawl_items_restored_total{kind="comment"}', "15m")
_COMMENTS = increase('crawl_items_total{kind="comment"}', "15m")
_WAITING = """max_over_time(crawl_requests{state=~"ready|released|leased"}[5m])"""

_STUCK = f"""sum by (site) ({latest(_WAITING)}) > 0
and {SITE} {_PAGES} == 0
{IS_OLD}
{NOT_PAUSED}
{NOT_RESTING}
{NOT_REFUSED}
{NOT_FAILING}"""
_FAILING = f"""{share_of_attempts("crawl_failures_total", conditions.FAILED_SHARE, conditions.FAILED_OF_LEAST)}
{NOT_REFUSED}
{NOT_FAILING}"""


def _all_fail(reason: str) -> str:
    """Return the failures of the sites where all attempts since the last page failed for a reason."""
    fails = f'{SITE} crawl_site_fails_all{{reason="{reason}"}} == 1'
    return f"max by (site) (crawl_failures_in_a_row) and {fails}"


_UNREADABLE = f"""{increase('crawl_failures_total{reason="parse"}', "30m")}
> {conditions.UNREADABLE_SHARE} * {_ATTEMPTS}
or {_all_fail("parse")}
unless {SITE} crawl_breaker_open == 1"""
# The second part is of a forum with a few boards, whose pages are all denied, and which is asked seldom then.
_DENIED = f"""{increase('crawl_failures_total{reason=~"access_denied|challenge"}', "30m")} >= {conditions.DENIED_LEAST}
or {_all_fail("access_denied")}"""
_LOGIN_REFUSED = f"""{increase('crawl_failures_total{reason="login"}', "30m")} > 0"""
# Pages that wait for a login are refused too: one cause, one alert.
_REFUSES = f"""{latest("crawl_site_refuses")} == 1 unless {SITE} {_LOGIN_REFUSED}"""
_STALE = f"""histogram_quantile(0.95, sum by (site, le) (
  max without (instance, job) (increase(crawl_freshness_seconds_bucket[1h])))) > {conditions.STALE_S}"""
_TURNS_LATE = f"""{share_of_attempts("crawl_late_slots_total", conditions.LATE_SHARE, conditions.LATE_OF_LEAST)}
{NOT_REFUSED}
{NOT_FAILING}"""
_GOAL_MISSED = f"{latest('crawl_freshness_expected_share')} < {SHARE}"
_NEWS_HIDES = f"{latest('crawl_news_hidden_share')} > {HIDDEN_SHARE}"
_FLAPPING = f"""{_RESTORED} / {_COMMENTS} > {conditions.FLAP_SHARE}
and {SITE} {_RESTORED} > {conditions.FLAP_LEAST}"""
_FEW_ITEMS = f"""{increase("crawl_items_total", "15m")} / 15 < {SITE} ({latest("crawl_site_min_items_per_minute")} > 0)
{NOT_PAUSED}
{NOT_RESTING}
{NOT_REFUSED}
{NOT_FAILING}"""
_DEAD = 'max by (site) (crawl_requests{state="dead"})'
# Page 1 of a board that is not watched is told as such.
_GIVEN_UP = f"""{_DEAD} > 0
unless {SITE} {_DEAD} <= {SITE} {latest('crawl_boards{state="dead"}')}
unless {SITE} {_DEAD} < {SITE} {conditions.GIVEN_UP_SHARE} * sum by (site) ({latest("crawl_pages_total")})"""
_PARKED = 'max by (site) (crawl_requests{state="parked"})'
_PARKED_PAGES = f"""{_PARKED} > 0
unless {SITE} {_PARKED} <= {SITE} {latest('crawl_boards{state="parked"}')}
unless {SITE} crawl_breaker_open == 1"""
_HOOKS = increase(f'crawl_own_total{{name=~"{"|".join(OWN_FAILURES)}"}}', "15m")

LEDGER_UNBALANCED = Kind(
    "CrawlLedgerUnbalanced", Severity.CRITICAL, "the ledger does not balance: {reason}",
    "this is a defect: report it with the output of crawl-tasks status --json", "site", conditions.unbalanced,
    rule=AlertRule(f"{latest('crawl_ledger_unbalanced')} > 0", "5m",
                   {"reason": "crawl-tasks status {{ $labels.site }} says how"}),
)  # fmt: skip

THREADS_SHORT = Kind(
    "CrawlThreadsShort", Severity.WARNING, "{count} threads have fewer replies than their lists count: {threads}",
    "crawl-tasks try {subject} --url ADDRESS shows what is read; mend the rules for comments and further pages, and"
    " crawl-tasks sites check says how to read the threads again; where its lists count what its pages hide,"
    " set list.counts_hidden: true", "site", of_site(conditions.threads_short),
    rule=AlertRule(
        f"{latest('crawl_threads_short')} > 0\nunless {SITE} crawl_site_mismatch == 1",
        "15m", {"count": "{{ $value }}", "threads": _STATUS},
    ),
    singular="1 thread has fewer replies than its list counts: {threads}",
)  # fmt: skip

SECRETS_HIDDEN = Kind(
    "CrawlSecretsHidden", Severity.INFO,
    "{count} stored texts have *** in the place of a secret of the session: {names}",
    "nothing, if it is one; a cookie whose value is a word: name it in login.not_secret, and crawl-tasks sites check"
    " says how to read the threads again", "site", of_site(conditions.secrets_hidden),
    singular="1 stored text has *** in the place of a secret of the session: {names}",
)  # fmt: skip

_GIVEN_UP_REMEDY = (
    "crawl-tasks failed list --site {subject} --state dead says why (robots: its robots.txt forbids them); when it is"
    " mended: crawl-tasks failed retry --site {subject}; else crawl-tasks failed drop --site {subject}"
)

SITE_KINDS = (
    LEDGER_UNBALANCED,
    Kind("CrawlLoginRefused", Severity.CRITICAL, "no login succeeds, its pages wait: {reason}",
         "mend the secrets (FORUM_...) or login in the site file; crawl-tasks try {subject} logs in anew", "site",
         of_site(conditions.login_refused),
         rule=AlertRule(_LOGIN_REFUSED, fields={"reason": "crawl-tasks status {{ $labels.site }} says why"})),
    Kind("CrawlDenied", Severity.CRITICAL, "{count} pages were denied within {span}",
         "the forum may not want us: crawl-tasks pause {subject}, ask its operator, or log in by the site file; once it"
         " lets us in: crawl-tasks failed retry --site {subject} --state parked",
         "site", conditions.many_or_all(AccessDenied.reason, conditions.many_denied),
         rule=AlertRule(_DENIED, fields=_HALF_AN_HOUR)),
    Kind("CrawlArchiveFails", Severity.CRITICAL,
         "{count} attempts within {span} found that the archive cannot be written, and fetched nothing",
         "free some space on the disk of CRAWL_ARCHIVE_DIR, or mend what the worker's log says; all goes on by itself",
         "site", conditions.many_or_all(ArchiveFailed.reason, conditions.any_unarchived),
         rule=AlertRule(f"""{increase('crawl_failures_total{reason="archive"}', "30m")} > 0""", fields=_HALF_AN_HOUR),
         singular="1 attempt within {span} found that the archive cannot be written, and fetched nothing"),
    Kind("CrawlQuarantined", Severity.CRITICAL,
         "the circuit breaker of {stage} pages is open: they cannot be read, and wait",
         "crawl-tasks try {subject} --kept shows what is read; mend the site file, then crawl-tasks try"
         " {subject} --kept --revive; where the forum was ill and is well again: crawl-tasks failed retry --site"
         " {subject} --state parked", "site", of_site(conditions.unreadable_stages),
         rule=AlertRule(f"{latest('crawl_breaker_open')} == 1 unless {latest('crawl_site_refuses')} == 1",
                        fields=_STAGE)),
    Kind("CrawlHung", Severity.CRITICAL, "{count} pages hung within {span}; each held a thread of a worker for good",
         "crawl-tasks failed list --site {subject} --state parked names the function, the worker's log has the"
         " stack; mend it, then crawl-tasks failed retry --site {subject} --state parked", "site",
         of_growth(conditions.hanging), takes_window=True,
         rule=AlertRule(f"""{increase('crawl_failures_total{reason="hung"}', "30m")} > 0""", fields=_HALF_AN_HOUR),
         singular="1 page hung within {span}; it held a thread of a worker for good"),
    Kind("CrawlParserBroken", Severity.CRITICAL, "{count} pages within {span} are not what the site file says",
         "crawl-tasks failed list --site {subject} --state parked; mend the site file, then crawl-tasks"
         " failed retry --site {subject} --state parked", "site",
         conditions.many_or_all(ParseError.reason, conditions.many_unreadable),
         rule=AlertRule(_UNREADABLE, "5m", _HALF_AN_HOUR),
         singular="1 page within {span} is not what the site file says"),
    Kind("CrawlMismatch", Severity.CRITICAL,
         "its pages contradict each other, so that its rules read something wrong: {reason}",
         "crawl-tasks try {subject} holds lists and threads against each other; mend the site file", "site",
         conditions.mismatching,
         rule=AlertRule(f"{latest('crawl_site_mismatch')} == 1", "1m",
                        {"reason": "crawl-tasks status {{ $labels.site }} says which"})),
    Kind("CrawlSiteRefuses", Severity.WARNING,
         "the site refuses {stage} pages for now (429, 503, all gone, no robots.txt): they wait, and a probe goes now"
         " and then",
         "nothing, if it is busy or away: all goes on by itself; else lengthen gate.delay_s, ask its operator, or mend"
         " its addresses. crawl-tasks try {subject} shows how it answers", "site", of_site(conditions.refused_stages),
         rule=AlertRule(_REFUSES, "2m", _STAGE)),
    watch_kinds.NO_PAGES,
    watch_kinds.BOARDS_UNWATCHED,
    watch_kinds.BOARDS_EMPTY,
    watch_kinds.BOARDS_GONE,
    watch_kinds.BOARDS_NEW,
    watch_kinds.SCAN_GAP,
    THREADS_SHORT,
    Kind("CrawlHooksFail", Severity.WARNING, "{count} calls of its own functions failed within {span}: {names}",
         "the worker's log has what they raised; mend them, then restart the workers", "site", conditions.hooks_failing,
         rule=AlertRule(f"{_HOOKS} > 0", fields={"count": "{{ $value | humanize }}", "span": "15 minutes",
                                               "names": _STATUS})),
    Kind("CrawlErrorRatio", Severity.WARNING, "{share} of the attempts fail",
         "crawl-tasks status {subject} names the reasons; crawl-tasks failed list --site {subject} the pages", "site",
         conditions.failing, takes_window=True,
         rule=AlertRule(_FAILING, "5m", _SHARE)),
    watch_kinds.BACKLOG_FULL,
    watch_kinds.SITE_LATE,
    Kind("CrawlNoProgress", Severity.CRITICAL, "{count} requests wait and no page was fetched for 15 minutes",
         "crawl-tasks check; are workers alive, does the forum answer (crawl-tasks try {subject})?", "site",
         conditions.no_progress, takes_window=True,
         rule=AlertRule(_STUCK, "5m"), singular="1 request waits and no page was fetched for 15 minutes"),
    Kind("CrawlFewItems", Severity.WARNING, "{count} items a minute, fewer than min_items_per_minute",
         "crawl-tasks status {subject} shows what fails or waits; a quiet forum needs a lower min_items_per_minute",
         "site", conditions.few_items, takes_window=True,
         rule=AlertRule(_FEW_ITEMS, "5m", {"count": "{{ $value | humanize }}"})),
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
         rule=AlertRule(_PARKED_PAGES, "5m", {"count": "{{ $value }}", "reason": _STATUS}),
         singular="1 page is parked ({reason})"),
    Kind("CrawlGivenUp", Severity.WARNING, "{count} pages are given up ({reason})", _GIVEN_UP_REMEDY, "site",
         of_site(lambda site: conditions.given_up(site, is_much=True)),
         rule=AlertRule(_GIVEN_UP, "5m", {"count": "{{ $value }}", "reason": _STATUS}),
         singular="1 page is given up ({reason})"),
    watch_kinds.STOPPED_LONG,
    watch_kinds.HELD_LONG,
    watch_kinds.WITHOUT_FILE,
    SECRETS_HIDDEN,
    Kind("CrawlFewGivenUp", Severity.INFO, "{count} pages are given up ({reason})", _GIVEN_UP_REMEDY, "site",
         of_site(lambda site: conditions.given_up(site, is_much=False)), singular="1 page is given up ({reason})"),
    Kind("CrawlRetrying", Severity.INFO, "{count} pages are to be tried again ({reason})",
         "nothing, while they become fewer; crawl-tasks try {subject} shows how the forum answers", "site",
         of_site(conditions.retrying), singular="1 page is to be tried again ({reason})"),
    Kind("CrawlSlowedDown", Severity.INFO, "asked {count} times more slowly, since the forum answers slowly or badly",
         "nothing, if the forum is only busy; crawl-tasks try {subject} shows how it answers", "site",
         of_site(conditions.slowed_down)),
    Kind("CrawlResting", Severity.INFO, "rests for {duration}",
         "nothing: Retry-After, quiet hours and a spent budget end by themselves (gate in the site file)", "site",
         conditions.resting),
    Kind("CrawlLinksCapped", Severity.INFO, "links were left out by {caps}",
         "nothing, if those pages are not wanted; else raise the cap in the site file", "site",
         of_site(conditions.links_capped)),
    watch_kinds.HELD,
    watch_kinds.DRAINING,
    watch_kinds.PAUSED,
)  # fmt: skip
