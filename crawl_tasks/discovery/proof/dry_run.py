"""The dry run: list, post and comment pages read by a site's rules, with the coverage of each field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.proof.field_coverage import NEEDED, OPTIONAL, Coverage, coverage_of
from crawl_tasks.errors import AccessDenied, Challenged, FetchError, Gone, NoTurn, PageError, RobotsRefused
from crawl_tasks.fetch.redaction import hidden_note, items_without, redacted, without
from crawl_tasks.model import Comment, Fetched, Parsed, Post, Request, Stage
from crawl_tasks.registry.site_registry import CompiledSite

MOST_BOARDS = 3
MOST_THREADS = 4
MOST_LISTS = 2
MOST_BEHIND = 3
"""Comment pages behind the second that are tried, of one thread."""
MOST_PAGES = 34
"""Pages beyond which no further thread is asked for."""

_REFUSALS = (Gone, AccessDenied, Challenged, RobotsRefused, NoTurn)


@dataclass(frozen=True, slots=True)
class DryRun:
    """One page that was tried. `error` is the reason for a missing page or an empty result."""

    request: Request
    page: Fetched | None = None
    parsed: Parsed | None = None
    error: str = ""
    is_refused: bool = False
    """Whether the forum has no such page for guests, as it may: deleted, for members, or forbidden to robots."""
    unruled: frozenset[str] = frozenset()
    """Fields that the site file does not look for on pages of this kind."""

    @property
    def rows(self) -> tuple[Post | Comment, ...]:
        """The records of the page's own kind."""
        if self.parsed is None:
            return ()
        items = self.parsed.items
        return items.comments if self.request.stage is Stage.COMMENT else items.posts

    def coverage(self) -> list[Coverage]:
        """Return the coverage of every field that was read or is usually there."""
        return coverage_of(self.request.stage, self.rows)

    def comments(self) -> list[Coverage]:
        """Return the coverage of the comments on a post page, empty without comments."""
        inside = self.parsed.items.comments if self.parsed is not None and self.request.stage is Stage.POST else ()
        return coverage_of(Stage.COMMENT, inside) if inside else []

    def missing(self) -> list[str]:
        """Return the indispensable fields that no record has."""
        if self.error:
            return [self.error]
        stage, rows = self.request.stage, self.rows
        if not rows and stage is Stage.COMMENT:
            # The rules say so: a page with neither comments nor a mark of emptiness is an error.
            return []
        if not rows and stage is Stage.LIST:
            # The rules say so here too. A site without any rows is found wanting as a whole.
            return []
        if not rows:
            return [f"{stage.value}: no record was found on {self.request.address}"]
        lost = [f"{stage.value}.{field.field}" for field in self.coverage() if field.field in NEEDED[stage]
                and field.field not in self.unruled and not field.filled]  # fmt: skip
        return lost + [f"comment.{comment.field}" for comment in self.comments()
                       if comment.field in NEEDED[Stage.COMMENT] and not comment.filled]  # fmt: skip


def attempt(probe: HttpProbe, opened: CompiledSite, request: Request) -> DryRun:
    """Fetch one page and read it. A failure is in the result."""
    try:
        page = probe.page(request.address, request)
    except PageError as error:
        # A page that would be one too many says nothing of the forum.
        is_refused = isinstance(error, _REFUSALS) or type(error) is FetchError
        return DryRun(request, error=str(error), is_refused=is_refused)
    return reread(opened, request, page)


def reread(opened: CompiledSite, request: Request, page: Fetched) -> DryRun:
    """Read a page that is here already."""
    spec = opened.site.stages.get(request.stage)
    unruled = frozenset[str]()
    if spec is not None and not spec.parser:
        ruled = opened.site.post.post_fields if request.stage is Stage.POST else spec.fields
        unruled = frozenset(NEEDED[request.stage]) - set(ruled)
    try:
        parsed = opened.parser.parse(request, page, 0)
    except PageError as error:
        return DryRun(request, redacted(page), error=without(str(error), page.secrets))
    items, hidden = items_without(parsed.items, page)
    notes = (*parsed.notes, *(hidden_note(name, texts) for name, texts in hidden.items()))
    return DryRun(request, redacted(page), parsed._replace(items=items, notes=notes), unruled=unruled)


