"""A full pass over a thread: the pages in sequence, and after the last one a report on comments that were not seen.

Only the last page of a thread reports, and only if all pages were read without a note. Each page enters the next one,
so that the last page is reached through all the others.
"""

from __future__ import annotations

from typing import Final

from crawl_tasks.model import Fetched, Parsed, Request, Sweep
from crawl_tasks.parse.pagination import first_walked

AGE_STEP_S: Final = 1
"""The header Age counts whole seconds (RFC 9111, 5.1), so a copy may be up to one second older than its Age says."""


def first_page_read(request: Request, parsed: Parsed, page: Fetched, *, is_empty: bool) -> Parsed:
    """Return a post page of a full pass with one child, the first comment page, which leads to the others.

    Args:
        request: the request for the page.
        parsed: the page as parsed outside a full pass.
        page: the response. Its `seen_at` is the moment from which the pass has seen the thread.
        is_empty: the page says that the thread has no comments.
    """
    last = max((child.page for child in parsed.children), default=0)
    # A page with a note may hide comments. Then absence proves nothing, and 0 keeps the last page from a report.
    reach = request.reach._replace(pages=last, read_from=0 if parsed.notes else page.seen_at)
    if parsed.items.comments:
        # A forum may answer each number with its first page.
        reach = reach._replace(shown=first_walked(parsed.items.comments))
    return _handed_on(request._replace(reach=reach), parsed, page, is_bare=not (parsed.items.comments or is_empty))


def next_page_read(request: Request, parsed: Parsed, page: Fetched) -> Parsed:
    """Return a comment page of a full pass, with the following page as child or as the thread's last page.

    A cached page may be older than the first page. The report then speaks of the time before that older moment.
    """
    reach = request.reach
    is_bare = not (parsed.items.comments or parsed.children) and request.page == 1
    is_sure = (is_bare or bool(parsed.items.comments)) and not parsed.notes
    reach = reach._replace(read_from=min(reach.read_from, page.seen_at) if is_sure else 0)
    if parsed.children:
        reach = reach._replace(shown=parsed.children[0].reach.shown)
    return _handed_on(request._replace(reach=reach), parsed, page, is_bare=is_bare)


def _handed_on(request: Request, parsed: Parsed, page: Fetched, *, is_bare: bool) -> Parsed:
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
    made_after = reach.made_after
    if counts:
        made_after = page.seen_at + page.age_s + page.elapsed_ms / 1000 + AGE_STEP_S
    # A page whose comments the rules do not find looks bare too. Only the store can ask the list's count.
    sweep = Sweep(request.key, before, reach.whole, reach.look, request.priority, made_after, counts)
    sweep = sweep._replace(read_from=reach.read_from, looked_from=reach.looked_from, is_bare=counts and is_bare)
    return parsed._replace(items=parsed.items._replace(swept=(sweep,)))
