"""One who reads the change feed from its beginning, while the crawl goes on, and keeps what it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crawl_tasks.store.change_feed import export_changes
from crawl_tasks.store.export import export
from crawl_tasks.store.upsert import Store

Key = tuple[object, ...]
Row = dict[str, Any]
TEXTS = ("title", "body", "state", "content_hash")


class Reader:
    """Goes on from the last change it has finished with, as docs/operate.md says."""

    def __init__(self, store: Store, directory: Path) -> None:
        self._store, self._out = store, directory / "changes.jsonl"
        self._after = 0
        self._rows: dict[Key, Row] = {}

    def read_on(self) -> None:
        """Read what came since."""
        self._after = export_changes(self._store, str(self._out), after=self._after)
        self._rows |= {_key(row): row for row in _lines(self._out)}

    def faults(self) -> list[str]:
        """Return where what was read, on and on or at once, is not what is stored."""
        self.read_on()
        export(self._store, str(self._out))
        stored = {_key(row): row for row in _lines(self._out)}
        export_changes(self._store, str(self._out))
        replayed = _lines(self._out)
        at_once = {_key(row): row for row in replayed}
        numbers = [row["change_id"] or 0 for row in replayed]
        found = [f"{key}: read on as {_texts(self._rows.get(key))}, is {_texts(row)}" for key, row in stored.items()
                 if _texts(self._rows.get(key)) != _texts(row)]  # fmt: skip
        found += [f"{key}: is not stored" for key in self._rows.keys() - stored.keys()]
        found += ["from change 0 comes another text than is stored"] * (at_once != stored)
        found += ["changes come out of order"] * (numbers != sorted(numbers))
        return found + ["a row comes twice"] * (len(replayed) != len(at_once))


def _lines(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]


def _key(row: Row) -> Key:
    return row["kind"], row["site"], row["post_id"], row.get("comment_id")


def _texts(row: Row | None) -> tuple[object, ...]:
    return tuple(row.get(name) for name in TEXTS) if row else ()
