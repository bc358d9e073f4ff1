"""Render rules of a stage: how a browser draws its pages."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from crawl_tasks.sites.field_rules import Css, Part, optional, require


class Render(Part):
    """How a browser draws a page whose scripts fill it: `true` takes the defaults, `auto` is `{auto: true}`."""

    auto: bool = Field(
        default=False,
        strict=True,
        description="Draw only the pages in whose own document the rules find nothing.",
    )
    wait_for: Css | None = optional("CSS selector of what must be there first; `.post, .empty` for either of two.")
    quiet_s: float = Field(
        default=0.5,
        ge=0.1,
        le=10,
        strict=True,
        description="Seconds without a request, after which a page is complete.",
    )
    scroll: int = Field(
        default=0, ge=0, le=100, strict=True, description="Times to scroll to the end, while the page grows."
    )
    click_more: Css | None = optional("CSS selector of a button that is clicked while it is there, 50 times at most.")
    response: str | None = Field(
        default=None,
        min_length=2,
        max_length=1000,
        description="Part of an address that the page's scripts ask for: its answer is read in place of the document.",
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        require(not (self.auto and self.response), "auto reads the document, and response another one; leave one out")
        return self


def _render_of(value: object) -> object:
    if value == "auto":
        return {"auto": True}
    if isinstance(value, bool):
        return {} if value else None
    return value


RenderRules = Annotated[Render | None, BeforeValidator(_render_of)]
