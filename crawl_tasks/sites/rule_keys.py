"""Keys that a rule does not read beside others: refused in a site file, as whoever wrote them expects them to work.

They are no mistakes of the model: a site that was published before stays readable.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from pydantic import BaseModel

from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.validation_errors import models_in
from crawl_tasks.sites.yaml_tree import Path

_COUNTS: Final = ("pages", "total", "page_size")
_OF_LARGEST: Final = frozenset(("css", "attr", "all", "required", "as_"))
_BESIDE_OTHERS: Final = frozenset(
    ("attr", "regex", "drop", "all", "join", "format", "map", "lookup", "plus", "beside", "css")
)
_BESIDE_HEADER: Final = frozenset(("attr", "all", "join", "drop", "text", "beside", "lookup"))


def ignored_keys(whole: BaseModel) -> Iterator[tuple[Path, str]]:
    """Yield the path of each rule of a site file or a preset with keys that are not read, and the complaint."""
    for path, rule in _rules_in((), whole):
        for place, variant in _with_places(path, rule):
            names, reason = _ignored(variant, is_count=path[-1] in _COUNTS)
            if names:
                verb = "is" if len(names) == 1 else "are"
                yield place, f"{' and '.join(names)} {verb} not read {reason}"


def _ignored(rule: Rule, *, is_count: bool) -> tuple[list[str], str]:
    given = [name for name, info in Rule.model_fields.items() if getattr(rule, name) != info.default]
    if is_count and rule.css and rule.all:
        return [
            name for name in given if name not in _OF_LARGEST
        ], "with `all`, which takes the largest number; leave `all` out, or them"
    if rule.first_of:
        return [name for name in given if name in _BESIDE_OTHERS], "beside first_of; write it into each alternative"
    if rule.header is not None:
        return [name for name in given if name in _BESIDE_HEADER], "of a header; leave it out"
    return ["join"] if "join" in given and not rule.all else [], "without `all`; say all: true"


def _with_places(path: Path, rule: Rule) -> Iterator[tuple[Path, Rule]]:
    yield path, rule
    for place, variant in enumerate(rule.first_of):
        yield from _with_places((*path, "first_of", place), variant)


def _rules_in(path: Path, value: object) -> Iterator[tuple[Path, Rule]]:
    """Yield every rule in a part of a site file, wherever the model has one, with the keys above it as written."""
    if isinstance(value, Rule):
        yield path, value
    elif isinstance(value, BaseModel) and _may_hold_rules(type(value)):
        for name, info in type(value).model_fields.items():
            yield from _rules_in((*path, info.alias or name), getattr(value, name))
    elif isinstance(value, dict | tuple):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _rules_in((*path, key), part)


@cache
def _may_hold_rules(model: type[BaseModel]) -> bool:
    """Return whether a model has a rule anywhere below. Of ten thousand boards none has."""
    below = [other for info in model.model_fields.values() for other in models_in(info.annotation)]
    return any(issubclass(other, Rule) or _may_hold_rules(other) for other in below)
