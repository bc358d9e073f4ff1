"""The findings of one page: what contradicts its list, the pages before, or itself.

Each check yields a kind for which the page has enough, with the contradiction or an empty text.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from crawl_tasks.errors import PageError
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

RECORDS: Final = "records"
PAGER: Final = "pager"
"""The beginnings of two kinds that few pages of a site have."""

_FEW = 3
_MANY_TEXTS = 5
_MOST_BOARDS = 1_000
_MOST_LINES = 2_000
_MANY_REPLIES = 5
_MOST_DIGITS = 8
"""Digits of a count. What a hub says of a thread is the time of its last reply."""
_LONG_TEXT = 20
_AHEAD_S = 86_400 + 3600


@dataclass(slots=True)
class SeenPages:
    """What a process remembers of the pages of a site, for comparisons with later ones."""

    site: CompiledSite
    boards: set[str] = field(default_factory=set)
    texts: deque[tuple[str, int]] = field(default_factory=lambda: deque(maxlen=8))
    tails: deque[tuple[str, int]] = field(default_factory=lambda: deque(maxlen=8))
    lines: set[int] = field(default_factory=set)
    never_found: dict[str, set[str]] = field(default_factory=dict)


class _Checked(NamedTuple):
    """A page that is checked."""

    seen: SeenPages
    request: Request
    page: Fetched
    parsed: Parsed

    @property
    def times(self) -> list[int | None]:
        """Return when its posts and comments were written."""
        items = self.parsed.items
        return [post.created_at for post in items.posts] + [comment.created_at for comment in items.comments]


Findings = Iterator[tuple[str, str]]


def findings(seen: SeenPages, request: Request, page: Fetched, parsed: Parsed, *, has_links: bool) -> Findings:
    """Yield each kind that the page has enough for, with the contradiction or an empty text.

    Links are looked through where `has_links` is true, because that takes a second parse of the page.
    """
    checked = _Checked(seen, request, page, parsed)
    for check in _CHECKS:
        yield from check(checked)
    if has_links:
        yield from _unread_pages(seen.site.site, request, page, parsed)


def _unclear_texts(checked: _Checked) -> Findings:
    """Yield whether characters or dates of a page are unclear, or records lost. Half of the pages have to lose some."""
    where, notes = checked.request.address, checked.parsed.notes
    lost = next((note for note in notes if LOST in note or CONTRADICTED in note), "")
    yield "charset", f"{lost}; {where}" if lost else ""
    unclear = next((note for note in notes if OPEN in note or OTHER_ORDER in note or UNREAD in note), "")
    yield "dates", f"{unclear}; {where}" if unclear else ""
    _, note = lost_records(notes)
    yield f"{RECORDS} of {checked.request.stage.value}", f"{note} on {where}" if note else ""


def _odd_items(checked: _Checked) -> Findings:
    """Yield whether a list has no rows any more, or a thread texts of others, or none."""
    seen, request, page, parsed = checked
    if request.stage is Stage.LIST:
        yield from _emptied(seen, request, page, has_rows=bool(parsed.items.posts))
    else:
        yield from _same_replies(seen, request, parsed)
        yield from _same_posts(seen, request, parsed)
        yield from _blank_posts(seen.site.site, parsed)
    if len(parsed.items.posts) >= _FEW or len(parsed.items.comments) >= _FEW:
        yield from _lost_fields(seen, request, parsed)


def _future_times(checked: _Checked) -> Findings:
    """Yield whether most times of a page are more than a day in the future."""
    times = [time for time in checked.times if time is not None]
    if len(times) >= _FEW:
        limit = checked.page.at_s + _AHEAD_S
        ahead = sum(time > limit for time in times) if max(times) > limit else 0
        text = f"{ahead} of {len(times)} times in the future on {checked.request.address}"
        yield "times", text if 2 * ahead > len(times) else ""


def _early_edits(checked: _Checked) -> Findings:
    """Yield whether most edits of a page come before the writing."""
    items, where = checked.parsed.items, checked.request.address
    if edits := early_edits([*items.posts, *items.comments]):
        many = sum(edits)
        yield "edits", f"{many} of {len(edits)} edits before the writing on {where}" if 2 * many > len(edits) else ""


def _wrong_zone(checked: _Checked) -> Findings:
    """Yield whether the latest time of a page is ahead by a difference of time zones."""
    replies = (post.last_reply_at for post in checked.parsed.items.posts)
    early_s = ahead_s([*checked.times, *replies], checked.page.at_s)
    if early_s is not None:
        text = f"a time {early_s / 60:.0f} min ahead on {checked.request.address}: {zone_hint(early_s)}"
        yield "zone", text if early_s else ""


def _leading_back(checked: _Checked) -> Findings:
    """Yield whether a walk leads back, where it ends. Its pages before say nothing of that."""
    request, parsed = checked.request, checked.parsed
    if request.page > 1 and not any(child.page > request.page for child in parsed.children):
        back = next((note for note in parsed.notes if LEADS_BACK in note), "")
        yield f"{PAGER} of {request.stage.value} walks", back


def _late_replies(checked: _Checked) -> Findings:
    """Yield whether a post is much older than all its replies. Of a longer thread the newest replies may come first."""
    request, parsed = checked.request, checked.parsed
    if request.stage is not Stage.POST or any(child.stage is Stage.COMMENT for child in parsed.children):
        return
    for post in parsed.items.posts:
        if (wait_s := waited_s(post, parsed.items.comments)) is not None:
            text = f"a post more than a year older than all its replies on {request.address}"
            yield "first replies", text if wait_s > LATE_S else ""


def _lost_replies(checked: _Checked) -> Findings:
    """Yield whether a thread has the replies that its row counted."""
    seen, request, _, parsed = checked
    count = listed_replies(seen.site, request, parsed) if request.stage is Stage.POST else None
    if count is not None and count >= _MANY_REPLIES:
        read = len(parsed.items.comments)
        text = f"{count} replies in the list, {read} read on {request.address}"
        yield "replies", text if 2 * read < count else ""


_CHECKS: Final[Sequence[Callable[[_Checked], Findings]]] = (
    _unclear_texts,
    _odd_items,
    _future_times,
    _early_edits,
    _wrong_zone,
    _leading_back,
    _late_replies,
    _lost_replies,
)
"""The checks in the order in which contradictions are told."""


def _emptied(seen: SeenPages, request: Request, page: Fetched, *, has_rows: bool) -> Findings:
    """Yield whether a board that had rows has none, on a page that links threads."""
    if has_rows:
        if len(seen.boards) < _MOST_BOARDS:
            seen.boards.add(request.key)
        yield "rows", ""
    elif request.page == 1 and request.key in seen.boards:
        links = _thread_links(seen.site, page)
        yield "rows", f"{request.address} has no rows, and links {links} threads" if links >= _FEW else ""


def _thread_links(site: CompiledSite, page: Fetched) -> int:
    if site.site.list.format is not Format.HTML:
        return 0
    threads = set()
    document = Document(page)
    for node in document.root.css("a[href]"):
        try:
            url = document.absolute(node.attributes.get("href") or "")
            target = site.addresses.read(url) if url is not None and site.addresses.is_ours(url) else None
        except PageError:
            continue
        if target is not None and target.stage is Stage.POST:
            threads.add(target.key)
    return len(threads)


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


def _unread_pages(site: Site, request: Request, page: Fetched, parsed: Parsed) -> Findings:
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
        yield f"{PAGER} of {request.stage.value}", ""
    elif parsed.items.posts and (unread := unread_page(site, request, Document(page))) is not None:
        yield f"{PAGER} of {request.stage.value}", f"{unread} is linked on {request.address}, and no rule finds it"


def _same_replies(seen: SeenPages, request: Request, parsed: Parsed) -> Findings:
    """Yield whether most comments of a page have one text, or one ends as the last of another thread."""
    texts = [comment.body for comment in parsed.items.comments if comment.body]
    if len(texts) >= _MANY_TEXTS:
        text, times = Counter(texts).most_common(1)[0]
        is_same = len(text) >= _LONG_TEXT and 2 * times > len(texts)
        yield "comments", f"{times} of {len(texts)} comments with one text on {request.address}" if is_same else ""
    tail, lines = tail_of(parsed)
    seen.lines.update(map(hash, lines))
    if len(seen.lines) > _MOST_LINES:
        seen.lines.clear()
    # What people say elsewhere too is no footer.
    if tail and hash(tail) not in seen.lines:
        other = _other_with(seen.tails, request.key, tail)
        text = f"{tail[:40]!r} ends the last text of post {other} too, as a footer does, on {request.address}"
        yield "footers", text if other is not None else ""


def _same_posts(seen: SeenPages, request: Request, parsed: Parsed) -> Findings:
    """Yield whether a post has the text of another thread."""
    for post in parsed.items.posts:
        if post.body and len(post.body) >= _LONG_TEXT:
            other = _other_with(seen.texts, post.post_id, post.body)
            yield "texts", f"the text of post {other} on {request.address} too" if other is not None else ""


def _other_with(texts: deque[tuple[str, int]], key: str, text: str) -> str | None:
    """Return the key of another post with the same text, None without one, and remember the text."""
    # The hash: eight long texts for each of a thousand sites would fill the memory.
    mark = hash(text)
    other = next((seen for seen, seen_mark in texts if seen != key and seen_mark == mark), None)
    texts.append((key, mark))
    return other


def _blank_posts(site: Site, parsed: Parsed) -> Findings:
    """Yield whether a post has pictures or quotes and no words, where the site file does not expect such posts."""
    rule = site.post.post_fields.get("body")
    if rule is not None and rule.required is None:
        for post in parsed.items.posts:
            text = f"{post.url} has no words: if many posts are pictures, say required: false for body"
            yield "blank", "" if post.body or post.state in UNREADABLE else text


def _lost_fields(seen: SeenPages, request: Request, parsed: Parsed) -> Findings:
    """Yield whether a field is found in no record, though earlier pages had it."""
    lost = {note.partition(":")[0] for note in parsed.notes if "found in none of" in note}
    never = seen.never_found.setdefault(request.stage, set(lost))
    gone: Sequence[str] = sorted(lost - never)
    never &= lost
    yield f"fields of {request.stage.value}", f"no {gone[0]} on {request.address}" if gone else ""
