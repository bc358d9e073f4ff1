"""The task message: its validation, and the request that another program's message means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from crawl_tasks.errors import ConfigError
from crawl_tasks.model import Priority, Request, Stage
from crawl_tasks.urls import normalize

# A store worker imports the tasks too, and must not pay for rules and parsers.
if TYPE_CHECKING:
    from crawl_tasks.registry.site_registry import CompiledSite

MOST_TEXT = 4096
"""Characters of an id or address in a message at most. Those of forums are far shorter."""


class TaskMessage(NamedTuple):
    """The arguments of a task: the id of a released request, or of other programs an id of the forum or a URL."""

    site: str
    stage: Stage
    rid: int | None = None
    key: str | int | None = None
    page: int = 1
    url: str | None = None
    priority: int | None = None
    revision: str = ""


_NO_MORE = TaskMessage("", Stage.LIST)[3:]
"""The further fields of our own messages, which have only site, stage and rid."""

_IS_SITE = re.compile(r"[a-z0-9_-]{1,32}").fullmatch
# A lone surrogate cannot be encoded as UTF-8, so neither Redis nor a database would take the text.
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]").search


def validate(message: TaskMessage) -> None:
    """Refuse a message with values of wrong types: anybody can put a message on a queue.

    Raises:
        ConfigError: a value has a wrong type or size.
    """
    if not isinstance(message.site, str) or not _IS_SITE(message.site):
        raise ConfigError(f"{str(message.site)[:40]!r} is no site's name")
    if not _is_whole(message.rid or 0):
        raise ConfigError("rid is a whole number")
    # Nearly all messages are our own, and one comparison settles them.
    if message[3:] != _NO_MORE:
        _check_more(message)


def _check_more(message: TaskMessage) -> None:
    key, url, revision = message.key, message.url, message.revision
    if not _is_text(revision) or not _is_text(url or ""):
        raise ConfigError(f"url and revision are texts of at most {MOST_TEXT} characters")
    if _HALF_CHARACTER(f"{url}{revision}{key}"):
        raise ConfigError("half a character stands in the id, url or revision")
    if not _is_whole(message.page) or not _is_whole(message.priority or 0):
        raise ConfigError("page and priority are whole numbers")
    if key is not None and (not isinstance(key, str | int) or len(str(key)) > MOST_TEXT):
        raise ConfigError("a board or post id is a text or a number")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT


def _is_whole(value: object) -> bool:
    # Not isinstance, which takes True for 1. Lua's numbers are doubles, which are exact below 2**53.
    return type(value) is int and 0 <= value < 1 << 53


def request_of(message: TaskMessage, site: CompiledSite) -> Request:
    """Return the request that another program's message means, by the addresses of the site.

    Raises:
        ConfigError: the message names neither an id nor an address of the site.
    """
    key, page = message.key, message.page
    if message.url is not None:
        target = site.addresses.read(message.url)
        if target is None or target.stage is not message.stage:
            raise ConfigError(
                f"{message.url} is no {message.stage.value} address of site {message.site}; see `identity` in its file"
            )
        key, page = target.key, target.page
    if key is None:
        raise ConfigError(f"a {message.stage.value} task for site {message.site} needs an id or a url")
    priority = Priority.URGENT if message.priority is None else max(0, min(9, message.priority))
    address = normalize(message.url) if message.url is not None else site.address(message.stage, str(key), page)
    return Request(
        message.site, message.stage, str(key), address, page=page, revision=message.revision, priority=priority
    )
