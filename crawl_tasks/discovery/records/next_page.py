"""Pagination: the way from a page of an unknown program to its next page."""

from __future__ import annotations

import json
import re
from collections.abc import Set
from dataclasses import dataclass
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.address_shape import shape_of
from crawl_tasks.discovery.links.links import PAGED
from crawl_tasks.discovery.records.record_queries import selector_of
from crawl_tasks.discovery.text.vocabulary import ARROWS, NEXT
from crawl_tasks.discovery.text.yaml_rules import CHECK, scalar
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.pagination_links import by_earlier_number, by_parameter, is_in, links_of
from crawl_tasks.sites.rule_presets import NEXT_LINKS

# On the last page some programs keep the link, without a target: href="#" or "".
_LEADS = "attr: href, regex: '^[^#]+', as: url"
# The rule for a program whose sample pages had no next page.
GUESS = "next: usual-next"
# The number after the current page, which is the one that is no link.
# With two predicates on one step all siblings are looked at, which takes minutes on a page of 100,000 links.
_BEFORE = "preceding-sibling::*[1]/self::*[not(self::a)]"
# A word for screen readers may be between.
_FOLLOWS = f"//a[.//text() > 1][.//text() = {_BEFORE} + 1 or .//text() = {_BEFORE}[not(. > 0)]/{_BEFORE} + 1]"
# The number before the current page, for threads that open at their last one.
_PRECEDES = "//a[.//text() > 0][.//text() = following-sibling::*[1]/self::*[not(self::a)][. > 1] - 1]"
_NUMBER = re.compile(r"\W*\d{1,5}\W*")
_SECOND = re.compile(r"[-/_.,]?(?:p|pg|page|pagina|seite)?[-/_.,=]?2(?:\.\w+)?/?", re.IGNORECASE)
_FRONT = re.compile(r"/(?:index\.\w+)?$")
_QUERY = re.compile(r"[?&;]([A-Za-z_][\w-]*=)\d+$")


@dataclass(frozen=True, slots=True)
class Step:
    """The way to the next page: the address of page 2, and a YAML rule that finds the link or counts the pages."""

    url: str
    next: str = ""
    pages: str = ""
    is_back: bool = False
    """Whether pages are read from the last one back."""

    def line(self, *, has_template: bool) -> str:
        """Return the rule. Counted pages need addresses that a template can make."""
        return self.pages if has_template and self.pages else self.next or GUESS + CHECK


def next_of(document: Document, key: str = "", inside: Set[int] = frozenset()) -> Step | None:
    """Return the way to the next page: by a link with a mark or a word, else by the numbers of a pager.

    `key` is the id of the page's thread or board. A link without this id may lead to the next thread. `inside` are the
    page's records, whose links are no pager.
    """
    for css in NEXT_LINKS:
        node = document.root.css_first(css)
        url = document.absolute(node.attributes.get("href") or "") if node is not None else None
        if node is None or url is None or is_in(node, inside) or not _leads(document, url) or skipped(document, url):
            continue
        if is_further(document.page.url, url) or (key.isdigit() and key in re.findall(r"\d+", url)):
            return Step(url, f"next: {{css: {scalar(css)}, {_LEADS}}}")
    return _by_word(document, key, inside) or _by_numbers(document, inside) or _by_address(document, inside)


def back_of(document: Document, inside: Set[int]) -> Step | None:
    """Return the way back to earlier pages, where a thread opens at its last page."""
    link = next((earlier for earlier in by_earlier_number(document) if not is_in(earlier.node, inside)), None)
    mark = _mark_of(document.page.url, link.url) if link is not None else ""
    path = f"{_PRECEDES}[contains(@href, {json.dumps(mark)})]"
    return Step(link.url, f"next: {{xpath: {scalar(path)}, {_LEADS}}}", is_back=True) if link and mark else None


def _by_address(document: Document, inside: Set[int]) -> Step | None:
    """Find the only link to this page's address with one more parameter, whatever its text."""
    links = further_links(document, inside)
    if len(set(links)) != 1:
        return _second(document, inside)
    mark = _mark_of(document.page.url, links[0])
    # On later pages the links of posts to themselves have the parameter too.
    css = f"a[href*='{mark}']:not([href*='#'])"
    first = document.root.css_first(css) if mark else None
    # Links that sort the list may have the parameter too.
    is_told = first is not None and document.absolute(first.attributes.get("href") or "") == links[0]
    return Step(links[0], f"next: {{css: {scalar(css)}, {_LEADS}}}") if is_told else None


def _second(document: Document, inside: Set[int]) -> Step | None:
    """Find the only link to this page's address with a 2 behind, whatever its text."""
    here = document.page.url
    stem = re.sub(r"\.\w+$|/$", "", here)
    seconds = {
        url: " ".join(node.text().split())
        for node, url in links_of(document)
        if url.startswith(stem) and _SECOND.fullmatch(url.removeprefix(stem)) and not is_in(node, inside)
    }
    text = next(iter(seconds.values()), "")
    if len(seconds) != 1 or not text or any(char.isdigit() for char in text):
        return None
    path = f"//a[normalize-space()={json.dumps(text, ensure_ascii=False)}]"
    return Step(next(iter(seconds)), f"next: {{xpath: {scalar(path)}, {_LEADS}}}")


def further_links(document: Document, inside: Set[int] = frozenset()) -> list[str]:
    """Return addresses outside the records that are this page's with one more parameter, but no order or view."""
    return [link.url for link in by_parameter(document) if not is_in(link.node, inside)]


