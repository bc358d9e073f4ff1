"""One board of a site file: a list of threads, or a page that only links to them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from crawl_tasks.sites.rules import Part
from crawl_tasks.sites.stages import require

Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=300)]


class BoardKind(StrEnum):
    """What the pages of a board are."""

    LIST = "list"
    HUB = "hub"
    FEED = "feed"
    SITEMAP = "sitemap"


class Board(Part):
    """One board to watch. A bare string or number in the list is its id."""

    id: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x20\x7f]+$", max_length=200)] = Field(
        description="The forum's id."
    )
    title: Line | None = Field(default=None, description="A title for people; the page's own is stored.")
    parent: Line | None = Field(default=None, description="The id of the board it is below, for people.")
    address: Line | None = Field(
        default=None, description="Address of its first page, where list.address does not fit."
    )
    priority: Annotated[int, Field(strict=True, ge=0, le=9)] | None = Field(
        default=None, description="Priority of its scans, and of what they find, in place of the site's."
    )
    interval_s: Annotated[float, Field(strict=True, ge=1, le=31_536_000)] | None = Field(
        default=None, description="A fixed interval in place of the adaptive one."
    )
    kind: BoardKind = Field(
        default=BoardKind.LIST, description="list; or a page that only links to threads: hub, feed, sitemap."
    )

    @field_validator("id", "parent", mode="before")
    @classmethod
    def _number_is_text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _a_hub_has_an_address(self) -> Self:
        if self.kind is not BoardKind.LIST:
            require(self.address is not None, f"is a {self.kind.value} without an address; give it one")
        return self


def from_id(value: object) -> object:
    """Read a board that is written as its id only."""
    return {"id": value} if isinstance(value, (str, int)) else value
