"""Ids of threads: whether each board gives its numbers anew, so that an id needs the name of its board."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby, pairwise
from urllib.parse import urljoin

from crawl_tasks.discovery.links.address_shape import keys_pattern, path_of
from crawl_tasks.discovery.links.links import PageLink
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.text.timestamps import times_in
from crawl_tasks.errors import PageError
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.values.text import letters

_MOST_ASKED = 2
_LONG = 12


def are_numbered_by_board(probe: HttpProbe, titles: Sequence[PageLink]) -> bool:
    """Return whether two boards have different threads of one number, as Gnuboard's have.

    A number that one board lists is asked for at another one. A program whose numbers count the whole forum shows the
    same thread there, or none.
    """
    if not titles or len(titles[0].keys) < 2 or "~" in titles[0].shape:
        return False
    texts: dict[str, dict[tuple[str, ...], str]] = {}
    for link in titles:
        texts.setdefault(link.key, {})[_board_of(link)] = letters(link.text)
    # The notice of a moved thread has more than its title.
    if any(key not in other and other not in key for keys in texts.values() for key, other in pairwise(keys.values())):
        return True
    for link, url in list(_elsewhere(titles))[:_MOST_ASKED]:
        with suppress(PageError):
            document = Document(probe.page(url))
            if _has_title(document, letters(link.text)):
                return False
            if times_in(document.root):
                return True
    return False


def _has_title(document: Document, title: str) -> bool:
    """Return whether a page is of a thread with a title. A short one may appear anywhere by chance."""
    whole = document.root if len(title) >= _LONG else None
    return any(title in letters(node.text()) for node in (*document.root.css("title, h1, h2, h3, h4"), whole) if node)


def _board_of(link: PageLink) -> tuple[str, ...]:
    return link.keys[: link.place] + link.keys[link.place + 1 :]


def _elsewhere(titles: Sequence[PageLink]) -> Iterator[tuple[PageLink, str]]:
    """Yield threads, lowest numbers first, with the address of their number at the board with the highest number."""
    numbered = sorted((link for link in titles if link.key.isdecimal()), key=lambda link: int(link.key))
    for highest in numbered[-1:]:
        for _, links in groupby(numbered, key=lambda link: link.key):
            link = next(links)
            match = re.match(keys_pattern(link.shape), path_of(link.url))
            if match is None or _board_of(link) == _board_of(highest):
                continue
            path, keys = match[0], list(highest.keys)
            keys[highest.place] = link.key
            for at in range(len(keys), 0, -1):
                path = path[: match.start(at)] + keys[at - 1] + path[match.end(at) :]
            yield link, urljoin(link.url, path)
