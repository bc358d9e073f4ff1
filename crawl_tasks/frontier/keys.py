"""The Redis keys of the frontier: name, type and content. The Lua scripts derive the same names from the prefix.

P is the prefix (setting `redis_prefix`), S a site's name, G one of list, post, comment, L a priority 0-9.

| key                  | type   | holds                                                                              |
|----------------------|--------|------------------------------------------------------------------------------------|
| P:sites              | hash   | site -> site file as JSON                                                          |
| P:due                | zset   | site -> time of the next look at the site, ms                                      |
| P:changes            | hash   | site -> number of changes: monitoring reads only changed sites anew                |
| P:boards             | zset   | "site board" -> time of the board's next scan, ms                                  |
| P:early              | zset   | site -> time of the next look for scans ahead of time, ms (scan.lua)               |
| P:fulls              | zset   | "site board" -> time of the next look at the board's full pass, ms                 |
| P:outbox             | stream | items of pages waiting for the store, group `store`, deleted when none wait        |
| P:rejected           | stream | rejected items: unreadable or refused by the store, with the reason, at most 1000  |
| P:wake:QUEUE         | list   | one element where QUEUE has messages that no worker was woken for                  |
| P:refused            | list   | rejected messages and start entries, with the reason, the newest 1000              |
| P:start, P:start:S   | any    | start entries of other programs: a list, set or sorted set (CRAWL_START_KEY)       |
| P:claims             | zset   | claim -> time at which a worker claimed a start entry, ms                          |
| P:claimed            | hash   | claim -> "site score entry"                                                        |
| P:starts             | hash   | counters of start entries: claimed, new, known, refused                            |
| P:epoch              | string | time of the first publication. The database has a copy, which tells a lost Redis   |
| P:halt               | string | reason why all sites stand still, absent while they do not                         |
| P:leaving            | hash   | site -> "token cell" of a move to that cell, until it ends: begin_transfer.lua      |
| P:moved              | hash   | site -> cell it has moved to: an old process must not publish it here again        |
| P:arriving           | hash   | site -> token of the move that brings it here                                      |
| P:underway           | hash   | site -> "token work" of a removal or recovery that takes several calls: decisions  |
| P:answers:MINUTE     | hash   | caller -> "call answer" of its last lease, end of a lease or admission: answers.lua |
| P:start_kinds        | hash   | start key that was empty once -> its type, list, set or zset                       |
| P:ages               | hash   | change, own, drawn, older, walks, by which either side is told older: set_ages.lua |
| P:only               | set    | sites of a `run` that serves this Redis alone: the others stand still, for seconds |
| P:rebuilder          | string | recovery lock: the process that rebuilds lost ledgers                              |
| P:ticker             | string | leader lock: the process that ticks                                                |
| P:alive              | zset   | process -> last heartbeat, ms                                                      |
| P:serves             | hash   | process -> queues it serves, comma-separated                                       |
| P:reads              | hash   | process -> its start key (CRAWL_START_KEY)                                         |
| P:facts              | hash   | process -> "ahead birth version": ms of its clock before Redis' own, heartbeat.lua |
| P:births             | zset   | "process birth" that did not end in order -> first heartbeat, ms, for a quarter hour |
| P:robots:ORIGIN      | string | robots.txt that one process fetched for all                                        |
| P:decisions:S        | hash   | subject -> [ms, value, who, why] of an operator's decision: decisions.lua            |
| P:undecided          | set    | "site subject" of decisions that the database does not have yet                     |
| P:unacked            | hash   | message of another program that a worker of ours has taken, by its tag: receive.lua |
| P:unacked_index      | zset   | tag -> time at which it was taken, seconds                                         |
| P:unacked_mutex      | string | lock of the worker that gives such messages out again, for seconds                 |
| P:alarms             | hash   | alert that was sent -> "since sent", ms                                            |
| P:charts             | list   | "at reading" of all sites, packed, one a minute of the last hour: monitor/history  |
| P:marks              | list   | "at marks" of all sites, packed, every few minutes of a window: monitor/marks      |
| P:stats              | hash   | produced_at, alerts_at and alerts_every: last look and pause of a sender of alerts, |
|                      |        | alerts_unsent_at: since when no receiver takes its messages, worker_starts,        |
|                      |        | histograms over all sites: NAME:STAGE:BUCKET and NAME:STAGE:sum                    |
| P:s:S                | hash   | version, what the file gives (window, delay_ms, ...), and all of it as JSON behind |
|                      |        | the version (terms: lib/site.lua), gate (next_at, paused, crawl_delay_ms, slow,    |
|                      |        | spent, found, credit, max_children, turn, lead: backoff, quiet_hours, fair_share,  |
|                      |        | backlog_limit, slots), budget and rates (freshness, pulse, busy, scan_at: scan,    |
|                      |        | ping_at, pinged: news), counters,                                                  |
|                      |        | breaker (breaker:G, results:G, retry:G, gone_believed: circuit_breaker), decision: |
|                      |        | that of the gate, while it is not `run`, publisher: host:directory of the file,    |
|                      |        | withdrawn: 1 while that directory has no such file, flushes of the guard,          |
|                      |        | old_addresses: those of earlier versions of the file, as JSON, old_rules: earlier  |
|                      |        | versions with the same rules and with others, as JSON, failed_in_a_row:            |
|                      |        | failures since a page, failing: failures.lua, own_failed: count_own.lua,           |
|                      |        | gone_boards: boards with gone_at, new_boards and scan_gap: news.lua,               |
|                      |        | since: the begin of its life in this cell, watched: in any, format: state_format.py, |
|                      |        | short: threads with few of their replies, as JSON: note_threads.lua,               |
|                      |        | login: since and reason, while no login succeeds, mismatch: time and text,         |
|                      |        | publications, signature and board_count: of the last one (boards.lua), encoding: a |
|                      |        | long text, which makes Redis keep the hash as a table                              |
| P:s:S:stats          | hash   | counters and histograms of the site, for monitoring                                |
| P:s:S:recent         | list   | "at stage status ms outcome address" of the last attempts, newest first, 20 to 39  |
| P:s:S:ready:G:L      | list   | entries waiting, in the order of arrival                                           |
| P:s:S:released:G     | zset   | rid -> time at which the message was put on the queue, ms                          |
| P:s:S:leased         | zset   | rid -> deadline of the lease, ms                                                   |
| P:s:S:open           | hash   | rid -> "token entry" of released requests (token 0) and leased ones                |
| P:s:S:delayed        | zset   | entry -> time at which the request becomes ready again, ms                         |
| P:s:S:parked         | hash   | rid -> "since reason details", newline, entry                                      |
| P:s:S:tripped:G      | list   | rids of the requests that tripped the circuit breaker of the stage, oldest first   |
| P:s:S:unread:G       | list   | rids of other parked pages that could not be read: circuit_breaker                 |
| P:s:S:kept:G         | zset   | rid -> time at which the page was kept, ms                                         |
| P:s:S:pages:G        | hash   | rid -> unreadable page, packed, at most 10                                         |
| P:s:S:frozen         | hash   | the hash P:s:S of a site that moves to another cell, and file: its text in P:sites |
| P:s:S:moved_boards   | zset   | board -> time of its next scan, ms, of a site that has moved: plan_boards.lua      |
| P:s:S:moved_fulls    | zset   | the same of the boards' full passes                                                |
| P:s:S:carried        | list   | start entries of a site that moves, with their keys: pack_starts.lua               |
| P:s:S:restored       | set    | SHA-1 of what a recovery has restored, until its end: restore_requests.lua         |
| P:s:S:session        | hash   | the session behind the login, sealed, the turn at it: begin_login.lua; pages of it   |
|                      |        | that no check page has proved: pending_pages.lua                                   |
| P:s:S:dead           | hash   | the same as `parked`, for requests given up                                        |
| P:s:S:seen           | hash   | for each guard table: addresses n, buckets m                                       |
| P:s:S:seen:TABLE:BUCKET | set  | numbers of addresses with the last revisions, see tables.lua. Of bloom a bitmap    |
| P:s:S:tail:SHARD     | hash   | post id -> "page.token": its last comment page, the page that told it. 100 ids each  |
| P:s:S:boards         | set    | ids of the site's boards                                                           |
| P:s:S:scanning       | set    | boards being scanned                                                               |
| P:s:S:unscanned      | set    | boards before the end of the first scan, whose walk may go on behind it            |
| P:s:S:unwatched      | hash   | board that nobody watches -> "since trouble reason": boards.lua                    |
| P:s:S:overdue        | zset   | board that was due and could not be scanned -> due time, ms                        |
| P:s:S:by_due         | zset   | board -> due time in ms, of a site that scans ahead of time (scan.lua)             |
| P:s:S:front          | hash   | board -> counts that a front page showed last: news.lua. Blank and front page -> 1 |
| P:s:S:pending        | hash   | boards of the last publication that are not applied yet: boards.lua                |
| P:s:S:staged:NAME    | hash   | the same of a publication that has not ended, for minutes                          |
| P:s:S:board:B        | hash   | line of page 1, interval_ms and bounds, scan, open, started_at, scanned_at,        |
|                      |        | terms of the site file, fixed_ms and held of an operator. walked: pages with news, |
|                      |        | walk_open, full_open: open pages of walks and full passes, walk: pages with news   |
|                      |        | of the last walk, slack, slid, first: see goes_on(), newest, known_until: times of |
|                      |        | the newest row of this scan and of the one before, validator: http_validator.lua,  |
|                      |        | history, expected, pace, scan_items, slot: scan.lua, ping: news.lua, gone_at: time |
|                      |        | of the first scan that found no page 1, ms, restored: restore_board.lua,           |
|                      |        | unwatched: its trouble, threads: 1 once it showed some, dead: rid of its page 1    |
|                      |        | that was given up.                                                                 |
|                      |        | Of a board that left the file only the counts, until all list pages have ended     |

Only these keys expire: the buckets of rolling guards (two windows), kept pages (two weeks), robots.txt
(a day), P:charts (two hours), P:marks (40 minutes), P:ticker, P:only and P:unacked_mutex (seconds), P:rebuilder,
P:answers:MINUTE and P:s:S:staged:NAME (minutes).
The broker's own keys (the queues' lists, `_kombu.*`) are kombu's.
"""

