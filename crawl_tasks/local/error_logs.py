"""The errors in the log files of supervised processes, for the terminal of the person who started them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_MOST_READ = 262_144
"""Bytes of one file that are read at once. Whatever is older is skipped."""

_IS_ERROR = re.compile(r'^\S+ (?:error|critical) |"level": "(?:error|critical)"')
_PARTICULAR = re.compile(r"\d+")
_STAMP = re.compile(r"^\S+ (?:error|critical)\s+")


class ErrorLogs:
    """New errors in the log files of a directory, each kind of line once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # Lines of an earlier crawl in the same directory are no news.
        self._read = {file: file.stat().st_size for file in directory.glob("*.log")}
        self._known: set[str] = set()

    def news(self) -> Iterator[str]:
        """Yield the errors since the last call, each with the name of its process."""
        for file in sorted(self._directory.glob("*.log")):
            begin = max(self._read.get(file, 0), file.stat().st_size - _MOST_READ)
            with file.open("rb") as log:
                log.seek(begin)
                text = log.read()
            # The last line may be half written.
            whole = text[: text.rfind(b"\n") + 1]
            self._read[file] = begin + len(whole)
            for line in whole.decode("utf-8", "replace").splitlines():
                kind = _PARTICULAR.sub("", line)
                if _IS_ERROR.search(line) and kind not in self._known:
                    self._known.add(kind)
                    yield f"{file.stem}: {_STAMP.sub('', line)[:300]}"
