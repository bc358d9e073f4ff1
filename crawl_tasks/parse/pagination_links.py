"""Pagination links: links of a page to other pages of its list or thread, whatever the site's rules say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from contextlib import suppress
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborNode

from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import Request, Stage
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.values.text import letters
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.schema import Site

_PLACE = re.compile(r"page|start|offset|from|skip", re.IGNORECASE)
# Parameters that show the same page in another order or form, or another page.
_OTHERWISE = re.compile(
    r"sort|order|dir|view|filter|tab|mode|action|reply|quote|print|lang|sid|theme|style|highlight|do|q|search|day|prefix"
    r"|uid|author|user|desc|asc",
    re.IGNORECASE,
)
_CURSOR = 8
# vBulletin writes one into the links of a page for visitors without cookies.
_SESSION = re.compile(r"[0-9a-f]{32}")
_NUMBERED = re.compile(r"(?:[-/_.,](?:p|pg|page|pagina|seite)?|(?:pg|page))[-/_.,=]?(\d+)(?:\.\w+)?/?", re.IGNORECASE)
_LONGEST_HREF = 300
_MOST_LOOKS = 200
_NEAR = 80
"""Characters before a link in which its box begins."""
_PAGER_NUMBER = re.compile(r"[\s\[(]*(\d{1,5})[\s\])]*")


class PaginationLink(NamedTuple):
    """A link to a further page: its element and its absolute address."""

    node: LexborNode
    url: str


def unread_page(site: Site, request: Request, document: Document) -> str | None:
    """Return the address of a further page that the first page of a list or thread links, None without one.

    Numbers inside the page's records count no pages: replies are numbered too.
    """
    addresses: Addresses | None = None
    for link in _further(site, request, document):
        addresses = addresses or Addresses(site)
        # A thread's key may be behind that of its board: ?board=qa&thread=3 is no page of qa.
        with suppress(RefusedAddress):
            target = addresses.read(link.url)
            is_other = target is not None and (target.stage is Stage.LIST) != (request.stage is Stage.LIST)
            if target is None or not (is_other or target.key != request.key):
                return link.url
    return None


def _further(site: Site, request: Request, document: Document) -> Iterator[PaginationLink]:
    yield from by_parameter(document)
    spec = site.list if request.stage is Stage.LIST else site.post.comments or site.comment
    record = spec.record if spec is not None else None
    links = [*by_number(document), *by_earlier_number(document)]
    records = find_all(document.root, record.css) if links and record is not None and record.css else []
    inside = {node.mem_id for node in records}
    yield from (link for link in links if not is_in(link.node, inside))


def is_linked(document: Document, address: str) -> bool:
    """Return whether a link of the page leads to an address, by its markup alone: most pages that end have no such."""
    where, source = urlsplit(address), document.source
    own = urlsplit(document.page.url).query.split("&") if where.query else []
    # A look for the parameter that this page has not costs 10 us, and one at each link a millisecond.
    sought = next((pair for pair in where.query.split("&") if pair not in own), "") or where.path
    end = 0
    for _ in range(_MOST_LOOKS):
        at = source.find(sought, end)
        if at < 0:
            break
        end = at + len(sought)
        begin = 1 + max(source.rfind(quote, max(0, at - _LONGEST_HREF), at) for quote in "\"'")
        close = source.find(source[begin - 1], end, end + _LONGEST_HREF) if begin else -1
        if close > 0 and source[max(0, begin - 6) : begin - 1].lower() == "href=":
            # Some forums keep the arrow on the last page: <li class="disabled"><a href="?page=10">
            is_off = "disabled" in source[max(0, begin - _NEAR) : source.find(">", close)]
            if not is_off and document.absolute(unescape(source[begin:close]).partition("#")[0]) == address:
                return True
    return False


def is_in(node: LexborNode | None, mem_ids: Set[int]) -> bool:
    """Return whether an element, or one around it, is among some elements, which their memory ids name."""
    while node is not None:
        if node.mem_id in mem_ids:
            return True
        node = node.parent
    return False


def links_of(document: Document) -> Iterator[PaginationLink]:
    """Yield every link of a page, whatever it leads to."""
    for node in document.root.css("a[href]"):
        url = document.absolute(node.attributes.get("href") or "")
        if url is not None:
            yield PaginationLink(node, url)


def by_parameter(document: Document) -> Iterator[PaginationLink]:
    """Yield links whose address is this page's with one more parameter that is no order, no view and no first page."""
    here = urlsplit(document.page.url)
    pairs = set(here.query.split("&")) - {""}
    for link in links_of(document):
        linked = urlsplit(link.url)
        named = set(linked.query.split("&")) - {""}
        more = named - pairs
        if linked.path != here.path or linked.netloc != here.netloc or len(more) != 1 or not pairs <= named:
            continue
        name, _, value = more.pop().partition("=")
        # `?r=341#message-341` leads to a reply on this page.
        fragment = (link.node.attributes.get("href") or "").partition("#")[2]
        is_reply = fragment.endswith(value) and not _PLACE.search(name)
        is_first = value in {"0", "1"} and _PLACE.search(name) is not None
        # The name of a heading spells its text. `go=next` leads to the next thread, `c=forumlist` to another page.
        is_key = (
            letters(unquote(value)) != letters(link.node.text()) and re.search(r"[^a-z_-]", value) is not None
            if len(value) >= _CURSOR
            else re.search(r"\d", value) is not None
        )
        is_session = _SESSION.fullmatch(value) is not None
        if is_key and not (is_reply or is_first or is_session or _OTHERWISE.search(name)):
            yield link


