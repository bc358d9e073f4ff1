"""Stage specifications of a site file: the addresses, fields and pagination of each kind of page."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from crawl_tasks.sites.field_rules import (
    Css,
    Part,
    Pattern,
    Regex,
    Rule,
    Sign,
    misfit,
    one_is_a_list,
    optional,
    require,
)
from crawl_tasks.sites.request_body import Body
from crawl_tasks.sites.request_headers import Headers
from crawl_tasks.sites.rule_presets import usual_next

MAX_PAGES = 100_000


class Format(StrEnum):
    """The format of a response body."""

    HTML = "html"
    JSON = "json"
    JSON_LD = "json-ld"


class Walk(StrEnum):
    """The walk over the pages of a list."""

    CHAIN = "chain"
    FAN = "fan"


class Nesting(StrEnum):
    """The source of a comment's parent."""

    FLAT = "flat"
    NESTED = "nested"
    INDENTED = "indented"


def _fit(fields: dict[str, Rule]) -> dict[str, Rule]:
    """Return the fields, and refuse a rule of another type than the model's field."""
    for name, rule in fields.items():
        if complaint := misfit(name, rule):
            raise ValueError(complaint)
    return fields


Template = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
FUNCTION = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"
FunctionName = Annotated[str, StringConstraints(pattern=FUNCTION, max_length=200)]
FieldName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Fields = Annotated[dict[FieldName, Pattern], AfterValidator(_fit)]


def _render_of(value: object) -> object:
    return {"auto": True} if value == "auto" else ({} if value else None) if isinstance(value, bool) else value


SIBLINGS: bool = Field(
    default=False,
    strict=True,
    description="A record goes on in the elements after it, up to the next record: dt and dd, two rows of a table.",
)
NESTING: Nesting = Field(
    default=Nesting.FLAT,
    description="nested: the enclosing record is the parent; indented: the last one above of smaller depth.",
)
ID_OF: tuple[str, ...] = Field(
    default=(), description="Fields that, with its parent, make the id of a comment for which the page shows none."
)


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


RenderRules = Annotated[Render | None, BeforeValidator(_render_of)]


