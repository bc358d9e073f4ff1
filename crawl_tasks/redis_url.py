"""The address of a Redis: one check of it for commands, workers, beat and Flower. Pure, but for a look for TLS files.

The broker and the ledger read an address with two libraries, which take different options and schemes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

SCHEMES: Final = ("redis://", "rediss://", "sentinel://")

_FORMS: Final = "redis://USER:PASSWORD@HOST:PORT/NUMBER, several separated by blanks, and a blank in a password as %20"
_PLACE: Final = re.compile(r"(?:\[[\da-fA-F:.]+\]|[^\s:/?,\[\]]+)?(?::(\d{1,5}))?(?:/\d*)?(?:\?.*)?")
_PORTS: Final = range(1, 65_536)
_ESCAPES: Final = {"#": "%23", "/": "%2F", "?": "%3F", "@": "%40", "[": "%5B", "]": "%5D"}
_FILES: Final = frozenset(("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"))
_TLS: Final = _FILES | {"ssl_cert_reqs", "ssl_check_hostname", "ssl_ca_data", "ssl_ca_path", "ssl_password"}


def mistake_in(url: str) -> str:
    """Return what is wrong with the address of a Redis and what to write, empty for a right one.

    The address may hold a password: no part of it is returned but the names of options and of files.
    """
    if url.startswith("unix://"):
        return "a Unix socket is not supported; give Redis a port on 127.0.0.1, and write redis://127.0.0.1:PORT/NUMBER"
    parts = url.split(";") if url.startswith("sentinel://") else [url]
    return next(filter(None, map(_mistake, parts)), "")


def _mistake(url: str) -> str:
    if not url.startswith(SCHEMES):
        return f"begins with none of {', '.join(SCHEMES)}; write {_FORMS}"
    scheme, _, rest = url.partition("://")
    user, is_there, place = rest.rpartition("@")
    if is_there and (bad := sorted(_ESCAPES.keys() & set(user))):
        return f"write {' and '.join(_ESCAPES[sign] for sign in bad)} for {' and '.join(bad)} in user or password"
    if "#" in place:
        return "write %23 for # in user or password"
    matched = _PLACE.fullmatch(place)
    if matched is None or int(matched[1] or 1) not in _PORTS:
        return f"is none of the form {_FORMS}"
    return _wrong_options(scheme, urlsplit(url).query)


def _wrong_options(scheme: str, query: str) -> str:
    options = dict(parse_qsl(query, keep_blank_values=True))
    if "db" in options or "virtual_host" in options:
        return "the number of the database stands behind the last /, as in redis://HOST:PORT/4, and not in ?db=4"
    if unknown := sorted(options.keys() - (_TLS if scheme == "rediss" else set())):
        known = "ssl_ca_certs=FILE, ssl_certfile, ssl_keyfile" if scheme == "rediss" else "none"
        return f"{', '.join(unknown)[:60]} is no option of a {scheme}:// address here; there are {known}"
    if scheme == "rediss" and not options.keys() & {"ssl_ca_certs", "ssl_ca_path", "ssl_ca_data"}:
        return "rediss:// needs ?ssl_ca_certs=FILE, the certificates that vouch for the server"
    missing = [name for name in sorted(_FILES & options.keys()) if not Path(options[name]).is_file()]
    return f"{missing[0]}: there is no file {options[missing[0]][:200]}" if missing else ""
