"""Pagers: whether a page has a next one, and how many pages there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document
from crawl_tasks.parse.rules.compile import Where, compile_rule, compile_test
from crawl_tasks.parse.rules.convert import Want
from crawl_tasks.parse.values.counts import read_count
from crawl_tasks.sites.field_rules import As, Rule
from crawl_tasks.sites.stages import StageSpec

# The upper limit of `per_page` in a site file. A larger number found on a page is no page size.
LARGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Pages:
    """The pager data of a page.

    `count` is the number of pages and `size` the number of records on a full page, None where the page shows neither.
    `link` is the address of the next page. `is_over` is true where the forum has more pages than the stage's
    `max_pages`. `is_cut` is true on the last page that `max_pages` allows, where the forum has more.
    """

    count: int | None = None
    has_next: bool = False
    link: str | None = None
    is_shown: bool = False
    size: int | None = None
    is_over: bool = False
    is_cut: bool = False

    def going_on(self, page: int, link: str, most: int) -> Pages:
        """Return the data of a page that links the next one, of at most `most` pages."""
        if page >= most:
            return replace(self, is_shown=True, is_cut=True)
        count = None if self.count is None else page + 1
        return replace(self, count=count, has_next=True, link=link, is_shown=True)


class Pager:
    """Reader of the pager of a stage."""

    def __init__(self, spec: StageSpec, want: Want) -> None:
        self._max = spec.max_pages
        self._per_page = spec.per_page or 1
        self._count = _count_reader(spec.pages, want) if spec.pages else None
        self._total = _count_reader(spec.total, want) if spec.total else None
        self._size = _count_reader(spec.page_size, want) if spec.page_size else None
        self._test = compile_test(spec.next, want) if spec.next else None
        link = _link_rule(spec.next) if spec.next else None
        self._is_address = link is not None and link is spec.next
        self._link = compile_rule(link, want, at_page=True).read if link else None

    @property
    def counts(self) -> bool:
        """Whether a page can show the number of pages."""
        return self._count is not None or self._total is not None

    def read(self, where: Where, document: Document, page: int) -> Pages:
        """Return the pager data of the page numbered `page`, never with a page beyond the stage's `max_pages`."""
        size = self._page_size(where, document)
        count = self._number(where, document, size)
        link, has_next = None, count is not None and page < count
        if self._test is not None:
            has_next = self._test(where, document)
            link = self._next(where, document) if has_next else None
            # An arrow to the last page is there too. A script leads on by `#`, which a bare selector finds.
            has_next = has_next and not (self._is_address and link == document.page.url)
        is_shown = count is not None or has_next
        if self.counts and count is None:
            # Forums show no pager where one page holds everything.
            count = 1
        limited = None if count is None else min(count, self._max)
        is_over = count is not None and count > self._max
        return Pages(
            limited, has_next and page < self._max, link, is_shown, size, is_over, has_next and page >= self._max
        )

    def _page_size(self, where: Where, document: Document) -> int | None:
        size = self._size(where, document) if self._size else None
        return size if size is not None and 0 < size <= LARGEST_PAGE else None

    def _number(self, where: Where, document: Document, size: int | None) -> int | None:
        """Return the number of pages, None where the page shows neither that nor the number of records."""
        count = self._count(where, document) if self._count else None
        if count is not None or self._total is None:
            return count
        total = self._total(where, document)
        return None if total is None else max(1, -(-total // (size or self._per_page)))

    def _next(self, where: Where, document: Document) -> str | None:
        link = self._link(where, document) if self._link else None
        return None if link is None else str(link)


def _link_rule(rule: Rule) -> Rule | None:
    """Return the rule of the next page's address. The element found by a bare `next` is mostly the link itself."""
    if rule.as_ is As.URL:
        return rule
    is_bare = rule.css is not None and not (rule.attr or rule.regex or rule.map or rule.as_ or rule.text or rule.all)
    return rule.model_copy(update={"attr": "href", "as_": As.URL}) if is_bare else None


def _count_reader(rule: Rule, want: Want) -> Callable[[Where, Document], int | None]:
    want = replace(want, kind=As.COUNT)
    if rule.css is not None and rule.all:
        return _largest(rule)
    read = compile_rule(rule, want, at_page=True).read

    def count(where: Where, document: Document) -> int | None:
        value = read(where, document)
        return int(value) if isinstance(value, (int, float)) else None

    return count


def _largest(rule: Rule) -> Callable[[Where, Document], int | None]:
    """Return a reader of the largest number in a pager such as `1 2 3 ... 15`."""
    css, attr = rule.css or "", rule.attr

    def count(where: Where, document: Document) -> int | None:
        nodes = (where if isinstance(where, LexborNode) else document.root).css(css)
        texts = [(node.attrs.get(attr) or "") if attr else node.text() for node in nodes]
        return max((number for number in map(read_count, texts) if number is not None), default=None)

    return count
