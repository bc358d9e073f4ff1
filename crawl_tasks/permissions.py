"""File permissions: what this program writes is for its user only, apart from the few files that others read."""

from __future__ import annotations

import os
import resource
from pathlib import Path

OF_OTHERS = 0o077
"""The rights of group and others, which our files and directories do not give: texts may come from behind a login."""


def keep_private() -> None:
    """Create all files with mode 0600, directories with mode 0700 and no core dumps, in this process and its children.

    A core dump holds passwords and texts, and the system decides who reads it.
    """
    os.umask(OF_OTHERS)
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


def write_public(path: Path, text: str) -> None:
    """Write a file that other users read as well, as a container that mounts site files, with its new directories.

    The mode of a file or directory that exists is left.

    Raises:
        OSError: the file cannot be written.
    """
    directories = [parent for parent in path.parents if not parent.exists()]
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    for directory in directories:
        directory.chmod(0o755)
    path.write_text(text, "utf-8")
    if is_new:
        path.chmod(0o644)


def open_to_others(directory: Path) -> list[Path]:
    """Return the files and directories at or below a directory that group or others may read or write."""
    every = [directory, *directory.rglob("*")] if directory.is_dir() else []
    return [path for path in every if not path.is_symlink() and path.stat().st_mode & OF_OTHERS]
