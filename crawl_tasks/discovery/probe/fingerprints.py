"""Fingerprints (engine detection): the forum program that a page comes from, with a score and reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, TypeAdapter

from crawl_tasks.parse.document import Document
from crawl_tasks.sites import syntax
from crawl_tasks.sites.field_rules import Part
from crawl_tasks.sites.presets import family_of
from crawl_tasks.sites.yaml_tree import read_yaml

_FILE = Path(__file__).with_name("fingerprints.yaml")
_SEARCHED = 300_000
CERTAIN, LIKELY, POSSIBLE = 90, 50, 20

Regex = Annotated[str, AfterValidator(syntax.check_regex)]
Css = Annotated[str, AfterValidator(syntax.check_css)]
Weight = Annotated[int, Field(strict=True, ge=1, le=100)]


class Fingerprints(Part):
    """The signs of one program. Every mapping has a sign and its weight, of 100."""

    title: str = Field(description="The program's name.")
    generator: Regex | None = Field(default=None, description="Regex on the generator meta.")
    css: dict[Css, Weight] = Field(default={}, description="Elements that are there.")
    source: dict[Regex, Weight] = Field(default={}, description="Regexes on the page's source.")
    headers: dict[Regex, Weight] = Field(default={}, description="Regexes on a line `name: value`.")
    cookies: dict[Regex, Weight] = Field(default={}, description="Regexes on a cookie's name.")
    probe: dict[str, Regex] = Field(default={}, description="Addresses only this program has, and what they answer.")


@dataclass(frozen=True, slots=True)
class EngineMatch:
    """A program that a page may come from."""

    name: str
    title: str
    score: int
    reasons: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The certainty in a word."""
        return "certain" if self.score >= CERTAIN else "likely" if self.score >= LIKELY else "possible"

    def __str__(self) -> str:
        """Return the program, the certainty and the reasons."""
        return f"{self.title}: {self.verdict} ({self.score} of 100: {'; '.join(self.reasons)})"


@lru_cache(maxsize=1)
def known_signs() -> dict[str, Fingerprints]:
    """Return the signs of all programs, by the name of their preset."""
    tree = read_yaml(_FILE.read_text("utf-8"), _FILE.name)
    return TypeAdapter(dict[str, Fingerprints]).validate_python(tree.value)


def suspects(document: Document) -> list[EngineMatch]:
    """Return the programs that a page may come from, the likeliest first."""
    matches = [_weighed(name, signs, document) for name, signs in known_signs().items()]
    return sorted((match for match in matches if match.score >= POSSIBLE), key=lambda match: -match.score)


def likeliest(matches: Iterable[EngineMatch]) -> list[EngineMatch]:
    """Return the likeliest version of each program, in the order given: presets of versions extend that of another."""
    first: dict[str, EngineMatch] = {}
    for suspect in matches:
        first.setdefault(family_of(suspect.name), suspect)
    return list(first.values())


def _weighed(name: str, signs: Fingerprints, document: Document) -> EngineMatch:
    weights = sorted(_told(signs, document), reverse=True)
    return EngineMatch(
        name, signs.title, min(100, sum(weight for weight, _ in weights)), tuple(text for _, text in weights[:4])
    )


def _told(signs: Fingerprints, document: Document) -> Iterator[tuple[int, str]]:
    """Yield the weight and the description of each sign that is there."""
    meta = document.root.css_first("meta[name=generator], meta[name=Generator]")
    generator = (meta.attributes.get("content") or "") if meta is not None else ""
    if signs.generator and re.search(signs.generator, generator):
        yield 100, f"generator meta says {generator[:60]}"
    for css, weight in signs.css.items():
        if document.root.css_first(css) is not None:
            yield weight, f"has {css}"
    source = document.source[:_SEARCHED]
    for pattern, weight in signs.source.items():
        match = re.search(pattern, source, re.DOTALL)
        if match:
            yield weight, f"says {' '.join(re.sub('<[^>]*>?', ' ', match[0]).split())[:60]}"
    yield from _told_by_headers(signs, document)


def _told_by_headers(signs: Fingerprints, document: Document) -> Iterator[tuple[int, str]]:
    headers = document.page.headers
    for pattern, weight in signs.headers.items():
        line = next((f"{key}: {value}" for key, value in headers.items() if re.search(pattern, f"{key}: {value}")), "")
        if line:
            yield weight, f"answers with {line[:60]}"
    # Several Set-Cookie headers arrive on a line each.
    cookies = re.findall(r"^([^\s=;,]+)=", headers.get("set-cookie", ""), re.MULTILINE)
    for pattern, weight in signs.cookies.items():
        cookie = next((name for name in cookies if re.search(pattern, name)), "")
        if cookie:
            yield weight, f"sets the cookie {cookie[:60]}"
