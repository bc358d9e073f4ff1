"""The site file as a type: `Site`, frozen, every key with its range and a sentence. The loader fills it.

A `Site` is what all steps know of a forum. It travels between processes as JSON (loader.py) and is
known by its `version`, a hash of that JSON.
"""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from typing import Annotated, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, StringConstraints, field_validator, model_validator

from crawl_tasks.errors import ConfigError, RefusedAddress
from crawl_tasks.model import Stage
from crawl_tasks.proxy import read_proxy
from crawl_tasks.sites.board import Board, BoardKind, Line, from_id
from crawl_tasks.sites.policy import (
    Breaker,
    Flag,
    Gate,
    GuardMode,
    Guards,
    Interval,
    Order,
    Orders,
    Priorities,
    Whole,
    one_word_for_all,
)
from crawl_tasks.sites.rules import Part
from crawl_tasks.sites.stages import CommentSpec, ListSpec, PostSpec, StageSpec, require
from crawl_tasks.sites.steps import Step
from crawl_tasks.sites.template import check_addresses
from crawl_tasks.urls import normalize

_RESERVED = "all celery comment config control default detail list none post site sites store unacked work"
RESERVED_NAMES = frozenset(_RESERVED.split())
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_HOST_PORT = re.compile(r"(\[[0-9a-f:]+\]|[a-z0-9.-]+):([1-9][0-9]{0,4})")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Z][A-Za-z]{1,3})?")
HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,4096}")
_VARIABLE = re.compile(r"FORUM_[A-Z0-9_]{1,58}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_OURS = (
    "host content-length transfer-encoding connection te trailer upgrade accept-encoding user-agent expect keep-alive "
    "proxy-authorization proxy-connection"
)
_OUR_HEADERS = frozenset(_OURS.split())

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
# Lengths stand apart from patterns: repeated 1 to 64 times, all of Unicode's \w takes 15 ms to compile.
Parameter = Annotated[str, StringConstraints(pattern=r"^[\w.-]+\*?$", max_length=64)]


