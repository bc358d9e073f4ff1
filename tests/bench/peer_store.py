"""What the peers of a comparison share: the rows of the bench forum into SQLite, and how their fields are found."""

from __future__ import annotations

import json
import sqlite3

TEXT = "div.body *::text, div.body::text"
TABLES = ("posts", "comments")


def moment(node, where):  # a selector of parsel or of Scrapy
    """Return the time that a node shows."""
    return node.css(f"{where} time::attr(datetime)").get() or node.css(f"{where} time::text").get()


class PeerStore:
    """Rows of JSON by id, committed by the 500."""

    def __init__(self, path: str) -> None:
        self.database = sqlite3.connect(path)
        for table in TABLES:
            self.database.execute(f"create table {table} (id text primary key, fields text)")
        self.waiting = 0

    def keep(self, table: str, item: dict[str, object]) -> None:
        """Keep an item."""
        row = (item["id"], json.dumps(item, ensure_ascii=False))
        self.database.execute(f"insert or replace into {table} values (?, ?)", row)
        self.waiting += 1
        if self.waiting % 500 == 0:
            self.database.commit()

    def close(self) -> None:
        """Commit the rest, and print how many rows there are."""
        self.database.commit()
        counts = [self.database.execute(f"select count(*) from {name}").fetchone()[0] for name in TABLES]
        print(f"{counts[0]} posts, {counts[1]} comments")
