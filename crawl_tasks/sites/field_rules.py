"""Field rules of a site file: the place of a value on a page, and its type. Checked at load, compiled in `parse`.

The fields of the model have a type and a text mode where their rules name none.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from crawl_tasks.model import Comment, Post
from crawl_tasks.sites import syntax
from crawl_tasks.sites.rule_presets import usual_css, usual_empty


class As(StrEnum):
    """The type into which the text of a rule is converted."""

    TEXT = "text"
    HTML = "html"
    INT = "int"
    COUNT = "count"
    DATE = "date"
    URL = "url"
    BOOL = "bool"
    ID = "id"


class Beside(StrEnum):
    """The element next to the record that a rule reads, for records of two rows."""

    PREVIOUS = "previous"
    NEXT = "next"


class TextMode(StrEnum):
    """The part of an element's text that is read."""

    OWN = "own"
    ALL = "all"
    LINES = "lines"


def require(holds: bool, complaint: str) -> None:
    """Raise ValueError with the complaint unless the condition holds."""
    if not holds:
        raise ValueError(complaint)


def optional(description: str) -> Any:  # noqa: ANN401  # the key's own type, as of pydantic's Field
    """Return the pydantic field of a key that may be left out."""
    return Field(default=None, description=description)


Plain = str | int | float | bool | None


def one_is_a_list(value: object) -> object:
    """Return a single text or mapping as a list of one, as people write such a list."""
    return (value,) if isinstance(value, (str, dict)) else value


Css = Annotated[str, AfterValidator(usual_css), AfterValidator(syntax.check_css)]
XPath = Annotated[str, AfterValidator(syntax.check_xpath)]
JsonPath = Annotated[str, AfterValidator(syntax.check_json_path)]
Regex = Annotated[str, AfterValidator(syntax.check_regex)]