class Site(Part):
    """A forum: who it is, how gently to ask it, and how to read its pages."""

    name: Name = Field(description="Short name, in keys and queues: small letters, digits, - and _.")
    title: Line | None = Field(default=None, description="The forum's own name.")
    base: str = Field(
        description="Where it is: scheme, host and port, and the path it lies below, as https://example.org/forum."
    )
    hosts: tuple[str, ...] = Field(default=(), max_length=50, description="Further hosts of the same forum.")
    private_hosts: tuple[str, ...] = Field(
        default=(),
        max_length=50,
        description="host:port of private or loopback addresses that may be fetched; no others are.",
    )
    timezone: str = Field(default="UTC", description="IANA zone of dates on its pages that name none.")
    languages: tuple[str, ...] = Field(
        default=("zh", "zh-Hant", "en", "ja"), description="Languages of dates in words."
    )
    encoding: str | None = Field(default=None, description="Charset of its pages, if they lie about it.")
    drop_params: tuple[Parameter, ...] = Field(
        default=(), max_length=50, description="Parameters left out of its addresses: session ids, utm_*."
    )
    robots: Flag = Field(default=True, description="Obey its robots.txt.")
    revalidate: Flag = Field(
        default=True,
        description="Ask by ETag and Last-Modified whether a board's first page changed since its last scan.",
    )
    user_agent: Line | None = Field(default=None, description="In place of the project's user agent.")
    headers: dict[str, str] = Field(default={}, max_length=50, description="Further request headers; nothing secret.")
    secret_headers: dict[str, str] = Field(
        default={},
        max_length=10,
        description="Request headers whose value is in a variable FORUM_... of the processes that fetch.",
    )
    proxy: str | None = Field(
        default=None,
        description="In place of CRAWL_PROXY: direct, an address without password, or a variable FORUM_... with one.",
    )
    engine: Name | None = Field(
        default=None, description="Preset of the forum's program; what this file says stands above it."
    )
    gate: Gate = Field(default=Gate(), description="How hard it may be asked.")
    breaker: Breaker = Field(default=Breaker(), description="When a stage that cannot be read is shut.")
    interval: Interval = Field(default=Interval(), description="How often its boards are looked at.")
    order: Annotated[Orders, BeforeValidator(one_word_for_all)] = Field(
        default=Orders(), description="fifo or lifo, by stage; one word sets all three."
    )
    priority: Annotated[Priorities, BeforeValidator(one_word_for_all)] = Field(
        default=Priorities(), description="0 to 9, by stage; one number sets all three."
    )
    guard: Annotated[Guards, BeforeValidator(one_word_for_all)] = Field(
        default=Guards(), description="exact, rolling, bloom or off, by stage; one word sets all three."
    )
    guard_window_s: Whole = Field(
        default=86_400, ge=60, le=31_536_000, description="Seconds a rolling guard remembers."
    )
    guard_capacity: Whole = Field(
        default=1_000_000,
        ge=1000,
        le=100_000_000,
        description="Addresses each filter of a bloom guard holds, at 3 bytes each.",
    )
    boards: tuple[Annotated[Board, BeforeValidator(from_id)], ...] = Field(default=(), description="Boards to watch.")
    list: ListSpec = Field(description="How to read list pages.")
    post: PostSpec = Field(description="How to read post pages.")
    comment: CommentSpec | None = Field(
        default=None, description="How to read comment pages; left out, there are none."
    )
    items: tuple[Step, ...] = Field(
        default=(), max_length=50, description="Steps that see each post and comment before it is stored."
    )

    @cached_property
    def version(self) -> str:
        """Identify this content: 16 hex digits, equal for equal files."""
        return hashlib.blake2b(self.model_dump_json(by_alias=True).encode(), digest_size=8).hexdigest()

    @cached_property
    def allowed_hosts(self) -> frozenset[str]:
        """Return every host, lower case, without port, that belongs to this forum."""
        return frozenset({urlsplit(self.base).hostname or "", *self.hosts})

    @property
    def stages(self) -> dict[Stage, StageSpec]:
        """Return the specification of each stage the site has."""
        specs: dict[Stage, StageSpec | None] = {
            Stage.LIST: self.list, Stage.POST: self.post, Stage.COMMENT: self.comment
        }  # fmt: skip
        return {stage: spec for stage, spec in specs.items() if spec is not None}

    def relocated(self, base: str) -> Self:
        """Return the same site served from another origin, private or not, as tests and benches need it."""
        where = urlsplit(_place(base))
        port = where.port or (443 if where.scheme == "https" else 80)
        changed = self.model_dump(by_alias=True, exclude_defaults=True) | {
            "base": f"{where.scheme}://{where.netloc}{urlsplit(self.base).path}",
            "private_hosts": (f"{where.hostname}:{port}",),
        }
        return type(self).model_validate(changed)

    @field_validator("name")
    @classmethod
    def _name_is_free(cls, value: str) -> str:
        require(value not in RESERVED_NAMES, f"is a reserved word: {value!r}; choose another name")
        return value

    @field_validator("base")
    @classmethod
    def _base_is_a_place(cls, value: str) -> str:
        return _place(value)

    @field_validator("hosts")
    @classmethod
    def _hosts_are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for host in value:
            require(bool(_HOST.fullmatch(host)) and "." in host, f"is no host name: {host!r}; as www.forum.example")
        return value

    @field_validator("private_hosts")
    @classmethod
    def _private_hosts_name_a_port(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for place in value:
            found = _HOST_PORT.fullmatch(place)
            require(bool(found) and int(found[2]) < 65536, f"is not host:port: {place!r}; as 127.0.0.1:8080")  # type: ignore[index]  # require() raises when found is None
        return value

    @field_validator("timezone")
    @classmethod
    def _timezone_is_known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ValueError, OSError, KeyError):
            raise ValueError(f"is no IANA time zone: {value!r}; as Asia/Shanghai") from None
        return value

    @field_validator("languages")
    @classmethod
    def _languages_are_codes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for code in value:
            require(bool(_LANGUAGE.fullmatch(code)), f"is no language code: {code!r}; as zh, zh-Hant or en")
        return value

    @field_validator("encoding")
    @classmethod
    def _encoding_is_known(cls, value: str | None) -> str | None:
        try:
            b"x".decode(value or "utf-8")
        except (LookupError, ValueError):
            raise ValueError(f"is no charset: {value!r}; as gb18030") from None
        return value

    @field_validator("headers", "secret_headers")
    @classmethod
    def _headers_are_ours_to_set(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            require(bool(_HEADER_NAME.fullmatch(name)), f"has a bad header name: {name[:40]!r}")
            require(name.lower() not in _OUR_HEADERS, f"may not set {name}; it is the fetcher's")
        return value

    @field_validator("headers")
    @classmethod
    def _headers_are_plain(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            require(name.lower() != "authorization", f"may not hold {name}: the file is no secret; see secret_headers")
            require(bool(HEADER_VALUE.fullmatch(text)), f"{name} must be printable ASCII on one line")
        return value

    @field_validator("secret_headers")
    @classmethod
    def _secrets_are_named(cls, value: dict[str, str]) -> dict[str, str]:
        for name, variable in value.items():
            # Any variable would let whoever publishes a site read the database's password.
            require(bool(_VARIABLE.fullmatch(variable)), f"{name} must name a variable FORUM_..., as FORUM_COOKIE")
        return value

    @field_validator("proxy")
    @classmethod
    def _proxy_is_no_secret(cls, value: str | None) -> str | None:
        require(
            "@" not in (value or ""), "may hold no password: the file is no secret; name a variable, as FORUM_PROXY"
        )
        if value is not None and not _VARIABLE.fullmatch(value):
            try:
                read_proxy(value, "what it says")
            except ConfigError as error:
                raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        ids = [board.id for board in self.boards]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        require(not twice, f"boards names {', '.join(twice)} more than once; ids are unique")
        require(
            self.post.comments is None or (self.comment is not None and self.comment.first_page == 2),
            "post.comments are comment page 1: set comment.first_page to 2",
        )
        if self.comment is not None and self.comment.first_page == 2 and self.post.parser is None:
            pagers = (self.post, self.comment)
            require(
                any(one.next or one.pages or one.total for one in pagers),
                "post.pages: nothing says whether there are more comment pages; give pages, total or next",
            )
        check_addresses(self.stages, self.base)
        return self


def _place(value: str) -> str:
    try:
        where = urlsplit(normalize(value))
    except RefusedAddress as error:
        raise ValueError(f"is no address: {error}; as https://forum.example") from None
    require(not where.query and "." not in where.path.rpartition("/")[2], f"is a page, not where it lies: {value!r}")
    return f"{where.scheme}://{where.netloc}{where.path.rstrip('/')}"


__all__ = ["Board", "BoardKind", "Gate", "GuardMode", "Guards", "Interval", "Order", "Orders", "Priorities", "Site"]
