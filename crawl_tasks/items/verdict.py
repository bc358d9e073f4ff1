"""What a step may give in place of an item: the reason why it is not stored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from crawl_tasks.model import Comment, Post

Item = Post | Comment
_ODD = re.compile(r"[^a-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Drop:
    """The item is not stored; `reason` is counted as dropped:REASON, in small letters, digits and _."""

    reason: str

    @property
    def slug(self) -> str:
        """Give the reason in the form in which it is counted."""
        return _ODD.sub("_", self.reason.lower()).strip("_")[:40] or "unnamed"


Given = Item | Drop | Iterable[Item]
