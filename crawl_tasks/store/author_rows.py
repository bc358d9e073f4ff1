"""Authors: a row for each author of a batch, written once for as long as the name stays the same.

Nearly all authors of a batch are known from the batches before. A set in memory tells which, so that the table costs
the store next to nothing. The database decides which name is newer.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Final

from sqlalchemy import ColumnElement, Table, func, literal

from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.tables import ID_LENGTH

NAME_SIGN: Final = "@"
"""Stands before the name of an author without an id, so that no name can be taken for an id."""

_MOST_KNOWN: Final = 50_000
# Rows that another process deleted, as the removal of a site does, are made again after this time.
_FORGET_S: Final = 600.0

_Shown = tuple[str | None, str | None]
"""An author as a page shows one: id and name."""

AuthorRow = tuple[str, str, str | None, float]
"""A row of table `authors`."""

_OF_POST: Final = itemgetter(Post._fields.index("author_id"), Post._fields.index("author"))
_OF_COMMENT: Final = itemgetter(Comment._fields.index("author_id"), Comment._fields.index("author"))


def author_key(table: Table) -> ColumnElement[str]:
    """Return the key of a row's author in table `authors`, as an expression."""
    return func.coalesce(table.c.author_id, literal(NAME_SIGN).op("||")(table.c.author))


class AuthorCache:
    """The authors that one process has written, with their present names."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        """Forget all: their rows may be gone."""
        self._known: defaultdict[str, set[_Shown]] = defaultdict(set)
        self._names: dict[tuple[str, str], str | None] = {}
        self._forgotten_at, self._count = self._clock(), 0

    def unknown(self, pages: Iterable[Items]) -> list[AuthorRow]:
        """Return the rows of the authors of some pages that are not known by their present names.

        They have the order of the keys, in which all writers take them, and then that of the observations. Of posts
        that only lists showed none is taken: a list often leaves out the id that the post's page shows.
        """
        found: list[AuthorRow] = []
        for page in pages:
            known = self._known[page.site]
            shown = [_OF_POST(post) for post in page.posts if post.is_page or post.body is not None]
            # Nearly all pages show none but known authors: that is one call.
            if page.comments and not known.issuperset(map(_OF_COMMENT, page.comments)):
                shown += map(_OF_COMMENT, page.comments)
            if fresh := set(shown) - known:
                # All items of a page have its time.
                seen_at = (page.comments or page.posts)[0].seen_at
                found += ((page.site, key, name, seen_at) for one, name in fresh if (key := key_of(one, name)))
        return sorted(found, key=itemgetter(0, 1, 3))

    def note(self, written: Sequence[AuthorRow]) -> None:
        """Take authors for known, once they are committed."""
        if self._count > _MOST_KNOWN or self._clock() - self._forgotten_at > _FORGET_S:
            self.clear()
        self._count += len(written)
        for site, key, name, _ in written:
            known = self._known[site]
            if name is not None and key == f"{NAME_SIGN}{name}":
                known.add((None, name))
                continue
            # A former name that comes back is news again.
            known.discard((key, self._names.get((site, key))))
            self._names[site, key] = name
            known.add((key, name))


def key_of(author_id: str | None, name: str | None) -> str:
    """Return the key of an author, empty for nobody and for a name that is longer than any key."""
    key = (f"{NAME_SIGN}{name}" if name else "") if author_id is None else author_id
    return key if len(key) <= ID_LENGTH else ""
