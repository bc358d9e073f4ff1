"""URL normalisation: addresses in one canonical spelling, and the fingerprints by which the guard knows requests.

Addresses are read as in the URL standard of the WHATWG, because links of a forum are made for browsers. The same text
is then checked and fetched, so that no second parser can see another host there.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from hashlib import blake2b
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import urlsplit

import idna

from crawl_tasks.errors import RefusedAddress

MAX_LENGTH = 4_096
MAX_SEGMENTS = 64
MAX_PARAMETERS = 200
DEFAULT_PORTS = {"http": 80, "https": 443}

_SAFE = r"A-Za-z0-9\-._~!$&()*+,;=:@"
# Nearly all links have nothing to encode and no dot segment, so nothing to resolve.
_PLAIN = re.compile(
    rf"(https?://[a-z0-9.:\-]{{1,300}}(?=/))?(/(?![/.])[{_SAFE}]*(?:/(?!\.)[{_SAFE}]*)*(?:\?[{_SAFE}/?\[\]]+)?)(?:#[!-~]*)?"
)
_ODD = re.compile(rf"%[0-9A-Fa-f]{{2}}|%|[^{_SAFE}/?\[\]%]+")
_CONTROL = re.compile(r"[\x00-\x1f]")
_BLANKS = "".join(map(chr, range(0x21)))
_NO_BREAKS = {9: None, 10: None, 13: None}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_\-]{1,63}(?:\.[a-z0-9_\-]{1,63})*")
_PORT = re.compile(r":([0-9]*)\Z")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_USERINFO = re.compile(r"[^/?#\\\s]*@")
# A forum may repeat a run of segments three times. More repeats, in a deep path, are a loop of relative links.
_LOOP = re.compile(r"/((?:[^/]+/)+?)\1{3,}")
_DEEP = 12


class _Place(NamedTuple):
    """The parts of a base address that a relative reference needs."""

    origin: str
    path: str
    query: str


def normalize(
    address: str, base: str | None = None, *, drop_params: Collection[str] = (), encoding: str = "utf-8"
) -> str:
    """Return the absolute http(s) address in its one canonical ASCII spelling, without fragment.

    A second normalisation changes nothing. The result holds no blank, quote, backslash, control or non-ASCII character.
    Dot segments, default ports and an empty query are removed. The order of the query stays.

    Args:
        address: a reference on a page or in a file.
        base: the address of the page with the reference. Without a base, only absolute addresses are accepted.
        drop_params: names of parameters to remove from query and path (`;name=`). `utm_*` stands for a family.
        encoding: the page's charset, in which browsers encode the query and nothing else.

    Raises:
        RefusedAddress: The crawler does not go to this address. The message says why.
    """
    if not isinstance(address, str):
        raise RefusedAddress(f"an address must be text, not {type(address).__name__}")
    if len(address) > MAX_LENGTH:
        raise _refusal(address, f"is longer than {MAX_LENGTH} characters")
    plain = _PLAIN.fullmatch(address)
    if plain is not None and (plain[1] or base):
        whole = (_origin(plain[1]) if plain[1] else _place(base or "").origin) + plain[2]
    else:
        whole = _resolve(address, base, encoding)
    if drop_params:
        whole = _without(whole, tuple(drop_params))
    return _checked(whole)


def host_of(address: str) -> str:
    """Return the host name of a normalised address: no port, IPv6 in brackets."""
    return _PORT.sub("", origin_of(address).partition("//")[2])


def origin_of(address: str) -> str:
    """Return scheme, host and port of a normalised address. The scheme's default port is left out."""
    end = address.find("/", 8)
    return address if end < 0 else address[:end]


def fingerprint(stage: str, key: str, page: int, revision: str) -> int:
    """Return the 63-bit number by which the guard knows a request."""
    # The lengths keep the parts apart, so that different requests never give the hash the same text.
    text = f"{len(stage)}:{stage}{len(key)}:{key}{page}:{revision}"
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


def page_hash(stage: str, key: str, page: int) -> int:
    """Return the 56-bit number by which the guard knows a page in any revision, never 0."""
    # Seven of the ten bytes of an entry of the exact guard (lua/guard/tables.lua).
    text = f"{len(stage)}:{stage}{len(key)}:{key}{page}"
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big") or 1


def _refusal(address: str, why: str) -> RefusedAddress:
    plain = _USERINFO.sub("***@", address[:300])
    return RefusedAddress(f"the address {plain[:120]!r}{'...' if len(address) > 120 else ''} {why}")


def _checked(address: str) -> str:
    if len(address) > MAX_LENGTH:
        raise _refusal(address, f"is longer than {MAX_LENGTH} characters once it is encoded")
    if address.count("/") > _DEEP:
        path = address.partition("?")[0]
        if path.count("/") > MAX_SEGMENTS + 3 or (path.count("/") > _DEEP and _LOOP.search(path + "/")):
            raise _refusal(address, "is a loop of links: too deep, or the same path again and again")
    if address.count("&") >= MAX_PARAMETERS:
        raise _refusal(address, f"has more than {MAX_PARAMETERS} parameters")
    return address


def _resolve(address: str, base: str | None, encoding: str) -> str:
    # Browsers drop control characters and spaces at the ends, and tabs and line breaks everywhere (WHATWG).
    text = address.strip(_BLANKS).translate(_NO_BREAKS)
    if not text:
        raise _refusal(address, "is empty")
    if _CONTROL.search(text):
        raise _refusal(address, "holds a control character")
    try:
        place = _joined(text.partition("#")[0], base)
        whole = place.origin + _without_dots(_quoted(place.path, "utf-8"))
        return f"{whole}?{_quoted(place.query, encoding)}" if place.query else whole
    except UnicodeError:
        raise _refusal(address, "holds half a character (a lone surrogate)") from None
    except LookupError:
        raise _refusal(address, f"cannot be written in {encoding!r}, which is no charset we know") from None


