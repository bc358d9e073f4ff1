"""Before step 1, survey: which forum program a page comes from, how sure that is, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, TypeAdapter

from crawl_tasks.parse.document import Document
from crawl_tasks.sites import syntax
from crawl_tasks.sites.rules import Part
from crawl_tasks.sites.yaml_tree import read_yaml

_FILE = Path(__file__).with_name("signs.yaml")
_SEARCHED = 300_000
CERTAIN, LIKELY, POSSIBLE = 90, 50, 20

Regex = Annotated[str, AfterValidator(syntax.check_regex)]
Css = Annotated[str, AfterValidator(syntax.check_css)]
Weight = Annotated[int, Field(strict=True, ge=1, le=100)]


class Signs(Part):
    """What tells one program; every mapping gives a sign and how much it says, 100 is all."""

    title: str = Field(description="The program's name.")
    generator: Regex | None = Field(default=None, description="Regex on the generator meta.")
    css: dict[Css, Weight] = Field(default={}, description="Elements that are there.")
    source: dict[Regex, Weight] = Field(default={}, description="Regexes on the page's source.")
    headers: dict[Regex, Weight] = Field(default={}, description="Regexes on a line `name: value`.")
    cookies: dict[Regex, Weight] = Field(default={}, description="Regexes on a cookie's name.")
    probe: dict[str, Regex] = Field(default={}, description="Addresses only this program has, and what they answer.")


@dataclass(frozen=True, slots=True)
class Suspect:
    """A program that a page may come from."""

    name: str
    title: str
    score: int
    reasons: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """How sure it is, in a word."""
        return "certain" if self.score >= CERTAIN else "likely" if self.score >= LIKELY else "possible"

    def __str__(self) -> str:
        """Say which program, how sure and why."""
        return f"{self.title}: {self.verdict} ({self.score} of 100: {'; '.join(self.reasons)})"


@lru_cache(maxsize=1)
def known_signs() -> dict[str, Signs]:
    """Read the signs of all programs, by the name of their preset."""
    tree = read_yaml(_FILE.read_text("utf-8"), _FILE.name)
    return TypeAdapter(dict[str, Signs]).validate_python(tree.value)


def suspects(document: Document) -> list[Suspect]:
    """Return the programs that a page may come from, the likeliest first."""
    found = [_weighed(name, signs, document) for name, signs in known_signs().items()]
    return sorted((one for one in found if one.score >= POSSIBLE), key=lambda one: -one.score)


def _weighed(name: str, signs: Signs, document: Document) -> Suspect:
    told = sorted(_told(signs, document), reverse=True)
    return Suspect(name, signs.title, min(100, sum(weight for weight, _ in told)), tuple(text for _, text in told[:4]))


def _told(signs: Signs, document: Document) -> Iterator[tuple[int, str]]:
    """Yield the weight of each sign that is there, and the words for it."""
    meta = document.root.css_first("meta[name=generator], meta[name=Generator]")
    generator = (meta.attributes.get("content") or "") if meta is not None else ""
    if signs.generator and re.search(signs.generator, generator):
        yield 100, f"generator meta says {generator[:60]}"
    for css, weight in signs.css.items():
        if document.root.css_first(css) is not None:
            yield weight, f"has {css}"
    source = document.source[:_SEARCHED]
    for pattern, weight in signs.source.items():
        found = re.search(pattern, source, re.DOTALL)
        if found:
            yield weight, f"says {' '.join(re.sub('<[^>]*>?', ' ', found[0]).split())[:60]}"
    headers = document.page.headers
    for pattern, weight in signs.headers.items():
        line = next((f"{key}: {value}" for key, value in headers.items() if re.search(pattern, f"{key}: {value}")), "")
        if line:
            yield weight, f"answers with {line[:60]}"
    cookies = re.findall(r"(?:^|,\s*)([^\s=;,]+)=", headers.get("set-cookie", ""))
    for pattern, weight in signs.cookies.items():
        cookie = next((one for one in cookies if re.search(pattern, one)), "")
        if cookie:
            yield weight, f"sets the cookie {cookie[:60]}"
