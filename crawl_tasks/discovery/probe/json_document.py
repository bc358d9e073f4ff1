"""The JSON document: its scalars and its lists of records, each with its JMESPath. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from crawl_tasks.discovery.text.yaml_rules import scalar
from crawl_tasks.parse.json_ld import Json

_DEEPEST: Final = 5
_MORE = re.compile(r"has_?(?:more|next)\w*|more|next(?:_?(?:page|cursor|url|link|token|offset))?|cursor|end_?cursor")
_TOTAL = re.compile(r"total(?:_?(?:count|items|results|threads|topics|posts|records|elements))?")
_PAGES = re.compile(r"(?:total_?|num_?|last_?)?pages?_?(?:count|total)?(?<!page)|last_?page")


def scalars(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers of a document with their JMESPaths, of a list those of its first entry."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for name, inner in value.items():
            yield from scalars(inner, f"{path}.{_name(name)}" if path else _name(name), depth + 1)
    elif isinstance(value, list) and value and path:
        yield from scalars(value[0], f"{path}[0]", depth + 1)
    elif isinstance(value, str | int | float):
        yield path, json.dumps(value) if isinstance(value, bool) else str(value)


def lists(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, list[Json]]]:
    """Yield the lists of objects in a document with their JMESPaths, and each without its first object."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for name, inner in value.items():
            yield from lists(inner, f"{path}.{_name(name)}" if path else _name(name), depth + 1)
    elif isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        yield path or "@", value
        yield f"{path}[1:]", value[1:]


def nested_lists(value: Json) -> Iterator[tuple[str, list[Json]]]:
    """Yield the lists of objects in a document, also with the objects in a list within each record, as replies are."""
    for path, entries in lists(value):
        yield path, entries
        for name in () if path.endswith("]") else dict.fromkeys(name for entry in entries for name in _inner(entry)):
            yield (
                f"{path}[].[[@], {_name(name)}][][]",
                [each for entry in entries for each in (entry, *_inner(entry).get(name, ()))],
            )


def top(path: str) -> str:
    """Return the path of the list itself, for one from nested_lists()."""
    return path.partition("[]")[0].removesuffix("[1:]") or "@"


def _inner(record: Json) -> dict[str, list[Json]]:
    fields = record.items() if isinstance(record, dict) else ()
    return {name: value for name, value in fields if isinstance(value, list) and _are_records(value)}


def _are_records(values: list[Json]) -> bool:
    return bool(values) and all(isinstance(value, dict) for value in values)


def rule(path: str) -> str:
    """Return the YAML of a rule that reads a JMESPath."""
    return f"{{json: {scalar(path)}}}"


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_]\w*", key) else json.dumps(key)


def more_told(value: Json, rows: int) -> str:
    """Return the value by which an answer says that it has more than `rows` records, empty if none says so."""
    for path, text in scalars(value):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", path.rpartition(".")[2]).lower()
        if "[" in path:
            continue
        is_more = _MORE.fullmatch(name) and text not in ("", "false", "0")
        is_total = _TOTAL.fullmatch(name) and text.isdigit() and int(text) > rows
        if is_more or is_total or (_PAGES.fullmatch(name) and text.isdigit() and int(text) > 1):
            return f"{path} is {text[:60]}"
    return ""


def objects(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, Json]]:
    """Yield the objects of a document that are in no list, with their JMESPaths."""
    if isinstance(value, dict) and depth < _DEEPEST:
        yield path, value
        for name, inner in value.items():
            yield from objects(inner, f"{path}.{_name(name)}" if path else _name(name), depth + 1)
