"""Rendering for a discovery: a page of nothing but scripts is drawn by a browser before rules are looked for."""

from __future__ import annotations

import re
from dataclasses import replace

from crawl_tasks.discovery.api_rules import by_api
from crawl_tasks.discovery.discover import Discovery
from crawl_tasks.discovery.findings import Findings
from crawl_tasks.discovery.http_probe import HttpProbe
from crawl_tasks.discovery.site_address import SiteAddress
from crawl_tasks.parse.document import Document

MOST_TEXT = 300
"""The visible characters of a frame at most: a title, and a word that the page is loading."""

_HIDDEN = re.compile(rb"<(script|style|noscript|template|head)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")


def is_script_frame(front: Document) -> bool:
    """Return whether a page has scripts, and nearly no text or links beside them."""
    body = front.page.body
    shown = _HIDDEN.sub(b" ", body)
    text = b" ".join(_TAG.sub(b" ", shown).split())
    links = sum(tag.startswith(b"<a ") for tag in _TAG.findall(shown))
    return b"<script" in body and len(text) <= MOST_TEXT and links < 3


def discover_drawn(probe: HttpProbe, place: SiteAddress, name: str, contact: str | None) -> Findings:
    """Return proposed rules for a forum that only scripts draw, from its pages as a browser shows them.

    Raises:
        FetchError: the front page cannot be drawn.
    """
    found = Discovery(probe.drawing(), place, name, contact=contact).by_proposal()
    api = by_api(probe, found) if found.boards else None
    if api is not None:
        told = "the plain pages hold nothing but scripts: the rules read the API that these ask, and need no browser"
        return replace(api, remarks=(*api.remarks, told))
    told = "the plain pages hold nothing but scripts: a browser draws them, as no API was found that tells the same"
    return replace(found, rules=f"render: true\n{found.rules}", remarks=(*found.remarks, told))
