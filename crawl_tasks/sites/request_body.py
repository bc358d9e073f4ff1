"""The request body of a stage: a form or JSON, with the placeholders of addresses in its texts."""

from __future__ import annotations

from typing import Self

from pydantic import Field, JsonValue, model_validator

from crawl_tasks.sites.field_rules import Part, require


class Body(Part):
    """The body by which pages of a stage are asked for. {board} or {post}, {page} and {offset:N} are filled in."""

    form: dict[str, str] = Field(default={}, max_length=100, description="Fields of a form and their values.")
    json_value: JsonValue = Field(
        default=None,
        alias="json",
        description="A JSON value; a text that is one placeholder of a number becomes a number.",
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = [name for name, value in (("form", self.form), ("json", self.json_value)) if value]
        require(len(given) == 1, f"must be one of form, json; it is {' and '.join(given) or 'none'}")
        return self
