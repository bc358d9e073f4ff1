"""Between parse and commit: each item of a page through the steps of the crawl and of its site, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from crawl_tasks.errors import Crashed, PageError, SiteError
from crawl_tasks.items.bundled import compile_bundled
from crawl_tasks.items.verdict import Drop, Given, Item
from crawl_tasks.model import Comment, Parsed, Post, Request
from crawl_tasks.sites.functions import find_function
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.steps import ItemStep, Kind
from crawl_tasks.surrogates import whole_item

OFFERED = ("item", "site", "request")
MOST = 1000
"""Items that one item may become; more is a step that does not end."""

Step = Callable[[Item, Request], Given]


class Sieve:
    """The steps of one version of a site. Immutable: all threads may use one at once."""

    def __init__(self, steps: Sequence[ItemStep], site: Site) -> None:
        self._steps = [(step.of, _compiled(step, site)) for step in steps]

    def sift(self, request: Request, parsed: Parsed) -> Parsed:
        """Give the page with what the steps made of its items, and how many they dropped for which reason.

        Raises:
            Crashed: a step failed, or gave something that is no item.
            PageError: a step says what has become of the page.
        """
        dropped: Counter[str] = Counter()
        kept: list[Item] = []
        for post in parsed.items.posts:
            kept += self._through(post, request, dropped)
        for comment in parsed.items.comments:
            kept += self._through(comment, request, dropped)
        posts = tuple(one for one in kept if isinstance(one, Post))
        comments = tuple(one for one in kept if isinstance(one, Comment))
        items = parsed.items._replace(posts=posts, comments=comments)
        return parsed._replace(items=items, dropped=tuple(sorted(dropped.items())))

    def _through(self, item: Item, request: Request, dropped: Counter[str]) -> Sequence[Item]:
        """Pass one item through all the steps; what a step adds is seen by the later ones."""
        items: Sequence[Item] = (item,)
        for of, run in self._steps:
            passed: list[Item] = []
            for one in items:
                given = run(one, request) if _kind_of(one) in of else one
                if isinstance(given, Drop):
                    dropped[given.slug] += 1
                else:
                    passed += (given,) if isinstance(given, Post | Comment) else given
            items = passed
        return items


def _kind_of(item: Item) -> Kind:
    return Kind.POST if isinstance(item, Post) else Kind.COMMENT


def _compiled(step: ItemStep, site: Site) -> Step:
    if step.function is None:
        return compile_bundled(step)
    name = step.function
    function, wanted = find_function(name, f"{site.name}: items", OFFERED)
    if "item" not in wanted:
        raise SiteError(f"{site.name}: items: {name!r} does not ask for item; give it that parameter")

    def run(item: Item, request: Request) -> Given:
        offers = {"item": item, "site": site, "request": request}
        try:
            return _checked(function(**{one: offers[one] for one in wanted}))
        except PageError:
            raise
        except Exception as error:  # foreign code: whatever it raises parks the page, never the worker
            what = f"{type(error).__name__}: {error}"
            raise Crashed(f"{site.name}: items: {name}: {what}; {request.address}") from error

    return run


def _checked(given: object) -> Given:
    if isinstance(given, Drop):
        return given
    if isinstance(given, Post | Comment):
        return whole_item(given)
    if given is None or isinstance(given, str | dict) or not isinstance(given, Iterable):
        raise TypeError(f"it returned {type(given).__name__}; return the item, Drop(reason) or several items")
    found = tuple(islice(given, MOST + 1))
    if len(found) > MOST:
        raise ValueError(f"it made more than {MOST} items of one")
    for one in found:
        if not isinstance(one, Post | Comment):
            raise TypeError(f"it gave a {type(one).__name__}; give Post or Comment")
    return tuple(map(whole_item, found))
