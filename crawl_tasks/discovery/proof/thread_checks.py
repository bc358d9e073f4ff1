"""Thread checks: what lists say of threads, and what the pages of these say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from crawl_tasks.discovery.proof.read_pages import ReadPages, ReadThread
from crawl_tasks.discovery.proof.site_check import FEW, FUTURE_S, SiteCheck, mostly, names_check
from crawl_tasks.parse.values.text import letters

LONGEST_NAME: Final = 40
"""A text above this length is no chance where it is in another one."""

APART_S: Final = 2 * 86_400
"""The most by which a list and a thread may differ in the time of a post: lists often show days."""


def titles_agree(pages: ReadPages) -> SiteCheck | None:
    """Return whether a thread has the title of its row."""
    titles = _titles(pages.threads)
    differs = next((f", as {row!r:.60} and {page!r:.60}" for row, page in titles if not _are_alike(row, page)), "")
    verdicts = [_are_alike(row, page) for row, page in titles]
    return mostly("a thread has the title of its row", verdicts, differs, _most(pages))


def _most(pages: ReadPages) -> float:
    # A reply may have come or gone meanwhile. Rules that nobody wrote have to fit nearly everywhere.
    return 0.2 if pages.is_proposed else 0.5


def _titles(threads: Sequence[ReadThread]) -> list[tuple[str, str]]:
    """Return the titles of threads in the list and on their pages, where both are known."""
    titles = [(thread.row.title, thread.post.title) for thread in threads]
    return [(row, page) for row, page in titles if row and page]


def _are_alike(row: str, page: str) -> bool:
    """Return whether two titles may be the same one: lists cut titles, and pages add the forum's name."""
    shorter, longer = sorted((letters(row), letters(page)), key=len)
    return bool(shorter) and shorter in longer


def titles_differ(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of proposed rules by which most threads have one title."""
    titles = [thread.post.title for thread in pages.threads if thread.post.title]
    if not pages.is_proposed or len(titles) < FEW:
        return None
    title, often = Counter(titles).most_common(1)[0]
    if 2 * often <= len(titles) or often < FEW:
        return None
    return SiteCheck("titles of threads differ", False, f"{often} of {len(titles)} are {title[:60]!r}")


def titles_have_no_label(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of proposed rules by which titles of pages have more words than those of rows."""
    labels = [label for row, page in _titles(pages.threads) if (label := _label(row, page))]
    if not pages.is_proposed or len(labels) < FEW:
        return None
    return SiteCheck("titles of threads are without a label", False, repr(labels[0]))


def _label(row: str, page: str) -> str:
    """Return the letters that a page has around the title of a row, which may be cut."""
    start = row.removesuffix("…").removesuffix("...")
    before, middle, after = page.partition(start)
    if not middle:
        return ""
    return letters(before) or letters(after if start == row else "")


def authors_agree(pages: ReadPages) -> SiteCheck | None:
    """Return whether a thread has the author of its row."""
    pairs = [(thread.row.author, thread.post.author) for thread in pages.threads]
    authors = [(row, page) for row, page in pairs if row and page]
    differs = next((f", as {row!r:.60} and {page!r:.60}" for row, page in authors if row != page), "")
    return mostly("a thread has the author of its row", [row == page for row, page in authors], differs)


def boards_agree(pages: ReadPages) -> SiteCheck | None:
    """Return whether a thread names the board that lists it."""
    pairs = [(thread.row.forum_id, thread.post.forum_id) for thread in pages.threads]
    verdicts = [row == page for row, page in pairs if row and page]
    # Some programs list a thread on two boards.
    return mostly("a thread's page names the board that lists it", verdicts)


def authors_are_names(pages: ReadPages) -> SiteCheck | None:
    """Return whether authors of threads are names."""
    pairs = [(thread.post.author, thread.post.title) for thread in pages.threads]
    return names_check("authors of threads are names", pairs)


def times_agree(pages: ReadPages) -> SiteCheck | None:
    """Return whether a thread began when its row says so."""
    times = [(thread.row.created_at, thread.post.created_at) for thread in pages.threads]
    verdicts = [abs(row - page) <= APART_S for row, page in times if row is not None and page is not None]
    return mostly("a thread began when its row says", verdicts)


def replies_are_read(pages: ReadPages) -> SiteCheck | None:
    """Return whether threads have as many replies as their rows count."""
    counted = [(thread, thread.row.reply_count) for thread in pages.threads]
    fits = [(thread, count, _fits(thread, count)) for thread, count in counted if count is not None]
    unfit = next((
        f", as {thread.trial.request.address}: {count} in the list, {len(thread.comments)} read"
        for thread, count, is_fit in fits if not is_fit
    ), "")  # fmt: skip
    verdicts = [is_fit for *_, is_fit in fits]
    return mostly("threads have the replies that lists count", verdicts, unfit, _most(pages))


def _fits(thread: ReadThread, count: int) -> bool:
    """Return whether the comments read may be all of the replies counted. One may have come or gone meanwhile."""
    read = len(thread.comments)
    if thread.leads_to_comments:
        return 0 < read <= count + 1
    return 0 <= count - read <= thread.gaps or abs(read - count) <= (count > 2 * FEW)


def posts_hold_no_comments(pages: ReadPages) -> SiteCheck | None:
    """Return whether no text of a post holds that of a comment."""
    if not any(thread.comments for thread in pages.threads):
        return None
    mixed = sum(map(_holds_comment, pages.threads))
    evidence = f"{mixed} of {len(pages.threads)} fail" if mixed else ""
    return SiteCheck("a post's text is without its comments", not mixed, evidence)


def _holds_comment(thread: ReadThread) -> bool:
    texts = [comment.body or "" for comment in thread.comments]
    return any(len(text) > LONGEST_NAME and text in (thread.post.body or "") for text in texts)


def posts_are_no_titles(pages: ReadPages) -> SiteCheck | None:
    """Return whether texts of posts are not their titles."""
    posts = [thread.post for thread in pages.threads if thread.post.body]
    return mostly("a post's text is not its title", [post.body != post.title for post in posts])


def comments_have_order(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield what refutes the comments of each thread. Right ones need no line for each thread."""
    for thread in pages.threads:
        child = _child_before_parent(thread)
        if child is not None:
            yield child
            continue
        yield from filter(None, (_missing_pages(thread), _older_comments(thread)))


def _child_before_parent(thread: ReadThread) -> SiteCheck | None:
    seen: set[str] = set()
    for comment in thread.comments:
        later = (other.comment_id for other in thread.comments if other.comment_id not in seen)
        parent = comment.parent_id
        if parent is not None and parent != thread.row.post_id and parent in later:
            return SiteCheck("parents stand before their children", False, f"{comment.comment_id} before {parent}")
        seen.add(comment.comment_id)
    return None


def _missing_pages(thread: ReadThread) -> SiteCheck | None:
    count, read = thread.row.reply_count, len(thread.comments)
    if count is None or read + thread.gaps + FEW >= count or thread.leads_to_comments:
        return None
    evidence = f"{read} of {count} read on {thread.trial.request.address}"
    return SiteCheck("a long thread leads to its further pages", False, evidence)


def _older_comments(thread: ReadThread) -> SiteCheck | None:
    began = thread.post.created_at
    times = [comment.created_at for comment in thread.comments if comment.created_at is not None]
    if began is None or len(times) < FEW:
        return None
    older = sum(at < began - FUTURE_S for at in times)
    if 2 * older < len(times):
        return None
    evidence = f"{older} of {len(times)} are older on {thread.trial.request.address}"
    return SiteCheck("comments are younger than their post", False, evidence)
