"""The item pipeline: each item of a page passes the steps of the crawl and of its site, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from crawl_tasks.errors import Crashed, PageError, SiteError
from crawl_tasks.items.steps import DropItem, Given, Item, compile_bundled
from crawl_tasks.model import Comment, Parsed, Post, Request
from crawl_tasks.model.item_checks import checked_item
from crawl_tasks.sites.functions import failure_text, find_function
from crawl_tasks.sites.item_steps import ItemStep, StepKind
from crawl_tasks.sites.schema import Site

OFFERED = ("item", "site", "request")
MOST = 1000
"""Items that one item may become. A step that makes more is taken for one that does not end."""

Step = Callable[[Item, Request], Given]


class ItemPipeline:
    """The compiled steps of one version of a site. Immutable, so that all threads may share one."""

    def __init__(self, steps: Sequence[ItemStep], site: Site) -> None:
        self._steps = [(step.of, _compiled(step, site)) for step in steps]

    def process(self, request: Request, parsed: Parsed, tell_drop: Callable[[Item, str], None] | None = None) -> Parsed:
        """Return the page with the items that the steps made, and with the number of drops by reason.

        `tell_drop` gets each dropped item with the reason.

        Raises:
            Crashed: A step failed, or returned something that is no item.
            PageError: A step raised this error to decide the fate of the page.
        """
        dropped: Counter[str] = Counter()
        kept: list[Item] = []
        for post in parsed.items.posts:
            kept += self._through(post, request, dropped, tell_drop)
        for comment in parsed.items.comments:
            kept += self._through(comment, request, dropped, tell_drop)
        posts = tuple(item for item in kept if isinstance(item, Post))
        comments = tuple(item for item in kept if isinstance(item, Comment))
        items = parsed.items._replace(posts=posts, comments=comments)
        return parsed._replace(items=items, dropped=tuple(sorted(dropped.items())))

    def _through(
        self, item: Item, request: Request, dropped: Counter[str], tell_drop: Callable[[Item, str], None] | None
    ) -> Sequence[Item]:
        """Return the items that all steps make of one item. Later steps see items that earlier steps added."""
        items: Sequence[Item] = (item,)
        for of, run in self._steps:
            passed: list[Item] = []
            for earlier in items:
                kind = StepKind.POST if isinstance(earlier, Post) else StepKind.COMMENT
                given = run(earlier, request) if kind in of else earlier
                if isinstance(given, Post | Comment):
                    passed.append(given)
                elif not isinstance(given, DropItem):
                    passed += given
                else:
                    _note_drop(earlier, given, dropped, tell_drop)
            items = passed
        return items


def _note_drop(
    item: Item, verdict: DropItem, dropped: Counter[str], tell_drop: Callable[[Item, str], None] | None
) -> None:
    dropped[verdict.slug] += 1
    if tell_drop is not None:
        tell_drop(item, verdict.slug)


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
            return _checked(function(**{parameter: offers[parameter] for parameter in wanted}))
        except PageError:
            raise
        except Exception as error:
            # Foreign code may raise anything. The page is parked, the worker goes on.
            what = failure_text(error, function)
            raise Crashed(f"{site.name}: items: {name}: {what}; {request.address}") from error

    return run


def _checked(given: object) -> Given:
    if isinstance(given, DropItem):
        return given
    if isinstance(given, Post | Comment):
        return checked_item(given)
    # A text and a mapping are iterable too, but no collection of items.
    if given is None or isinstance(given, str | dict) or not isinstance(given, Iterable):
        raise TypeError(f"it returned {type(given).__name__}; return the item, DropItem(reason) or several items")
    # A generator may never end, so no more than one beyond the limit is taken.
    items = tuple(islice(given, MOST + 1))
    if len(items) > MOST:
        raise ValueError(f"it made more than {MOST} items of one")
    for item in items:
        if not isinstance(item, Post | Comment):
            raise TypeError(f"it gave a {type(item).__name__}; give Post or Comment")
    return tuple(map(checked_item, items))