from __future__ import annotations


class Keys:
    """The few key names that Python needs. All others are derived inside the scripts."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.sites = f"{prefix}:sites"
        self.boards = f"{prefix}:boards"
        self.changes = f"{prefix}:changes"
        self.outbox = f"{prefix}:outbox"
        self.rejected = f"{prefix}:rejected"
        self.claims = f"{prefix}:claims"
        self.starts = f"{prefix}:starts"
        self.stats = f"{prefix}:stats"
        self.epoch = f"{prefix}:epoch"
        self.halt = f"{prefix}:halt"
        self.only = f"{prefix}:only"
        self.leaving = f"{prefix}:leaving"
        self.moved = f"{prefix}:moved"
        self.ages = f"{prefix}:ages"
        self.underway = f"{prefix}:underway"
        self.alive = f"{prefix}:alive"
        self.charts = f"{prefix}:charts"
        self.marks = f"{prefix}:marks"
        self.serves = f"{prefix}:serves"
        self.reads = f"{prefix}:reads"
        self.facts = f"{prefix}:facts"
        self.births = f"{prefix}:births"
        self.undecided = f"{prefix}:undecided"

    def site(self, name: str) -> str:
        """Return the key of the hash with a site's terms and counters."""
        return f"{self.prefix}:s:{name}"

    def decisions(self, site: str) -> str:
        """Return the key of the hash with the decisions of operators about a site."""
        return f"{self.prefix}:decisions:{site}"

    def board(self, site: str, board: str) -> str:
        """Return the key of the hash of one board."""
        return f"{self.prefix}:s:{site}:board:{board}"

    def kept(self, site: str, stage: str) -> tuple[str, str]:
        """Return the keys of a stage's kept pages: their order (zset) and the pages (hash)."""
        return f"{self.prefix}:s:{site}:kept:{stage}", f"{self.prefix}:s:{site}:pages:{stage}"

    def robots(self, origin: str) -> str:
        """Return the key of the shared robots.txt of an origin."""
        return f"{self.prefix}:robots:{origin}"

    def failed(self, site: str, state: str) -> str:
        """Return the key of the hash with a site's dead or parked requests."""
        return f"{self.prefix}:s:{site}:{state}"


def wake_up(prefix: str, queue: str) -> str:
    """Return the key of the stream that wakes idle workers of a queue."""
    return f"{prefix}:wake:{queue}"
