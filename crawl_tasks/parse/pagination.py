"""Pagination of a board walk: the rows of a list page that are entered, and the list pages that come next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from operator import ge

from crawl_tasks.model import Comment, Post, Reach, Request
from crawl_tasks.parse.pager import Pages
from crawl_tasks.parse.rules.convert import FALSE

LEADS_BACK = "`next` leads back, so the walk ends here; mend it"
"""The words of the note on a page that an earlier page of the walk showed already."""

# The last pages of a walk that are remembered one by one. Of the others, those numbered by powers of two are: a walk
# that turns back at page n to page m meets one before page 2m, and asks for half as many pages again at most.
_LAST = 8

# Follows a page's hash when the page came twice in a row. No hash in hexadecimal digits holds a plus sign.
_AGAIN = "+"


def alive(posts: Sequence[Post], reach: Reach) -> tuple[Post, ...]:
    """Return the posts without those last active before `since`. A post without any date stays."""
    if not reach.since:
        return tuple(posts)
    return tuple(post for post in posts if (_last_sign(post) or reach.since) >= reach.since)


def next_pages(request: Request, pages: Pages, posts: Sequence[Post], *, is_fan: bool) -> range | tuple[int, ...]:
    """Return the numbers of the list pages that this page leads to.

    A full pass and a walk with `since` go page by page, also on a board with `walk: fan`. A walk with `since` ends on
    the page whose last row is too old. Pinned threads do not count there: old ones stand first. A later page without
    any row leads nowhere, whatever the pager says.
    """
    reach = request.reach
    last = reach.pages or max(pages.count or 0, request.page + 1)
    if not posts and request.page > 1:
        return ()
    if reach.since and _is_too_old(posts, reach.since):
        return ()
    if is_fan and not (reach.since or reach.whole):
        return _all_further(request.page, pages.count, last)
    goes_on = pages.has_next or (is_fan and (pages.count or 0) > request.page)
    return (request.page + 1,) if goes_on and request.page < last else ()


def _all_further(page: int, count: int | None, last: int) -> range | tuple[int, ...]:
    return range(2, min(count, last) + 1) if page == 1 and count is not None else ()


def _is_too_old(posts: Sequence[Post], since: int) -> bool:
    """Return whether the last row with a date, pinned ones aside, was last active before `since`."""
    dated = [sign for post in posts if not is_pinned(post) and (sign := _last_sign(post)) is not None]
    return bool(dated) and dated[-1] < since


def following(request: Request, posts: Sequence[Post], *, is_fan: bool) -> Request | None:
    """Return the common parts of all next-page requests, None for a page that came twice before.

    A chain ends at a page without news, except where that proves nothing. Either all rows are pinned, or the rows are
    those of the page before, because a page's worth of threads was bumped meanwhile. A third such page is a forum that
    answers every number with its last page. Entries without pages of their own, as in a guest book, are no news to the
    guard: there a page leads on until its rows are those of the visit before.
    """
    if is_fan and not (request.reach.whole or request.reach.since):
        return request
    seen, mark = request.reach.shown, named(post.post_id for post in posts)
    if last_mark(seen) == mark + _AGAIN or walked_page(seen, mark):
        return None
    is_same = last_mark(seen) == mark
    must = is_fan or bool(request.reach.whole) or is_same or (bool(posts) and all(map(is_pinned, posts)))
    reach = request.reach._replace(shown=walked(seen, request.page, mark + _AGAIN if is_same else mark))
    if not must and posts and all(post.url is None for post in posts):
        return request._replace(reach=reach, only_if_new=False, revision=mark)
    return request._replace(reach=reach, only_if_new=not must)


def repeated(request: Request, posts: Sequence[Post], url: str) -> str:
    """Return a note on a list page that came before, and ends the walk."""
    mark = named(post.post_id for post in posts)
    if last_mark(request.reach.shown) == mark + _AGAIN:
        return f"page {request.page} shows what the two before it show: the list ends here"
    seen = walked_page(request.reach.shown, mark)
    return f"page {request.page} shows what page {seen} showed: {LEADS_BACK}; {url}"


def walked(before: str, page: int, mark: str) -> str:
    """Return the marks of a walk with that of a further page: of its last pages, and of those at powers of two.

    A mark is the page's number and the hash of its records: `1.0d2f,2.77ab`.
    """
    marks = [entry for entry in before.split(",") if entry]
    kept = [entry for entry in marks[: 1 - _LAST] if _is_power(entry.partition(".")[0])]
    return ",".join((*kept, *marks[1 - _LAST :], f"{page}.{mark}"))


def first_walked(comments: Sequence[Comment]) -> str:
    """Return the mark of the first page of a thread, whose comments are below the post."""
    return walked("", 1, named(comment.comment_id for comment in comments)) if comments else ""


def last_mark(marks: str) -> str:
    """Return the hash of the last page of a walk, empty for the first one."""
    return marks.rpartition(",")[2].rpartition(".")[2]


def walked_page(marks: str, *hashes: str) -> int:
    """Return the number of an earlier page, but the one before, that showed the same records, 0 for none."""
    for mark in marks.split(",")[:-1]:
        page, _, seen = mark.partition(".")
        if seen.removesuffix(_AGAIN) in hashes:
            return int(page)
    return 0


def _is_power(page: str) -> bool:
    return page.isdigit() and int(page).bit_count() == 1


def named(ids: Iterable[str]) -> str:
    """Return a short hash of the record ids of a page, by which a repeated page is recognised."""
    return blake2b(" ".join(ids).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def oldest_reply(posts: Sequence[Post]) -> int:
    """Return the last reply of a list page's last row, where the rows are in the order of their last replies, else 0.

    Pinned rows do not count. A scan ends where the last row is older than the newest one of the scan before.
    """
    times = [post.last_reply_at or 0 for post in posts if not is_pinned(post)]
    is_in_order = all(map(ge, times, times[1:]))
    return times[-1] if len(times) > 1 and is_in_order else 0


def is_pinned(post: Post) -> bool:
    """Return whether a row is above the others whatever its last reply."""
    return ((post.extra or {}).get("pinned") or "").strip().lower() not in FALSE


def _last_sign(post: Post) -> int | None:
    signs = [sign for sign in (post.last_reply_at, post.created_at, post.edited_at) if sign is not None]
    return max(signs, default=None)
