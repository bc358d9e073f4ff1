"""Readers of the change feed that start and die anywhere end equal to the tables, whatever is done to these."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import closing
from tempfile import TemporaryFile
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from sqlalchemy import delete, insert, select

from crawl_tasks.errors import ConfigError
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store import tables
from crawl_tasks.store.change_feed import export_changes
from crawl_tasks.store.corrections import Corrections
from crawl_tasks.store.export import export
from crawl_tasks.store.upsert import Store
from tests.store.conftest import MakeStore
from tests.store.rows import page

Row = dict[str, Any]
Key = tuple[object, ...]

LEDGER = "crawl:0"
# What docs/operate.md says is no change.
UNTOLD = {
    "seen_at", "first_seen_at", "fetched_at", "fetched_revision", "read_by", "revision", "reply_count", "view_count",
    "last_reply_at", "page", "position", "content_hash",
}  # fmt: skip

SITES = st.sampled_from(["one", "two"])
IDS = st.sampled_from("12")
TEXTS = st.sampled_from([None, "a", "b"])
STATES = st.sampled_from([None, "normal", "deleted"])
NUMBERS = st.sampled_from([None, 5, 6])
EXTRAS = st.sampled_from([None, {"likes": "1"}, {"likes": "2"}, {"likes": "2", "tags": "x"}])
POSTS = st.builds(
    Post, IDS, forum_id=st.sampled_from([None, "f", "g"]), title=TEXTS, author=TEXTS, created_at=NUMBERS, body=TEXTS,
    reply_count=NUMBERS, edited_at=NUMBERS, state=STATES, extra=EXTRAS, is_page=st.booleans(), url=TEXTS,
)  # fmt: skip
COMMENTS = st.builds(
    Comment, IDS, IDS, parent_id=TEXTS, author=TEXTS, created_at=NUMBERS, body=TEXTS, depth=NUMBERS, position=NUMBERS,
    state=STATES, extra=EXTRAS, author_id=TEXTS,
)  # fmt: skip
ITEMS = st.lists(POSTS | COMMENTS, min_size=1, max_size=4)


class Output:
    """A file without a name, which is quicker than one on a disk."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # closed below
        self.name = f"/dev/fd/{self._file.fileno()}"
        self.close = self._file.close

    def empty(self) -> None:
        """Begin anew."""
        self._file.seek(0)
        self._file.truncate()

    def rows(self) -> list[Row]:
        """Return the lines that were written."""
        self._file.seek(0)
        return [json.loads(line) for line in self._file.read().splitlines()]


class Reader:
    """A reader by the rule of docs/operate.md, with a copy of the rows."""

    def __init__(self, store: Store, out: Output, after: int = 0, copy: dict[Key, Row] | None = None) -> None:
        self._store, self._out = store, out
        self.after, self.copy = after, copy or {}

    def read(self, at_most: int | None = None) -> None:
        """Read on to the end, or be killed behind some lines."""
        self._out.empty()
        try:
            last = export_changes(self._store, self._out.name, after=self.after)
        except ConfigError as error:
            if "begin again with an empty copy and --after 0" not in str(error):
                raise
            self.after, self.copy = 0, {}
            last = export_changes(self._store, self._out.name)
        greatest = self.after
        for row in self._out.rows()[:at_most]:
            self._take(row)
            # A change is finished when a greater number comes.
            if (number := row["change_id"] or 0) > greatest:
                self.after, greatest = greatest, number
        if at_most is None:
            self.after = last

    def _take(self, row: Row) -> None:
        if row["kind"] != "removed":
            self.copy[key_of(row)] = row
            return
        for key in list(self.copy):
            _, site, post_id, comment_id = key
            whole = row["post_id"] is None
            if site == row["site"] and (whole or (post_id, comment_id) == (row["post_id"], row["comment_id"])):
                del self.copy[key]


