"""A site snapshot: the state of one site at one moment, by its ledger and its counters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

from crawl_tasks.errors import NoTurn
from crawl_tasks.frontier.histogram import AGES_S, Histogram, read_histogram
from crawl_tasks.frontier.inspect.request_counts import RequestCounts, ScanCounts, UnwatchedBoard, UnwatchedState
from crawl_tasks.frontier.wire.failures import REFUSALS
from crawl_tasks.model import Kind, Stage, State
from crawl_tasks.monitor.freshness import Freshness, read_freshness
from crawl_tasks.monitor.output_language import gettext


@dataclass(frozen=True, slots=True)
class OpenBreaker:
    """An open circuit breaker of a stage: since when, for which reason, and the time of the next probe."""

    since_ms: int
    reason: str
    probe_at_ms: int

    @property
    def is_refusal(self) -> bool:
        """Return whether the site refuses requests for now, else its pages could not be read."""
        return self.reason in REFUSALS


@dataclass(frozen=True, slots=True)
class Failures:
    """The attempts since the last page that came: the time of the first, 0 for none, and their reasons."""

    since_ms: int
    reasons: tuple[str, ...]


MISMATCH_MS = 900_000
"""Time after which a contradiction that no worker has noted again counts as ended, in milliseconds."""
SCAN_GAP_MS = 86_400_000
STUCK_LEAST = 3
"""Failed attempts in a row from which on boards that are being scanned are not on time."""


@dataclass(frozen=True)
class SiteSnapshot:
    """The state of one site, by the ledger and its counters."""

    name: str
    counts: RequestCounts
    boards: ScanCounts

    @property
    def is_paused(self) -> bool:
        """Return whether an operator has paused the site."""
        return self.counts.fields.get("paused") == "1"

    @property
    def is_draining(self) -> bool:
        """Return whether the site finishes its open requests and begins no new scan."""
        return self.counts.fields.get("draining") == "1"

    @property
    def decided(self) -> str:
        """Return when, by whom and why it was paused or is drained, as ` since 2026-11-22 10:00 UTC by ann: why`."""
        if not (text := self.counts.fields.get("decision")):
            return ""
        at_ms, _, who, why = json.loads(text)
        since = datetime.fromtimestamp(int(at_ms) / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
        by = gettext(" since {since} by {who}" if who else " since {since}", since=since, who=who)
        return by + (f": {why}" if why else "")

    @property
    def is_withdrawn(self) -> bool:
        """Return whether the directory that published the site has no file of it any more."""
        return self.counts.fields.get("withdrawn") == "1"

    @property
    def publisher(self) -> str:
        """Return the host:directory whose file was published last."""
        return self.counts.fields.get("publisher", "a recovery")

    @property
    def version(self) -> str:
        """Return the version of the published site file."""
        return self.counts.fields["version"]

    def rests_s(self, now_ms: int) -> float:
        """Return the cooldown of the site in seconds: Retry-After, quiet hours or a spent budget. 0 means none."""
        return max(0, self.counts.opens_at_ms - now_ms) / 1000

    def mismatch(self, now_ms: int) -> str:
        """Return how the site's pages contradict each other, empty where no worker has said so lately."""
        # "<time of the last note, ms> <text>" (note_validation.lua)
        at, _, text = self.counts.fields.get("mismatch", "0 ").partition(" ")
        return text if now_ms - int(at) < MISMATCH_MS else ""

    @property
    def short_threads(self) -> list[str]:
        """Return threads with fewer replies than their lists count: "listed stored address" each, worst first."""
        if "short" not in self.counts.fields:
            return []
        short: dict[str, str] = json.loads(self.counts.fields["short"])
        return sorted(short.values(), key=lambda text: int(text.split()[1]) - int(text.split()[0]))

    def scan_gap(self, now_ms: int) -> tuple[int, str] | None:
        """Return how many scans of a day showed nothing but news, and the last one's board, or None."""
        # "<time of the last one, ms> <number> <board>" (news.lua)
        at, _, text = self.counts.fields.get("scan_gap", "0 ").partition(" ")
        times, _, board = text.partition(" ")
        return (int(times), board) if now_ms - int(at) < SCAN_GAP_MS else None

    @property
    def moving(self) -> int:
        """Count the open requests that nothing holds back: no pause, and no open circuit breaker of their stage."""
        stages = self.counts.stages
        held = sum(stages[stage].ready + stages[stage].released for stage in self.open_breakers)
        return 0 if self.is_paused else self.counts.open - held

    @property
    def capped(self) -> dict[str, int]:
        """Count the links that a cap of the site left out, by cap."""
        return self._grouped.get("capped", {})

    @property
    def new_boards(self) -> tuple[str, ...]:
        """Return the boards that the forum has begun to show on a front page, and that the site file does not name."""
        # The ledger holds "<front page> <board>", separated by blanks (news.lua).
        boards = set(self.counts.fields.get("new_boards", "").split()[1::2])
        return tuple(sorted(boards, key=lambda board: (len(board), board)))

    @property
    def slowdown(self) -> int:
        """Return the backoff factor, 1 to 64: how many times slower than the site file says the site is asked."""
        # The ledger holds "<level> ...", and each level doubles the delay (backoff.lua).
        return 1 << int(self.counts.fields.get("slow", "0").partition(" ")[0])

    @cached_property
    def open_breakers(self) -> dict[Stage, OpenBreaker]:
        """Return the stages whose circuit breaker is open."""
        breakers = {}
        for stage in Stage:
            line = self.counts.fields.get(f"breaker:{stage.value}")
            # "<since> <when a probe may go> <rid of the last probe> <reason>" (circuit_breaker.lua)
            if line:
                since, probe_at, _, reason = line.split(" ", 3)
                breakers[stage] = OpenBreaker(int(since), reason, int(probe_at))
        return breakers

    @cached_property
    def failed(self) -> dict[str, int]:
        """Count the failed attempts by reason, without those that sent nothing and will be made again."""
        return {reason: count for reason, count in sorted(self._counters["failed"].items()) if reason != NoTurn.reason}

    @property
    def failed_in_a_row(self) -> int:
        """Count the failed attempts since the last page that came, 0 for a site of which nothing is wanted now."""
        # Else the alert of a site whose last few pages failed would last until its next scan, or for ever.
        count = self.counts.fields.get("failed_in_a_row")
        return int(count) if count and not self.is_paused and (self.counts.open or self.unread) else 0

    @cached_property
    def failing(self) -> Failures:
        """Return since when no page came, and the reasons of the attempts."""
        since, _, reasons = self.counts.fields.get("failing", "0 ").partition(" ")
        return Failures(int(since), tuple(filter(None, reasons.split(","))))

    def no_page_s(self, now_ms: int) -> float:
        """Return for how many seconds attempts have brought no page, 0 where the last one did."""
        return max(0, now_ms - self.failing.since_ms) / 1000 if self.failing.since_ms else 0.0

    def troubles(self, trouble: UnwatchedState) -> list[UnwatchedBoard]:
        """Return the boards that nobody watches for one reason, about a hundred at most."""
        boards = self.counts.unwatched
        return [board for board in boards if board.trouble is trouble] if boards else []

    @property
    def unread(self) -> list[UnwatchedBoard]:
        """Return the boards whose first page was given up."""
        boards = self.counts.unwatched
        return (
            [board for board in boards if board.trouble in (UnwatchedState.PARKED, UnwatchedState.DEAD)]
            if boards
            else []
        )

    def own_failures(self, now_ms: int) -> tuple[int, int, str] | None:
        """Return how often the site's own functions failed lately, since when (ms), and which counters tell of it."""
        # "<since> <last one> <number> <names>" (count_own.lua)
        if (text := self.counts.fields.get("own_failed")) is None:
            return None
        since, last, count, names = text.split(" ", 3)
        return (int(count), int(since), names.replace(" ", ", ")) if now_ms - int(last) < MISMATCH_MS else None

    @property
    def stopped_at_ms(self) -> int:
        """Return when an operator paused or drained the site, 0 where it runs."""
        text = self.counts.fields.get("decision")
        return int(json.loads(text)[0]) if text and (self.is_paused or self.is_draining) else 0

    def held_s(self, now_ms: int) -> float:
        """Return for how many seconds an operator has held the board that is held longest, 0 where none is."""
        since = min((board.since_ms for board in self.troubles(UnwatchedState.HELD)), default=now_ms)
        return max(0, now_ms - since) / 1000

    def stopped_s(self, now_ms: int) -> float:
        """Return for how many seconds the site has been paused or drained by an operator, 0 where it runs."""
        return max(0, now_ms - self.stopped_at_ms) / 1000 if self.stopped_at_ms else 0.0

    @cached_property
    def dropped(self) -> dict[str, int]:
        """Count the items that were not given to the store, by reason."""
        return dict(sorted(self._counters["dropped"].items()))

    @cached_property
    def _counters(self) -> dict[str, dict[str, int]]:
        """Return the counters of the ledger by the group before their colon."""
        groups: dict[str, dict[str, int]] = {"failed": {}, "dropped": {}, "cut": {}, "gone": {}}
        for name, value in self.counts.fields.items():
            group, _, rest = name.partition(":")
            if rest and group in groups:
                groups[group][rest] = int(value)
        return groups

    @cached_property
    def fates(self) -> dict[tuple[str, str], int]:
        """Count the consequences of failed attempts, by fate (delayed, parked, dead) and reason."""
        return {
            (fate, reason): count
            for fate in ("delayed", "parked", "dead")
            for reason, count in self._grouped.get(fate, {}).items()
        }

    @cached_property
    def gone(self) -> int:
        """Count the pages that no longer exist."""
        return sum(self._counters["gone"].values())

    @property
    def cut(self) -> int:
        """Count the chains of pages that `max_pages` cut short."""
        return sum(self.cuts.values())

    @property
    def cuts(self) -> dict[str, int]:
        """Count the chains of pages that `max_pages` cut short, by stage."""
        return self._counters["cut"]

    @property
    def statuses(self) -> dict[str, int]:
        """Count the answers by HTTP status."""
        return self._grouped.get("status", {})

    @cached_property
    def freshness(self) -> Histogram:
        """Return a histogram of the seconds from posting to storing, of items posted since the site is watched."""
        return read_histogram(self.counts.stats, "fresh", AGES_S)

    @cached_property
    def expected(self) -> Freshness | None:
        """Return goal and expectation of the priced schedule, None where the schedule is another."""
        return read_freshness(self.counts.fields, self.counts.stats)

    @cached_property
    def items(self) -> int:
        """Count the posts and comments that were given to the store."""
        # An item that was restored counts among those changed as well.
        groups = (self._grouped.get(kind.value, {}) for kind in Kind)
        return sum(count for group in groups for change, count in group.items() if change != "restored")

    @property
    def own(self) -> dict[str, int]:
        """Return the own counters, see model/own_counters.py."""
        return self._grouped.get("own", {})

    def stat(self, name: str) -> int:
        """Return one statistic, 0 where nothing was counted."""
        return self.counts.stats.get(name, 0)

    def late_s(self, now_ms: int) -> float:
        """Return for how many seconds the most overdue board has been due, 0 where none is overdue."""
        since = self.boards.overdue_since_ms
        return max(0, now_ms - since) / 1000 if since else 0.0

    @cached_property
    def _grouped(self) -> dict[str, dict[str, int]]:
        """Return the statistics by the group before their colon."""
        # Once for all properties above: a scrape of a thousand sites reads dozens of statistics of each.
        groups: dict[str, dict[str, int]] = {}
        for name, count in self.counts.stats.items():
            group, _, rest = name.partition(":")
            groups.setdefault(group, {})[rest] = count
        return groups


