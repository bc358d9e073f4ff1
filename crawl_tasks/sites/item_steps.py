"""Item steps in a site file: which step, with which arguments, for posts, comments or both."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from crawl_tasks.errors import SettingsError
from crawl_tasks.model import Comment, Post
from crawl_tasks.sites.field_rules import Part, Regex, one_is_a_list, require, suggest
from crawl_tasks.sites.stages import FunctionName

TEXTS = ("title", "author", "body")
_FIELDS = frozenset(Post._fields) | frozenset(Comment._fields)


class StepKind(StrEnum):
    """The kind of an item."""

    POST = "post"
    COMMENT = "comment"


def _known(name: str) -> str:
    require(name in _FIELDS, f"{name!r} is no field of a post or comment{suggest(name, _FIELDS)}")
    return name


def _readable(name: str) -> str:
    require(name in TEXTS, f"{name!r} is no text that a step can read; choose of {', '.join(TEXTS)}")
    return name


FieldName = Annotated[str, AfterValidator(_known)]
TextName = Annotated[str, AfterValidator(_readable)]
Reason = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Length = Annotated[int, Field(strict=True, ge=1, le=10_000_000)]


class Unwanted(Part):
    """The test for items to drop."""

    field: TextName = Field(description="The text that is searched: title, author or body.")
    regex: Regex = Field(description="Searched in its first 100,000 characters.")
    reason: Reason = Field(default="pattern", description="Counted as dropped:REASON.")


class ItemStep(Part):
    """One step that every item passes. A bare `package.module:function` is a function step."""

    require: Annotated[tuple[FieldName, ...], BeforeValidator(one_is_a_list)] = Field(
        default=(), description="Drop items that lack one of these fields, as `without_FIELD`."
    )
    limit: dict[TextName, Length] = Field(default={}, description="Cut title, author or body to so many characters.")
    language: Annotated[tuple[TextName, ...], BeforeValidator(one_is_a_list)] = Field(
        default=(), description="Tag items with the language of these fields' text, as extra.language."
    )
    drop: Unwanted | None = Field(default=None, description="Drop items whose text matches.")
    function: FunctionName | None = Field(default=None, description="package.module:function that sees each item.")
    of: Annotated[tuple[StepKind, ...], BeforeValidator(one_is_a_list)] = Field(
        default=(StepKind.POST, StepKind.COMMENT), description="post, comment, or both."
    )

    @model_validator(mode="after")
    def _is_one_step(self) -> Self:
        given = [name for name in ("require", "limit", "language", "drop", "function") if getattr(self, name)]
        require(len(given) == 1, f"must be one of require, limit, language, drop, function; it is {given or 'none'}")
        return self


def _from_name(value: object) -> object:
    return {"function": value} if isinstance(value, str) else value


Step = Annotated[ItemStep, BeforeValidator(_from_name)]
_STEPS = TypeAdapter(tuple[Step, ...])


def read_steps(text: str) -> tuple[ItemStep, ...]:
    """Return the steps of the whole crawl: a JSON list as in a site file, or function names with commas between.

    Raises:
        SettingsError: The text is neither.
    """
    try:
        if text.lstrip().startswith("["):
            return _STEPS.validate_json(text)
        return _STEPS.validate_python(tuple(name.strip() for name in text.split(",") if name.strip()))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"CRAWL_ITEMS: step {where}: {first['msg'].removeprefix('Value error, ')}") from None
