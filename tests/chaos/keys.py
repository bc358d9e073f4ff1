"""Row b, in small: every kind of key that keys.py names is deleted at every moment of a crawl, one kind in each crawl.

The crawl is the tiny one, made to come by a key of every kind. Whoever operates it looks when it stands still, runs
what `check --deep` says, and lets it go on; it must end with what a crawl without harm stores.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import redis

from crawl_tasks.frontier import keys
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.queues import DETAIL_QUEUES, LIST_QUEUE, STORE_QUEUE
from crawl_tasks.recovery import fsck
from crawl_tasks.recovery.fsck import Check
from tests.chaos.changing_tiny import changing_forum, standing, told, true_rows
from tests.chaos.haste import hasten
from tests.chaos.rich import CRASHED, FULL_PASS, STUBBORN, ChangingRichCrawl, RichCrawl
from tests.chaos.rows import Row, Scale
from tests.chaos.tiny import Rows, result, tiny_forum
from tests.frontier.small_crawl import SmallForum

GOAL = "each ends as the crawl without harm, or does so after what `check --deep` says was done"
NAMES = {"P": "crawl", "S": "demo", "ORIGIN": ".*", "G": "(list|post|comment)", "L": r"\d"}
QUEUES = (LIST_QUEUE, *DETAIL_QUEUES, STORE_QUEUE)
UNSEEN = {"P:s:S:pending", "P:s:S:staged:NAME", "P:s:S:session", "P:s:S:front", "P:s:S:unread:G"} | {
    f"P:{name}"
    for name in (
        "leaving", "moved", "arriving", "s:S:frozen", "s:S:moved_boards", "s:S:moved_fulls", "s:S:carried", "underway",
        "s:S:restored", "unacked", "unacked_index", "unacked_mutex", "s:S:unwatched", "charts", "marks",
    )
}  # fmt: skip
"""Keys of a publication of more than fifty boards (tests/frontier/test_publication.py), of a login (test_login.py
there), of a front page (test_pings.py there), of pages that stay unreadable for hours (test_breaker.py there), of a
move to another cell (test_cells.py there), of a removal or a recovery (test_site_removal.py there), of other programs'
messages (tests/flow/test_celery_neighbours.py), of the exporter (tests/unit/test_monitor_history.py), and of boards
that nobody watches (tests/frontier/test_unwatched_boards.py)."""
STILL_S = 1.0  # of no move, and somebody looks; longer than any wait of a crawl in haste
GRACE_MS = 150


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of key, by its name in keys.py."""

    name: str
    pattern: re.Pattern[str]

    def of(self, client: redis.Redis) -> list[str]:
        """Name the keys of this kind that are there."""
        return [key for key in map(bytes.decode, client.keys("*")) if self.pattern.fullmatch(key)]


def kinds() -> list[Kind]:
    """Read the kinds from the table of keys.py, and add the queues; kombu's own keys need a worker (`servers`)."""
    table = re.findall(r"^\| (P:.*?) +\|", keys.__doc__ or "", re.MULTILINE)
    names = [name for row in table for name in row.split(", ")]
    return [Kind(name, re.compile(_pattern(name))) for name in names if name not in UNSEEN] + [
        Kind(name, re.compile(name)) for name in QUEUES
    ]


def _pattern(name: str) -> str:
    return ":".join(NAMES.get(part, "[^:]*" if part.isupper() else re.escape(part)) for part in name.split(":"))


@contextmanager
def before_each_call(then: Callable[[int], None]) -> Iterator[None]:
    """Act before each call of a verb in this process, told its number; what the act itself calls is not counted."""
    ask, number, is_acting = Scripts._ask, 0, False

    def counted(self: Scripts, verb: Verb, args: tuple[str | bytes | int, ...]) -> object:
        nonlocal number, is_acting
        if not is_acting:
            number, is_acting = number + 1, True
            then(number)
            is_acting = False
        return ask(self, verb, args)

    Scripts._ask = counted  # type: ignore[method-assign]  # stands in for it
    try:
        yield
    finally:
        Scripts._ask = ask  # type: ignore[method-assign]