class Part(BaseModel):
    """A frozen part of a site file, which accepts no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)


class Lookup(Part):
    """A list elsewhere on a JSON page, in which the found value is the id of the entry to read."""

    entries: JsonPath = Field(alias="in", description="JMESPath of the list, from the top of the page.")
    by: JsonPath = Field(description="JMESPath of an entry's id.")
    give: JsonPath = Field(description="JMESPath of what is read of the entry.")


class Rule(Part):
    """A rule that reads one value: by one of css, xpath, json, header, first_of, or else from the record itself."""

    css: Css | None = optional("CSS selector; the first match in document order is read.")
    xpath: XPath | None = optional("XPath 1.0, for what CSS cannot say; slower: parses the page again.")
    json_path: JsonPath | None = Field(
        default=None,
        alias="json",
        description="JMESPath, where the format is json; with css, attr or drop, the text found is HTML to read.",
    )
    header: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9-]{1,64}$", description="Name of a header of the response."
    )
    regex: Regex | None = optional(
        "Keeps group 1 (or the whole match) of the text found; alone, it reads the page's source "
        "or the record's text. Only the first 100,000 characters are searched."
    )
    attr: str | None = Field(
        # The length is apart from the pattern: Unicode's \w repeated 1 to 64 times takes 18 ms to compile.
        default=None,
        pattern=r"^[\w:.-]+$",
        max_length=64,
        description="Read this attribute instead of the text.",
    )
    all: bool = Field(
        default=False, strict=True, description="Read all matches, not only the first; joined with `join`."
    )
    join: str = Field(default=", ", max_length=16, description="Stands between the values when `all` is set.")
    text: TextMode | None = optional(
        "own: only direct text; all: on one line; lines: paragraphs and breaks as newlines."
    )
    as_: As | None = Field(
        default=None, alias="as", description="Type of the value; by default what the field's name says."
    )
    default: Plain = optional("Value where nothing is found.")
    # None is not false, which allows a post without title or body and has to reach the workers.
    required: Annotated[bool | None, Field(strict=True)] = optional(
        "true: a page without it fails with a ParseError; false: a post may lack its title or body."
    )
    first_of: tuple[Pattern, ...] = Field(
        default=(), description="Alternatives; the first that finds something is taken."
    )
    beside: Beside | None = optional("previous or next: read in the element before or after the record, not in it.")
    drop: Css | None = optional("CSS of elements left out before reading, such as quotes.")
    format: Annotated[tuple[str, ...], BeforeValidator(one_is_a_list)] = Field(
        default=(), description="strptime formats of a date, tried in order before all others."
    )
    map: dict[str, Plain] = Field(default={}, description="Replaces a text found by another value, before `as`.")
    lookup: Lookup | None = optional("What json finds is an id; read the entry of that id in a list on the page.")
    plus: int = Field(
        default=0, ge=-1000, le=1000, strict=True, description="Added to a number; the result is not below 0."
    )

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        return self._has_one_selector()

    def _has_one_selector(self) -> Self:
        chosen = [name for name in ("css", "xpath", "json_path", "header") if getattr(self, name) is not None]
        chosen += ["first_of"] if self.first_of else []
        # The two together read HTML inside a JSON text.
        if chosen == ["css", "json_path"]:
            chosen = ["json_path"]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} cannot stand together; keep one, or use first_of")
        if not chosen and not (self.regex or self.attr or self.text or self.as_ or self.drop):
            raise ValueError("says nothing; give css, xpath, json, header, regex, attr or first_of")
        if self.lookup is not None and self.json_path is None:
            raise ValueError("lookup needs json, which finds the id to look up")
        return self

    def walk(self) -> Iterator[Rule]:
        """Yield this rule and all alternatives below."""
        yield self
        for rule in self.first_of:
            yield from rule.walk()


def _from_text(value: object) -> object:
    value = usual_empty(value)
    return {"css": value} if isinstance(value, str) else value


Pattern = Annotated[Rule, BeforeValidator(_from_text)]
"""A rule as people write rules: a mapping, or CSS as plain text."""

Rule.model_rebuild()


class NamedRule(Rule):
    """A part of a revision: the name of a field, or a rule of its own."""

    field: str | None = Field(default=None, max_length=40, description="Name of a field of the row.")

    def _has_one_selector(self) -> Self:
        if self.field is not None and self.model_fields_set - {"field"}:
            raise ValueError("gives a field and a rule; keep one")
        return self if self.field is not None else super()._has_one_selector()


def _from_name(value: object) -> object:
    return {"field": value} if isinstance(value, str) else value


Sign = Annotated[NamedRule, BeforeValidator(_from_name)]
"""A part of a revision as people write one: the name of a field, or a mapping."""


POST_FIELDS = tuple(name for name in Post._fields if name not in ("seen_at", "revision", "extra", "is_page"))
COMMENT_FIELDS = tuple(name for name in Comment._fields if name not in ("post_id", "seen_at", "page", "extra"))

_NUMBERS = {
    "created_at": As.DATE, "last_reply_at": As.DATE, "edited_at": As.DATE, "reply_count": As.COUNT,
    "view_count": As.COUNT, "depth": As.INT, "position": As.INT,
}  # fmt: skip
_TEXTS = {"body_html": As.HTML, "url": As.URL}
_MODEL = frozenset(POST_FIELDS) | frozenset(COMMENT_FIELDS)
_IN_FIGURES = frozenset({As.INT, As.COUNT, As.DATE})


def kind_of(name: str, rule: Rule) -> As:
    """Return the type of a field: the one in the rule, else the one that the field's name implies."""
    return rule.as_ or _NUMBERS.get(name) or _TEXTS.get(name) or As.TEXT


def text_mode_of(name: str, rule: Rule) -> TextMode:
    """Return the text mode of a field: the one in the rule, else lines for a body and one line for the rest."""
    return rule.text or (TextMode.LINES if name == "body" else TextMode.ALL)


def extra_fields(names: Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that the model lacks, which are kept as extra."""
    return tuple(name for name in names if name not in known)


def _fit(fields: dict[str, Rule]) -> dict[str, Rule]:
    """Return the fields, and refuse a rule of another type than the model's field."""
    for name, rule in fields.items():
        for variant in rule.walk():
            _check_type(name, kind_of(name, variant))
    return fields


def _check_type(name: str, kind: As) -> None:
    if name in _NUMBERS:
        require(kind in _IN_FIGURES, f"{name} is a number; say as: {_NUMBERS[name]}, or leave `as` out")
    elif name in _MODEL:
        require(kind not in _IN_FIGURES | {As.BOOL}, f"{name} is text; leave `as` out")


FieldName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Fields = Annotated[dict[FieldName, Pattern], AfterValidator(_fit)]


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a complaint: the nearest known name, or all known names."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known are {', '.join(names)}" if names else ""