class StageSpec(Part):
    """The common keys of all three kinds of page."""

    address: Template | None = optional("Address of a page: {board} or {post}, {page}, {offset:N} = (page - 1) x N.")
    first_address: Template | None = optional("Address of page 1 where it differs from `address`.")
    identity: Annotated[tuple[Regex, ...], BeforeValidator(one_is_a_list)] = Field(
        default=(), description="Regexes with groups board or post, page or offset, that read an address back."
    )
    body: Body | None = optional("Ask by POST with this body; parameters of `address` with braces are not sent then.")
    headers: Headers = Field(
        default={}, max_length=50, description="Request headers of these pages, above the site's of the same name."
    )
    render: RenderRules = optional("Draw these pages in a browser, as docs/render.md tells: true, auto, or its rules.")
    format: Format = Field(
        default=Format.HTML,
        description="html, json for an API, or json-ld for what a page says of itself: `json` rules read a list of it.",
    )
    embedded: Pattern | None = optional(
        "What is read in place of the answer: HTML in JSON (format html, `{json: html}`), "
        "or JSON in a page (format json, `script#state`)."
    )
    fields: Fields = Field(
        default={}, description="Name of a field: rule. Names the model does not know are kept as extra."
    )
    next: Annotated[Pattern | None, BeforeValidator(usual_next)] = optional(
        "Finds something where there is a next page; usual-next for the usual links."
    )
    pages: Pattern | None = optional("The number of pages, as the page shows it.")
    total: Pattern | None = optional("The number of records on all pages; needs `per_page`.")
    per_page: int | None = Field(default=None, ge=1, le=1000, strict=True, description="Records on a full page.")
    page_size: Pattern | None = optional(
        "Records on a page, where the page shows it: in place of `per_page` and of the N of {offset:N}."
    )
    max_pages: int = Field(
        default=10_000, ge=1, le=MAX_PAGES, strict=True, description="No page beyond this is entered."
    )
    gone_when: Pattern | None = optional(
        "Found on a page that says: no such post (a soft 404). `comment` has that of `post` unless it has its own."
    )
    login_when: Pattern | None = optional("Found on a page that asks for a login.")
    parser: FunctionName | None = optional("package.module:function that reads the page instead of rules.")

    @model_validator(mode="after")
    def _knows_how_to_count(self) -> Self:
        if self.total is not None and self.per_page is None:
            raise ValueError("total needs per_page, the number of records on a full page")
        if self.first_address is not None and self.address is None:
            raise ValueError("first_address needs address, the form of the other pages")
        if self.embedded is not None:
            keys, is_json = self.embedded.model_fields_set, self.format is Format.JSON
            if self.format is Format.JSON_LD or not keys <= ({"css", "attr", "regex"} if is_json else {"json_path"}):
                raise ValueError(
                    "embedded is {json: ...} where format is html, and css, attr or regex where it is json"
                )
        for name, rule in self.rules():
            reads_html = rule.xpath or (rule.json_path is None and (rule.css or rule.attr or rule.drop))
            if name == "embedded":
                continue
            if self.format is Format.JSON and reads_html:
                raise ValueError(f"{name} reads HTML, but format is json; use json: (JMESPath) or regex:")
            if self.format is Format.HTML and rule.json_path is not None and self.embedded is None:
                raise ValueError(f"{name} reads JSON, but format is html; say format: json, or use css")
        return self

    def rules(self) -> Iterator[tuple[str, Rule]]:
        """Yield every rule of the stage with the key above that rule, alternatives included."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            for name, rule in _rules_in(key, value):
                yield from ((name, one) for one in rule.walk())


class ListSpec(StageSpec):
    """List pages: rows of posts."""

    record: Pattern | None = optional("Finds the rows.")
    siblings: bool = SIBLINGS
    title: Pattern | None = optional("The board's title on the page.")
    empty: Pattern | None = optional(
        "Found on a board without posts; without it no rows is an error; usual-empty for the usual words."
    )
    guest: Pattern | None = optional(
        "Found in a row that may belong to another board; the post's own page says to which."
    )
    echo: Pattern | None = optional(
        "Found in a row that only tells of news in a thread, newest first; another board lists the thread."
    )
    revision: Annotated[tuple[Sign, ...], BeforeValidator(one_is_a_list)] = Field(
        default=(), description="Fields of a row (or rules) that change when a thread does."
    )
    counts_hidden: bool = Field(
        default=False,
        description="Whether it counts replies that no page shows: a thread that shows a quarter is whole.",
    )
    walk: Walk = Field(
        default=Walk.CHAIN, description="chain: next page only if this one had news; fan: all pages at once."
    )

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        if self.parser is None:
            require(self.record is not None, "needs record, the rule that finds the rows")
            require("post_id" in self.fields, "needs fields.post_id, the id of the post of a row")
        for name in (sign.field for sign in self.revision):
            if name is not None and name not in self.fields and self.parser is None:
                raise ValueError(f"revision names {name!r}, which is no field{suggest(name, self.fields)}")
        if self.walk is Walk.FAN and not (self.pages or self.total or self.parser):
            raise ValueError("walk: fan needs pages, or total and per_page; or say walk: chain")
        return self


class Records(Part):
    """Comments inside another page."""

    record: Pattern = Field(description="Finds the comments.")
    begins_with_post: bool = Field(
        default=False,
        strict=True,
        description="The first record is the post itself: its fields are those that `post.fields` leaves out.",
    )
    siblings: bool = SIBLINGS
    fields: Fields = Field(description="Name of a field: rule.")
    nesting: Nesting = NESTING
    id_of: tuple[FieldName, ...] = ID_OF

    @model_validator(mode="after")
    def _has_an_id(self) -> Self:
        _check_ids(self.fields, self.id_of)
        return self


_OF_COMMENTS: Final = ("comment_id", "parent_id", "depth", "position")


class PostSpec(StageSpec):
    """Post pages. Most forum programs show the first page of comments there."""

    record: Pattern | None = optional("The element the fields are looked for in; the whole page if left out.")
    comments: Records | None = optional("Comments inside the post page, if read otherwise than on comment pages.")

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        require(bool(self.fields or self.parser), "needs fields or parser")
        require(self.record is None or self.begins is None, "record and comments.begins_with_post name the post twice")
        return self

    @property
    def begins(self) -> Records | None:
        """The records of which the first is the post itself, None where they are comments alone."""
        return self.comments if self.comments is not None and self.comments.begins_with_post else None

    @property
    def post_fields(self) -> dict[str, Rule]:
        """The rules of the post's own fields: those of the page, and those of its record."""
        inside = self.begins.fields if self.begins is not None else {}
        return {name: rule for name, rule in inside.items() if name not in _OF_COMMENTS} | self.fields


class CommentSpec(StageSpec):
    """Comment pages."""

    first_page: int = Field(
        default=1, ge=1, le=2, strict=True, description="2 where the post page shows comment page 1."
    )
    record: Pattern | None = optional("Finds the comments.")
    siblings: bool = SIBLINGS
    nesting: Nesting = NESTING
    id_of: tuple[FieldName, ...] = ID_OF
    empty: Pattern | None = optional("Found on a page without comments; without it none is an error.")

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        if self.parser is None:
            require(self.record is not None, "needs record, the rule that finds the comments")
            _check_ids(self.fields, self.id_of)
        return self


def _check_ids(fields: dict[str, Rule], id_of: tuple[str, ...]) -> None:
    require("comment_id" in fields or bool(id_of), "needs fields.comment_id, or id_of")
    for name in id_of:
        require(name in fields, f"id_of names {name!r}, which is no field{suggest(name, fields)}")


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a complaint: the nearest known name, or all known names."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known are {', '.join(names)}" if names else ""


def _rules_in(key: str, value: object) -> Iterator[tuple[str, Rule]]:
    if isinstance(value, Rule):
        yield key, value
    elif isinstance(value, dict):
        for name, rule in value.items():
            yield from _rules_in(f"{key}.{name}", rule)
    elif isinstance(value, tuple):
        for rule in value:
            yield from _rules_in(key, rule)
    elif isinstance(value, Records):
        for name in Records.model_fields:
            yield from _rules_in(f"{key}.{name}", getattr(value, name))


NO_LISTS: Final = ListSpec.model_validate({"record": ":not(*)", "fields": {"post_id": ":not(*)"}})
"""The lists of a site that has none: its boards are hubs, feeds and sitemaps."""
