"""Earlier versions of a site file whose rules read pages otherwise: what they read is stored as they read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Self

import orjson

from crawl_tasks.sites.schema import Site

_MOST: Final = 20
_READING: Final = {"list", "post", "comment", "encoding", "timezone", "date_order", "languages"}


class OldRules(NamedTuple):
    """The versions before the present one, the newest first: `same` have its rules, and `other` have others."""

    same: tuple[str, ...] = ()
    other: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the versions from the text that `text` gave, none from an empty text."""
        return cls(*map(tuple, orjson.loads(text or "[]")))

    def text(self) -> str:
        """Return the versions as JSON."""
        return orjson.dumps(tuple(self)).decode()

    def after(self, before: Site, now: Site) -> OldRules:
        """Return the versions to remember when a version is published after another."""
        if before.version == now.version:
            return self
        known = (before.version, *self.same)
        if _rules(before) == _rules(now):
            return OldRules(_most(known, now), _most(self.other, now))
        # A file that was set back has the rules of an earlier version.
        return OldRules((), _most((*known, *self.other), now))


def _rules(site: Site) -> str:
    return site.model_dump_json(by_alias=True, include=_READING)


def _most(versions: Iterable[str], now: Site) -> tuple[str, ...]:
    return tuple(version for version in dict.fromkeys(versions) if version != now.version)[:_MOST]
