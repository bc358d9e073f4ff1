"""Atomic file writes: an exported file gets its name only when complete.

Stdout, pipes and devices are written directly. A file is written beside its final place and renamed. An address, such
as s3://BUCKET/FILE, is written by fsspec in a transaction.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.logs import for_terminal

STDOUT: Final = 1
# Linux follows so many links of one path.
_MOST_LINKS: Final = 40
_PART: Final = ".crawl-export."
_OBJECT_STORES: Final = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "az", "oss"})


class ByteFile(Protocol):
    """A file that takes bytes."""

    def write(self, data: bytes, /) -> int:
        """Write bytes."""

    def flush(self) -> None:
        """Hand the written bytes to the system."""


@contextmanager
def opened(out: str, *, overwrite: bool) -> Iterator[ByteFile]:
    """Open a file by its path or address, or stdout by "-". If the reader of stdout goes away, the block ends quietly.

    Raises:
        ConfigError: `out` cannot be written, or exists and `overwrite` is not set.
        CrawlError: the disk filled up, or the reader of another pipe went away. A file that stood there is as before.
    """
    descriptor = STDOUT if out == "-" else _descriptor_of(out)
    try:
        by_name = _by_address if is_address(out) else _by_path
        with by_name(out, overwrite=overwrite) if descriptor is None else _by_descriptor(descriptor) as file:
            yield file
    except BrokenPipeError as error:
        if descriptor != STDOUT:
            raise CrawlError(f"export: {out}: its reader has gone away and lacks rows; begin again") from error
    except OSError as error:
        raise CrawlError(
            f"export: {out}: {error.strerror or error}; nothing is left under that name that is not whole"
        ) from error


def _descriptor_of(out: str) -> int | None:
    """Return the number of an open file of ours, which a name such as /dev/stdout means, None for any other name."""
    path = out
    for _ in range(_MOST_LINKS):
        directory, name = os.path.split(path)
        if name.isdecimal() and os.path.realpath(directory) == f"/proc/{os.getpid()}/fd":
            return int(name)
        if not os.path.islink(path):
            break
        path = os.path.join(directory, os.readlink(path))  # Path would tidy up /dev/fd/../x
    return None


@contextmanager
def _by_descriptor(number: int) -> Iterator[ByteFile]:
    """Write to an open file. A file of our own: if the reader goes away, the interpreter has nothing left to flush."""
    if number == STDOUT:
        try:
            number = sys.stdout.fileno()
        # A captured stdout may have no file behind.
        except OSError:
            yield sys.stdout.buffer
            return
        sys.stdout.flush()
    with open(os.dup(number), "wb") as file:
        yield TerminalText(file) if file.isatty() else file


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


def is_kept(out: str) -> bool:
    """Return whether a file is there that is not written over unless this is allowed. A pipe is none."""
    if is_address(out):
        return is_written(out)
    status = _stat(Path(os.path.expanduser(out)))
    return out != "-" and _descriptor_of(out) is None and status is not None and stat.S_ISREG(status.st_mode)


def find_files(directory: str, name: str) -> list[str]:
    """Return the files of a name below a directory, given by its path or address, as paths or addresses."""
    if not is_address(directory):
        return [str(path) for path in Path(directory).rglob(name)]
    system, root = _file_system(directory)
    paths = system.find(root) if system.exists(root) else []
    return [f"{directory}{path.removeprefix(root)}" for path in paths if path.rpartition("/")[2] == name]


def remove_file(file: str) -> None:
    """Remove a file by its path or address, and its directory if nothing else is there."""
    if is_address(file):
        system, path = _file_system(file)
        system.rm(path)
        return
    directory = Path(file).parent
    Path(file).unlink()
    remove_dead_parts(directory)
    with suppress(OSError):
        directory.rmdir()


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
    # An object store has no directories, and would make a bucket of a name that is misspelt.
    if not _OBJECT_STORES.intersection([system.protocol] if isinstance(system.protocol, str) else system.protocol):
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
    # The end of the transaction gives the file its name, or drops it.
    with system.transaction, system.open(path, "wb") as file:
        yield file


@contextmanager
def _by_path(out: str, *, overwrite: bool) -> Iterator[BinaryIO]:
    try:
        # A symbolic link stays, and its target is replaced. A pipe is opened by the name that was given.
        given = os.path.expanduser(out)
        path = Path(os.path.realpath(given))
        status = _stat(Path(given))
        is_pipe = status is not None and not stat.S_ISREG(status.st_mode)
        if status is not None and not is_pipe and not overwrite:
            raise ConfigError(f"export: {out}: exists; name another file, or allow to replace it")
        if not is_pipe:
            # In the same directory: a rename is atomic only within one file system.
            remove_dead_parts(path.parent)
        part, file = (None, open(given, "wb")) if is_pipe else _new_part(path.parent, status)  # noqa: SIM115
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"export: {out[:200]}: {reason}; name a file in a directory that you may write to") from error
    if part is None:
        with file:
            yield file
        return
    try:
        # Renamed before it is closed: a part whose lock is gone is taken for one of a dead export.
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _new_part(directory: Path, replaced: os.stat_result | None) -> tuple[Path, BinaryIO]:
    """Make and lock the file that will get the name, with the mode and, where we may, the owner of a replaced one."""
    while True:
        part = directory / f"{_PART}{secrets.token_hex(8)}.part"
        mode = 0o666 if replaced is None else stat.S_IMODE(replaced.st_mode)
        # A name of its own: two containers may have one process id.
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        if replaced is not None:
            with suppress(OSError):
                os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
            os.fchmod(descriptor, mode)
        # Not every file system has locks. There no part is ever taken for a dead one.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Between its making and its lock another export may have removed it.
        if os.fstat(descriptor).st_nlink:
            return part, open(descriptor, "wb")
        os.close(descriptor)


def remove_dead_parts(directory: Path) -> None:
    """Remove the parts that killed exports left in a directory. A living one holds a lock on its part."""
    for part in directory.glob(f"{_PART}*.part"):
        with suppress(OSError):
            descriptor = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()
            finally:
                os.close(descriptor)


def _stat(path: Path) -> os.stat_result | None:
    """Return what is behind a path, None if nothing is. Raise for a wrong path and a loop of links."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
