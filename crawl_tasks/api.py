"""The Python API: the names that a parser function, an item step or a program around the crawler may import.

Nothing else in this package is promised to keep its name or its meaning between versions. The Celery tasks
`fetch_list`, `fetch_post` and `fetch_comment` of `crawl_tasks.tasks` are public as well. They are not imported here,
because a site's function must not build the Celery app.

A parser function (`parser:` of a site file) takes any of `request`, `page`, `site`, `text`, `soup`, `json` and `tail`
as parameters, and returns items and requests. An item step (`items:`) takes `item`, and `site` and `request` where
the step names them. A step returns the item, several items, or `DropItem`.

    def parse(request: Request, soup: BeautifulSoup) -> Iterator[Post | Comment]: ...
    def step(item: Post | Comment) -> Post | Comment | DropItem: ...

`prepare_request` takes `http`, `request` and `site`, and returns the `HttpRequest` to send. `on_response` takes `page`,
`request` and `site`, and returns the page.

Errors tell the crawler the fate of a page: `Gone` counts the page as answered, `ParseError` parks the page until the
rules are mended, `AccessDenied` and `Challenged` name a wall, `SlowDown` makes the whole site wait.
"""

from __future__ import annotations

from crawl_tasks.errors import AccessDenied, Challenged, Gone, PageError, ParseError, SlowDown
from crawl_tasks.items.steps import DropItem
from crawl_tasks.model import Comment, Fetched, Forum, HttpRequest, Items, Parsed, Post, Priority, Request, Stage
from crawl_tasks.model.own_counters import count
from crawl_tasks.sites.request_headers import forum_secret
from crawl_tasks.sites.schema import Site

__all__ = [
    "AccessDenied",
    "Challenged",
    "Comment",
    "DropItem",
    "Fetched",
    "Forum",
    "Gone",
    "HttpRequest",
    "Items",
    "PageError",
    "ParseError",
    "Parsed",
    "Post",
    "Priority",
    "Request",
    "Site",
    "SlowDown",
    "Stage",
    "count",
    "forum_secret",
]
