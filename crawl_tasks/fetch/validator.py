"""Step 5, fetch: what a page is known by to its server, so that the next scan can ask whether it changed. Pure.

As text it is "<ETag or -> <Last-Modified or ->". The ledger keeps it (frontier/lua/_validator.lua) and says when it may
be used.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

from crawl_tasks.model import Fetched, Parsed, Request, Stage

NOT_MODIFIED = 304

_IS_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{1,200}"').fullmatch
_IS_DATE = re.compile(r"[A-Za-z]{3}, \d{2} [A-Za-z]{3} \d{4} \d{2}:\d{2}:\d{2} GMT").fullmatch
_SETTLED_S = 60.0
"""A page that is younger may change again within the second that Last-Modified can tell (RFC 9110, 8.8.2.2)."""


def validator_of(request: Request, page: Fetched, parsed: Parsed) -> str:
    """Give what a list page is known by, empty where the next scan must have it whole.

    So it must where the page named no thread, and where it leads to further list pages whether it has news or not.
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
    """Give the headers that ask for a page only if it changed."""
    if not validator:
        return {}
    etag, _, modified = validator.partition(" ")
    said = {"If-None-Match": etag, "If-Modified-Since": modified}
    return {name: value for name, value in said.items() if value not in ("", "-")}


def _is_entered_again(request: Request, child: Request) -> bool:
    return child.stage is Stage.LIST and not child.only_if_new and child.revision == request.revision


def _is_settled(modified: str, date: str) -> bool:
    if not _IS_DATE(modified) or not _IS_DATE(date):
        return False
    try:
        return (parsedate_to_datetime(date) - parsedate_to_datetime(modified)).total_seconds() >= _SETTLED_S
    except ValueError:
        return False
