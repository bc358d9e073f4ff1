"""Start requests of a site: a board's first page, and the start entries that other programs send.

An entry is a bare address, or a JSON object with `board` (`forum_id`), `post` (`post_id`) or `url`, and optionally
`site`, `stage`, `page`, `pages` (`max_page`), `priority`, `revision`, `dont_filter`, `meta`. An unknown key is an
error. An entry is data, never a message or a task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import orjson

from crawl_tasks.errors import ConfigError, SiteError
from crawl_tasks.model import FULL_REACH, Priority, Reach, Request, Stage
from crawl_tasks.sites.addresses import Addresses, Target
from crawl_tasks.sites.schema import TELLS_ALL, Board, Site
from crawl_tasks.urls import normalize

MOST_PAGES = 100_000
_IS_KEY = re.compile(r"[^\x00-\x20\x7f\ud800-\udfff]{1,200}").fullmatch
_IS_REVISION = re.compile(r"[\x21-\x7e]{0,60}").fullmatch
_NAMES = ("board", "post", "url")
_ALSO_CALLED = {"forum_id": "board", "post_id": "post", "max_page": "pages"}
_KNOWN = frozenset((*_NAMES, "site", "stage", "page", "pages", "priority", "revision", "dont_filter", "meta"))
MOST_META = 2000
"""Characters of `meta` as JSON. It is in the ledger with its request."""


class StartEntry(NamedTuple):
    """A start entry before its site is known. Exactly one of board, post and url is given."""

    site: str
    board: str | None = None
    post: str | None = None
    url: str | None = None
    stage: Stage | None = None
    page: int = 1
    priority: int = Priority.NORMAL
    revision: str = ""
    reach: Reach = FULL_REACH
    is_again: bool = False


def first_page(site: Site, board: Board, addresses: Addresses, revision: str) -> Request:
    """Return the request for a board's first list page.

    Raises:
        SiteError: The site file gives the board no address.
    """
    address = addresses.of(Stage.LIST, board.id, 1)
    if address is None:
        raise SiteError(f"site {site.name}: board {board.id} has no address; give list.address, or the board's own")
    priority = site.priority.list if board.priority is None else board.priority
    if board.kind in TELLS_ALL and board.priority is None:
        # One look at all boards goes before looks at single ones, and so do the threads that it finds.
        priority = min(9, priority + 1)
    return Request(site.name, Stage.LIST, board.id, address, page=1, revision=revision, priority=priority)


def read_entry(raw: bytes, site: str) -> StartEntry:
    """Return a start entry. `site` is the name in the entry's key, or empty.

    Raises:
        ConfigError: The bytes are no entry. The message says why.
    """
    try:
        # Some programs begin UTF-8 texts with a BOM.
        text = raw.decode().removeprefix("\ufeff").strip()
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 at byte {error.start}") from None
    if not text:
        raise ConfigError("is empty")
    values = _object(text) if text.startswith(("{", "[", '"')) else {"url": text}
    return entry_of(values, site)


def entry_of(values: Mapping[str, object], site: str) -> StartEntry:
    """Return the start entry of a JSON object. `site` is the name in the entry's key, or empty.

    Raises:
        ConfigError: The object is no entry. The message says why.
    """
    values = _with_our_names(values)
    given = [name for name in _NAMES if values.get(name) is not None]
    if len(given) != 1:
        raise ConfigError(f"must name one of board, post, url; it names {', '.join(given) or 'none'}")
    entry = StartEntry(
        site=_site(values.get("site"), site),
        board=_key("board", values.get("board")),
        post=_key("post", values.get("post")),
        url=_address(values.get("url")),
        stage=_stage(values.get("stage")),
        page=_whole("page", values.get("page"), 1),
        priority=max(0, min(9, _whole("priority", values.get("priority"), Priority.NORMAL))),
        revision=_revision(values.get("revision")),
        reach=Reach(pages=_whole("pages", values.get("pages"), 0), meta=_meta(values.get("meta"))),
        is_again=_flag("dont_filter", values.get("dont_filter")),
    )
    if not 0 <= entry.reach.pages <= MOST_PAGES or (entry.reach.pages and entry.post):
        raise ConfigError(f"pages must be 1 to {MOST_PAGES}, and be of a board")
    if not 1 <= entry.page <= MOST_PAGES:
        raise ConfigError(f"page must be 1 to {MOST_PAGES}")
    return entry


def request_of_entry(entry: StartEntry, site: Site, addresses: Addresses, scan: str) -> Request:
    """Return the request of an entry. `scan` is the revision of list pages, which the guard would otherwise refuse.

    Raises:
        ConfigError: The site has no such page.
        FetchError: The crawler does not go to this address.
    """
    if entry.url is not None:
        target = _target_of(entry.url, entry.stage, site, addresses)
        address: str | None = normalize(entry.url, f"{site.base}/", drop_params=site.drop_params)
    else:
        target = _target_by_id(entry)
        address = addresses.of(*target)
    stage, key, page = target
    if address is None:
        raise ConfigError(f"site {site.name} gives no address for its {stage.value} pages; send the url")
    if entry.reach.pages and stage is not Stage.LIST:
        raise ConfigError(f"pages is the number of list pages, and this is a {stage.value}")
    revision = entry.revision or (scan if stage is Stage.LIST else "")
    return Request(
        site.name, stage, key, address, page=page, revision=revision, priority=entry.priority,
        reach=entry.reach, is_again=entry.is_again,
    )  # fmt: skip


def _target_of(url: str, stage: Stage | None, site: Site, addresses: Addresses) -> Target:
    target = addresses.read(url)
    if target is None or stage not in (None, target.stage):
        what = f"{stage.value} address" if stage else "address"
        raise ConfigError(f"{url[:200]} is no {what} of site {site.name}; see `identity` in its file")
    return target


def _target_by_id(entry: StartEntry) -> Target:
    stage, key = (Stage.LIST, entry.board) if entry.board is not None else (Stage.POST, entry.post or "")
    if entry.stage is Stage.COMMENT and stage is Stage.POST:
        stage = Stage.COMMENT
    if entry.stage not in (None, stage) or (stage is Stage.POST and entry.page != 1):
        raise ConfigError(f"stage and page do not fit a {stage.value}")
    return Target(stage, key, entry.page)


def _with_our_names(values: Mapping[str, object]) -> dict[str, object]:
    """Return an object with our names for those of other programs, without the keys that say nothing.

    Raises:
        ConfigError: A key is unknown, or is given by both of its names.
    """
    ours = [(_ALSO_CALLED.get(name, name), value) for name, value in values.items() if value is not None]
    names = [name for name, _ in ours]
    if strange := sorted({*names} - _KNOWN):
        known = ", ".join(sorted(_KNOWN | _ALSO_CALLED.keys()))
        raise ConfigError(
            f"unknown {', '.join(map(repr, strange))[:200]}; known are {known}; for others: start_request"
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"{', '.join(twice)} is given by two names")
    return dict(ours)


def _flag(name: str, value: object) -> bool:
    if value not in (None, True, False):
        raise ConfigError(f"{name} is neither true nor false")
    return bool(value)


def _meta(value: object) -> str:
    if not value:
        return ""
    if not isinstance(value, dict):
        raise ConfigError("meta is no object")
    text = orjson.dumps(value).decode()
    if len(text) > MOST_META:
        raise ConfigError(f"meta is {len(text)} characters of JSON, and may be {MOST_META}")
    return text


def _object(text: str) -> dict[str, object]:
    try:
        value = orjson.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"a JSON {type(value).__name__}, not an object")
    return value


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
    # type() and not isinstance(): true is an int to Python, and would become the id `True`.
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
