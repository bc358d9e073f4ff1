"""The state lock: one supervisor and one server per state directory, by a file lock that the kernel frees."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from crawl_tasks.errors import ConfigError


class StateLock:
    """Holds a lock on `path` while entered. The file contains the holder's process id."""

    def __init__(self, path: Path, purpose: str) -> None:
        self._path = path
        self._purpose = purpose
        self._file: int | None = None

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            ConfigError: another process holds the lock, or the directory cannot be written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Not truncated: if the lock is taken, the file names the holder.
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"{self._path}: cannot be written: {error.strerror}; set CRAWL_STATE_DIR") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(file, 20).decode("ascii", "replace").strip()
            os.close(file)
            raise ConfigError(
                f"{self._path.parent}: {self._purpose} already (process {holder or 'unknown'});"
                " end that one, or set CRAWL_STATE_DIR to another directory"
            ) from error
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
        self._file = file
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def is_held(path: Path) -> bool:
    """Return whether a living process holds the lock."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False
