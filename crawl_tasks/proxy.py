"""Step 5, fetch: a proxy that requests go through, as it is named in a setting or a site file. Pure.

Every request goes through a tunnel, http as well as https, so that a proxy carries bytes and nothing else: it sees no
header of an https request, and none of ours is meant for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote

from crawl_tasks.errors import ConfigError

_ADDRESS = re.compile(
    r"(?P<kind>[a-z0-9]{1,12})://"
    r"(?:(?P<user>[^\s:@/]{0,512})(?::(?P<password>[^\s:@/]{0,512}))?@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253}):(?P<port>[0-9]{1,5})/?"
)
_WRITE = "write http://host:port, socks5://host:port or socks5h://host:port, or direct"
_MOST_SECRET = 255
"""Bytes of a user's name or password that SOCKS5 can carry (RFC 1929)."""


class ProxyKind(StrEnum):
    """How a proxy is spoken to. Only behind SOCKS5 we look up the forum's name ourselves, and check what is found."""

    DIRECT = "direct"
    HTTP = "http"
    SOCKS5 = "socks5"
    SOCKS5H = "socks5h"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy; user and password are empty where it wants none."""

    kind: ProxyKind
    host: str = ""
    port: int = 0
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def looks_up_names(self) -> bool:
        """Say whether the proxy is given the forum's name, not its address."""
        return self.kind in (ProxyKind.HTTP, ProxyKind.SOCKS5H)

    def __str__(self) -> str:
        """Name it without its secrets."""
        return f"{self.kind}://{self.host}:{self.port}" if self.host else str(self.kind)


DIRECT = Proxy(ProxyKind.DIRECT)


def read_proxy(text: str, where: str) -> Proxy:
    """Read a proxy's address; empty means none.

    Args:
        text: what a setting or variable holds; it may have a password.
        where: whose value it is, for the message, which shows nothing of it.

    Raises:
        ConfigError: it is none.
    """
    if text in ("", ProxyKind.DIRECT):
        return DIRECT
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ConfigError(f"{where} is no address of a proxy; {_WRITE}")
    if found["kind"] not in (ProxyKind.HTTP, ProxyKind.SOCKS5, ProxyKind.SOCKS5H):
        raise ConfigError(f"{where}: proxies of kind {found['kind']} are not spoken to; {_WRITE}")
    port = int(found["port"])
    user, password = unquote(found["user"] or ""), unquote(found["password"] or "")
    if not 0 < port < 65536 or not all(_is_sendable(secret) for secret in (user, password)):
        raise ConfigError(f"{where}: its port, user or password is none that can be sent; {_WRITE}")
    return Proxy(ProxyKind(found["kind"]), found["host"].strip("[]").lower(), port, user, password)


def _is_sendable(secret: str) -> bool:
    return len(secret.encode()) <= _MOST_SECRET and secret.isprintable() and "\ufffd" not in secret
