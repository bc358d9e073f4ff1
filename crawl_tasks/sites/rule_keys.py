"""Keys that a rule does not read beside others: refused in a site file, as whoever wrote them expects them to work.

They are no mistakes of the model: a site that was published before stays readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import PostSpec
from crawl_tasks.sites.yaml_tree import Path

_COUNTS: Final = ("pages", "total", "page_size")
_OF_LARGEST: Final = frozenset(("css", "attr", "all", "required", "as_"))
_BESIDE_OTHERS: Final = frozenset(
    ("attr", "regex", "drop", "all", "join", "format", "map", "lookup", "plus", "beside", "css")
)
_BESIDE_HEADER: Final = frozenset(("attr", "all", "join", "drop", "text", "beside", "lookup"))


def ignored_keys(site: Site) -> Iterator[tuple[Path, str]]:
    """Yield the path of each rule with keys that are not read, and the complaint."""
    for path, rule in _rules(site):
        for place, one in _with_places(path, rule):
            names, reason = _ignored(one, is_count=path[-1] in _COUNTS)
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
    for place, one in enumerate(rule.first_of):
        yield from _with_places((*path, "first_of", place), one)


def _rules(site: Site) -> Iterator[tuple[Path, Rule]]:
    for stage, spec in site.stages.items():
        groups: list[tuple[Path, object]] = [((stage.value,), spec)]
        if isinstance(spec, PostSpec) and spec.comments is not None:
            groups.append(((stage.value, "comments"), spec.comments))
        for path, group in groups:
            yield from _of_group(path, group)


def _of_group(path: Path, group: object) -> Iterable[tuple[Path, Rule]]:
    for name in ("record", "title", "next", "empty", "guest", "echo", "embedded", "gone_when", "login_when", *_COUNTS):
        rule = getattr(group, name, None)
        if isinstance(rule, Rule):
            yield (*path, name), rule
    for name, rule in getattr(group, "fields", {}).items():
        yield (*path, "fields", name), rule
