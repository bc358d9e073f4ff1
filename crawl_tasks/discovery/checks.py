"""Checks of a site file by the forum's own pages: what lists say of threads, and threads of themselves.

Rules that fit one page may be wrong: a row's last author for its author, the page's own address for the next page, an
`empty` rule that fits a page with rows. Each check compares two statements of the forum that right rules read alike. A
check without enough to compare says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from crawl_tasks.discovery.dry_run import DryRun
from crawl_tasks.discovery.next_page import further_links
from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import UNREADABLE, Comment, Post, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.board import LISTS
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import Format

FEW: Final = 3
"""Rows from which on a likeness is no chance."""

LONGEST_NAME: Final = 40
"""A text above this length is no chance where it stands in another one."""

LONGEST_LABEL: Final = 16
"""Buttons below a text have fewer letters."""

LONGEST_AUTHOR: Final = 80
FUTURE_S: Final = 86_400 + 3600
"""A page's dates may be a day ahead: its zone may be wrong by that much."""

APART_S: Final = 2 * 86_400
"""The most by which a list and a thread may differ in the time of a post: lists often show days."""


class SiteCheck(NamedTuple):
    """One comparison. `name` is the statement that holds or is refuted, `evidence` the figures and an example."""

    name: str
    holds: bool
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.evidence}" if self.evidence else self.name


class ReadThread(NamedTuple):
    """A thread as the list shows it, and as its own pages do."""

    row: Post
    trial: DryRun
    post: Post
    comments: tuple[Comment, ...]


def check_trials(site: Site, trials: Sequence[DryRun]) -> list[SiteCheck]:
    """Return the checks for which the pages that were tried hold enough."""
    # A front page has boards in the place of threads.
    others = {board.id for board in site.own_boards if board.kind not in LISTS}
    lists = [
        one
        for one in trials
        if one.request.stage is Stage.LIST and one.parsed is not None and one.request.key not in others
    ]
    rows = {row.post_id: row for one in lists for row in one.rows if isinstance(row, Post)}
    threads = [
        ReadThread(rows[one.request.key], one, post, one.parsed.items.comments)
        for one in trials
        if one.request.stage is Stage.POST and one.parsed is not None and one.request.key in rows
        for post in one.parsed.items.posts[:1]
        if post.state not in UNREADABLE
    ]
    paged = [one for one in trials if one.request.stage is Stage.COMMENT and one.parsed is not None]
    checks = [
        *_of_lists(site, lists),
        *_of_rows(site, lists),
        *_of_threads(threads),
        *_of_comments(site, threads, paged),
    ]
    checks += [*_of_ends([one.trial for one in threads])] if site.engine is None else []
    return [one for one in checks if one is not None]


def _of_lists(site: Site, lists: Sequence[DryRun]) -> Iterator[SiteCheck | None]:
    first = {one.request.key: _ids(one) for one in lists if one.request.page == 1 and len(_ids(one)) >= FEW}
    same = [(one, other) for one, other in pairwise(first) if first[one] == first[other]]
    if len(first) > 1:
        yield SiteCheck(
            "boards list different threads", not same, f"boards {' and '.join(same[0])} do not" if same else ""
        )
    second = next((one for one in lists if one.request.page > 1), None)
    if second is not None and second.request.key in first and len(_ids(second)) >= FEW:
        known = len(_ids(second) & first[second.request.key])
        text = f"{known} of {len(_ids(second))} threads stand on the page before"
        yield SiteCheck("the next page lists further threads", 2 * known < len(_ids(second)), text if known else "")
    for one in lists:
        lost = [note for note in one.parsed.notes if "left out" in note] if one.parsed is not None else []
        if lost and site.engine is None:
            yield SiteCheck("every row is a thread", False, lost[0])
    met = [(one, other, len(first[one] & first[other])) for one, other in combinations(first, 2)]
    many = next((f"{n} in {one} and {other}" for one, other, n in met if n >= FEW), "")
    if met and not same and site.engine is None:
        yield SiteCheck("a thread stands in one board", not many, many)
    if site.engine is None:
        yield from _of_ends(lists)
    addresses = Addresses(site)
    linked = [_thread_links(one, addresses) for one in lists] if site.list.format is Format.HTML else []
    # The newest threads, which every page shows, are no rows.
    everywhere = set.intersection(*linked) if len(linked) > 1 else set()
    for one, found in zip(lists, linked, strict=bool(linked)):
        if not one.rows and len(found - everywhere) >= FEW:
            links = len(found - everywhere)
            yield SiteCheck(
                "a board without rows is empty", False, f"{links} threads are linked on {one.request.address}"
            )