class Feed(RuleBasedStateMachine):
    """Everything that changes rows, and readers."""

    def __init__(self, store: Store, scratch: Store, out: Output) -> None:
        super().__init__()
        self.store, self.scratch, self.out = store, scratch, out
        write_tables(store, {})
        store.authors.clear()
        self.readers = [Reader(store, self.out)]
        self.archive: list[tuple[float, str, Sequence[Post | Comment]]] = []
        self.backup: dict[str, list[Row]] | None = None
        self.now = time.time()

    @rule(site=SITES, batch=st.lists(ITEMS, min_size=1, max_size=2))
    def crawl(self, site: str, batch: list[list[Post | Comment]]) -> None:
        """Store a batch of pages: new rows, edits, moves, renames, dates, deletions and restorations."""
        pages = []
        for items in batch:
            self.now += 1
            items = [item._replace(seen_at=self.now) for item in items]
            self.archive.append((self.now, site, items))
            pages.append(page(*items, site=site))
        self.store.write(pages, LEDGER)

    @rule(site=SITES)
    def erase(self, site: str) -> None:
        """Erase a site by law."""
        self.now += 1
        self.store.erase(site, int(self.now * 1000))
        self.archive = [one for one in self.archive if one[1] != site]

    @rule(site=SITES, lost=st.sampled_from([Post, Comment]), texts=TEXTS)
    def reread(self, site: str, lost: type, texts: str | None) -> None:
        """Read the archived pages by rules that find no posts, or no comments, and other texts."""
        write_tables(self.scratch, {})
        self.scratch.authors.clear()
        corrections = Corrections(self.store, self.scratch, site)
        for at, of_site, items in self.archive:
            if of_site == site:
                found = [item._replace(body=texts) for item in items if not isinstance(item, lost)]
                corrections.add(at, Items(site) if not found else page(*found, site=site))
        corrections.apply()

    @rule()
    def back_up(self) -> None:
        """Keep a copy of the database."""
        self.backup = read_tables(self.store)

    @rule()
    def restore(self) -> None:
        """Restore the copy, and recover: Redis knows the last change that was acknowledged."""
        if self.backup is not None:
            known = self.store.last_change()
            write_tables(self.store, self.backup)
            self.store.authors.clear()
            self.store.settle_change(LEDGER, known)

    @rule(number=st.integers(0, 5), at_most=st.integers(0, 6))
    def be_killed(self, number: int, at_most: int) -> None:
        """Kill a reader within the lines that it reads."""
        self.readers[number % len(self.readers)].read(at_most)

    @rule(number=st.integers(0, 5))
    def read(self, number: int) -> None:
        """Let a reader read on, and hold its copy against the tables."""
        reader = self.readers[number % len(self.readers)]
        reader.read()
        assert told(list(reader.copy.values())) == told(self.exported())

    @rule()
    def begin(self) -> None:
        """Begin a reader with a whole export, behind its greatest change."""
        rows = self.exported()
        after = max((row["change_id"] or 0 for row in rows), default=0)
        self.readers.append(Reader(self.store, self.out, after, {key_of(row): row for row in rows}))

    def exported(self) -> list[Row]:
        """Return the rows of the tables."""
        self.out.empty()
        export(self.store, self.out.name)
        return self.out.rows()

    def teardown(self) -> None:
        """Hold all readers against the tables."""
        for number in range(len(self.readers)):
            self.read(number)


def key_of(row: Row) -> Key:
    return row["kind"], row["site"], row["post_id"], row.get("comment_id")


def told(rows: list[Row]) -> dict[Key, Row]:
    """Return rows by key, without what is no change."""
    found = {}
    for row in rows:
        extra = {name: value for name, value in (row["extra"] or {}).items() if name != "likes"}
        found[key_of(row)] = {name: one for name, one in row.items() if name not in UNTOLD} | {"extra": extra}
    return found


def read_tables(store: Store) -> dict[str, list[Row]]:
    with store.database.reading() as connection:
        return {
            name: [dict(row) for row in connection.execute(select(table)).mappings()]
            for name, table in tables.metadata.tables.items()
        }


def write_tables(store: Store, rows: dict[str, list[Row]]) -> None:
    """Write all tables anew. Without rows only the identity of the database stays."""
    with store.database.writing() as connection:
        for name, table in tables.metadata.tables.items():
            if rows or name != "meta":
                connection.execute(delete(table))
            else:
                connection.execute(delete(table).where(table.c.name.not_in(["application", "schema"])))
            if rows.get(name):
                connection.execute(insert(table), rows[name])


def test_readers_that_start_and_die_anywhere_end_equal_to_the_tables(new_store: MakeStore) -> None:
    store, scratch = new_store(), new_store()
    bounds = settings(max_examples=20, stateful_step_count=30, suppress_health_check=list(HealthCheck))

    with closing(Output()) as out:
        run_state_machine_as_test(lambda: Feed(store, scratch, out), settings=bounds)