def _joined(text: str, base: str | None) -> _Place:
    """Return the parts of a reference, completed from its base. Path and query are not encoded yet."""
    front, mark, query = text.partition("?")
    # Browsers read a backslash as a slash. Any other reading would see another host in http:\\host.
    front = front.replace("\\", "/")
    named = _SCHEME.match(front)
    if named is not None:
        return _authority(front[named.end() :], named[1].lower(), query)
    if base is None:
        raise _refusal(text, "is not absolute: it must begin with http:// or https://")
    place = _place(base)
    if front.startswith("//"):
        return _authority(front, place.origin.partition(":")[0], query)
    if front.startswith("/"):
        return _Place(place.origin, front, query)
    if front:
        return _Place(place.origin, place.path[: place.path.rindex("/") + 1] + front, query)
    return _Place(place.origin, place.path, query if mark else place.query)


def _authority(rest: str, scheme: str, query: str) -> _Place:
    if scheme not in DEFAULT_PORTS:
        raise RefusedAddress(f"an address of scheme {scheme[:20]!r} is not fetched; only http and https are")
    if not rest.startswith("//") or rest.startswith("///"):
        raise _refusal(f"{scheme}:{rest}", "has no host where one must be: write it as scheme://host/path")
    host, slash, path = rest[2:].partition("/")
    return _Place(_origin(f"{scheme}://{host}"), slash + path or "/", query)


# All links of a page share one base, and most share one host: both are read once.
@lru_cache(maxsize=1024)
def _place(base: str) -> _Place:
    parts = urlsplit(normalize(base))
    return _Place(f"{parts.scheme}://{parts.netloc}", parts.path, parts.query)


@lru_cache(maxsize=4096)
def _origin(written: str) -> str:
    """Return the origin of `scheme://host:port`, whose scheme is known to be http or https in lower case."""
    scheme, _, authority = written.partition("://")
    if "@" in authority:
        # In https://forum.example@evil.example/ the name before the @ only looks like the host.
        raise RefusedAddress("an address with a user name or password in it is refused; take it out")
    port = _PORT.search(authority)
    host = authority[: port.start()] if port else authority
    number = int(port[1][:6] or DEFAULT_PORTS[scheme]) if port else DEFAULT_PORTS[scheme]
    if not 1 <= number <= 65535:
        raise _refusal(written, "has a port that is no number from 1 to 65535")
    name = _ipv6(host) if host.startswith("[") else _name(host)
    return f"{scheme}://{name}" if number == DEFAULT_PORTS[scheme] else f"{scheme}://{name}:{number}"


def _ipv6(host: str) -> str:
    try:
        address = IPv6Address(host[1:-1] if host.endswith("]") and "%" not in host else "")
    except AddressValueError:
        raise _refusal(host, "is no IPv6 address (a zone is not allowed either)") from None
    # ::ffff:127.0.0.1 is a second spelling of an IPv4 address, and not canonical.
    if address.ipv4_mapped is not None:
        raise _refusal(host, "hides an IPv4 address; write that one")
    return f"[{address.compressed}]"


def _name(host: str) -> str:
    """Return a host name in lower-case ASCII, or an IPv4 address as four decimal numbers."""
    try:
        name = host.lower() if host.isascii() else idna.encode(host, uts46=True).decode("ascii")
        name = name.removesuffix(".")
        for label in name.split("."):
            if label.startswith("xn--"):
                idna.decode(label)
    except UnicodeError:
        raise _refusal(host, "is no host name (IDNA)") from None
    if not _NAME.fullmatch(name):
        raise _refusal(host, "is no host name")
    # Browsers read 0x7f.1 and 2130706433 as 127.0.0.1 (WHATWG). Such spellings hide an address and are refused below.
    if not _NUMBER.fullmatch(name):
        return name
    try:
        return str(IPv4Address(name))
    except AddressValueError:
        raise _refusal(host, "is a number, yet no IPv4 address of four decimal numbers") from None


def _quoted(text: str, encoding: str) -> str:
    """Return text percent-encoded as browsers do.

    A character that the charset lacks becomes a character reference. In Unicode charsets the encoding is UTF-8.
    """
    wide = encoding.lower().startswith("utf")

    def quote(match: re.Match[str]) -> str:
        part = match[0]
        if part[0] != "%":
            raw = part.encode() if wide else part.encode(encoding, "xmlcharrefreplace")
            return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in raw)
        code = int(part[1:] or "25", 16)
        return chr(code) if code in _UNRESERVED else f"%{code:02X}"

    return _ODD.sub(quote, text)


def _without_dots(path: str) -> str:
    if "/." not in path:
        return path
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join([*kept, ""] if path.endswith(("/.", "/..")) else kept)


def _without(address: str, names: tuple[str, ...]) -> str:
    path, _, query = address.partition("?")
    dropped = _pattern(names)
    path = re.sub(r";([^;/=]+)(?:=[^;/]*)?", lambda match: "" if dropped.fullmatch(match[1]) else match[0], path)
    if "/." in path:
        # `/.;sid=1` was no dot segment before, and is one now.
        origin = origin_of(path)
        path = origin + _without_dots(path[len(origin) :])
    kept = [pair for pair in query.split("&") if not dropped.fullmatch(pair.partition("=")[0])]
    return f"{path}?{query}" if (query := "&".join(kept)) else path


@lru_cache(maxsize=1024)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in names), re.IGNORECASE)
