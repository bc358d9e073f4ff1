"""Page validation: pages of a running crawl that contradict their list, each other or themselves.

One odd page is normal: threads lose replies, boards are emptied, clocks are wrong. A site contradicts itself when half
of its last pages do. Then its rules do not fit its pages any more, though they read something.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from crawl_tasks.errors import BackendError, PageError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import UNREADABLE, Fetched, Parsed, Request, Stage
from crawl_tasks.parse.date_checks import LATE_S, UNREAD, early_edits, waited_s
from crawl_tasks.parse.date_order import OPEN, OTHER_ORDER
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.lost_records import lost_records
from crawl_tasks.parse.pagination import LEADS_BACK
from crawl_tasks.parse.pagination_links import unread_page
from crawl_tasks.parse.text_lines import tail_of
from crawl_tasks.parse.values.charset import LOST
from crawl_tasks.parse.values.charset_detector import CONTRADICTED
from crawl_tasks.parse.values.future_dates import ahead_s, zone_hint
from crawl_tasks.registry.site_registry import CompiledSite
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import Format

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

_RECORDS = "records"
_OF_FEW = (_RECORDS, "pager")
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

_FEW = 3
_MOST_BOARDS = 1_000
_MOST_LINES = 2_000
_MANY_REPLIES = 5
_MOST_DIGITS = 8
"""Digits of a count. What a hub says of a thread is the time of its last reply."""
_LONG_TEXT = 20
_AHEAD_S = 86_400 + 3600


@dataclass(slots=True)
class _SiteMemory:
    """The observations of a process about a version of a site. `fitting` counts pages since a stage's contradiction."""

    site: CompiledSite
    results: dict[str, deque[str]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=RESULTS)))
    boards: set[str] = field(default_factory=set)
    texts: deque[tuple[str, int]] = field(default_factory=lambda: deque(maxlen=8))
    tails: deque[tuple[str, int]] = field(default_factory=lambda: deque(maxlen=8))
    lines: set[int] = field(default_factory=set)
    fitting: Counter[Stage] = field(default_factory=Counter)
    never_found: dict[str, set[str]] = field(default_factory=dict)
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

    def check(self, site: CompiledSite, request: Request, page: Fetched, parsed: Parsed) -> None:
        """Hold a page against its list and the pages before, and note when a contradiction begins, lasts or ends."""
        name = site.site.name
        with self._lock:
            memory = self._memories.get(name)
            if memory is None or memory.site is not site:
                memory = self._memories[name] = _SiteMemory(site)
            stage = request.stage
            if stage is Stage.POST and request.revision:
                memory.note_there(request.key)
            memory.fitting[stage] = fitting = memory.fitting[stage] + 1
            is_close = fitting <= RESULTS or name in self._said or lost_records(parsed.notes)[0] > 0
            if not is_close and fitting % SAMPLE:
                return
            is_odd = False
            has_links = is_close or fitting % RARE == 0
            for kind, evidence in _findings(memory, request, page, parsed, has_links=has_links):
                memory.results[kind].append(evidence)
                is_odd = is_odd or evidence != ""
            if is_odd:
                memory.fitting[stage] = 0
            # Nearly all pages end here: one that fits can begin no contradiction.
            if not is_odd and name not in self._said:
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
        if not text and name in self._said and any(len(one) >= LEAST for one in memory.results.values()):
            del self._said[name]
            return ""
        if text and time.monotonic() >= self._said.get(name, 0) + AGAIN_S:
            self._said[name] = time.monotonic()
            return text
        return None

    def _note(self, name: str, text: str | None) -> None:
        if text is not None:
            # A note is not worth the page: the next one comes in a minute, and an old one runs out.
            with suppress(BackendError):
                self._frontier.sites.note_validation(name, text)


def _text(results: dict[str, deque[str]]) -> str:
    """Return the last contradiction of a kind that half of the pages have, empty without one."""
    for kind, found in results.items():
        bad = [one for one in found if one]
        # Few threads have a second page: two that no rule found are no chance, where it found no other. Records that
        # no rule reads are lost wherever they stand, and may be those of one kind of thread.
        has_lost = kind.startswith(_RECORDS)
        least = 2 if kind.startswith(_OF_FEW) else LEAST
        is_sample = kind == _LISTED and len(found) == RESULTS
        parts = _PARTS if has_lost else _PARTS_GONE if is_sample else 2
        if len(bad) >= least and parts * len(bad) >= len(found):
            return f"{len(bad)} of the last {len(found)} pages, as {bad[-1]}"
    return ""


