"""Row b, in small: every kind of key that keys.py names is deleted at every moment of a crawl, one kind in each crawl.

The crawl is the tiny one, made to come by a key of every kind. Whoever operates it looks when it stands still, runs
what `fsck` says, and lets it go on; it must end with what a crawl without harm stores.
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

from crawl_tasks.errors import ConfigError, CrawlError, Unstorable
from crawl_tasks.frontier import keys
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Items, State
from crawl_tasks.queues import DETAIL_QUEUES, LIST_QUEUE, STORE_QUEUE
from crawl_tasks.recovery import fsck
from crawl_tasks.recovery.fsck import EXPLAINED, Check
from crawl_tasks.recovery.rebuild import Rebuilder, known_sites
from crawl_tasks.store.upsert import Store
from tests.chaos.haste import hasten
from tests.chaos.rows import Row, Scale
from tests.chaos.tiny import Rows, TinyCrawl, result, tiny_forum
from tests.frontier.small_crawl import SmallForum

GOAL = "each ends as the crawl without harm, or does so after what `fsck` says was done"
NAMES = {"P": "crawl", "S": "demo", "ORIGIN": ".*", "G": "(list|post|comment)", "L": r"\d"}
QUEUES = (LIST_QUEUE, *DETAIL_QUEUES, STORE_QUEUE)
STILL_S = 1.0  # of no move, and somebody looks; longer than any wait of a crawl in haste
GRACE_MS = 150
STUBBORN, CRASHED, FULL_PASS = "14", "15", "16"


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
    return [Kind(name, re.compile(_pattern(name))) for name in names] + [
        Kind(name, re.compile(name)) for name in QUEUES
    ]


def _pattern(name: str) -> str:
    return ":".join(NAMES.get(part, "[^:]*" if part.isupper() else re.escape(part)) for part in name.split(":"))


class RichCrawl(TinyCrawl):
    """The tiny crawl, with all that makes keys: dead and delayed requests, a shelf, an overdue board ..."""

    def __init__(self, redis_url: str, aside: redis.Redis, forum: SmallForum, store_url: str) -> None:
        super().__init__(redis_url, aside, forum, store_url, self._pick)
        self._client_aside, self._turns = aside, 0
        self._is_picky = True

    def _pick(self, store: Store) -> None:
        """Let the database refuse one thread, once."""
        write = store.write

        def picky(batch: list[Items]) -> object:
            if self._is_picky and any(post.post_id == STUBBORN for items in batch for post in items.posts):
                raise Unstorable("a value that the database refuses")
            return write(batch)

        store.write = picky  # type: ignore[assignment, method-assign]  # stands in for it

    def begin(self) -> None:
        """Begin late, so that the board is overdue, and with an entry that nobody can read."""
        self._forum.statuses[f"/post/{CRASHED}"] = 500
        self._forum.moved[f"/post/{FULL_PASS}"] = f"/post/{FULL_PASS}"
        super().begin()
        self._client_aside.lpush("crawl:start", "garbage")
        _try(lambda: self.frontier.sites.pause("demo"))
        _try(self.frontier.produce)
        _try(lambda: self.frontier.sites.resume("demo"))
        self._client_aside.zadd("crawl:boards", {"demo 1": 0}, xx=True)

    def turn(self) -> None:
        """Let everybody act once, those too who seldom do."""
        self._turns += 1
        acts: dict[int, list[Callable[[], object]]] = {
            2: [lambda: self.frontier.memory.halt("a test"), lambda: self.frontier.memory.seize("somebody", 5_000)],
            3: [self.frontier.memory.go_on, lambda: self.frontier.memory.seize("somebody", 0)],
            4: [lambda: self.frontier.alarms.claim(["backlog demo"], [], ["backlog"], 1000)],
            5: [lambda: self.frontier.robots.keep(self._forum.url, "", 60.0)],
            8: [self._mend],
        }
        for act in acts.get(self._turns, []):
            _try(act)
        super().turn()

    def _mend(self) -> None:
        """Mend what made requests dead and items stay aside; they are tried again."""
        self._is_picky = False
        self._forum.moved.clear()
        self._forum.statuses.clear()

    def look(self) -> list[str]:
        """Do as a person does who looks at a crawl that stands still: what waits is tried again, `fsck` is obeyed."""
        self._mend()
        _try(lambda: self.frontier.graves.revive("demo", State.DEAD))
        _try(lambda: self.frontier.shelf.take(back=True))
        found = Check(self.frontier, self.store).run(mend=True)
        remedies = sorted({EXPLAINED[one.spot.flaw][1] for one in found if not one.spot.is_mended})
        if (store := self.store) is not None and any("recover" in remedy for remedy in remedies):
            _try(lambda: self._rebuild(store, walk=any("--force" in remedy for remedy in remedies)))
        if remedies:
            _try(self.publish)
        return remedies + ["crawl-tasks fsck --mend"] * any(one.spot.is_mended for one in found)

    def _rebuild(self, store: Store, *, walk: bool) -> None:
        Rebuilder(self.frontier, store, None).run(known_sites(self.frontier, store), lambda _: None, walk=walk)

    def is_over(self) -> bool:
        """Say whether nothing is left to do; a ledger that was just rebuilt has done nothing yet."""
        try:
            return bool(self._forum.asked) and self.is_done()
        except ConfigError:
            return False

    def move(self) -> object:
        """Give what changes while the crawl moves."""
        try:
            census = self._judge.census("demo")
        except ConfigError:
            return len(self._forum.asked)
        return len(self._forum.asked), census.done, census.open, census.parked, census.dead, self.frontier.outbox.size()


def _try(work: Callable[[], object]) -> None:
    try:
        work()
    except CrawlError:
        return


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

    def __init__(self, server: RedisServer, aside: redis.Redis, forum: SmallForum, directory: Path) -> None:
        self._server, self._aside, self._forum, self._directory = server, aside, forum, directory
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
        crawl = RichCrawl(self._server.url, self._aside, self._forum, url)
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
        stored = result(url)
        if not self.expected:
            self.expected, self.usual = stored, crawl.fetches()
        faults = [f"{table} differ" for table in self.expected if stored.get(table) != self.expected[table]]
        faults += [f"{path} was never fetched" for path in self.usual.keys() - crawl.fetches().keys()]
        faults += [str(found) for found in Check(crawl.frontier, crawl.store).run()]
        if imbalance := crawl.imbalance():
            faults.append(imbalance)
        self.extra += sum((crawl.fetches() - self.usual).values())
        return faults


def run(scale: Scale, seed: int) -> list[Row]:
    """Delete every kind of key."""
    hasten(grace_ms=GRACE_MS, takeover_ms=300)
    fsck.SECOND_LOOK_S = 0.0  # nobody else is at work here
    chance = random.Random(seed)
    with TemporaryDirectory(prefix="crawl-chaos-") as name:
        server = RedisServer(Path(name) / "redis")
        server.start()
        try:
            with redis.Redis.from_url(server.url) as aside, tiny_forum() as forum:
                _enrich(forum)
                return [_row(Lab(server, aside, forum, Path(name)), aside, chance, scale)]
        finally:
            server.stop()


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