class Lab:
    """Crawls again and again, and holds each end against the first."""

    def __init__(
        self, server: RedisServer, aside: redis.Redis, forum: SmallForum, directory: Path, *, is_changing: bool
    ) -> None:
        self._server, self._aside, self._forum, self._directory = server, aside, forum, directory
        self._kind = ChangingRichCrawl if is_changing else RichCrawl
        self._crawls, self._is_looking = 0, False
        self.told: Counter[str] = Counter()
        self.extra = 0
        self.usual: Counter[str] = Counter()
        self.expected: Rows = {}

    def crawl(self, harm: Callable[[int], None]) -> list[str]:
        """Crawl with harm done before some call; give what is wrong at the end."""
        self._aside.flushall()
        self._crawls += 1
        url = f"sqlite:///{self._directory}/{self._crawls}.db"
        crawl = self._kind(self._server.url, self._aside, self._forum, url)
        try:
            self._is_looking = False
            with before_each_call(lambda number: None if self._is_looking else harm(number)):
                crawl.begin()
                remedies = self._until_over(crawl)
            self.told.update(set(remedies))
            return self._judge(crawl, url)
        finally:
            crawl.close()

    def _until_over(self, crawl: RichCrawl) -> list[str]:
        remedies: list[str] = []
        moved, since = crawl.move(), time.monotonic()
        deadline, looks = since + 60, 0
        while time.monotonic() < deadline:
            crawl.turn()
            if (now := crawl.move()) != moved:
                moved, since = now, time.monotonic()
            if crawl.is_over() or time.monotonic() - since > STILL_S:
                was_over, looks = crawl.is_over(), looks + 1
                self._is_looking = True  # harm that comes while somebody looks would be found by the next look only
                said = crawl.look()
                if was_over and not said and crawl.is_over():
                    return remedies
                self._is_looking = False
                remedies += said
                since = time.monotonic()
        raise AssertionError(f"does not end after {looks} looks, which said {remedies}: {crawl.move()}")

    def _judge(self, crawl: RichCrawl, url: str) -> list[str]:
        faults = self._differences(crawl, url)
        faults += [str(found) for found in Check(crawl.frontier, crawl.store).run()]
        if imbalance := crawl.imbalance():
            faults.append(imbalance)
        self.extra += sum((crawl.fetches() - self.usual).values())
        return faults

    def _differences(self, crawl: RichCrawl, url: str) -> list[str]:
        if isinstance(crawl, ChangingRichCrawl):
            said = told(standing(url), true_rows(crawl.changing))
            return [said] if said else []
        stored = result(url)
        if not self.expected:
            self.expected, self.usual = stored, crawl.fetches()
        faults = [f"{table} differ" for table in self.expected if stored.get(table) != self.expected[table]]
        return faults + [f"{path} was never fetched" for path in self.usual.keys() - crawl.fetches().keys()]


def run(scale: Scale, seed: int) -> list[Row]:
    """Delete every kind of key."""
    hasten(grace_ms=GRACE_MS, takeover_ms=300)
    fsck.SECOND_LOOK_S = 0.0  # nobody else is at work here
    chance = random.Random(seed)
    with TemporaryDirectory(prefix="crawl-chaos-") as name, RedisServer(Path(name) / "redis") as server:
        forums = changing_forum if scale.is_changing else tiny_forum
        with redis.Redis.from_url(server.url) as aside, forums() as forum:
            _enrich(forum)
            lab = Lab(server, aside, forum, Path(name), is_changing=scale.is_changing)
            return [_row(lab, aside, chance, scale)]


def _enrich(forum: SmallForum) -> None:
    forum.board("1", 1, "11 1", "12 2", "13 0", f"{STUBBORN} 0", f"{CRASHED} 0", f"{FULL_PASS} 0")
    for post in (STUBBORN, CRASHED, FULL_PASS):
        forum.thread(post)


def _row(lab: Lab, aside: redis.Redis, chance: random.Random, scale: Scale) -> Row:
    """Crawl once to learn when keys of which kind stand there, then once for each kind and moment."""
    moments: dict[Kind, list[int]] = {kind: [] for kind in kinds()}

    def note(number: int) -> None:
        for kind, numbers in moments.items():
            if kind.of(aside):
                numbers.append(number)

    faults = [f"without harm: {fault}" for fault in lab.crawl(note)]
    faults += [f"no crawl came by a key of the kind {kind.name}" for kind, numbers in moments.items() if not numbers]
    runs = 0
    for kind, numbers in moments.items():
        for number in sorted(chance.sample(numbers, min(len(numbers), scale.moments))):
            runs += 1
            faults += [f"{kind.name} before call {number}: {fault}" for fault in _harmed(lab, aside, kind, number)]
    told = ", ".join(f"`{remedy}` {times}" for remedy, times in lab.told.most_common())
    passed = runs - len({fault.partition(": ")[0] for fault in faults})
    return Row(
        "every kind of key that the ledger has, deleted in mid-crawl",
        f"{len(moments)} kinds, {runs} crawls",
        f"{passed} of {runs} end as the crawl without harm, {lab.extra} extra fetches; told: {told}",
        GOAL,
        tuple(faults),
    )


def _harmed(lab: Lab, aside: redis.Redis, kind: Kind, number: int) -> list[str]:
    is_done = False

    def harm(call: int) -> None:
        nonlocal is_done
        if call >= number and not is_done and (found := kind.of(aside)):
            aside.delete(*found)
            is_done = True

    try:
        return lab.crawl(harm)
    except AssertionError as error:
        return [str(error)]
