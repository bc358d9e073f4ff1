"""The memory of a process for the requests of scripts: answers that are kept, addresses that are slow or missing."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from crawl_tasks.fetch.browser_page import PageAnswer

KEPT_S: Final = 600.0
KEPT_BYTES: Final = 32 << 20
"""Age and size of the scripts and style sheets that are kept, so that not every page of a forum asks for them anew."""
HELD_S: Final = 600.0
"""Seconds for which an address that took too long is not asked."""
LOST_AFTER_S: Final = 120.0
"""Seconds for which a script is missing until it counts as lost. The update of a forum takes less."""
MOST_ADDRESSES: Final = 2_000

_HELD_AFTER = 3
"""Requests in a row that took too long until their address is not asked for a while."""
_LONG_POLL = re.compile(
    r"(?:^|[^a-z])(?:long[_-]?)?poll(?:ing)?(?:$|[^a-z])|message-bus|socket\.io|sockjs|signalr|comet", re.IGNORECASE
)
_PART = re.compile(r"[^/?&=]+")
_FIGURE = re.compile(r"\d")
_LONGEST = 500
"""Letters of an address that tell it from others."""


class KeptScripts:
    """Scripts and style sheets, the last used ones up to a size and an age. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock, self._clock = threading.Lock(), clock
        self._answers: OrderedDict[tuple[str, str], tuple[float, PageAnswer]] = OrderedDict()
        self._bytes = 0

    def get(self, site: str, url: str) -> PageAnswer | None:
        """Return the answer that is kept for an address of a site, or None."""
        with self._lock:
            at, answer = self._answers.get((site, url), (0.0, None))
            if answer is None or at < self._clock() - KEPT_S:
                return None
            self._answers.move_to_end((site, url))
            return answer

    def keep(self, site: str, url: str, answer: PageAnswer) -> None:
        """Keep an answer, unless the server forbids that."""
        if answer.status != 200 or "no-store" in answer.headers.get("cache-control", ""):
            return
        with self._lock:
            _, before = self._answers.pop((site, url), (0.0, None))
            self._answers[site, url] = self._clock(), answer
            self._bytes += len(answer.body) - (len(before.body) if before else 0)
            while self._bytes > KEPT_BYTES:
                _, (_, oldest) = self._answers.popitem(last=False)
                self._bytes -= len(oldest.body)


@dataclass(slots=True)
class _Address:
    """The requests in a row that took too long, and the time of the last one."""

    slow: int = 0
    last_at: float = 0.0


class SlowRequests:
    """The addresses of scripts that took too long. Thread-safe.

    Addresses that differ in ids and numbers count as one: `api.php?mod=replies&tid=1` is one with that of `tid=2`, and
    another than `api.php?mod=poll`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._addresses: OrderedDict[tuple[str, str, str], _Address] = OrderedDict()

    def note_slow(self, site: str, url: str) -> None:
        """Note a request that took too long."""
        key = _key_of(site, url)
        with self._lock:
            address = self._addresses.setdefault(key, _Address())
            address.slow, address.last_at = address.slow + 1, self._clock()
            self._addresses.move_to_end(key)
            if len(self._addresses) > MOST_ADDRESSES:
                self._addresses.popitem(last=False)

    def note_answer(self, site: str, url: str) -> None:
        """Note a request that was answered in time."""
        with self._lock:
            self._addresses.pop(_key_of(site, url), None)

    def is_held(self, site: str, url: str) -> bool:
        """Return whether an address is not to be asked now: its last requests took too long."""
        address = self._addresses.get(_key_of(site, url))
        if address is None or self._clock() - address.last_at >= HELD_S:
            return False
        return address.slow >= _HELD_AFTER or is_long_poll(url)


class LostScripts:
    """The scripts that a forum links and does not have. Thread-safe.

    While a forum is being updated, a script may be missing for a moment. One that is missing for longer is missing to
    each visitor, and no page is a part for that.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: OrderedDict[tuple[str, str], float] = OrderedDict()

    def note(self, site: str, url: str, *, is_missing: bool) -> bool:
        """Note whether a script is missing, and return whether it has been missing for long."""
        if not is_missing:
            self._since.pop((site, url), None)
            return False
        since = self._since.setdefault((site, url), self._clock())
        if len(self._since) > MOST_ADDRESSES:
            self._since.popitem(last=False)
        return self._clock() - since >= LOST_AFTER_S


def is_long_poll(url: str) -> bool:
    """Return whether an address is by its name one that a server answers only when there is news.

    No clock tells it from an API that is slow on each page, without which the page is a part.
    """
    return _LONG_POLL.search(url.partition("//")[2].partition("/")[2]) is not None


def _key_of(site: str, url: str) -> tuple[str, str, str]:
    host, _, rest = url.partition("//")[2].partition("/")
    # Part by part: one pattern of a part with a figure takes the square of the length of a part without any.
    return site, host, _PART.sub(lambda part: "#" if _FIGURE.search(part[0]) else part[0], rest[:_LONGEST])
