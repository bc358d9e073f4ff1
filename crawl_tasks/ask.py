"""Step 4: what a message asks, and the request that it means when it is another program's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from crawl_tasks.errors import ConfigError
from crawl_tasks.model import Priority, Request, Stage
from crawl_tasks.urls import normalize

if TYPE_CHECKING:  # a store worker, which knows the tasks too, needs no rules and parsers
    from crawl_tasks.sitebook import OpenSite

MOST_TEXT = 4096
"""Characters of an id or address in a message; forums' own are far shorter."""


class Ask(NamedTuple):
    """What a message says: a released request's id, or, from others, the ids of a forum or an address."""

    site: str
    stage: Stage
    rid: int | None = None
    key: str | int | None = None
    page: int = 1
    url: str | None = None
    priority: int | None = None
    revision: str = ""


_NO_MORE = Ask("", Stage.LIST)[3:]
"""What our own messages say beside site, stage and rid."""

_IS_SITE = re.compile(r"[a-z0-9_-]{1,32}").fullmatch
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]").search


def check_ask(ask: Ask) -> None:
    """Refuse a message whose values are not of the kinds a task takes: anybody can put one on a queue.

    Raises:
        ConfigError: it is such a message.
    """
    if not isinstance(ask.site, str) or not _IS_SITE(ask.site):
        raise ConfigError(f"{str(ask.site)[:40]!r} is no site's name")
    if not _is_whole(ask.rid or 0):
        raise ConfigError("rid is a whole number")
    if ask[3:] != _NO_MORE:
        _check_more(ask)


def _check_more(ask: Ask) -> None:
    key, url, revision = ask.key, ask.url, ask.revision
    if not _is_text(revision) or not _is_text(url or ""):
        raise ConfigError(f"url and revision are texts of at most {MOST_TEXT} characters")
    if _HALF_CHARACTER(f"{url}{revision}{key}"):
        raise ConfigError("half a character stands in the id, url or revision")
    if not _is_whole(ask.page) or not _is_whole(ask.priority or 0):
        raise ConfigError("page and priority are whole numbers")
    if key is not None and (not isinstance(key, str | int) or len(str(key)) > MOST_TEXT):
        raise ConfigError("a board or post id is a text or a number")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 53


def request_of(ask: Ask, site: OpenSite) -> Request:
    """Make the request that a direct message means, by the site's addresses.

    Raises:
        ConfigError: it names neither an id nor an address of the site.
    """
    key, page = ask.key, ask.page
    if ask.url is not None:
        found = site.addresses.read(ask.url)
        if found is None or found.stage is not ask.stage:
            raise ConfigError(
                f"{ask.url} is no {ask.stage.value} address of site {ask.site}; see `identity` in its file"
            )
        key, page = found.key, found.page
    if key is None:
        raise ConfigError(f"a {ask.stage.value} task for site {ask.site} needs an id or a url")
    priority = Priority.URGENT if ask.priority is None else max(0, min(9, ask.priority))
    address = normalize(ask.url) if ask.url is not None else site.address(ask.stage, str(key), page)
    return Request(ask.site, ask.stage, str(key), address, page=page, revision=ask.revision, priority=priority)
