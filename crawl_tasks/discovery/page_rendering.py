"""Rendering for a discovery: a page of nothing but scripts is drawn by a browser before rules are looked for."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

from crawl_tasks.discovery.forum_discovery import ForumDiscovery
from crawl_tasks.discovery.json_rules.api_replies import comments_by_api
from crawl_tasks.discovery.json_rules.api_rules import by_api
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.site_address import SiteAddress
from crawl_tasks.discovery.proof.findings import Findings, site_file
from crawl_tasks.discovery.text.vocabulary import NEXT
from crawl_tasks.errors import ConfigError, PageError
from crawl_tasks.fetch.browser import missing
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.loader import parse_site

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


def discover_drawn(
    probe: HttpProbe, place: SiteAddress, name: str, contact: str | None, *, plain: Findings | None = None
) -> Findings:
    """Return proposed rules for a forum that scripts draw, from its pages as a browser shows them.

    `plain` are rules that read all but the comments without a browser.

    Raises:
        FetchError: the front page cannot be drawn.
    """
    findings = ForumDiscovery(probe.drawing(), place, name, contact=contact).by_proposal()
    held = "the plain pages hold nothing but scripts" if plain is None else "scripts draw the comments of threads"
    if findings.boards and (api := by_api(probe, findings)) is not None:
        return _told(api, f"{held}: the rules read the API that these ask, and need no browser")
    if findings.boards and (part := comments_by_api(probe, findings, plain)) is not None:
        rest = "a browser draws the rest" if plain is None else "and need no browser"
        return _told(part, f"{held}: the rules read comments from the API that threads ask, {rest}")
    drawn = replace(findings, rules=f"render: true\n{findings.rules}")
    drawn = _told(drawn, f"{held}: a browser draws them, as no API was found that tells the same")
    url = next(filter(lambda page: probe.has(page) and _has_button(Document(probe.page(page))), probe.asked), None)
    return drawn if url is None else _told(drawn, f"{url} has a button for more: name it as `click_more` of `render`")


def _has_button(page: Document) -> bool:
    """Return whether a page has a button that loads more of it, which no rule follows."""
    return any(NEXT.fullmatch(node.text().strip()) for node in page.root.css("button, [role=button]"))


def has_comments(findings: Findings) -> bool:
    """Return whether rules read comments anywhere."""
    site = parse_site(site_file(findings), findings.name)
    return bool(site.comment or site.post.comments or site.post.parser)


def with_drawn_comments(probe: HttpProbe, plain: Findings, contact: str | None) -> Findings:
    """Return rules for threads whose comments scripts draw, and those that read none where scripts draw none either."""
    if lack := missing():
        return _told(plain, f"the threads hold no comments: scripts may draw them, but {lack}")
    with suppress(PageError, ConfigError):
        findings = discover_drawn(probe, plain.place, plain.name, contact, plain=plain)
        if findings.boards and has_comments(findings):
            return findings
    return plain


def draws_threads(probe: HttpProbe) -> bool:
    """Return whether most pages that were asked for are frames of scripts, though boards were read."""
    pages = [probe.page(url) for url in probe.asked if probe.has(url)]
    return 2 * sum(is_script_frame(Document(page)) for page in pages) > len(pages)


def with_drawn_threads(probe: HttpProbe, plain: Findings, contact: str | None) -> Findings:
    """Return rules for threads that scripts draw, or the given ones with a word of that."""
    lack = missing()
    with suppress(PageError, ConfigError):
        findings = plain if lack else discover_drawn(probe, plain.place, plain.name, contact)
        if not lack and findings.boards and has_comments(findings):
            return findings
    remark = "the threads hold nothing but scripts: `render: true` in a site file has a browser draw them"
    return _told(plain, f"{remark}, but {lack}" if lack else f"{remark}; see docs/render.md")


def _told(findings: Findings, remark: str) -> Findings:
    return replace(findings, remarks=(*findings.remarks, remark))
