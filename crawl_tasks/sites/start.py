"""Where a crawl of a site begins: a board's first page, and what start entries of other programs mean.

An entry is a bare address, or a JSON object with `board`, `post` or `url`, and `site`, `stage`, `page`, `priority`,
`revision` where they are wanted. Other keys mean nothing to us: an entry is data, never a message or a task.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import orjson

from crawl_tasks.errors import ConfigError, SiteError
from crawl_tasks.model import Priority, Request, Stage
from crawl_tasks.sites.address import Addresses
from crawl_tasks.sites.schema import Board, Site
from crawl_tasks.urls import normalize

MOST_PAGES = 100_000
_IS_KEY = re.compile(r"[^\x00-\x20\x7f\ud800-\udfff]{1,200}").fullmatch
_IS_REVISION = re.compile(r"[\x21-\x7e]{0,60}").fullmatch
_NAMES = ("board", "post", "url")


class Entry(NamedTuple):
    """What an entry says, before its site is known. Of board, post and url one is given."""

    site: str
    board: str | None = None
    post: str | None = None
    url: str | None = None
    stage: Stage | None = None
    page: int = 1
    priority: int = Priority.NORMAL
    revision: str = ""


def first_page(site: Site, board: Board, addresses: Addresses, revision: str) -> Request:
    """Make the request for a board's first list page.

    Raises:
        SiteError: the site file gives it no address.
    """
    address = addresses.of(Stage.LIST, board.id, 1)
    if address is None:
        raise SiteError(f"site {site.name}: board {board.id} has no address; give list.address, or the board's own")
    priority = site.priority.list if board.priority is None else board.priority
    return Request(site.name, Stage.LIST, board.id, address, page=1, revision=revision, priority=priority)


def read_entry(raw: bytes, site: str) -> Entry:
    """Read an entry; `site` is the one that its key names, or empty.

    Raises:
        ConfigError: it is none; the message says why.
    """
    try:
        text = raw.decode().removeprefix("\ufeff").strip()
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 at byte {error.start}") from None
    if not text:
        raise ConfigError("is empty")
    said = _object(text) if text.startswith(("{", "[", '"')) else {"url": text}
    given = [name for name in _NAMES if said.get(name) is not None]
    if len(given) != 1:
        raise ConfigError(f"must name one of board, post, url; it names {', '.join(given) or 'none'}")
    entry = Entry(
        site=_site(said.get("site"), site),
        board=_key("board", said.get("board")),
        post=_key("post", said.get("post")),
        url=_address(said.get("url")),
        stage=_stage(said.get("stage")),
        page=_whole("page", said.get("page"), 1),
        priority=max(0, min(9, _whole("priority", said.get("priority"), Priority.NORMAL))),
        revision=_revision(said.get("revision")),
    )
    if not 1 <= entry.page <= MOST_PAGES:
        raise ConfigError(f"page must be 1 to {MOST_PAGES}")
    return entry


def request_of_entry(entry: Entry, site: Site, addresses: Addresses, scan: str) -> Request:
    """Make the request that an entry means; `scan` is the revision of list pages, whose guard would know them else.

    Raises:
        ConfigError: the site has no such page.
        FetchError: the address is none that we go to.
    """
    if entry.url is not None:
        target = addresses.read(entry.url)
        if target is None or entry.stage not in (None, target.stage):
            what = f"{entry.stage.value} address" if entry.stage else "address"
            raise ConfigError(f"{entry.url[:200]} is no {what} of site {site.name}; see `identity` in its file")
        stage, key, page = target
        address: str | None = normalize(entry.url, f"{site.base}/", drop_params=site.drop_params)
    else:
        stage, key = (Stage.LIST, entry.board) if entry.board is not None else (Stage.POST, entry.post or "")
        if entry.stage is Stage.COMMENT and stage is Stage.POST:
            stage = Stage.COMMENT
        page = entry.page
        if entry.stage not in (None, stage) or (stage is Stage.POST and page != 1):
            raise ConfigError(f"stage and page do not fit a {stage.value}")
        address = addresses.of(stage, key, page)
    if address is None:
        raise ConfigError(f"site {site.name} gives no address for its {stage.value} pages; send the url")
    revision = entry.revision or (scan if stage is Stage.LIST else "")
    return Request(site.name, stage, key, address, page=page, revision=revision, priority=entry.priority)


def _object(text: str) -> dict[str, object]:
    try:
        said = orjson.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON: {error}") from None
    if not isinstance(said, dict):
        raise ConfigError(f"a JSON {type(said).__name__}, not an object")
    return said


def _site(value: object, of_key: str) -> str:
    if value is None and of_key:
        return of_key
    if not isinstance(value, str) or not value:
        raise ConfigError("names no site, nor does its key")
    if of_key and value != of_key:
        raise ConfigError(f"is for site {value[:40]!r}, but stands in the key of {of_key}")
    return value


def _key(name: str, value: object) -> str | None:
    if value is None:
        return None
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not _IS_KEY(text):
        raise ConfigError(f"{name} is no id: text of 1 to 200 characters without spaces, or a number")
    return text


def _address(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ConfigError("url is no text")
    return value


def _stage(value: object) -> Stage | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in set(Stage):
        raise ConfigError(f"stage is none of {', '.join(Stage)}")
    return Stage(value)


def _whole(name: str, value: object, default: int) -> int:
    if value is None:
        return default
    if type(value) is not int:
        raise ConfigError(f"{name} is no whole number")
    return value


def _revision(value: object) -> str:
    text = str(value) if type(value) is int else value or ""
    if not isinstance(text, str) or not _IS_REVISION(text):
        raise ConfigError("revision is no text of up to 60 ASCII characters without spaces")
    return text
