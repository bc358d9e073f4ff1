"""Every key of the frontier: its name, its type, what it holds. The Lua scripts derive the same names from the prefix.

P is the prefix (setting `redis_prefix`), S a site's name, G one of list, post, comment, L a priority 0-9.

| key                  | type   | holds                                                                              |
|----------------------|--------|------------------------------------------------------------------------------------|
| P:sites              | hash   | site -> site file as JSON                                                          |
| P:due                | zset   | site -> when to look at it again, ms                                               |
| P:changes            | hash   | site -> how often it changed; who watches reads anew what changed                  |
| P:boards             | zset   | "site board" -> when the board is due for a scan, ms                               |
| P:fulls              | zset   | "site board" -> when to look at its full pass, ms                                  |
| P:outbox             | stream | pages' items waiting for the store, group `store`; gone when none wait             |
| P:shelf              | stream | pages' items that cannot be read or stored, with the reason; at most 1000          |
| P:bell:QUEUE         | stream | one entry, replaced whenever a message is put on QUEUE                             |
| P:refused            | list   | messages and start entries that nobody can read, with the reason; the newest 1000  |
| P:start, P:start:S   | any    | start entries of other programs: a list, set or sorted set (CRAWL_START_KEY)       |
| P:claims             | zset   | claim -> when a start entry was taken in hand, ms                                  |
| P:claimed            | hash   | claim -> "site score entry"                                                        |
| P:starts             | hash   | counters of start entries: claimed, new, known, refused                            |
| P:epoch              | string | when a site was first published; the database keeps it too, to notice a lost Redis |
| P:halt               | string | why all sites stand still; absent, they do not                                     |
| P:rebuilder          | string | which process rebuilds lost ledgers                                                |
| P:ticker             | string | which process has the floor for tick                                               |
| P:alive              | zset   | process -> when it last said that it lives, ms                                     |
| P:serves             | hash   | process -> the queues it serves, comma-separated                                   |
| P:robots:ORIGIN      | string | the robots.txt that one process fetched for all                                     |
| P:alarms             | hash   | alert that was sent -> "since sent", ms                                             |
| P:stats              | hash   | produced_at, and histograms over all sites: NAME:STAGE:BUCKET and NAME:STAGE:sum   |
| P:s:S                | hash   | version, terms (window, delay_ms, ...), gate (next_at, paused, crawl_delay_ms,     |
|                      |        | slow, spent, found, credit, brood, turn, lead: see _pace, _calendar, _shares,      |
|                      |        | _threshold, _turns.lua), breaker (shut:G, readings:G: see _breaker.lua), counters  |
| P:s:S:stats          | hash   | counters and histograms of the site, for those who watch                           |
| P:s:S:recent         | list   | "at stage status ms outcome address" of the last attempts, newest first; 20 to 39  |
| P:s:S:ready:G:L      | list   | entries waiting, in the order they came                                            |
| P:s:S:released:G     | zset   | rid -> when its message was put on the queue, ms                                   |
| P:s:S:leased         | zset   | rid -> deadline of its lease, ms                                                   |
| P:s:S:open           | hash   | rid -> "token entry" of what is released (token 0) or leased                       |
| P:s:S:delayed        | zset   | entry -> when it becomes ready again, ms                                           |
| P:s:S:parked         | hash   | rid -> "since reason details", newline, entry                                      |
| P:s:S:suspects:G     | list   | rids that the breaker of the stage was told of, oldest first                       |
| P:s:S:kept:G         | zset   | rid -> when its page was kept, ms                                                  |
| P:s:S:pages:G        | hash   | rid -> the page that could not be read, packed; at most 10                         |
| P:s:S:dead           | hash   | the same for requests given up                                                     |
| P:s:S:seen           | hash   | for each guard table: addresses n, buckets m                                       |
| P:s:S:seen:TABLE:BUCKET | string | addresses' hashes with their last revisions, see _guard.lua; of bloom a bitmap |
| P:s:S:tail:SHARD     | hash   | post id -> highest comment page admitted; a shard holds 100 neighbouring ids       |
| P:s:S:boards         | set    | the site's board ids                                                               |
| P:s:S:scanning       | set    | boards being scanned                                                               |
| P:s:S:unscanned      | set    | boards whose first scan is not over                                                |
| P:s:S:overdue        | zset   | board that was due and could not be scanned -> when it was due, ms                 |
| P:s:S:board:B        | hash   | line of its first page, interval_ms and bounds, scan, open, started_at, scanned_at, |
|                      |        | terms of the site file, fixed_ms and held of an operator; pages walked with news,   |
|                      |        | slack: pages that this scan may walk without; validator: see _validator.lua; when   |
|                      |        | the file has it no more, only its counts, until no list page of it is open          |

A site that version 1 began has its guard in P:s:S:guard and P:s:S:g:TABLE:BUCKET beside; see was_seen_before().

Nothing here expires but the buckets of rolling guards (two windows), kept pages (two weeks), robots.txt (a day),
P:ticker (seconds) and P:rebuilder (minutes).
The broker's own keys (the queues' lists, `unacked`, `_kombu.*`) are kombu's.
"""

from __future__ import annotations


class Keys:
    """The few names Python needs itself; all others are derived inside the scripts."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.sites = f"{prefix}:sites"
        self.boards = f"{prefix}:boards"
        self.changes = f"{prefix}:changes"
        self.outbox = f"{prefix}:outbox"
        self.shelf = f"{prefix}:shelf"
        self.claims = f"{prefix}:claims"
        self.starts = f"{prefix}:starts"
        self.stats = f"{prefix}:stats"
        self.epoch = f"{prefix}:epoch"
        self.halt = f"{prefix}:halt"
        self.alive = f"{prefix}:alive"
        self.serves = f"{prefix}:serves"

    def site(self, name: str) -> str:
        """Name the hash of a site's terms and counters."""
        return f"{self.prefix}:s:{name}"

    def board(self, site: str, board: str) -> str:
        """Name the hash of one board."""
        return f"{self.prefix}:s:{site}:board:{board}"

    def kept(self, site: str, stage: str) -> tuple[str, str]:
        """Name the order of a stage's kept pages, and the pages."""
        return f"{self.prefix}:s:{site}:kept:{stage}", f"{self.prefix}:s:{site}:pages:{stage}"

    def robots(self, origin: str) -> str:
        """Name the shared robots.txt of an origin."""
        return f"{self.prefix}:robots:{origin}"

    def graves(self, site: str, state: str) -> str:
        """Name the hash of a site's dead or parked requests."""
        return f"{self.prefix}:s:{site}:{state}"


def bell(prefix: str, queue: str) -> str:
    """Name the stream that wakes idle workers of a queue."""
    return f"{prefix}:bell:{queue}"
