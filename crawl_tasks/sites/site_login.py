"""The login of a site file: how a member logs in, where secrets stand, and the sign of success."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from crawl_tasks.sites.field_rules import Part, Pattern, require
from crawl_tasks.sites.request_headers import VARIABLE
from crawl_tasks.sites.stages import FunctionName
from crawl_tasks.sites.template import normalize_below
from crawl_tasks.urls import origin_of


def _variable(name: str) -> str:
    require(bool(VARIABLE.fullmatch(name)), f"must name a variable FORUM_..., as FORUM_PASSWORD; it is {name[:40]!r}")
    return name


Variable = Annotated[str, AfterValidator(_variable)]


class SiteLogin(Part):
    """The login: one of form, cookie_file, bearer and function. `success` tells a member's page from a guest's."""

    form: str | None = Field(default=None, max_length=1000, description="Address of the page with the login form.")
    secrets: dict[str, Variable] = Field(
        default={},
        max_length=10,
        description="Secret fields of the form, and the variable FORUM_... of each. The values are cut out of pages.",
    )
    fields: dict[str, str] = Field(
        default={}, max_length=50, description="Further fields of the form. Its hidden fields are sent as they are."
    )
    cookie_file: Variable | None = Field(
        default=None,
        description="FORUM_NAME, where FORUM_NAME_FILE is the path of a Netscape cookie file, as browsers export it.",
    )
    bearer: Variable | None = Field(default=None, description="Variable FORUM_... with a token for Authorization.")
    function: FunctionName | None = Field(
        default=None, description="package.module:function that logs in by `send` and returns headers, or nothing."
    )
    success: Pattern = Field(description="Found on each page that a member sees, and on none that a guest sees.")
    check: str = Field(default="/", max_length=1000, description="Address of a page with that sign, for members.")
    most_a_day: int = Field(default=10, ge=1, le=1000, strict=True, description="Logins in a day (UTC) at most.")

    not_secret: list[Annotated[str, Field(max_length=200)]] = Field(
        default=[], max_length=50, description="Names of cookies whose values are words, and are left in texts."
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = [name for name in ("form", "cookie_file", "bearer", "function") if getattr(self, name)]
        require(len(given) == 1, f"must be one of form, cookie_file, bearer, function; it is {given or 'none'}")
        require(bool(self.secrets) == bool(self.form), "form needs secrets, and secrets need form")
        return self

    def check_origin(self, base: str) -> None:
        """Raise ValueError for an address that lies at another origin than the site."""
        for key, address in (("form", self.form or "/"), ("check", self.check)):
            is_own = origin_of(normalize_below(base, address)) == origin_of(base)
            require(is_own, f"login.{key} must lie at {origin_of(base)}, which alone gets the session")
