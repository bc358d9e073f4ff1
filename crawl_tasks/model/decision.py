"""Decisions of operators about a site or a board: pause, hold, interval, removal, with when, who and why."""

from __future__ import annotations

from typing import NamedTuple


class Operator(NamedTuple):
    """A person who decides, as `user@host`, with the reason. Both are empty where nobody said them."""

    who: str = ""
    why: str = ""


NOBODY = Operator()


class Decision(NamedTuple):
    """The last decision about a subject of a site, at a time of Redis' clock in ms.

    The subject is `gate`, `site`, `hold BOARD` or `interval BOARD`. decisions.lua lists the values. `text` is the
    decision as Redis holds it.
    """

    site: str
    subject: str
    value: str
    at_ms: int
    who: str = ""
    why: str = ""
    text: str = ""

    @property
    def is_removal(self) -> bool:
        """Return whether the site is removed by this decision."""
        return self.subject == "site" and self.value == "removed"

    @property
    def is_publication(self) -> bool:
        """Return whether a removed site was published again by this decision."""
        return self.subject == "site" and self.value == "published"