def try_site(probe: HttpProbe, opened: CompiledSite) -> Iterator[DryRun]:
    """Try pages that can refute each other.

    These are the first pages of a few boards, the next page of the fullest one, the threads with most, fewest and
    middling replies, and the next comment page of the first one that has comments there. Where no thread has one, and
    lists count no replies, further threads follow, else the longest of further list pages, up to MOST_PAGES.
    """
    lists = []
    for listed in try_boards(probe, opened):
        # A front page leads to no threads.
        if not any(child.is_ping for child in _children(listed)):
            lists.append(listed)
        yield listed
    fullest = max(lists, key=lambda trial: len(trial.rows), default=None)
    following = next((child for child in _children(fullest) if child.stage is Stage.LIST), None) if fullest else None
    if following is not None:
        second = attempt(probe, opened, following)
        # The longest threads show most, wherever they are listed.
        lists.append(second)
        yield second
    plan = _ThreadPlan(probe, opened, lists)
    yield from plan.threads()
    if plan.is_counted and not (plan.is_few or plan.has_comments) and opened.site.comment is not None:
        yield from _longest_behind(probe, opened, lists)


class _ThreadPlan:
    """The threads to try, one after the other, until one has shown its comment pages."""

    def __init__(self, probe: HttpProbe, opened: CompiledSite, lists: Sequence[DryRun]) -> None:
        """Choose threads of the lists."""
        self._probe, self._opened = probe, opened
        site = opened.site
        # Rules that nobody wrote are held against thrice as many threads, unless each thread takes two requests.
        self._is_apart = site.comment is not None and site.comment.first_page == 1
        self.is_few = self._is_apart or site.engine is not None
        self.is_counted = any(row.reply_count for trial in lists for row in trial.rows if isinstance(row, Post))
        self.has_comments = False
        posts, further = _various(lists, MOST_THREADS if self.is_few else 3 * MOST_THREADS)
        if not self.is_few:
            # A page that is here already costs no request.
            posts += [request for request in further if probe.has(request.address)]
        # A poll moves a text that is found by its position, and few threads have one.
        text = site.post.fields.get("body")
        self._is_by_place = not self.is_few and text is not None and ":nth-" in (text.css or "")
        self._posts = posts
        self._further = further if self._is_by_place or not (self.is_few or self.is_counted) else []

    def threads(self) -> Iterator[DryRun]:
        """Try the threads, with their comment pages."""
        for post in dict.fromkeys((*self._posts, *self._further)):
            if post not in self._posts and self.has_comments and not self._is_by_place:
                return
            if len(self._probe.asked) < MOST_PAGES or self._probe.has(post.address):
                yield from self._thread(post)

    def _thread(self, post: Request) -> Iterator[DryRun]:
        trial = attempt(self._probe, self._opened, post)
        yield trial
        comments = _comments_of(trial)
        if comments is not None and self._is_apart:
            trial = attempt(self._probe, self._opened, comments)
            yield trial
            comments = _comments_of(trial)
        if comments is not None and not self.has_comments:
            trial = attempt(self._probe, self._opened, comments)
            self.has_comments = bool(trial.rows)
            yield trial
            yield from _pages_behind(self._probe, self._opened, trial)


def _longest_behind(probe: HttpProbe, opened: CompiledSite, lists: Sequence[DryRun]) -> Iterator[DryRun]:
    """Try further list pages, and the longest of their threads with its comment page: the newest threads are short."""
    known, longer, last = [post for trial in lists for post in _children(trial)], list[DryRun](), lists[-1]
    for _ in range(MOST_LISTS):
        following = next((child for child in _children(last) if child.stage is Stage.LIST), None)
        if following is None or len(probe.asked) >= MOST_PAGES:
            break
        last = attempt(probe, opened, following)
        longer.append(last)
        yield last
    longest, _ = _various(longer, 1)
    for post in longest:
        if post not in known and len(probe.asked) < MOST_PAGES:
            tried = attempt(probe, opened, post)
            yield tried
            comments = _comments_of(tried)
            if comments is not None:
                yield attempt(probe, opened, comments)


