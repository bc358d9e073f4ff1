"""The names of a site's boards that the ledger knows, some at a time."""

from __future__ import annotations

from typing import cast

from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Command, Scripts


def known_boards(scripts: Scripts, keys: Keys, site: str) -> set[str]:
    """Return the boards that the ledger knows."""
    [reply] = scripts.read_all("boards", [scan_boards(keys.site(site), b"0")])
    return rest_of_boards(scripts, keys.site(site), reply)


def rest_of_boards(scripts: Scripts, key: str, reply: object) -> set[str]:
    """Return all boards of a site, from the first reply on."""
    cursor, names = cast("tuple[bytes, list[bytes]]", reply)
    boards = {name.decode() for name in names}
    while cursor != b"0":
        [reply] = scripts.read_all("boards", [scan_boards(key, cursor)])
        cursor, names = cast("tuple[bytes, list[bytes]]", reply)
        boards.update(name.decode() for name in names)
    return boards


def scan_boards(key: str, cursor: bytes) -> Command:
    """Return the command that reads some boards of a site, from a cursor on."""
    return ("SSCAN", f"{key}:boards", cursor, "COUNT", 1000)