def by_state(counts: RequestCounts) -> dict[str, int]:
    """Return the number of requests in each state."""
    return {state.value: getattr(counts, state.value) for state in State}


def site_snapshot(counts: RequestCounts, forgotten: Sequence[int]) -> SiteSnapshot:
    """Return the state of a site, with its forgotten boards counted as overdue, and those that no page comes of."""
    site = SiteSnapshot(counts.site, counts, with_forgotten(counts.boards, forgotten))
    if "breaker:list" in counts.fields or site.failed_in_a_row >= STUCK_LEAST:
        # A parked board counts as being scanned until its page is read.
        boards = replace(site.boards, waiting=max(0, site.boards.scanning - site.boards.parked))
        return SiteSnapshot(counts.site, counts, boards)
    return site


def with_forgotten(boards: ScanCounts, due_ms: Sequence[int]) -> ScanCounts:
    """Return the counts of boards with those counted as late that beat, silent since, has not looked at."""
    # The ledger counts a board as overdue when beat finds no room for its scan. While beat is silent nobody counts.
    if not due_ms:
        return boards
    return replace(
        boards,
        overdue=boards.overdue + len(due_ms),
        late=min(boards.total, boards.late + len(due_ms)),
        overdue_since_ms=min([*due_ms, *([boards.overdue_since_ms] if boards.overdue_since_ms else [])]),
    )
