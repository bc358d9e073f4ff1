"""Front pages: in a preset the rules that find the boards, in a site those that read the counts of each board."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from crawl_tasks.sites.field_rules import FieldName, Part, Pattern, one_is_a_list, optional, require, suggest
from crawl_tasks.sites.stages import Format

INDEX_FIELDS = ("board", "url", "title", "parent")
Path = Annotated[str, StringConstraints(pattern=r"^/[!-~]*$", max_length=1000)]


FRONT_FIELDS = ("board", "url", "below", "topics", "posts", "last_post", "last_post_at")
COUNTS = ("topics", "posts", "last_post")


class FrontSpec(Part):
    """How to read boards of kind front. One record is one board, with counts that change when the board does."""

    format: Format = Field(default=Format.HTML, description="html, or json for an API.")
    record: Pattern = Field(description="Finds the rows.")
    fields: dict[FieldName, Pattern] = Field(
        description="board (its id) or url; below: addresses of the boards that the row counts too, joined by a blank; "
        "topics, posts and last_post: texts that change when the board does; last_post_at."
    )

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        _check_fields(self.fields, FRONT_FIELDS)
        require(not self.fields.keys().isdisjoint(COUNTS), f"needs one of fields.{', fields.'.join(COUNTS)}")
        return self


class IndexSpec(Part):
    """Front pages. One record is one board that can be watched. Categories without threads and links are no boards."""

    address: Annotated[tuple[Path, ...], BeforeValidator(one_is_a_list)] = Field(
        default=("/",), min_length=1, description="Addresses of the front page, tried in order."
    )
    format: Format = Field(default=Format.HTML, description="html, or json for an API.")
    record: Pattern = Field(description="Finds the boards.")
    fields: dict[FieldName, Pattern] = Field(
        description="board (its id), url, title, parent (id of the board it belongs to). Without a rule for board, "
        "list.identity reads the id from the url."
    )
    news: tuple[Path, ...] = Field(
        default=(), description="Pages of the newest replies over all boards, which `new` tries in order."
    )
    timezone: Pattern | None = optional("The text that names the forum's time zone, or shows its clock.")
    timezone_at: Path | None = optional("The page that names it, where no front page does.")
    clock_changes: bool = Field(default=False, description="That clock is a place's, and may know summer time.")

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        _check_fields(self.fields, INDEX_FIELDS)
        return self


def _check_fields(fields: Collection[str], known: tuple[str, ...]) -> None:
    for name in fields:
        require(name in known, f"fields.{name} is not known{suggest(name, known)}")
    require("board" in fields or "url" in fields, "needs fields.board or fields.url")
