"""The reading of a page: its items and requests by the rules of the site, or the bot wall in the place of the page."""

from __future__ import annotations

import logging
import operator
import re
from collections.abc import Callable

from crawl_tasks.errors import AccessDenied, Challenged, Crashed, PageError, ParseError, RedirectRefused
from crawl_tasks.fetch.bot_walls import bot_wall_in
from crawl_tasks.fetch.redaction import hidden_note, items_without
from crawl_tasks.model import Comment, Fetched, Items, Lease, Parsed, Post, Request, Stage
from crawl_tasks.model.own_counters import HIDDEN_OF, count
from crawl_tasks.parse.values.charset import LOST
from crawl_tasks.registry.site_registry import CompiledSite
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.worker.page_validation import PageValidation

log = logging.getLogger(__name__)

_PARTICULAR = re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\d+")
_MOST_REMARKS = 100
_CUT = ("...", "…", "...]", "…]", "...)", "…)")

BEHIND_LOGIN = "behind_login"
"""The name of that mark in `extra`."""


def read_page(
    site: CompiledSite, lease: Lease, page: Fetched, tell_drop: Callable[[Post | Comment, str], None] | None = None,
    watch: PageValidation | None = None,
) -> Parsed:  # fmt: skip
    """Return the items and requests of a page, by the rules of its site, after the item pipeline.

    An unchanged page (304, RFC 9110 section 15.4.5) has none.

    Raises:
        PageError: the page cannot be read.
    """
    if page.is_unchanged:
        return Parsed(Items(lease.request.site))
    parsed = _parse(site, lease, page)
    # Before the item pipeline: items that it drops are no contradiction.
    if watch is not None:
        watch.check(site, lease.request, page, parsed)
    for note in parsed.notes:
        _remark(site, lease, note)
        if LOST in note:
            count(site.site.name, "undecoded_texts", int(note.partition(" ")[0]))
    if lease.request.stage is Stage.LIST and "title" in site.site.post.fields:
        parsed = parsed._replace(items=_without_cut_titles(parsed.items))
    if page.is_behind_login:
        parsed = parsed._replace(items=_marked(_without_secrets(site, lease, parsed.items, page)))
    if site.priority_of is not None:
        parsed = _prioritized(site, lease, parsed)
    return parsed if site.pipeline is None else site.pipeline.process(lease.request, parsed, tell_drop)


def _without_cut_titles(items: Items) -> Items:
    """Return rows of a list without titles that it cuts: each scan would put these over those of the threads' pages."""
    if not any(post.title and post.title.endswith(_CUT) for post in items.posts):
        return items
    posts = (post._replace(title=None) if post.title and post.title.endswith(_CUT) else post for post in items.posts)
    return items._replace(posts=tuple(posts))


def _without_secrets(site: CompiledSite, lease: Lease, items: Items, page: Fetched) -> Items:
    """Return items whose texts have no secret of the session. Addresses stay: a walk follows them."""
    clean, hidden = items_without(items, page)
    for name, texts in hidden.items():
        _remark(site, lease, hidden_note(name, texts))
        count(site.site.name, "hidden_secrets", texts)
        count(site.site.name, f"{HIDDEN_OF}{name}", texts)
    return clean


def _marked(items: Items) -> Items:
    """Return items with the mark of those that only members see, which the store and exports keep."""
    return items._replace(
        posts=tuple(item._replace(extra={**(item.extra or {}), BEHIND_LOGIN: "true"}) for item in items.posts),
        comments=tuple(item._replace(extra={**(item.extra or {}), BEHIND_LOGIN: "true"}) for item in items.comments),
    )


def gone_items(request: Request, addresses: Addresses, seen_at: float) -> Items:
    """Return the items of a page that does not exist: a post that is deleted, nothing for other pages."""
    if request.stage is not Stage.POST or not addresses.is_own_key(request.stage, request.key):
        return Items(request.site)
    post = Post(
        request.key, seen_at=seen_at, url=request.address, state="deleted",
        revision=request.revision or None, is_page=True,
    )  # fmt: skip
    return Items(request.site, posts=(post,))


def _prioritized(site: CompiledSite, lease: Lease, parsed: Parsed) -> Parsed:
    """Return the page with priorities by the site's own function. A request keeps its own where the function fails."""
    children = []
    for child in parsed.children:
        try:
            priority = site.priority_of(child, lease.request) if site.priority_of else child.priority
            children.append(child._replace(priority=max(0, min(9, operator.index(priority)))))
        except (Crashed, TypeError) as error:
            # An order is no reason to lose a page.
            _remark(site, lease, str(error))
            count(site.site.name, "priority_failed")
            children.append(child)
    return parsed._replace(children=tuple(children))


def _remark(site: CompiledSite, lease: Lease, note: str) -> None:
    """Log a remark of the rules, once for each kind: the next thousand pages will have the same."""
    # Without quoted texts and numbers, remarks about two posts are of one kind. The limit bounds memory and log.
    kind = f"{lease.request.stage} {_PARTICULAR.sub('', note)}"
    if kind not in site.remarked and len(site.remarked) < _MOST_REMARKS:
        site.remarked.add(kind)
        log.warning("page is read with a remark", extra={"remark": note})


def _parse(site: CompiledSite, lease: Lease, page: Fetched) -> Parsed:
    """Return the parsed page.

    Raises:
        ParseError: the rules read nothing.
        Challenged: a bot wall is in the place of the page, so no rule can be mended.
    """
    wall = None
    try:
        parsed = site.parser.parse(lease.request, page, lease.tail)
        if parsed.items.posts or parsed.items.comments or parsed.children:
            return parsed
        # A wall can satisfy lax rules and give an empty page, which would count as read.
        wall = bot_wall_in(page.headers, page.body)
    except ParseError:
        wall = bot_wall_in(page.headers, page.body)
        if wall is None:
            raise
    if wall is not None:
        raise Challenged(f"{page.url} answered {page.status} with a challenge ({wall})")
    return parsed


def page_before(request: Request, addresses: Addresses) -> tuple[Request, ...]:
    """Return the request for the page before a comment page that is gone, or nothing."""
    if request.stage is not Stage.COMMENT or request.page <= 2 or request.reach.whole:
        return ()
    address = addresses.of(Stage.COMMENT, request.key, request.page - 1)
    return () if address is None else (request._replace(address=address, page=request.page - 1, is_again=True),)


def is_hidden(request: Request, error: PageError) -> bool:
    """Return whether a thread that no list shows wants a login, which says that it is not for the public any more.

    Forums hide so what a moderator deletes or moves to a board for members. A thread that is listed and wants a login
    may always have done so.
    """
    return request.stage is Stage.POST and request.reach.is_unlisted and isinstance(error, AccessDenied)


def ends_walk(request: Request, error: PageError) -> bool:
    """Return whether a failed page is the end of its chain of pages, because the forum has no such page for guests.

    Such are a later page that redirects to an address that robots.txt forbids, and a later list page that asks for a
    login.
    """
    # Parked, such a page would hold the scan of its board open for good.
    is_wall = isinstance(error, AccessDenied) and not error.status and request.stage is Stage.LIST
    return request.page > 1 and (is_wall or isinstance(error, RedirectRefused))
