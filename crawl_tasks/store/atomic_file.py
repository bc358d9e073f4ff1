"""Atomic file writes: an exported file gets its name only when complete.

Stdout, pipes and devices are written directly. A file is written beside its final place and renamed. An address, such
as s3://BUCKET/FILE, is written by fsspec in a transaction.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.logs import for_terminal


class ByteFile(Protocol):
    """A file that takes bytes."""

    def write(self, data: bytes, /) -> int:
        """Write bytes."""

    def flush(self) -> None:
        """Hand the written bytes to the system."""


@contextmanager
def opened(out: str, *, overwrite: bool) -> Iterator[ByteFile]:
    """Open a file by its path or address, or stdout by "-". A closed pipe ends the block quietly.

    Raises:
        ConfigError: `out` cannot be written, or exists and `overwrite` is not set.
        CrawlError: the disk filled up. A file that stood there is as before.
    """
    try:
        by_name = _by_address if is_address(out) else _by_path
        with _stdout() if out == "-" else by_name(out, overwrite=overwrite) as file:
            yield file
    except BrokenPipeError:
        return
    except OSError as error:
        raise CrawlError(
            f"export: {out}: {error.strerror or error}; nothing is left under that name that is not whole"
        ) from error


@contextmanager
def _stdout() -> Iterator[ByteFile]:
    try:
        descriptor = os.dup(sys.stdout.fileno())
    # A captured stdout may have no file behind.
    except OSError:
        yield sys.stdout.buffer
        return
    sys.stdout.flush()
    is_terminal = sys.stdout.isatty()
    # A file of our own: if the reader goes away, the interpreter has nothing of ours left to flush.
    with open(descriptor, "wb") as file:
        yield TerminalText(file) if is_terminal else file


class TerminalText:
    """Text for a terminal: control and direction characters of foreign texts as JSON spells them.

    They would move the cursor, change the title or type a command. Files and pipes get the texts as they are.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes, /) -> int:
        """Write whole lines of UTF-8, and return their length."""
        self._file.write(for_terminal(data.decode()).encode())
        return len(data)

    def flush(self) -> None:
        """Show the written text."""
        self._file.flush()


def is_address(out: str) -> bool:
    """Return whether a name of a file is an address of fsspec."""
    return "://" in out


def is_written(out: str) -> bool:
    """Return whether a file is there, by its path or address."""
    if not is_address(out):
        return Path(out).exists()
    system, path = _file_system(out)
    return bool(system.exists(path))


def _file_system(out: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 (an extra, only for exports to an address)

        system, path = url_to_fs(os.path.expanduser(out))
    except (ImportError, ValueError) as error:
        raise ConfigError(f"export: {out}: {error}; pip install 'crawl-tasks[files]', and its protocol") from None
    return system, path


@contextmanager
def _by_address(out: str, *, overwrite: bool) -> Iterator[ByteFile]:
    system, path = _file_system(out)
    if not overwrite and system.exists(path):
        raise ConfigError(f"export: {out}: exists; name another file, or allow to replace it")
    system.makedirs(path.rpartition("/")[0], exist_ok=True)
    # The end of the transaction gives the file its name, or drops it.
    with system.transaction, system.open(path, "wb") as file:
        yield file


@contextmanager
def _by_path(out: str, *, overwrite: bool) -> Iterator[io.BufferedWriter]:
    try:
        # A symbolic link stays, and its target is replaced.
        path = Path(os.path.realpath(os.path.expanduser(out)))
        is_there = _exists(path)
        is_file = is_there and stat.S_ISREG(path.stat().st_mode)
        if is_file and not overwrite:
            raise ConfigError(f"export: {out}: exists; name another file, or allow to replace it")
        if is_there and not is_file:
            target, file = None, open(path, "wb")  # noqa: SIM115  # closed below
        else:
            # In the same directory: a rename is atomic only within one file system.
            target = path.with_name(f".crawl-export-{os.getpid()}.part")
            file = open(target, "wb")  # noqa: SIM115  # closed below
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        said = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"export: {out[:200]}: {said}; name a file in a directory that you may write to") from error
    if target is None:
        with file:
            yield file
        return
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        target.replace(path)
    finally:
        with suppress(FileNotFoundError):
            target.unlink()


def _exists(path: Path) -> bool:
    """Return whether something is there. Unlike Path.exists(), raise for a wrong path."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True
