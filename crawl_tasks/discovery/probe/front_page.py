"""The front page: title, language, login form and links to the forum of an entrance page."""

from __future__ import annotations

import re

from crawl_tasks.parse.document import Document
from crawl_tasks.urls import origin_of

MOST_DOORS = 2
_DOOR = re.compile(
    r"\b(?:forums?|community|discussions?|(?:message |bulletin )?boards?|bbs)\b|论坛|論壇|社区|社區", re.IGNORECASE
)
_DATE = re.compile(r"\b(?:19|20)\d\d[-/.年]\s?\d{1,2}[-/.月]\s?\d{1,2}")
_CONSENT = re.compile(
    r"\b(?:accept|agree|allow all|consent|enter|yes|continue|proceed|confirm|got it|over 18|18\+|akzeptieren|zustimmen"
    r"|einverstanden|accepter|j'accepte|aceptar|acepto|accetto|aceitar|aanvaarden|akkoord|принять|согласен)\b"
    r"|同意|接受|进入|進入|继续|繼續|已满|已滿|確認|确认|동의|はい",
    re.IGNORECASE,
)
_MOST_WALL_TEXT = 1_500
_MANY = 10
_MANY_LINKS = 30


def title_of(front: Document) -> str:
    """Return the forum's own name."""
    site_name = front.root.css_first("meta[property='og:site_name']")
    if site_name is not None and site_name.attributes.get("content"):
        return str(site_name.attributes["content"]).strip()
    node = front.root.css_first("title")
    whole = " ".join(node.text().split()) if node is not None else ""
    # A long title is mostly "name - description".
    return re.split(r" [-|–—·] ", whole)[0] if len(whole) > 60 else whole


def heading_of(document: Document) -> str:
    """Return the text of a page's first heading, empty without one."""
    node = document.root.css_first("h1, h2")
    return " ".join(node.text().split()) if node is not None else ""


def asks_for_login(front: Document) -> bool:
    """Return whether the page is a login page: it has a password field, and little else."""
    return has_login(front) and len(front.root.css("a[href]")) < _MANY_LINKS


def has_login(front: Document) -> bool:
    """Return whether the page has a password field, as in a box beside its boards."""
    return front.root.css_first("input[type=password]") is not None


def consent_button_of(front: Document) -> str:
    """Return the text of the button on a page of a few lines that is before a forum, empty for any other page."""
    body = front.root.css_first("body")
    links = front.root.css("a[href]")
    if body is None or len(links) >= _MANY or len(" ".join(body.text().split())) > _MOST_WALL_TEXT:
        return ""
    for node in front.root.css("button, [role=button], input[type=submit], input[type=button], a[href]"):
        text = " ".join((node.text() or node.attributes.get("value") or "").split())
        if len(text) <= 60 and _CONSENT.search(text):
            return text
    return ""


def remedy_for(front: Document) -> str:
    """Return what a person can do about a page without boards and without a list of threads."""
    node = front.root.css_first("link[rel=alternate][type*=rss], link[rel=alternate][type*=atom]")
    feed = front.absolute(node.attributes.get("href") or "") if node is not None else None
    pictures = [link for link in front.root.css("a[href]:has(img)") if not link.text().strip()]
    dates = _DATE.findall(front.root.text())
    if button := consent_button_of(front):
        remedy = (
            f"a page with the button {button!r} stands before it, as for consent or an age; press it in a browser, and"
            " name the cookie that it sets as `headers: {Cookie: NAME=VALUE}` in a site file"
        )
    elif len(pictures) >= _MANY:
        remedy = f"{len(pictures)} links are pictures without a title, so that `list` is to be written by hand"
    elif len(dates) >= _MANY:
        remedy = f"{len(dates)} dates stand on it; entries without pages and ids, as of a guest book, need a `parser`"
    else:
        remedy = "give the address of its front page"
    if has_login(front):
        remedy += "; if its boards are for members alone, `login` in a site file reads them, see docs/access.md"
    return f"{remedy}; a board of `kind: feed` reads {feed}, see docs/site-files.md" if feed else remedy


def doors_of(front: Document) -> tuple[str, ...]:
    """Return the targets of frames, and of links called a forum, as a portal has them, those on the same host first."""
    doors = []
    for node in front.root.css("a[href], frame[src]"):
        url = front.absolute(node.attributes.get("href") or node.attributes.get("src") or "")
        is_door = node.tag == "frame" or _DOOR.search(" ".join(node.text().split())[:40])
        if url is not None and url != front.page.url and is_door:
            doors.append(url)
    own = origin_of(front.page.url)
    return tuple(sorted(dict.fromkeys(doors), key=lambda url: origin_of(url) != own))[:MOST_DOORS]
