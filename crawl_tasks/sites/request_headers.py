"""The request headers of a site file: plain ones, and secret ones whose value is in a variable FORUM_...."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from crawl_tasks.errors import ConfigError
from crawl_tasks.sites.field_rules import require

HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,4096}")
VARIABLE = re.compile(r"FORUM_[A-Z0-9_]{1,58}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
# The fetcher and its HTTP client set these. A second Content-Length or Transfer-Encoding would end the request at
# another byte (request smuggling, RFC 9112, 11.2).
_OURS = (
    "host content-length transfer-encoding connection te trailer upgrade accept-encoding user-agent expect keep-alive "
    "proxy-authorization proxy-connection"
)
_OUR_HEADERS = frozenset(_OURS.split())


def _not_ours(headers: dict[str, str]) -> dict[str, str]:
    for name in headers:
        require(bool(_HEADER_NAME.fullmatch(name)), f"has a bad header name: {name[:40]!r}")
        require(name.lower() not in _OUR_HEADERS, f"may not set {name}; it is the fetcher's")
    return headers


def _plain(headers: dict[str, str]) -> dict[str, str]:
    for name, text in headers.items():
        require(name.lower() != "authorization", f"may not hold {name}: the file is no secret; see secret_headers")
        require(bool(HEADER_VALUE.fullmatch(text)), f"{name} must be printable ASCII on one line")
    return headers


def _named(headers: dict[str, str]) -> dict[str, str]:
    for name, variable in headers.items():
        # With any variable allowed, a published site file could send the database's password to a forum.
        require(bool(VARIABLE.fullmatch(variable)), f"{name} must name a variable FORUM_..., as FORUM_COOKIE")
    return headers


def check_headers(headers: dict[str, str]) -> None:
    """Raise ValueError for headers that a function may not set, or with values that no header may have."""
    for name, value in _not_ours(headers).items():
        require(bool(HEADER_VALUE.fullmatch(value)), f"gives {name} a value that is not printable ASCII on one line")


def forum_variable(environment: Mapping[str, str], name: str) -> str:
    """Return a variable FORUM_..., or the content of the file that the same name with _FILE names. Empty if unset.

    Raises:
        ConfigError: the file cannot be read.
    """
    file = environment.get(f"{name}_FILE")
    if not file:
        return environment.get(name, "").strip()
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}_FILE: {file} cannot be read: {error}") from error


def forum_secret(variable: str) -> str:
    """Return a secret of this process: a variable FORUM_..., or the content of the file that FORUM_..._FILE names.

    Raises:
        ConfigError: there is no such variable, or its file cannot be read.
    """
    value = forum_variable(os.environ, variable) if VARIABLE.fullmatch(variable) else ""
    if not value:
        raise ConfigError(f"{variable[:80]} is not set in this process; secrets of a site are named FORUM_...")
    return value


Headers = Annotated[dict[str, str], AfterValidator(_not_ours), AfterValidator(_plain)]
SecretHeaders = Annotated[dict[str, str], AfterValidator(_not_ours), AfterValidator(_named)]