def _findings(
    memory: _SiteMemory, request: Request, page: Fetched, parsed: Parsed, *, has_links: bool
) -> Iterator[tuple[str, str]]:
    """Yield each kind that the page has enough for, with the contradiction or an empty text.

    Links are looked through where `has_links` is true, because that takes a second parse of the page.
    """
    where, items = request.address, parsed.items
    # Half of the pages have to lose some: damage is on few.
    lost = next((note for note in parsed.notes if LOST in note or CONTRADICTED in note), "")
    yield "charset", f"{lost}; {where}" if lost else ""
    unclear = next((note for note in parsed.notes if OPEN in note or OTHER_ORDER in note or UNREAD in note), "")
    yield "dates", f"{unclear}; {where}" if unclear else ""
    _, note = lost_records(parsed.notes)
    yield f"{_RECORDS} of {request.stage.value}", f"{note} on {where}" if note else ""
    if request.stage is Stage.LIST:
        yield from _emptied(memory, request, page, has_rows=bool(items.posts))
    else:
        yield from _same_texts(memory, request, parsed)
        yield from _blank_posts(memory.site.site, parsed)
    if len(items.posts) >= _FEW or len(items.comments) >= _FEW:
        yield from _lost_fields(memory, request, parsed)
    times = [post.created_at for post in items.posts] + [one.created_at for one in items.comments]
    said = [at for at in times if at is not None]
    if len(said) >= _FEW:
        limit = page.at_s + _AHEAD_S
        ahead = sum(at > limit for at in said) if max(said) > limit else 0
        yield "times", f"{ahead} of {len(said)} times in the future on {where}" if 2 * ahead > len(said) else ""
    edits = early_edits([*items.posts, *items.comments])
    if edits:
        many = sum(edits)
        yield "edits", f"{many} of {len(edits)} edits before the writing on {where}" if 2 * many > len(edits) else ""
    early_s = ahead_s([*times, *(post.last_reply_at for post in items.posts)], page.at_s)
    if early_s is not None:
        text = f"a time {early_s / 60:.0f} min ahead on {where}: {zone_hint(early_s)}"
        yield "zone", text if early_s else ""
    if request.page > 1 and not any(child.page > request.page for child in parsed.children):
        # Where a walk ends. Its pages before say nothing of that.
        back = next((note for note in parsed.notes if LEADS_BACK in note), "")
        yield f"pager of {request.stage.value} walks", back
    if request.stage is Stage.POST and not any(child.stage is Stage.COMMENT for child in parsed.children):
        # Of a longer thread the newest replies may come first.
        for post in items.posts:
            if (wait_s := waited_s(post, items.comments)) is not None:
                text = f"a post more than a year older than all its replies on {where}"
                yield "first replies", text if wait_s > LATE_S else ""
    if request.stage is Stage.POST:
        yield from _lost_replies(memory.site, request, parsed)
    if has_links:
        yield from _unread_pages(memory.site.site, request, page, parsed)


def _emptied(memory: _SiteMemory, request: Request, page: Fetched, *, has_rows: bool) -> Iterator[tuple[str, str]]:
    """Yield whether a board that had rows has none, on a page that links threads."""
    if has_rows:
        if len(memory.boards) < _MOST_BOARDS:
            memory.boards.add(request.key)
        yield "rows", ""
    elif request.page == 1 and request.key in memory.boards:
        links = _thread_links(memory.site, page)
        yield "rows", f"{request.address} has no rows, and links {links} threads" if links >= _FEW else ""


def _thread_links(site: CompiledSite, page: Fetched) -> int:
    if site.site.list.format is not Format.HTML:
        return 0
    found = set()
    document = Document(page)
    for node in document.root.css("a[href]"):
        try:
            url = document.absolute(node.attributes.get("href") or "")
            target = site.addresses.read(url) if url is not None and site.addresses.is_ours(url) else None
        except PageError:
            continue
        if target is not None and target.stage is Stage.POST:
            found.add(target.key)
    return len(found)


