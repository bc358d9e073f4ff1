"""Links of an unknown forum by the shape of their URL. Pure."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.address_keys import titled_keys, word_keys
from crawl_tasks.discovery.links.address_shape import (
    acts,
    identity_of,
    is_stranger,
    keys_pattern,
    path_of,
    shape_of,
)
from crawl_tasks.parse.document import Document

_NUMBERS = re.compile(r"(\d+)")
PAGED = re.compile(r"(?:p|pg|page|start|offset)=\d+", re.IGNORECASE)
# Levels of elements that tell the place of a link: more would tell the rows of a table apart.
_LEVELS = 6
_CHROME = re.compile(r"^(?:nav|header|footer|aside)\b|menu|\bnav", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link of a page. `shape` is path and query, with # for a number, * for words that are a key, ~ for a title.

    `keys` are the texts at # and *. The key at `place` differs between the links of the page, and is the link's own.
    With `is_mixed` another key differs too, on another board's page. With `has_board` the first key, the board's, is
    part of the id: each board gives its numbers anew. `board` is the key of the board whose list has the link.
    """

    node: LexborNode
    url: str
    shape: str
    keys: tuple[str, ...]
    text: str
    place: int = 0
    is_mixed: bool = False
    has_board: bool = False
    board: str = ""

    @property
    def key(self) -> str:
        """The text by which the link differs from others of its shape."""
        return self.keys[self.place]

    @property
    def is_stranger(self) -> bool:
        """Return whether the link is about people or page chrome."""
        return is_stranger(self.shape)

    @property
    def has_slug(self) -> bool:
        """Return whether the address has more than its key, so that no template can produce the address."""
        is_worded = "~" in self.shape or "*" in self.shape.replace("*", "", "#" not in self.shape)
        return is_worded or self.place > 0 or self.is_mixed

    def id_regex(self, place: int | None = None) -> str:
        """Return a regex for the id in the link as written: an address on the page may be relative."""
        at = self.place if place is None else place
        pattern = identity_of(self.shape, "id", at, is_whole=self.has_board).strip("^$").replace("(?P<id>", "(")
        href = self.node.attributes.get("href") or ""
        while "/" in pattern and not re.search(pattern, href):
            pattern = pattern.partition("/")[2]
        # A key right below the root: the name of another host is behind slashes too.
        if pattern.startswith(("/[^", "/([^")):
            return f"^{pattern}" if href.startswith("/") else f"(?<!/){pattern}"
        return pattern

    @property
    def looks(self) -> str:
        """Tag and classes of the link: links of one kind mostly look alike."""
        return f"{self.node.tag} {self.node.attributes.get('class') or ''}"


def links_of(document: Document, known: str = "") -> dict[str, list[PageLink]]:
    """Return the links with a text that stay on the host, by shape. Addresses of the shape `known` have that shape.

    Links that act, such as a vote, are left out.
    """
    host = urlsplit(document.page.url).netloc
    linked = []
    for node in document.root.css("a[href]"):
        href = node.attributes.get("href") or ""
        # `Jump to content` leads to a place on this page.
        url = None if href.startswith("#") else document.absolute(href)
        text = " ".join(node.text().split())
        if url is not None and text and urlsplit(url).netloc == host and not acts(path_of(url)):
            # The name of a reply, behind #, is no part of the page's address.
            url = url.partition("#")[0]
            linked.append((node, _without_page(url, document.page.url) if known else url, text))
    reshaped = _reshaped([(node, url) for node, url, _ in linked])
    if known:
        pattern = re.compile(keys_pattern(known))
        reshaped |= {
            url: (known, list(match.groups())) for url, (shape, _) in reshaped.items()
            if (match := pattern.match(path_of(url))) and _may_be(shape, known, document.page.url)
        }  # fmt: skip
    by_shape: dict[str, list[PageLink]] = {}
    for node, url, text in linked:
        shape, keys = reshaped[url]
        if keys:
            by_shape.setdefault(shape, []).append(PageLink(node, url, shape, tuple(keys), text))
    return {shape: _placed(links) for shape, links in by_shape.items()}


def _without_page(url: str, page: str) -> str:
    """Return an address without the number of the list's page, if that is the page which has the link."""
    where, own = urlsplit(url), urlsplit(page).query.split("&")
    pairs = [pair for pair in where.query.split("&") if pair not in own or not PAGED.fullmatch(pair)]
    return where._replace(query="&".join(pairs)).geturl() if where.path != urlsplit(page).path else url


def _may_be(shape: str, known: str, page: str) -> bool:
    """Return whether words above the last part of an address, which a known shape has for a key, are the page's own."""
    above = urlsplit(page).path.split("/")
    parts = zip(shape.split("/"), known.rstrip("/").split("/")[:-1], [*above, *known.split("/")], strict=False)
    return not any(
        mark == "*" and part not in (own, *above) and not re.search(r"[#*~]", part) for part, mark, own in parts
    )


