"""A thread in a full pass: its pages one after the other, and at the end the word that what was not seen is gone.

Only the last page of a thread whose pages all were read without a remark says so: each enters the next, so that the
last one is reached through all the others.
"""

from __future__ import annotations

from crawl_tasks.model import Fetched, Parsed, Request, Sweep


def first_page_read(request: Request, parsed: Parsed, page: Fetched, *, is_empty: bool) -> Parsed:
    """Return a post page of a full pass: with the first of its comment pages only, which leads to the others.

    Args:
        request: what was asked for.
        parsed: the page as it is read at other times.
        page: what came; from its `seen_at` on everything that is there is seen.
        is_empty: the page says that the thread has no comments.
    """
    last = max((child.page for child in parsed.children), default=0)
    is_sure = not parsed.notes and (bool(parsed.items.comments) or is_empty or last > 0)
    reach = request.reach._replace(pages=last, read_from=page.seen_at if is_sure else 0)
    return _handed_on(request._replace(reach=reach), parsed, page)


def next_page_read(request: Request, parsed: Parsed, page: Fetched) -> Parsed:
    """Return a comment page of a full pass: with the page after it, or as the thread's last.

    A page from a cache may be older than the first one: then the pass speaks of what was seen since that moment.
    """
    reach = request.reach
    is_sure = bool(parsed.items.comments) and not parsed.notes
    reach = reach._replace(read_from=min(reach.read_from, page.seen_at) if is_sure else 0)
    if parsed.children:
        reach = reach._replace(shown=parsed.children[0].reach.shown)
    return _handed_on(request._replace(reach=reach), parsed, page)


def _handed_on(request: Request, parsed: Parsed, page: Fetched) -> Parsed:
    """Return a page with the reach handed on to the next one or, after the last, with the word of the pass."""
    reach = request.reach
    if parsed.children:
        return parsed._replace(children=(parsed.children[0]._replace(reach=reach),))
    if not reach.read_from:
        return parsed
    before = min(reach.read_from, reach.missed_from or reach.read_from)
    counts = reach.read_from > reach.made_after
    made_after = page.seen_at + page.age_s if counts else reach.made_after
    sweep = Sweep(request.key, before, reach.whole, reach.look, request.priority, made_after, counts)
    return parsed._replace(items=parsed.items._replace(swept=(sweep,)))
