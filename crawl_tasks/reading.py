"""Between fetch and commit: what a page says by the rules of its site, or that it is a wall in the place of a page."""

from __future__ import annotations

import logging
import re

from crawl_tasks.errors import Challenged, ParseError
from crawl_tasks.fetch.challenge import challenge_in
from crawl_tasks.model import Fetched, Items, Lease, Parsed
from crawl_tasks.sitebook import OpenSite

log = logging.getLogger(__name__)

_PARTICULAR = re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\d+")
_MOST_REMARKS = 100


def read_page(site: OpenSite, lease: Lease, page: Fetched) -> Parsed:
    """Read a page by the rules of its site, and let its items through the steps; one that is unchanged is not read.

    Raises:
        PageError: it says nothing.
    """
    if page.is_unchanged:
        return Parsed(Items(lease.request.site))
    parsed = _parse(site, lease, page)
    for note in parsed.notes:
        _remark(site, lease, note)
    return parsed if site.sieve is None else site.sieve.sift(lease.request, parsed)


def _remark(site: OpenSite, lease: Lease, note: str) -> None:
    """Log what a page's rules remarked: once of each kind, because the next thousand pages will say the same."""
    kind = f"{lease.request.stage} {_PARTICULAR.sub('', note)}"
    if kind not in site.remarked and len(site.remarked) < _MOST_REMARKS:
        site.remarked.add(kind)
        log.warning("page is read with a remark", extra={"remark": note})


def _parse(site: OpenSite, lease: Lease, page: Fetched) -> Parsed:
    """Parse a page.

    Raises:
        PageError: it says nothing; a wall against robots is named as such, because no rule can be mended there.
    """
    wall = None
    try:
        parsed = site.parser.parse(lease.request, page, lease.tail)
        if parsed.items.posts or parsed.items.comments or parsed.children:
            return parsed
        wall = challenge_in(page.headers, page.body)
    except ParseError:
        wall = challenge_in(page.headers, page.body)
        if wall is None:
            raise
    if wall is not None:
        raise Challenged(f"{page.url} answered {page.status} with a challenge ({wall})")
    return parsed