def skipped(document: Document, following: str) -> str | None:
    """Return the address of a page between this one and another, as between page 1 and the last one behind an arrow."""
    mark = _mark_of(document.page.url, following)
    number = re.compile(rf"[?&]{re.escape(mark)}(\d+)(?=&|$)")
    numbers = {
        url: int(match[1]) for url in (following, *further_links(document)) if mark and (match := number.search(url))
    }
    return next((url for url, at in numbers.items() if 1 < at < numbers.get(following, 0)), None)


def _by_word(document: Document, key: str, inside: Set[int]) -> Step | None:
    named = [
        (" ".join(node.text().split()), url)
        for node, url in links_of(document)
        if not is_in(node, inside) and _leads(document, url)
    ]
    for pattern in (NEXT, ARROWS):
        for word, url in named:
            is_of = is_further(document.page.url, url)
            is_of = is_of or (pattern is NEXT and key.isdigit() and key in re.findall(r"\d+", url))
            if is_of and pattern.fullmatch(word) and not skipped(document, url):
                mark = _mark_of(document.page.url, url)
                lies = f"[contains(@href, {json.dumps(mark)})]" if mark else ""
                path = f"//a[normalize-space()={json.dumps(word, ensure_ascii=False)}]{lies}"
                return Step(url, f"next: {{xpath: {scalar(path)}, {_LEADS}}}")
    return None


def is_further(here: str, url: str) -> bool:
    """Return whether an address is this page's with more behind: a number, an offset, a cursor."""
    own, other = urlsplit(here), urlsplit(url)
    pairs, further = set(own.query.split("&")) - {""}, set(other.query.split("&")) - {""}
    if own.path == other.path:
        # vBulletin's `?12-old-cars/page2`, and `?forum-1-2.htm` behind `?forum-1.htm`.
        behind = other.query.removeprefix(re.sub(r"\.\w+$", "", own.query))
        # `index.php?page=2` behind the front page at `index.php?m=bbs`.
        is_paged = bool(further) and all(map(PAGED.fullmatch, further)) and _FRONT.search(own.path) is not None
        is_paged = is_paged and len(pairs) < 2 and not re.search(r"\d", own.query)
        return is_paged or pairs < further or (behind != other.query and re.match(r"\W", behind) is not None)
    plain, target = (re.sub(r"\d+", "#", path) for path in (own.path, other.path))
    numbers = re.findall(r"\d+", own.path)
    is_same = numbers[:1] == re.findall(r"\d+", other.path)[:1]
    stem = re.sub(r"\.\w+$", "", own.path.rstrip("/"))
    return (plain == target and len(numbers) > 1 and is_same) or (len(stem) > 1 and other.path.startswith(stem))


def _mark_of(here: str, url: str) -> str:
    """Return the name of the parameter that the next page's address has and this one's has not."""
    names = [pair.partition("=")[0] for pair in urlsplit(here).query.split("&")]
    further = (pair.partition("=")[0] for pair in urlsplit(url).query.split("&") if "=" in pair)
    return next((f"{name}=" for name in further if name and name not in names), "")


def _by_numbers(document: Document, inside: Set[int]) -> Step | None:
    """Find `1 2 3`: links of one shape to this page with other numbers, with page numbers as texts."""
    pagers: dict[str, list[tuple[LexborNode, str]]] = {}
    furthest: dict[str, int] = {}
    for node, url in links_of(document):
        furthest[shape_of(url)[0]] = max(furthest.get(shape_of(url)[0], 0), _last_number(url))
        if _NUMBER.fullmatch(_number(node)) and not is_in(node, inside):
            pagers.setdefault(shape_of(url)[0], []).append((node, url))
    for shape, links in pagers.items():
        second = next((url for node, url in links if _number(node).strip(" []()") == "2"), None)
        if second is None or not is_further(document.page.url, second):
            continue
        link = f"next: {{xpath: {scalar(_FOLLOWS)}, {_LEADS}}}" if document.xml.xpath(_FOLLOWS) else ""
        # An arrow may lead beyond the numbers.
        is_whole = furthest[shape] <= max(_last_number(url) for _, url in links)
        pages = _pages_rule(document, [node for node, _ in links]) if is_whole else ""
        if link or pages:
            return Step(second, link, pages)
    return None


def _pages_rule(document: Document, nodes: list[LexborNode]) -> str:
    """Return the rule that finds the page numbers, or nothing."""
    css = _pager_css(document, nodes)
    if not css:
        return ""
    own = ", text: own" if any(_number(node) != node.text().strip() for node in nodes) else ""
    return f"pages: {{css: {scalar(css)}{own}, all: true}}"


def _last_number(url: str) -> int:
    return int(([0, *re.findall(r"\d{1,9}", url)])[-1])


def _number(node: LexborNode) -> str:
    """Return a link's own text where it is a number, else its whole text: `2<span>페이지</span>` is page 2."""
    own = node.text(deep=False).strip()
    return own if _NUMBER.fullmatch(own) else node.text().strip()


def _pager_css(document: Document, nodes: list[LexborNode]) -> str | None:
    """Return a selector that finds the numbers and nothing else."""
    names = {match[1] for node in nodes if (match := _QUERY.search(node.attributes.get("href") or ""))}
    named = f"a[href*='{names.pop()}']" if len(names) == 1 else None
    own = re.sub(r"\.\w+$", "", urlsplit(document.page.url).path.rstrip("/").rpartition("/")[2])
    for css in filter(None, (selector_of(document.root, nodes, own), named)):
        shown = find_all(document.root, css)
        if shown and all(_NUMBER.fullmatch(_number(node)) for node in shown):
            return css
    return None


def _leads(document: Document, url: str) -> bool:
    return url.partition("#")[0] != document.page.url
