"""A page that is another post's than was asked for: reached by a link to a reply, or redirected after a move.

Nothing is stored of it. The post it is of is asked for by its own id, so that one topic stays one post whatever
addresses lead to it, and the guard lets it through once.
"""

from __future__ import annotations

from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import Items, Parsed, Request, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.kit import Kit, is_key
from crawl_tasks.sites.policy import GuardMode
from crawl_tasks.sites.rules import Plain


def told_elsewhere(kit: Kit, request: Request, document: Document, shown: Plain = None) -> Parsed | None:
    """Return what is left to do when a page is another post's; None if it is the one that was asked for.

    Args:
        kit: of the site.
        request: what was asked for.
        document: what came.
        shown: the post's id as the page shows it, None if it does not.
    """
    key = _key_of_redirect(kit, request, document) if shown is None else str(shown)
    if key is None or key == request.key or not is_key(key):
        return None
    note = f"is post {key}, not {request.key}: it is read there"
    address = kit.addresses.of(Stage.POST, key)
    if address is None or kit.site.guard.post is GuardMode.OFF:  # two pages that name each other would never end
        return Parsed(Items(request.site), notes=(note,))
    child = Request(request.site, Stage.POST, key, address, 1, request.revision, kit.rank(request, Stage.POST))
    return Parsed(Items(request.site), (child,), notes=(note,))


def _key_of_redirect(kit: Kit, request: Request, document: Document) -> str | None:
    """Return the id in the address that a redirect led to."""
    url = document.page.url
    if url == request.address:
        return None
    try:
        target = kit.addresses.read(url)
    except RefusedAddress:
        return None
    if target is None or target.stage is Stage.LIST:
        return None
    return target.key if kit.addresses.is_own_key(Stage.POST, target.key) else None
