"""How a walk over a board goes on: which rows of a list page are entered, and which list pages come next."""

from __future__ import annotations

from collections.abc import Sequence

from crawl_tasks.model import Post, Reach, Request
from crawl_tasks.parse.pager import Pages


def alive(posts: Sequence[Post], reach: Reach) -> tuple[Post, ...]:
    """Leave out the threads whose last sign of life is before `since`; one without any date stays."""
    if not reach.since:
        return tuple(posts)
    return tuple(post for post in posts if (_last_sign(post) or reach.since) >= reach.since)


def next_pages(request: Request, pages: Pages, posts: Sequence[Post], *, is_fan: bool) -> range | tuple[int, ...]:
    """Return the list pages that this one leads to.

    A full pass, and a walk with a `since`, goes page by page, also on a board that is otherwise entered at once. With a
    `since` it ends on the page whose last row is too old: pinned threads, which are old too, stand first.
    """
    reach = request.reach
    last = reach.pages or max(pages.count or 0, request.page + 1)
    if reach.since:
        dated = [sign for post in posts if (sign := _last_sign(post)) is not None]
        if dated and dated[-1] < reach.since:
            return ()
    elif is_fan and not reach.whole and request.page == 1 and pages.count is not None:
        return range(2, min(pages.count, last) + 1)
    elif is_fan and not reach.whole:
        return ()
    goes_on = pages.has_next or (is_fan and (pages.count or 0) > request.page)
    return (request.page + 1,) if goes_on and request.page < last else ()


def _last_sign(post: Post) -> int | None:
    signs = [sign for sign in (post.last_reply_at, post.created_at, post.edited_at) if sign is not None]
    return max(signs, default=None)
