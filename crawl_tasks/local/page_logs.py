"""The slowest pages of a crawl, by the log files of its processes: the ledger keeps the last pages of a site alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import nlargest
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

_IS_PAGE: Final = re.compile(r'^(\S+) info +page site=|^\{"time": "([^"]+)", "level": "info", "message": "page",')
_PAIR: Final = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')


class PageLog(NamedTuple):
    """The line of a fetched page in the log of a worker."""

    site: str
    stage: str
    fetch_ms: int
    address: str


def slowest_pages(directory: Path, since_ms: int, most: int = 20) -> list[PageLog]:
    """Return the pages that took longest to fetch since a time, the slowest first."""
    since = datetime.fromtimestamp(since_ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6]
    pages = (page for file in sorted(directory.glob("*.log")) for page in _pages(file, since))
    return nlargest(most, pages, attrgetter("fetch_ms"))


def _pages(file: Path, since: str) -> Iterator[PageLog]:
    with file.open(encoding="utf-8", errors="replace") as log:
        for line in log:
            match = _IS_PAGE.match(line)
            if match is None or (match[1] or match[2]) < since:
                continue
            try:
                fields = json.loads(line) if match[2] else dict(_PAIR.findall(line))
                address = fields["url"]
                address = json.loads(address) if address.startswith('"') else address
                yield PageLog(fields["site"], fields["stage"], int(fields["ms"]), address)
            # The line may be half written, or another program's.
            except (ValueError, KeyError):
                continue
