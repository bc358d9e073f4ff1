"""Stage specifications of a site file: the addresses, fields and pagination of each kind of page."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from crawl_tasks.sites.field_rules import (
    FieldName,
    Fields,
    Part,
    Pattern,
    Regex,
    Rule,
    Sign,
    one_is_a_list,
    optional,
    require,
    suggest,
)
from crawl_tasks.sites.render import RenderRules
from crawl_tasks.sites.request_body import Body
from crawl_tasks.sites.request_headers import Headers
from crawl_tasks.sites.rule_presets import usual_next

MAX_PAGES = 100_000


class Format(StrEnum):
    """The format of a response body."""

    HTML = "html"
    JSON = "json"
    JSON_LD = "json-ld"


_KEYS_OF_EMBEDDED: Final = {Format.HTML: frozenset({"json_path"}), Format.JSON: frozenset({"css", "attr", "regex"})}
"""The keys that the rule of an embedded part may have, by the format of that part."""


class Walk(StrEnum):
    """The walk over the pages of a list."""

    CHAIN = "chain"
    FAN = "fan"


class Nesting(StrEnum):
    """The source of a comment's parent."""

    FLAT = "flat"
    NESTED = "nested"
    INDENTED = "indented"


Template = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
FUNCTION = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"
FunctionName = Annotated[str, StringConstraints(pattern=FUNCTION, max_length=200)]


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
        require(
            self.total is None or self.per_page is not None,
            "total needs per_page, the number of records on a full page",
        )
        require(
            self.first_address is None or self.address is not None,
            "first_address needs address, the form of the other pages",
        )
        if self.embedded is not None:
            keys = _KEYS_OF_EMBEDDED.get(self.format)
            require(
                keys is not None and self.embedded.model_fields_set <= keys,
                "embedded is {json: ...} where format is html, and css, attr or regex where it is json",
            )
        for name, rule in self.rules():
            if name != "embedded":
                self._check_format(name, rule)
        return self

    def _check_format(self, name: str, rule: Rule) -> None:
        reads_html = rule.xpath or (rule.json_path is None and (rule.css or rule.attr or rule.drop))
        require(
            not (self.format is Format.JSON and reads_html),
            f"{name} reads HTML, but format is json; use json: (JMESPath) or regex:",
        )
        require(
            not (self.format is Format.HTML and rule.json_path is not None and self.embedded is None),
            f"{name} reads JSON, but format is html; say format: json, or use css",
        )

    def rules(self) -> Iterator[tuple[str, Rule]]:
        """Yield every rule of the stage with the key above that rule, alternatives included."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            for name, rule in _rules_in(key, value):
                yield from ((name, variant) for variant in rule.walk())


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
        """The records of which the first is the post itself, None where they are comments only."""
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


def check_comments(post: PostSpec, comment: CommentSpec | None) -> None:
    """Raise ValueError where post pages show comments, and nothing says whether there are more of them."""
    begins_beside = comment is not None and comment.first_page == 2
    require(post.comments is None or begins_beside, "post.comments are comment page 1: set comment.first_page to 2")
    if comment is not None and begins_beside and post.parser is None:
        require(
            any(spec.next or spec.pages or spec.total for spec in (post, comment)),
            "post.pages: nothing says whether there are more comment pages; give pages, total or next",
        )


def _check_ids(fields: dict[str, Rule], id_of: tuple[str, ...]) -> None:
    require("comment_id" in fields or bool(id_of), "needs fields.comment_id, or id_of")
    for name in id_of:
        require(name in fields, f"id_of names {name!r}, which is no field{suggest(name, fields)}")


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
