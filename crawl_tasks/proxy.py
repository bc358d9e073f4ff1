"""Proxies: the address of an HTTP or SOCKS5 proxy in a setting or a site file. Pure.

Every request goes through a tunnel, http as well as https. A proxy carries bytes and nothing else: no header of an
https request is visible there, and none of our headers is meant for a proxy.
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
"""Bytes of a user name or password that SOCKS5 can carry (RFC 1929)."""


class ProxyKind(StrEnum):
    """The protocol of a proxy. Only behind SOCKS5 do we resolve the forum's name ourselves, and check the result."""

    DIRECT = "direct"
    HTTP = "http"
    SOCKS5 = "socks5"
    SOCKS5H = "socks5h"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy. User and password are empty for a proxy without authentication."""

    kind: ProxyKind
    host: str = ""
    port: int = 0
    # Secrets stay out of the repr, and with that out of logs and tracebacks.
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def looks_up_names(self) -> bool:
        """Return whether the proxy is given the forum's name in place of an address."""
        return self.kind in (ProxyKind.HTTP, ProxyKind.SOCKS5H)

    def __str__(self) -> str:
        """Return the proxy's address without secrets."""
        return f"{self.kind}://{self.host}:{self.port}" if self.host else str(self.kind)


DIRECT = Proxy(ProxyKind.DIRECT)


def read_proxy(text: str, where: str) -> Proxy:
    """Return the proxy of an address, DIRECT for an empty text.

    Args:
        text: the value of a setting or variable, which may hold a password.
        where: the name of that setting, for the message, which shows nothing of the value.

    Raises:
        ConfigError: The text is no address of a proxy.
    """
    if text in ("", ProxyKind.DIRECT):
        return DIRECT
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ConfigError(f"{where} is no address of a proxy; {_WRITE}")
    if match["kind"] not in (ProxyKind.HTTP, ProxyKind.SOCKS5, ProxyKind.SOCKS5H):
        raise ConfigError(f"{where}: proxies of kind {match['kind']} are not spoken to; {_WRITE}")
    port = int(match["port"])
    user, password = unquote(match["user"] or ""), unquote(match["password"] or "")
    if not 0 < port < 65536 or not all(_is_sendable(secret) for secret in (user, password)):
        raise ConfigError(f"{where}: its port, user or password is none that can be sent; {_WRITE}")
    return Proxy(ProxyKind(match["kind"]), match["host"].strip("[]").lower(), port, user, password)


def _is_sendable(secret: str) -> bool:
    # unquote() writes U+FFFD for bytes that are not UTF-8. Such a secret would not arrive as meant.
    return len(secret.encode()) <= _MOST_SECRET and secret.isprintable() and "\ufffd" not in secret
