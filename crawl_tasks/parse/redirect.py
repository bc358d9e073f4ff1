"""Redirect of a thread page: to another post, or to a list where the thread is gone."""

from __future__ import annotations

from contextlib import suppress

from crawl_tasks.errors import Gone, RefusedAddress
from crawl_tasks.model import Items, Parsed, Request, Stage
from crawl_tasks.parse.context import ParseContext, is_key
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.crawl_policy import GuardMode
from crawl_tasks.sites.field_rules import Plain


def redirected_post(
    context: ParseContext, request: Request, document: Document, post_id: Plain = None
) -> Parsed | None:
    """Return the follow-up of a page of another post, None for a page of the requested post.

    A link to a reply, or a move, redirects to another post. Nothing of such a page is stored. The other post is
    requested by its own id. So a topic stays one post whatever addresses lead there, and the guard admits the request
    once.

    Args:
        context: the parse context of the site.
        request: the request for the page.
        document: the page.
        post_id: the post id on the page, None if the page shows none.
    """
    key = _redirected_key(context, request, document) if post_id is None else str(post_id)
    if key is None or key == request.key or not is_key(key):
        return None
    note = f"is post {key}, not {request.key}: it is read there"
    address = context.addresses.of(Stage.POST, key)
    if address is None or context.site.guard.post is GuardMode.OFF:
        # Without a guard, two pages that name each other would be fetched for ever.
        return Parsed(Items(request.site), notes=(note,))
    child = Request(request.site, Stage.POST, key, address, 1, request.revision, context.rank(request, Stage.POST))
    return Parsed(Items(request.site), (child,), notes=(note,))


def gone_to_list(context: ParseContext, request: Request, document: Document) -> Gone | None:
    """Return the error of a page that a redirect led to a list: so some forums answer for a thread that is gone."""
    url = document.page.url
    with suppress(RefusedAddress):
        target = context.addresses.read(url) if url != request.address else None
        if target is not None and target.stage is Stage.LIST:
            return Gone(f"{request.site}: {request.stage}: the forum answers with a list, {url}; {request.address}")
    return None


def _redirected_key(context: ParseContext, request: Request, document: Document) -> str | None:
    """Return the post id in the address that a redirect led to."""
    url = document.page.url
    if url == request.address:
        return None
    try:
        target = context.addresses.read(url)
    except RefusedAddress:
        return None
    if target is None or target.stage is Stage.LIST:
        return None
    return target.key if context.addresses.is_own_key(Stage.POST, target.key) else None
