"""The pages of a dump, in a directory or a bucket that the site file names: read in place of the network.

A page keeps its address, and its file has the name that wget gives: path and query below the root. Nothing outside the
root is read, whatever an address says and whatever links are there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import IO, cast
from urllib.parse import unquote, urlsplit

from crawl_tasks.errors import BadStatus, ConfigError, RefusedAddress, TooLarge, Unreachable
from crawl_tasks.fetch.http_client import left
from crawl_tasks.fetch.throttle import Clock

_PIECE = 1 << 20

Name = tuple[str, ...]
"""The name of a file below the root, in segments."""


class DumpFiles:
    """The files of one dump. Thread-safe."""

    def __init__(self, root: str) -> None:
        """Open a dump.

        Args:
            root: file:///DIRECTORY, or an address that fsspec knows, as s3://BUCKET/PATH.
        """
        is_directory = root.startswith("file:")
        self._open = _directory(unquote(urlsplit(root).path)) if is_directory else _bucket(root)

    def read(self, address: str, clock: Clock, most_bytes: int) -> bytes:
        """Return the body of a page.

        Raises:
            BadStatus: the dump does not have the page. It may be a part of the forum, so no post counts as deleted.
            RefusedAddress: the address, or a symbolic link, leads out of the root.
            TooLarge: the file is over the limit.
            DeadlineExceeded: reading takes too long.
            Unreachable: the file cannot be read now.
        """
        for name in _names(address):
            try:
                file = self._open(name)
                if file is not None:
                    with file:
                        return _within(file, address, clock, most_bytes)
            except OSError as error:
                raise Unreachable(f"{address}: its file cannot be read: {type(error).__name__}") from error
        raise BadStatus(f"{address} is not in the dump: there is no file {'/'.join(next(_names(address)))}")


def _names(address: str) -> Iterator[Name]:
    """Yield the names that wget may have given the file of a page."""
    where = urlsplit(address)
    *above, last = (unquote(part) for part in where.path.removeprefix("/").split("/"))
    last = (last or "index.html") + (f"?{where.query}" if where.query else "")
    for name in ((*above, last), (*above, f"{last}.html")):
        if any(part in ("", ".", "..") or "/" in part or "\0" in part for part in name):
            raise RefusedAddress(f"{address[:200]}: no file of a dump has such a name")
        yield name


def _within(file: IO[bytes], address: str, clock: Clock, most_bytes: int) -> bytes:
    body = bytearray()
    while len(body) <= most_bytes:
        left(clock.deadline, f"reading the file of {address}")
        piece = file.read(_PIECE)
        if not piece:
            return bytes(body)
        body += piece
    raise TooLarge(f"the file of {address} has more than {most_bytes} bytes")


def _directory(root: str) -> Callable[[Name], IO[bytes] | None]:
    def opened(name: Name) -> IO[bytes] | None:
        *above, last = name
        at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in above:
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = below
            # Without O_NONBLOCK a named pipe would hold the thread.
            file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise RefusedAddress(f"{'/'.join(name)}: a symbolic link of a dump is not followed") from None
            raise
        finally:
            os.close(at)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise RefusedAddress(f"{'/'.join(name)} of the dump is no file")
        return os.fdopen(file, "rb")

    return opened


def _bucket(root: str) -> Callable[[Name], IO[bytes] | None]:
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 (an extra, only for sites read from a bucket)

        system, path = url_to_fs(root)
    except (ImportError, ValueError) as error:
        raise ConfigError(f"read_from: {root}: {error}; pip install 'crawl-tasks[files]', and its protocol") from None

    def opened(name: Name) -> IO[bytes] | None:
        try:
            return cast("IO[bytes]", system.open("/".join((path.rstrip("/"), *name)), "rb"))
        except FileNotFoundError:
            return None

    return opened