def root_links(document: Document) -> list[PageLink]:
    """Return links at one place to pages right below the root, as `/hardware/` beside `/garden/`: the most of them.

    Names of people's pages and page chrome do not count, nor do menus, but for one with names that pages are below:
    several, or that of this page.
    """
    own = path_of(document.page.url).rstrip("/")
    paths = [path_of(link.url) for links in links_of(document).values() for link in links]
    above = {start for path in paths for start, _, last in (path.rpartition("/"),) if last.isdigit()}
    groups: dict[tuple[str, tuple[str, ...]], dict[str, PageLink]] = {}
    for shape in ("/*", "/*/"):
        for links in links_of(document, shape).values():
            for link in filter(_may_name_board, links):
                groups.setdefault((link.shape, place_in(link.node)), {}).setdefault(link.key, link)
    most: dict[str, PageLink] = {}
    for (_, place), group in groups.items():
        named = {path_of(link.url).rstrip("/") for link in group.values()} & above
        is_above = len(named) > 1 or own in named
        if len(group) > len(most) and (is_above or not any(map(_CHROME.search, place))):
            most = group
    return list(most.values()) if len(most) > 1 else []


def _may_name_board(link: PageLink) -> bool:
    """Return whether a link leads right below the root, to no page of people and no file."""
    if link.shape not in ("/*", "/*/") or is_stranger(path_of(link.url)):
        return False
    return not link.key.isdigit() and re.search(r"\.\w+$", link.key) is None


def kind_of(node: LexborNode) -> str:
    """Return tag and classes of an element, with # for numbers: `post-4711` is of one element alone."""
    return ".".join((str(node.tag), *_NUMBERS.sub("#", node.attributes.get("class") or "").split()))


def place_in(node: LexborNode) -> tuple[str, ...]:
    """Return tags and classes of an element and those around it: links of one kind are at one such place."""
    kinds: list[str] = []
    above: LexborNode | None = node
    while above is not None and above.tag not in ("body", "html") and len(kinds) < _LEVELS:
        kinds.append(kind_of(above))
        above = above.parent
    return tuple(kinds)


def _placed(links: list[PageLink]) -> list[PageLink]:
    """Choose the key with most values: of a thread's address that also has its board's key, that of the thread."""
    kinds = [len({link.keys[place] for link in links}) for place in range(len(links[0].keys))]
    # With equal numbers of values, the first key of a query or a file name counts, but the last of a path.
    several = [place for place, kind in enumerate(kinds) if kind == max(kinds)]
    place = several[-1] if links[0].shape.endswith("/") and "?" not in links[0].shape else several[0]
    return [replace(link, place=place) for link in links]


def _reshaped(links: list[tuple[LexborNode, str]]) -> dict[str, tuple[str, list[str]]]:
    """Return the shapes of a page's addresses, corrected by comparison of several addresses.

    `/forum/bikes-3/` has a title where `/forum/boilers-and-pumps-2/` is beside, and `/board/bikes/` has a key where
    `/board/garden/` does. `?id=old-cars` and `?id=x7Kq2` have keys where links at one place differ in nothing else.
    """
    shapes = _shapes({url for _, url in links})
    groups: dict[tuple[str, ...], set[str]] = {}
    for node, url in links:
        groups.setdefault(place_in(node), set()).add(url)
    paths = {path_of(url).rstrip("/") for url in shapes}
    for group in sorted(groups.values(), key=len, reverse=True):
        for pattern in (*word_keys(group, shapes), *titled_keys(group, paths)):
            if not is_stranger(pattern):
                _reshape(shapes, pattern)
    boards = {path_of(url): pair for url, pair in shapes.items() if re.fullmatch(r"[^?]*/\*/?|[^*#]*=\*", pair[0])}
    for url, (shape, keys) in list(shapes.items()):
        # A thread below its board: the board's name is a key of the thread's address too.
        start = next((path for path in boards if path != path_of(url) and shape.startswith(_below(path))), None)
        if start is not None:
            above, [key] = boards[start][0], boards[start][1][-1:]
            shapes[url] = (above + shape.removeprefix(start), [key, *keys])
    return shapes


def _shapes(urls: Set[str]) -> dict[str, tuple[str, list[str]]]:
    """Return the shapes of addresses, each by itself, but for titles of which another one has the shape."""
    shapes = {url: shape_of(url) for url in urls}
    titled = {shape for shape, _ in shapes.values() if "~#" in shape}
    for url, (shape, _) in list(shapes.items()):
        titles, loose = shape_of(url, loosely=True)
        if titles != shape and titles in titled:
            shapes[url] = (titles, loose)
    return shapes


def _reshape(shapes: dict[str, tuple[str, list[str]]], pattern: str) -> None:
    """Give all addresses that fit a shape this shape."""
    for url in shapes:
        match = re.match(keys_pattern(pattern), path_of(url))
        if match is not None:
            shapes[url] = (pattern, list(match.groups()))


def _below(path: str) -> str:
    """Return the beginning of addresses below that of a board."""
    return f"{path}&" if "?" in path else path.rstrip("/") + "/"
