"""The number of files and connections that a process may have open."""

from __future__ import annotations

import resource
from typing import Final

FILES_WANTED: Final = 4096


def raise_file_limit() -> None:
    """Let this process and its children open 4,096 files, or as many as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < FILES_WANTED:
        most = FILES_WANTED if hard < 0 else min(hard, FILES_WANTED)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
