"""The values of a site file that have a check of their own: names, hosts, zones, sources of pages, proxies."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, StringConstraints

from crawl_tasks.errors import ConfigError, RefusedAddress
from crawl_tasks.proxy import read_proxy
from crawl_tasks.sites.field_rules import require
from crawl_tasks.sites.request_headers import VARIABLE
from crawl_tasks.sites.stages import FUNCTION
from crawl_tasks.urls import normalize

# Words that queues, keys and commands use already.
_RESERVED = "all celery comment config control default detail list none post render site sites store unacked work"
RESERVED_NAMES = frozenset(_RESERVED.split())
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_HOST_PORT = re.compile(r"(\[[0-9a-f:]+\]|[a-z0-9.-]+):([1-9][0-9]{0,4})")
# Not http: that is the fetcher's own, under the address guard.
_PLACE = re.compile(r"file:///\S+|(?!https?:|file:|local:)[a-z][a-z0-9+.-]{1,20}://\S+")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Z][A-Za-z]{1,3})?")


class DateOrder(StrEnum):
    """The order of day, month and year in a date of figures only."""

    DMY = "dmy"
    MDY = "mdy"
    YMD = "ymd"
    YDM = "ydm"


def _free(name: str) -> str:
    require(name not in RESERVED_NAMES, f"is a reserved word: {name!r}; choose another name")
    return name


def place_of_site(value: str) -> str:
    """Return where a forum lies, from an address as people write it.

    Raises:
        ValueError: it is no such address.
    """
    try:
        where = urlsplit(normalize(value))
    except RefusedAddress as error:
        raise ValueError(f"is no address: {error}; as https://forum.example") from None
    require(not where.query and "." not in where.path.rpartition("/")[2], f"is a page, not where it lies: {value!r}")
    return f"{where.scheme}://{where.netloc}{where.path.rstrip('/')}"


def _hosts(value: tuple[str, ...]) -> tuple[str, ...]:
    for host in value:
        name, _, port = host.partition(":")
        is_name = bool(_HOST.fullmatch(name)) and ("." in name or name == "localhost")
        has_port = bool(_HOST_PORT.fullmatch(host)) and int(port) < 65536
        is_place = is_name and (has_port or host == name)
        require(is_place, f"is no host: {host!r}; as www.forum.example, or with a port www.forum.example:8080")
    return value


def _private_hosts(value: tuple[str, ...]) -> tuple[str, ...]:
    for place in value:
        match = _HOST_PORT.fullmatch(place)
        require(match is not None and int(match[2]) < 65536, f"is not host:port: {place!r}; as 127.0.0.1:8080")
    return value


def _timezone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ValueError, OSError, KeyError):
        raise ValueError(f"is no IANA time zone: {value!r}; as Asia/Shanghai") from None
    return value


def _languages(value: tuple[str, ...]) -> tuple[str, ...]:
    for code in value:
        require(bool(_LANGUAGE.fullmatch(code)), f"is no language code: {code!r}; as zh, zh-Hant or en")
    return value


def _charset(value: str) -> str:
    try:
        b"x".decode(value)
    except (LookupError, ValueError):
        raise ValueError(f"is no charset: {value!r}; as gb18030") from None
    return value


def _source(value: str) -> str:
    # fsspec chains systems by "::". One of them could be the network.
    is_known = (_PLACE.fullmatch(value) and "::" not in value) or re.fullmatch(FUNCTION, value)
    require(
        bool(is_known), f"is no source of pages: {value!r}; as file:///srv/dump, s3://bucket/path or module:function"
    )
    return value


def _proxy(value: str) -> str:
    require("@" not in value, "may hold no password: the file is no secret; name a variable, as FORUM_PROXY")
    if not VARIABLE.fullmatch(value):
        try:
            read_proxy(value, "what it says")
        except ConfigError as error:
            raise ValueError(str(error)) from None
    return value


Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
SiteName = Annotated[Name, AfterValidator(_free)]
BaseAddress = Annotated[str, AfterValidator(place_of_site)]
Hosts = Annotated[tuple[str, ...], AfterValidator(_hosts)]
PrivateHosts = Annotated[tuple[str, ...], AfterValidator(_private_hosts)]
Timezone = Annotated[str, AfterValidator(_timezone)]
Languages = Annotated[tuple[str, ...], AfterValidator(_languages)]
Charset = Annotated[str, AfterValidator(_charset)]
PageSource = Annotated[str, AfterValidator(_source)]
ProxyName = Annotated[str, AfterValidator(_proxy)]
# The length is apart from the pattern: Unicode's \w repeated 1 to 64 times takes 15 ms to compile.
Parameter = Annotated[str, StringConstraints(pattern=r"^[\w.-]+\*?$", max_length=64)]
