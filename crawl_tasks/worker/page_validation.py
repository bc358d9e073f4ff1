"""Page validation: pages of a running crawl that contradict their list, each other or themselves.

One odd page is normal: threads lose replies, boards are emptied, clocks are wrong. A site contradicts itself when half
of its last pages do. Then its rules do not fit its pages any more, though they read something.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Fetched, Parsed, Request, Stage
from crawl_tasks.parse.lost_records import lost_records
from crawl_tasks.registry.site_registry import CompiledSite
from crawl_tasks.worker.page_findings import PAGER, RECORDS, SeenPages, findings

RESULTS = 20
"""Pages of a kind that are remembered: half of them have to contradict."""

LEAST = 5
"""Contradictions below which nothing is said."""

ENDS_AFTER = 8
"""Fitting pages of a kind in a row that end its contradiction, though most of the last RESULTS pages contradicted.

Where each other page contradicts, so many in a row come once in some 500 pages.
"""

SAMPLE = 4
"""While the last pages of a stage fit, one of so many is checked. After a contradiction, each page is."""

RARE = 32
"""While the last pages of a stage fit, one of so many is looked through for links that no rule follows."""

AGAIN_S = 60.0
"""Seconds between two notes of a contradiction that lasts."""

_OF_FEW = (RECORDS, PAGER)
"""Kinds that few pages of a site have, so that two of them are told."""
_PARTS = 10
"""Of so many pages one that loses records is too many."""

_LISTED = "listed threads"
_GONE_S = 900.0
"""Time for which listed threads that are gone are told, unless one of them is there again, in seconds."""
_PARTS_GONE = 4
"""Of so many listed threads one that is gone is too many: those of a single board may be gone, of several.

Not of fewer than RESULTS threads: some forums list what they have deleted, and a scan may find little else that is new.
"""


@dataclass(slots=True)
class _SiteMemory:
    """The observations of a process about a version of a site. `fitting` counts pages since a stage's contradiction."""

    seen: SeenPages
    results: dict[str, deque[str]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=RESULTS)))
    fitting: Counter[Stage] = field(default_factory=Counter)
    gone: deque[str] = field(default_factory=lambda: deque(maxlen=RESULTS))
    gone_at: float = 0.0

    def note_gone(self, key: str, evidence: str) -> None:
        """Note a listed thread that is gone."""
        self.results[_LISTED].append(evidence)
        self.gone.append(key)
        self.gone_at = time.monotonic()

    def note_there(self, key: str) -> None:
        """Note a listed thread that is there."""
        results = self.results[_LISTED]
        if key in self.gone:
            self.gone.clear()
            results.clear()
        # One that is gone is not asked for again. Those that are there say nothing of it, and would soon outnumber it.
        elif len(results) == RESULTS and time.monotonic() - self.gone_at < _GONE_S and sum(map(bool, results)) >= LEAST:
            return
        results.append("")

    def forget_ended(self) -> None:
        """Forget what contradicted before the last ENDS_AFTER pages of a kind, where all of these fit."""
        for kind, results in self.results.items():
            # Listed threads that are gone have a rule of their own, above. Lost records and unread pages are rare on a
            # site that has them.
            if kind == _LISTED or kind.startswith(_OF_FEW) or len(results) < ENDS_AFTER:
                continue
            if not any(islice(reversed(results), ENDS_AFTER)):
                results.extend([""] * RESULTS)


class PageValidation:
    """The watch of a fetching worker over its pages. Thread-safe."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._lock = threading.Lock()
        self._memories: dict[str, _SiteMemory] = {}
        self._said: dict[str, float] = {}
        """When this process last noted a contradiction of a site that lasts. 0 where only one before it may have."""

    def check(self, site: CompiledSite, request: Request, page: Fetched, parsed: Parsed) -> None:
        """Hold a page against its list and the pages before, and note when a contradiction begins, lasts or ends."""
        name = site.site.name
        with self._lock:
            memory = self._memories.get(name)
            if memory is None:
                self._said[name] = 0.0
            if memory is None or memory.seen.site is not site:
                memory = self._memories[name] = _SiteMemory(SeenPages(site))
            stage = request.stage
            if stage is Stage.POST and request.revision:
                memory.note_there(request.key)
            memory.fitting[stage] = fitting = memory.fitting[stage] + 1
            is_close = fitting <= RESULTS or self._said.get(name, 0) > 0 or lost_records(parsed.notes)[0] > 0
            if not is_close and fitting % SAMPLE:
                return
            is_odd = False
            has_links = is_close or fitting % RARE == 0
            for kind, evidence in findings(memory.seen, request, page, parsed, has_links=has_links):
                memory.results[kind].append(evidence)
                is_odd = is_odd or evidence != ""
            if is_odd:
                memory.fitting[stage] = 0
            # Nearly all pages end here: one that fits can begin no contradiction.
            if not is_odd and not self._may_end(name, memory):
                return
            text = self._news(name, memory)
        self._note(name, text)

    def note_gone(self, request: Request) -> None:
        """Note a thread that its list shows, and that is gone."""
        if request.stage is not Stage.POST or not request.revision:
            return
        with self._lock:
            memory = self._memories.get(request.site)
            if memory is None:
                return
            memory.note_gone(request.key, f"{request.address} is listed, and gone")
            text = self._news(request.site, memory)
        self._note(request.site, text)

    def _news(self, name: str, memory: _SiteMemory) -> str | None:
        """Return what is to be noted now: a contradiction, empty for its end, None for nothing."""
        memory.forget_ended()
        text = _text(memory.results)
        has_seen = any(len(results) >= LEAST for results in memory.results.values())
        if not text and has_seen and self._may_end(name, memory):
            del self._said[name]
            return ""
        if text and time.monotonic() >= self._said.get(name, 0) + AGAIN_S:
            self._said[name] = time.monotonic()
            return text
        return None

    def _may_end(self, name: str, memory: _SiteMemory) -> bool:
        """Return whether a contradiction was noted that may have ended. One of a process before ends with threads."""
        noted_at = self._said.get(name)
        return noted_at is not None and (noted_at > 0 or memory.fitting[Stage.POST] >= ENDS_AFTER)

    def _note(self, name: str, text: str | None) -> None:
        if text is not None:
            # A note is not worth the page: the next one comes in a minute, and an old one runs out.
            with suppress(BackendError):
                self._frontier.sites.note_validation(name, text)


def _text(results: dict[str, deque[str]]) -> str:
    """Return the last contradiction of a kind that half of the pages have, empty without one."""
    for kind, evidence in results.items():
        bad = [text for text in evidence if text]
        # Few threads have a second page: two that no rule found are no chance, where it found no other.
        least, parts = 2 if kind.startswith(_OF_FEW) else LEAST, 2
        if kind.startswith(RECORDS):
            # Records that no rule reads are lost wherever they stand, and may be those of one kind of thread.
            parts = _PARTS
        elif kind == _LISTED and len(evidence) == RESULTS:
            parts = _PARTS_GONE
        if len(bad) >= least and parts * len(bad) >= len(evidence):
            return f"{len(bad)} of the last {len(evidence)} pages, as {bad[-1]}"
    return ""
