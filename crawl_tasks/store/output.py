"""Under the export: the place it writes to, which gets its name only when it is whole.

Stdout, pipes and devices are written as they are; a file is written beside its final place and renamed.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from crawl_tasks.errors import ConfigError, CrawlError


@contextmanager
def opened(out: str, *, overwrite: bool) -> Iterator[TextIO]:
    """Open a file by its path, or stdout by "-", for UTF-8 text; a reader that closes the pipe ends the block quietly.

    Raises:
        ConfigError: there is no writing to `out`, or it exists and `overwrite` is not set.
        CrawlError: the disk filled up; a file that stood there is as before.
    """
    try:
        with _stdout() if out == "-" else _by_path(out, overwrite=overwrite) as file:
            yield file
    except BrokenPipeError:
        return
    except OSError as error:
        raise CrawlError(
            f"export: {out}: {error.strerror}; nothing is left under that name that is not whole"
        ) from error


@contextmanager
def _stdout() -> Iterator[TextIO]:
    try:
        descriptor = os.dup(sys.stdout.fileno())
    except OSError:  # somebody captures stdout and has no file behind it
        yield sys.stdout
        return
    sys.stdout.flush()
    # A file of its own: should the reader go away, nothing of ours is left for the interpreter to flush.
    with open(descriptor, "w", encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def _by_path(out: str, *, overwrite: bool) -> Iterator[TextIO]:
    try:
        path = Path(os.path.realpath(os.path.expanduser(out)))  # a link stays, its target is replaced
        is_there = _exists(path)
        is_file = is_there and stat.S_ISREG(path.stat().st_mode)
        if is_file and not overwrite:
            raise ConfigError(f"export: {out}: exists; name another file, or allow to replace it")
        if is_there and not is_file:
            target, file = None, open(path, "w", encoding="utf-8", newline="")  # noqa: SIM115  # closed below
        else:
            target = path.with_name(f".crawl-export-{os.getpid()}.part")
            file = open(target, "w", encoding="utf-8", newline="")  # noqa: SIM115  # closed below
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
    """Say whether something is there; unlike Path.exists(), raise when the path itself is wrong."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True