def listed_replies(site: CompiledSite, request: Request, parsed: Parsed) -> int | None:
    """Return the replies that the row of a thread counted, by a revision that begins with their number.

    None where the row counted none, or the thread's page does not show all of them.
    """
    signs, spec = site.site.list.revision, site.site
    count = request.revision.partition("|")[0]
    if not signs or signs[0].field != "reply_count" or not count.isdigit() or len(count) > _MOST_DIGITS:
        return None
    has_more = any(child.stage is Stage.COMMENT for child in parsed.children)
    reads_replies = spec.comment or spec.post.comments or spec.post.parser
    return int(count) if reads_replies and not (has_more or parsed.is_cut) else None


def _lost_replies(site: CompiledSite, request: Request, parsed: Parsed) -> Iterator[tuple[str, str]]:
    """Yield whether a thread has the replies that its row counted."""
    count = listed_replies(site, request, parsed)
    if count is not None and count >= _MANY_REPLIES:
        read = len(parsed.items.comments)
        text = f"{count} replies in the list, {read} read on {request.address}"
        yield "replies", text if 2 * read < count else ""


def _unread_pages(site: Site, request: Request, page: Fetched, parsed: Parsed) -> Iterator[tuple[str, str]]:
    """Yield whether a page that links a further page of its thread or board leads to one by its rules.

    A page without such a link tells nothing.
    """
    is_list = request.stage is Stage.LIST
    if (
        request.stage is Stage.COMMENT
        or request.page > 1
        or parsed.is_cut
        or request.reach.pages
        or request.reach.since
    ):
        return
    spec = site.list if is_list else site.post
    is_ruled = bool(site.list.next or site.list.pages or site.list.total) if is_list else site.comment is not None
    if not is_ruled or spec.format is not Format.HTML or spec.embedded is not None or spec.parser:
        return
    if any(child.page > 1 or child.stage is Stage.COMMENT for child in parsed.children):
        yield f"pager of {request.stage.value}", ""
    elif parsed.items.posts and (unread := unread_page(site, request, Document(page))) is not None:
        yield f"pager of {request.stage.value}", f"{unread} is linked on {request.address}, and no rule finds it"


def _same_texts(memory: _SiteMemory, request: Request, parsed: Parsed) -> Iterator[tuple[str, str]]:
    """Yield whether several threads, or most comments of a page, have one text."""
    texts = [one.body for one in parsed.items.comments if one.body]
    if len(texts) >= LEAST:
        text, times = Counter(texts).most_common(1)[0]
        is_one = len(text) >= _LONG_TEXT and 2 * times > len(texts)
        yield "comments", f"{times} of {len(texts)} comments with one text on {request.address}" if is_one else ""
    tail, lines = tail_of(parsed)
    memory.lines.update(map(hash, lines))
    if len(memory.lines) > _MOST_LINES:
        memory.lines.clear()
    # What people say elsewhere too is no footer.
    if tail and hash(tail) not in memory.lines:
        same = next((key for key, other in memory.tails if key != request.key and other == hash(tail)), None)
        memory.tails.append((request.key, hash(tail)))
        text = f"{tail[:40]!r} ends the last text of post {same} too, as a footer does, on {request.address}"
        yield "footers", text if same is not None else ""
    for post in parsed.items.posts:
        if post.body and len(post.body) >= _LONG_TEXT:
            # The hash: eight long texts for each of a thousand sites would fill the memory.
            mark = hash(post.body)
            same = next((key for key, other in memory.texts if key != post.post_id and other == mark), None)
            memory.texts.append((post.post_id, mark))
            yield "texts", f"the text of post {same} on {request.address} too" if same is not None else ""


def _blank_posts(site: Site, parsed: Parsed) -> Iterator[tuple[str, str]]:
    """Yield whether a post has pictures or quotes and no words, where the site file does not expect such posts."""
    rule = site.post.post_fields.get("body")
    if rule is not None and rule.required is None:
        for post in parsed.items.posts:
            text = f"{post.url} has no words: if many posts are pictures, say required: false for body"
            yield "blank", "" if post.body or post.state in UNREADABLE else text


def _lost_fields(memory: _SiteMemory, request: Request, parsed: Parsed) -> Iterator[tuple[str, str]]:
    """Yield whether a field is found in no record, though earlier pages had it."""
    lost = {note.partition(":")[0] for note in parsed.notes if "found in none of" in note}
    never = memory.never_found.setdefault(request.stage, set(lost))
    gone: Sequence[str] = sorted(lost - never)
    never &= lost
    yield f"fields of {request.stage.value}", f"no {gone[0]} on {request.address}" if gone else ""
