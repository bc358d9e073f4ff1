"""A full pass over a thread: the pages in sequence, and after the last one a report on comments that were not seen.

Only the last page of a thread reports, and only if all pages were read without a note. Each page enters the next one,
so that the last page is reached through all the others.
"""

from __future__ import annotations

from crawl_tasks.model import Fetched, Parsed, Request, Sweep


def first_page_read(request: Request, parsed: Parsed, page: Fetched, *, is_empty: bool) -> Parsed:
    """Return a post page of a full pass with one child, the first comment page, which leads to the others.

    Args:
        request: the request for the page.
        parsed: the page as parsed outside a full pass.
        page: the response. Its `seen_at` is the moment from which the pass has seen the thread.
        is_empty: the page says that the thread has no comments.
    """
    last = max((child.page for child in parsed.children), default=0)
    # A page with a note, or without the comments that must be there, may hide comments. Then absence proves nothing,
    # and 0 keeps the last page from a report.
    is_sure = not parsed.notes and (bool(parsed.items.comments) or is_empty or last > 0)
    reach = request.reach._replace(pages=last, read_from=page.seen_at if is_sure else 0)
    return _handed_on(request._replace(reach=reach), parsed, page)


def next_page_read(request: Request, parsed: Parsed, page: Fetched) -> Parsed:
    """Return a comment page of a full pass, with the following page as child or as the thread's last page.

    A cached page may be older than the first page. The report then speaks of the time before that older moment.
    """
    reach = request.reach
    is_sure = bool(parsed.items.comments) and not parsed.notes
    reach = reach._replace(read_from=min(reach.read_from, page.seen_at) if is_sure else 0)
    if parsed.children:
        reach = reach._replace(shown=parsed.children[0].reach.shown)
    return _handed_on(request._replace(reach=reach), parsed, page)


def _handed_on(request: Request, parsed: Parsed, page: Fetched) -> Parsed:
    """Return a page with the reach passed on to the next request, or after the last page with the report."""
    reach = request.reach
    if parsed.children:
        return parsed._replace(children=(parsed.children[0]._replace(reach=reach),))
    if not reach.read_from:
        return parsed
    # A comment seen in either of two looks exists, so the earlier look sets the limit.
    before = min(reach.read_from, reach.missed_from or reach.read_from)
    # A page that a cache made before the last look ended shows that look again and confirms nothing.
    counts = reach.read_from > reach.made_after
    made_after = page.seen_at + page.age_s if counts else reach.made_after
    sweep = Sweep(request.key, before, reach.whole, reach.look, request.priority, made_after, counts)
    sweep = sweep._replace(read_from=reach.read_from, looked_from=reach.looked_from)
    return parsed._replace(items=parsed.items._replace(swept=(sweep,)))