def _of_ends(pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield what refutes a pager that found no further page."""
    for one in pages:
        if one.parsed is None or one.page is None or any(child.page > 1 for child in one.parsed.children):
            continue
        links = [] if one.request.page > 1 else further_links(Document(one.page))
        if links and one.rows:
            yield SiteCheck("pages without a next one end there", False, f"{links[0]} is linked on {one.page.url}")
            return


def _thread_links(trial: DryRun, addresses: Addresses) -> set[str]:
    """Return the threads that links of a page name."""
    found: set[str] = set()
    if trial.page is None:
        return found
    document = Document(trial.page)
    for node in document.root.css("a[href]"):
        try:
            url = document.absolute(node.attributes.get("href") or "")
            target = addresses.read(url) if url is not None and addresses.is_ours(url) else None
        except RefusedAddress:
            continue
        if target is not None and target.stage is Stage.POST:
            found.add(target.key)
    return found


def _of_rows(site: Site, lists: Sequence[DryRun]) -> Iterator[SiteCheck | None]:
    rows = [row for one in lists for row in one.rows if isinstance(row, Post)]
    for one in lists:
        titles = [row.title for row in one.rows if isinstance(row, Post) and row.title]
        if len(titles) > FEW and len(set(titles)) == 1:
            yield SiteCheck("titles of a list differ", False, f"all {len(titles)} are {titles[0][:60]!r}")
    yield _authors("authors of lists are names", [(row.author, row.title) for row in rows])
    now = max((one.page.at_s for one in lists if one.page is not None), default=0.0)
    yield _mostly(
        "times of lists are in the past",
        [row.created_at <= now + FUTURE_S for row in rows if row.created_at is not None],
    )
    if rows and site.list.revision:
        yield SiteCheck("rows show when a thread has news", any(row.revision for row in rows))
    both = [row for row in rows if row.created_at is not None and row.last_reply_at is not None]
    # A day is written without its hour, and then counts from midnight.
    yield _mostly(
        "no last reply is older than its post",
        [(row.last_reply_at or 0) >= (row.created_at or 0) - 86_400 for row in both],
    )


def _authors(name: str, pairs: Sequence[tuple[str | None, str | None]]) -> SiteCheck | None:
    said = [(author, text) for author, text in pairs if author]
    same = [author for author, text in said if _letters(author) == _letters(text or "")]
    odd = [author for author, _ in said if len(author) > LONGEST_AUTHOR or _is_no_name(author)]
    bad = same + [author for author in odd if author not in same]
    # One name alone may look odd. One that is the text itself is none.
    if len(said) < (1 if same else FEW):
        return None
    return SiteCheck(name, 2 * len(bad) < len(said), f"{len(bad)} are not, as {bad[0][:60]!r}" if bad else "")


def _is_no_name(author: str) -> bool:
    # A date or a clock: a user may well be called 1984.
    return bool(re.fullmatch(r"[\d\s.,:/-]*\d[.:/-]\d[\d\s.,:/-]*", author))


def _mostly(name: str, verdicts: Sequence[bool], example: str = "") -> SiteCheck | None:
    """Return a check of many comparisons, which is refuted where half of them or more fail."""
    if not verdicts:
        return None
    failed = verdicts.count(False)
    return SiteCheck(name, 2 * failed < len(verdicts), f"{failed} of {len(verdicts)} fail{example}" if failed else "")


def _of_threads(threads: Sequence[ReadThread]) -> Iterator[SiteCheck | None]:
    titles = [(one.row.title, one.post.title) for one in threads if one.row.title and one.post.title]
    differs = next((f", as {row!r:.60} and {page!r:.60}" for row, page in titles if not _alike(row, page)), "")
    yield _mostly("a thread has the title of its row", [_alike(row, page) for row, page in titles], differs)
    authors = [(one.row.author, one.post.author) for one in threads if one.row.author and one.post.author]
    differs = next((f", as {row!r:.60} and {page!r:.60}" for row, page in authors if row != page), "")
    yield _mostly("a thread has the author of its row", [row == page for row, page in authors], differs)
    yield _authors("authors of threads are names", [(one.post.author, one.post.title) for one in threads])
    times = [(one.row.created_at, one.post.created_at) for one in threads]
    pairs = [(row, page) for row, page in times if row is not None and page is not None]
    yield _mostly("a thread began when its row says", [abs(row - page) <= APART_S for row, page in pairs])
    counted = [(one, one.row.reply_count) for one in threads if one.row.reply_count is not None]
    verdicts = [(_fits(one, count), one, count) for one, count in counted]
    example = next(
        (
            f", as {one.trial.request.address}: {count} in the list, {len(one.comments)} read"
            for fits, one, count in verdicts
            if not fits
        ),
        "",
    )
    yield _mostly("threads have the replies that lists count", [fits for fits, _, _ in verdicts], example)
    bodies = [one.post.body for one in threads if one.post.body]
    mixed = sum(any(len(text := comment.body or "") > LONGEST_NAME and text in (one.post.body or "")
                    for comment in one.comments) for one in threads)  # fmt: skip
    if any(one.comments for one in threads):
        text = f"{mixed} of {len(threads)} fail" if mixed else ""
        yield SiteCheck("a post's text is without its comments", not mixed, text)
    yield _mostly(
        "a post's text is not its title", [one.post.body != one.post.title for one in threads if one.post.body]
    )
    if len(bodies) >= FEW:
        yield SiteCheck("posts have texts of their own", len(set(bodies)) > 1, f"all are {bodies[0][:60]!r}"
                    if len(set(bodies)) == 1 else "")  # fmt: skip


def _alike(row: str, page: str) -> bool:
    """Return whether two titles may be the same one: lists cut titles, and pages add the forum's name."""
    one, other = _letters(row), _letters(page)
    return bool(one) and bool(other) and (one in other or other in one)


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def _fits(thread: ReadThread, count: int) -> bool:
    """Return whether the comments read may be all of the replies counted. One may have come or gone meanwhile."""
    read = len(thread.comments)
    parsed = thread.trial.parsed
    if parsed is not None and any(child.stage is Stage.COMMENT for child in parsed.children):
        return 0 < read <= count + 1
    return abs(read - count) <= (count > 2 * FEW)


def _of_comments(site: Site, threads: Sequence[ReadThread], paged: Sequence[DryRun]) -> Iterator[SiteCheck | None]:
    for thread in threads:
        yield from _of_thread_comments(thread)
    first = {one.row.post_id: {comment.comment_id for comment in one.comments} for one in threads}
    for one in paged:
        ids = {row.comment_id for row in one.rows if isinstance(row, Comment)}
        known = len(ids & first.get(one.request.key, set()))
        if len(ids) >= FEW:
            text = f"{known} of {len(ids)} stand on the page before" if known else ""
            yield SiteCheck("the next page of a thread has further comments", 2 * known < len(ids), text)
    comments = [comment for one in threads for comment in one.comments]
    comments += [row for one in paged for row in one.rows if isinstance(row, Comment)]
    yield _authors("authors of comments are names", [(one.author, one.body) for one in comments])
    whole = [one for one in comments if one.state not in UNREADABLE]
    if site.engine is None:
        if len(threads) >= FEW and not comments:
            yield SiteCheck("threads have comments", False, f"none was read in {len(threads)} threads")
        # The store has what either page shows.
        said = [
            (one.post.author or one.row.author, one.post.created_at or one.row.created_at, one.post.body)
            for one in threads
        ]
        yield from _of_records("posts", said)
        yield from _of_records("comments", [(one.author, one.created_at, one.body) for one in whole])
    if len(whole) >= FEW:
        yield _mostly("comments have texts", [bool(one.body or one.body_html) for one in whole])
        bodies = Counter(one.body for one in whole if one.body)
        if bodies:
            text, times = bodies.most_common(1)[0]
            yield SiteCheck("comments have texts of their own", 2 * times < len(whole) or times < FEW,
                        f"{times} of {len(whole)} are {text[:60]!r}" if times >= FEW else "")  # fmt: skip


def _of_records(kind: str, said: Sequence[tuple[str | None, int | None, str | None]]) -> Iterator[SiteCheck | None]:
    """Yield checks of proposed rules by author, time and text of records: none is missing, and none is in another."""
    if len(said) < FEW:
        return
    for name, there in (("an author", [one for one, _, _ in said]), ("a time", [at for _, at, _ in said])):
        lost = there.count(None)
        yield SiteCheck(f"{kind} show {name}", lost * 10 < len(said), f"{lost} of {len(said)} do not" if lost else "")
    times = {at for _, at, _ in said if at is not None}
    yield SiteCheck(f"{kind} have times of their own", len(times) > 1 or not times)
    texts = [text for _, _, text in said if text]
    named = sum(author is not None and text is not None and author in text for author, _, text in said)
    text = f"{named} of {len(said)} hold the name of their author" if named else ""
    yield SiteCheck(f"texts of {kind} are without their authors", 2 * named <= len(said), text)
    for place, word in ((0, "begin"), (-1, "end")):
        lines = Counter(re.sub(r"[\d\W]+", "", text.split("\n")[place]) for text in texts if "\n" in text)
        line, count = lines.most_common(1)[0] if lines else ("", 0)
        if count >= FEW and len(line) <= LONGEST_LABEL:
            yield SiteCheck(f"texts of {kind} do not all {word} alike", 2 * count < len(texts),
                            f"{count} of {len(texts)} with {line[:40]!r}")  # fmt: skip


def _of_thread_comments(thread: ReadThread) -> Iterator[SiteCheck | None]:
    """Yield what refutes the comments of one thread. Right ones need no line for each thread."""
    seen: set[str] = set()
    for one in thread.comments:
        if one.parent_id is not None and one.parent_id not in seen and one.parent_id != thread.row.post_id:
            later = any(other.comment_id == one.parent_id for other in thread.comments)
            if later:
                yield SiteCheck(
                    "parents stand before their children", False, f"{one.comment_id} before {one.parent_id}"
                )
                return
        seen.add(one.comment_id)
    parsed = thread.trial.parsed
    count = thread.row.reply_count
    has_more = parsed is not None and any(child.stage is Stage.COMMENT for child in parsed.children)
    if count is not None and len(thread.comments) + FEW < count and not has_more:
        yield SiteCheck("a long thread leads to its further pages", False,
                        f"{len(thread.comments)} of {count} read on {thread.trial.request.address}")  # fmt: skip
    began = thread.post.created_at
    times = [one.created_at for one in thread.comments if one.created_at is not None]
    if began is not None and len(times) >= FEW:
        older = sum(at < began - FUTURE_S for at in times)
        if 2 * older >= len(times):
            yield SiteCheck("comments are younger than their post", False,
                        f"{older} of {len(times)} are older on {thread.trial.request.address}")  # fmt: skip


def _ids(trial: DryRun) -> set[str]:
    return {row.post_id for row in trial.rows if isinstance(row, Post)}
