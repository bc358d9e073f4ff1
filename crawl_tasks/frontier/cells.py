"""Cells: the Redis servers of an installation, among which rendezvous hashing divides the sites.

All that Redis holds of a site is in one cell. A verb touches one site, so cells know nothing of each other. A site
lives where it is published. Only a new site goes by the hash, so that another list of cells moves nothing by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from crawl_tasks.errors import ConfigError, RedisUnreachable
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import unpublished

T = TypeVar("T")


def home_of(site: str, cells: Iterable[str]) -> str:
    """Return the cell with the greatest hash for a site (rendezvous hashing). A further cell takes its share alone."""
    return max(cells, key=lambda cell: hashlib.blake2b(f"{cell} {site}".encode(), digest_size=8).digest())


class Cells:
    """All cells, each with its frontier, and the reasons why some do not answer."""

    def __init__(self, frontiers: Iterable[Frontier]) -> None:
        self.by_name = {frontier.cell: frontier for frontier in frontiers}
        self.down: dict[str, RedisUnreachable] = {}
        self.is_at_rest = False
        """Whether Redis runs for a single command, beside no process of a crawl."""

    def __iter__(self) -> Iterator[Frontier]:
        """Return the frontiers of the cells that answer."""
        return iter([frontier for name, frontier in self.by_name.items() if name not in self.down])

    @property
    def names(self) -> list[str]:
        """Return the names of all cells."""
        return sorted(self.by_name)

    def ask_each(self, question: Callable[[Frontier], T]) -> dict[str, T]:
        """Return the answers of all cells by name, and note those that do not answer.

        Raises:
            RedisUnreachable: no cell answers.
        """
        answers: dict[str, T] = {}
        for name, frontier in self.by_name.items():
            try:
                answers[name] = question(frontier)
                self.down.pop(name, None)
            except RedisUnreachable as error:
                self.down[name] = error
        if not answers:
            raise next(iter(self.down.values()))
        return answers

    def require_all(self) -> None:
        """Refuse to call a command done that left out the sites of a cell.

        Raises:
            RedisUnreachable: a cell did not answer.
        """
        for name, error in self.down.items():
            raise RedisUnreachable(f"the sites of the cell {name} were left out: {error}") from error

    def sites(self) -> dict[str, Frontier]:
        """Return the published sites in order, each with the frontier of its cell."""
        homes: dict[str, Frontier] = {}
        for frontier in self:
            try:
                homes |= dict.fromkeys(frontier.sites.names(), frontier)
            except RedisUnreachable as error:
                if len(self.by_name) == 1:
                    raise
                self.down[frontier.cell] = error
        return dict(sorted(homes.items()))

    def find(self, names: Iterable[str]) -> dict[str, Frontier]:
        """Return the frontiers of published sites, without those that a cell may hold which does not answer.

        Raises:
            ConfigError: a site is not published.
        """
        if len(self.by_name) == 1:
            return dict.fromkeys(names, next(iter(self.by_name.values())))
        published = self.sites()
        if not self.down and (missing := next((name for name in names if name not in published), None)):
            raise unpublished(missing)
        return {name: published[name] for name in names if name in published}

    def of(self, site: str) -> Frontier:
        """Return the frontier of a site: where it is published, else where a new site goes.

        Raises:
            RedisUnreachable: a cell does not answer, and may hold the site.
            ConfigError: the site is on its way to another cell.
        """
        if len(self.by_name) == 1:
            return next(iter(self.by_name.values()))
        for frontier in self:
            if frontier.sites.is_published(site):
                return frontier
        for cell, error in self.down.items():
            raise RedisUnreachable(f"site {site!r} may be in the cell {cell}: {error}") from error
        for frontier in self:
            if site in frontier.sites.leaving():
                raise ConfigError(f"site {site!r} is on its way to another cell; finish that: crawl-tasks sites move")
        return self.home(site)

    def home(self, site: str) -> Frontier:
        """Return the frontier of the cell where a site goes that is published in none."""
        # The cell that it moved to may have been lost, and the one that it has left publishes it no more.
        reached = {frontier.cell: frontier.sites.moved_to(site) for frontier in self}
        for cell in reached.values():
            if cell in self.by_name and not reached.get(cell):
                return self.by_name[cell]
        # Those of a site that was removed here.
        decided = (frontier for frontier in self if frontier.sites.has_decisions(site))
        return next(decided, self.by_name[home_of(site, self.names)])

    def misplaced(self) -> dict[str, Frontier]:
        """Return the sites that the hash gives to another cell, or that are on their way, with where they are."""
        names = self.names
        leaving = {name: frontier for frontier in self for name in frontier.sites.leaving()}
        return leaving | {name: home for name, home in self.sites().items() if home_of(name, names) != home.cell}
