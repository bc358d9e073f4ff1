"""Revalidation (RFC 9110, 13): the HTTP validator of a page, by which the next scan asks for changes only. Pure.

The text form is "<ETag or -> <Last-Modified or ->". The ledger keeps the validator and decides when it applies
(lua/lib/http_validator.lua).
"""

from __future__ import annotations

import re

from crawl_tasks.fetch.http_status import date_of
from crawl_tasks.model import Fetched, Parsed, Request, Stage

NOT_MODIFIED = 304

_IS_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{1,200}"').fullmatch
_IS_DATE = re.compile(r"[A-Za-z]{3}, \d{2} [A-Za-z]{3} \d{4} \d{2}:\d{2}:\d{2} GMT").fullmatch
_SETTLED_S = 60.0
"""Last-Modified tells seconds: a page younger than this may change again within the same one (RFC 9110, 8.8.2.2)."""


def validator_of(request: Request, page: Fetched, parsed: Parsed) -> str:
    """Return the validator of a list page, empty if the next scan must have the whole page.

    A page without threads must come whole. So must a page that leads to further list pages on every scan.
    """
    is_ours = request.stage is Stage.LIST and request.page == 1 and page.url == request.address
    if not is_ours or not parsed.children or any(_is_entered_again(request, child) for child in parsed.children):
        return ""
    etag = page.headers.get("etag", "").strip()
    etag = etag if _IS_ETAG(etag) else "-"
    modified = page.headers.get("last-modified", "").strip()
    modified = modified if _is_settled(modified, page.headers.get("date", "")) else "-"
    return "" if etag == modified == "-" else f"{etag} {modified}"


def conditions(validator: str) -> dict[str, str]:
    """Return the headers that ask for a page only if it changed."""
    if not validator:
        return {}
    etag, _, modified = validator.partition(" ")
    headers = {"If-None-Match": etag, "If-Modified-Since": modified}
    return {name: value for name, value in headers.items() if value not in ("", "-")}


def _is_entered_again(request: Request, child: Request) -> bool:
    return child.stage is Stage.LIST and not child.only_if_new and child.revision == request.revision


def _is_settled(modified: str, date: str) -> bool:
    if not _IS_DATE(modified) or not _IS_DATE(date):
        return False
    changed, sent = date_of(modified), date_of(date)
    return changed is not None and sent is not None and sent - changed >= _SETTLED_S