def _pages_behind(probe: HttpProbe, opened: CompiledSite, trial: DryRun) -> Iterator[DryRun]:
    """Try the pages that a comment page leads on to: a wrong `next` comes back to one of them."""
    for _ in range(MOST_BEHIND):
        following = _comments_of(trial)
        if following is None or len(probe.asked) >= MOST_PAGES:
            return
        trial = attempt(probe, opened, following)
        yield trial


def _comments_of(trial: DryRun) -> Request | None:
    return next((child for child in _children(trial) if child.stage is Stage.COMMENT), None)


def try_boards(probe: HttpProbe, opened: CompiledSite) -> Iterator[DryRun]:
    """Try the first page of a few boards, and of those whose page is here already."""
    for place, board in enumerate(opened.site.boards):
        address = opened.address(Stage.LIST, board.id, 1)
        if place < MOST_BOARDS or probe.has(address):
            yield attempt(probe, opened, Request(opened.site.name, Stage.LIST, board.id, address))


def missing_in(trials: Sequence[DryRun]) -> list[str]:
    """Return the errors, and the indispensable fields that no page of their kind has."""
    lists = [trial for trial in trials if trial.request.stage is Stage.LIST and trial.parsed is not None]
    # A hub has no rows, and leads to other boards. A front page tells of boards, and shows no threads.
    shown = [
        trial for trial in lists
        if trial.rows or any(child.key != trial.request.key and not child.is_ping for child in _children(trial))
    ]  # fmt: skip
    missing = [] if shown or not lists else [f"list: no record was found on {lists[0].request.address}"]
    for trial in trials:
        like = [other for other in trials if other.request.stage is trial.request.stage and other.rows]
        # One thread may have gone since its list was read. Rules are to blame for a page that is there, or for all.
        if trial.is_refused and like:
            continue
        missing += [line for line in trial.missing() if trial.error or all(line in other.missing() for other in like)]
    return missing


def thin_fields(trials: Sequence[DryRun]) -> list[str]:
    """Return the fields that some records have and one of five has not: their rules are weak."""
    filled, records = Counter[str](), Counter[str]()
    for trial in trials:
        kinds = ((trial.request.stage, trial.coverage()), (Stage.COMMENT, trial.comments()))
        for name, field in ((f"{stage.value}.{field.field}", field) for stage, fields in kinds for field in fields):
            filled[name] += field.filled
            records[name] += field.records
    named = [name for name in records if name.partition(".")[2] not in OPTIONAL]
    return [f"{name}: found in {filled[name]} of {records[name]} records"
            for name in named if 0 < filled[name] * 5 < 4 * records[name]]  # fmt: skip


def _various(lists: Sequence[DryRun], most: int) -> tuple[list[Request], list[Request]]:
    """Return requests for the posts with most replies, whose pages show most, with fewest, and between; and the rest.

    Lists without reply counts do not tell long threads from short ones.
    """
    replies = {row.post_id: row.reply_count or 0 for trial in lists for row in trial.rows if isinstance(row, Post)}
    posts = {child.key: child for trial in lists for child in _children(trial) if child.stage is Stage.POST}
    ordered = sorted(posts.values(), key=lambda child: -replies.get(child.key, 0))
    last = len(ordered) - 1
    eighths = [last * part // 8 for part in range(8)]
    places = dict.fromkeys((0, eighths[1], eighths[4], last, 1, last - 1, eighths[2], eighths[6], *eighths))
    chosen = [ordered[place] for place in places if 0 <= place <= last][:most]
    return chosen, [request for request in ordered if request not in chosen]


def _children(trial: DryRun) -> tuple[Request, ...]:
    return trial.parsed.children if trial.parsed is not None else ()
