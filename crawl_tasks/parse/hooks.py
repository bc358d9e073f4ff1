"""Parser hooks: a page read by a Python function that the site file names, in place of rules.

The function's parameter names select its arguments: `request`, `page`, `site`, `text`, `soup`, `json`, `tail`. The
function returns a `Parsed`, or any number of `Forum`, `Post`, `Comment` and `Request`. A function with any other
parameter is refused, so that a site file cannot run an arbitrary function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from crawl_tasks.errors import PageError, ParseError
from crawl_tasks.model import Comment, Forum, Items, Parsed, Post, Request, Stage
from crawl_tasks.model.item_checks import checked_item
from crawl_tasks.model.surrogates import whole_parsed
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.functions import failure_text, find_function
from crawl_tasks.sites.schema import Site

OFFERED = ("request", "page", "site", "text", "soup", "json", "tail")
Hook = Callable[[Request, Document, int], Parsed]


def load_hook(name: str, site: Site) -> Hook:
    """Return the named function as a page reader.

    Raises:
        SiteError: There is no such function, or the function has a parameter that is not offered.
    """
    function, wanted = find_function(name, f"{site.name}: parser", OFFERED)

    def read(request: Request, document: Document, tail: int) -> Parsed:
        given = {parameter: _offer(parameter, request, document, site=site, tail=tail) for parameter in wanted}
        try:
            result = function(**given)
            parsed = whole_parsed(result if isinstance(result, Parsed) else _gather(request, result))
            items = _typed(parsed.items)
            _check_ids(request, items)
            return parsed._replace(items=_dated(items, request, document.page.seen_at))
        except PageError:
            raise
        except Exception as error:
            # Foreign code may raise anything. The page is parked, the worker goes on.
            what = failure_text(error, function)
            raise ParseError(f"{request.site}: {request.stage}: parser {name}: {what}; {request.address}") from error

    return read


def _dated(items: Items, request: Request, seen_at: float) -> Items:
    """Return the items with the page's `seen_at`, which orders observations, in place of the function's moment."""
    # A page is the own page of one post only, whichever other posts the function finds there.
    is_page = request.stage is Stage.POST
    posts = (post._replace(seen_at=seen_at, is_page=is_page and post.post_id == request.key) for post in items.posts)
    comments = (comment._replace(seen_at=seen_at) for comment in items.comments)
    return items._replace(posts=tuple(posts), comments=tuple(comments))


def _typed(items: Items) -> Items:
    return items._replace(
        forums=tuple(map(checked_item, items.forums)),
        posts=tuple(map(checked_item, items.posts)),
        comments=tuple(map(checked_item, items.comments)),
    )


def _check_ids(request: Request, items: Items) -> None:
    """Refuse items whose ids cannot be those of the forum: all but one of them would be lost in the store.

    Raises:
        ParseError: different comments have one id, or a thread's page gave other posts alone.
    """
    first: dict[tuple[str, str], Comment] = {}
    for comment in items.comments:
        other = first.setdefault((comment.post_id, comment.comment_id), comment)
        if (comment.author, comment.created_at, comment.body) != (other.author, other.created_at, other.body):
            raise ParseError(
                f"it gave the comment_id {comment.comment_id[:40]!r} to different comments; give the forum's own"
            )
    if request.stage is Stage.POST and items.posts and all(post.post_id != request.key for post in items.posts):
        given = items.posts[0].post_id[:40]
        raise ParseError(f"it gave the post {given!r} and not that of the page; give it the post_id {request.key!r}")


def _offer(name: str, request: Request, document: Document, *, site: Site, tail: int) -> object:
    if name == "soup":
        return document.soup
    if name == "json":
        return document.json
    offers = {"request": request, "page": document.page, "site": site, "text": document.source, "tail": tail}
    return offers[name]


def _gather(request: Request, result: object) -> Parsed:
    if not isinstance(result, Iterable):
        raise ParseError(f"it returned {type(result).__name__}; return a Parsed or items")
    values = list(result)
    for value in values:
        if not isinstance(value, (Forum, Post, Comment, Request)):
            raise ParseError(f"it gave a {type(value).__name__}; give Forum, Post, Comment or Request")
    items = Items(
        request.site,
        tuple(value for value in values if isinstance(value, Forum)),
        tuple(value for value in values if isinstance(value, Post)),
        tuple(value for value in values if isinstance(value, Comment)),
    )
    children = tuple(value for value in values if isinstance(value, Request))
    tail = max((value.page for value in children if value.stage is Stage.COMMENT), default=0)
    return Parsed(items, children, tail)
