"""Authors: a row for each author of a batch. The database decides which name is newer.

A name without an id never changes. Nearly all names of a batch are known from the batches before, and a set in memory
tells which. The name of an id may change, and an observation that shows it again is always written: it is newer than
one of another name that a second store worker writes later.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Final

from sqlalchemy import ColumnElement, Table, func, literal

from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.tables import ID_LENGTH

NAME_SIGN: Final = "@"
"""Is before the name of an author without an id, so that no name can be taken for an id."""

_MOST_KNOWN: Final = 50_000
# Rows that another process deleted, as the removal of a site does, are made again after this time.
_FORGET_S: Final = 600.0

AuthorRow = tuple[str, str, str | None, float]
"""A row of table `authors`."""

_Rank = tuple[bool, float, str]
_NEVER: Final[_Rank] = (False, 0.0, "")

_Items = Sequence[Post] | Sequence[Comment]


def author_key(table: Table) -> ColumnElement[str]:
    """Return the key of a row's author in table `authors`, as an expression."""
    return func.coalesce(table.c.author_id, literal(NAME_SIGN).op("||")(table.c.author))


class AuthorCache:
    """The names without an id that one process has written."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        """Forget all: their rows may be gone."""
        self._guests: defaultdict[str, set[str | None]] = defaultdict(set)
        self._forgotten_at, self._count = self._clock(), 0

    def unknown(self, pages: Iterable[Items]) -> list[AuthorRow]:
        """Return the rows of the authors of some pages, without those of guests that are written.

        They have the order of the keys, in which all writers take them, and then that of the observations. Of posts
        that only lists showed none is taken: a list often leaves out the id that the post's page shows.
        """
        posts, comments = defaultdict[str, list[Post]](list), defaultdict[str, list[Comment]](list)
        for page in pages:
            comments[page.site] += page.comments
            posts[page.site] += (post for post in page.posts if post.is_page or post.body is not None)
        missing = [row for site, items in comments.items() for row in self._unknown_of(site, items)]
        missing += [row for site, items in posts.items() for row in self._unknown_of(site, items)]
        return sorted(missing, key=itemgetter(0, 1, 3))

    def _unknown_of(self, site: str, items: _Items) -> Iterator[AuthorRow]:
        guests = self._guests[site]
        # Once for every comment of the crawl: by column, and without pairs where a forum shows no ids.
        ids, names = (list(map(attrgetter(field), items)) for field in ("author_id", "author"))
        times = map(attrgetter("seen_at"), items)
        if ids.count(None) == len(ids):
            strangers = set(names) - guests
            fresh = dict[tuple[str | None, str | None], float](
                ((None, name), at) for name, at in zip(names, times, strict=True) if name in strangers
            )
        else:
            fresh = _newest(zip(ids, names, times, strict=True))
        for (author_id, name), at in fresh.items():
            is_known = author_id is None and name in guests
            if not is_known and (key := key_of(author_id, name)):
                yield site, key, name, at

    def note(self, written: Sequence[AuthorRow]) -> None:
        """Take guests for known, once they are committed."""
        if self._count > _MOST_KNOWN or self._clock() - self._forgotten_at > _FORGET_S:
            self.clear()
        for site, key, name, _ in written:
            if name is not None and key == f"{NAME_SIGN}{name}":
                self._guests[site].add(name)
                self._count += 1


def _newest(
    sightings: Iterable[tuple[str | None, str | None, float]],
) -> dict[tuple[str | None, str | None], float]:
    """Return the newest name of each id, and all names without an id, with the times at which they were seen."""
    ranks: dict[str | None, _Rank] = {}
    fresh: dict[tuple[str | None, str | None], float] = {}
    for author_id, name, at in sightings:
        if author_id is None:
            fresh[None, name] = at
        elif ranks.get(author_id, _NEVER) < (rank := _rank_of(name, at)):
            ranks[author_id] = rank
    return fresh | {(author_id, name or None): at for author_id, (_, at, name) in ranks.items()}


def _rank_of(name: str | None, at: float) -> _Rank:
    """Return the rank of an observation, as the database compares them."""
    return bool(name), at, name or ""


def key_of(author_id: str | None, name: str | None) -> str:
    """Return the key of an author, empty for nobody and for a name that is longer than any key."""
    key = author_id
    if key is None:
        key = f"{NAME_SIGN}{name}" if name else ""
    return key if len(key) <= ID_LENGTH else ""
