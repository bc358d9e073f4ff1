"""A board of a site file: a list of threads, a page that tells of all boards, or one that only links to threads."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from crawl_tasks.sites.field_rules import Part, optional, require

Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=300)]


class BoardKind(StrEnum):
    """The kind of a board's pages."""

    LIST = "list"
    NEWS = "news"
    FRONT = "front"
    HUB = "hub"
    FEED = "feed"
    SITEMAP = "sitemap"


LISTS: Final = frozenset({BoardKind.LIST, BoardKind.NEWS})
"""The kinds whose pages are read by the site's `list` rules."""

TELLS_ALL: Final = frozenset({BoardKind.NEWS, BoardKind.FRONT})
"""The kinds whose pages tell of news on all boards."""


class Board(Part):
    """One board to watch. A bare string or number in the list is the board's id."""

    id: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x20\x7f]+$", max_length=200)] = Field(
        description="The forum's id."
    )
    title: Line | None = optional("A title for people; the page's own is stored.")
    parent: Line | None = optional("The id of the board it is below, for people.")
    address: Line | None = optional("Address of its first page, where list.address does not fit.")
    priority: Annotated[int, Field(strict=True, ge=0, le=9)] | None = optional(
        "Priority of its scans, and of what they find, in place of the site's."
    )
    interval_s: Annotated[float, Field(strict=True, ge=1, le=31_536_000)] | None = optional(
        "A fixed interval in place of the adaptive one."
    )
    goal_s: Annotated[float, Field(strict=True, ge=1, le=31_536_000)] | None = optional(
        "The longest time between two scans by the priced schedule."
    )
    kind: BoardKind = Field(
        default=BoardKind.LIST,
        description="list; news: a list of the newest replies over all boards, whose rows belong to the boards they "
        "name; front: a front page, whose counts tell which boards have news, and whose rows or links tell of new "
        "boards; or a page that only links to threads: hub, feed, sitemap.",
    )

    @field_validator("id", "parent", mode="before")
    @classmethod
    def _number_is_text(cls, value: object) -> object:
        # YAML reads a bare id such as 42 as a number. `true` is an int to Python too, but no id.
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _a_hub_has_an_address(self) -> Self:
        if self.kind is not BoardKind.LIST:
            require(self.address is not None, f"is a {self.kind.value} without an address; give it one")
        return self


def from_id(value: object) -> object:
    """Return a board that is written as a bare id in the form of a mapping."""
    return {"id": value} if isinstance(value, (str, int)) else value