def by_number(document: Document) -> Iterator[PaginationLink]:
    """Yield links with a page number as their text, and this page's address with that number behind or within."""
    here = document.page.url.partition("#")[0]
    for link in links_of(document):
        number = _PAGER_NUMBER.fullmatch(link.node.text())
        url = link.url.partition("#")[0]
        if number is None or int(number[1]) < 2 or url == here:
            continue
        # An offset is no page number: the second page may begin at 20.
        if is_numbered(here, url) or _is_beside(here, url, number[1]):
            yield link


def by_earlier_number(document: Document) -> Iterator[PaginationLink]:
    """Yield links to earlier pages on a page without a number in its address: some threads open at their last page.

    In `1 <b>2</b>` the first number is a link, and the second one is the page itself.
    """
    here = urlsplit(document.page.url)
    pairs = set(here.query.split("&")) - {""}
    names = {pair.partition("=")[0] for pair in pairs}
    for link in links_of(document):
        number, linked = _PAGER_NUMBER.fullmatch(link.node.text()), urlsplit(link.url)
        if number is None or (linked.path, linked.netloc) != (here.path, here.netloc):
            continue
        following = next((node for node in _behind(link.node) if node.tag != "-text"), None)
        current = _PAGER_NUMBER.fullmatch(following.text()) if following is not None and following.tag != "a" else None
        is_beside = current is not None and int(current[1]) == int(number[1]) + 1
        more = set(linked.query.split("&")) - {""} - pairs
        # The page of the list from which the link came may be in the address, and not in the links of the pager.
        if is_beside and len(more) == 1 and more.pop().partition("=")[0] not in names:
            yield link


def _behind(node: LexborNode) -> Iterator[LexborNode]:
    following = node.next
    while following is not None:
        yield following
        following = following.next


def is_numbered(here: str, url: str) -> bool:
    """Return whether an address is another one with a number of 2 or more behind: /bikes/2, /bikes-2.html."""
    return is_page_of(re.sub(r"\.\w+$|/$", "", here), url)


def is_page_of(first: str, other: str) -> bool:
    """Return whether a text is another one with the number of a later page behind: 12-page-2."""
    behind = _NUMBERED.fullmatch(other.removeprefix(first)) if other.startswith(first) else None
    return behind is not None and int(behind[1]) > 1


def is_page_of_key(key: str, other: str) -> bool:
    """Return whether an id is another one with a later page behind. `old-lamp-2` may be another thread."""
    is_told = key[-1:].isdigit() or re.match(r"\W[a-z]", other.removeprefix(key), re.IGNORECASE) is not None
    return is_told and is_page_of(key, other)


def _is_beside(here: str, url: str, number: str) -> bool:
    """Return whether two addresses differ in a 1 that is `number` in the other: /thread-5-1.html, /thread-5-2.html."""
    ours, others = re.findall(r"\d+", here), re.findall(r"\d+", url)
    if re.sub(r"\d+", "#", here) != re.sub(r"\d+", "#", url):
        return False
    changed = [pair for pair in zip(ours, others, strict=True) if pair[0] != pair[1]]
    return changed == [("1", number)]
