"""Page state: the JSON that a page holds for its scripts, and the rule that finds it there. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from crawl_tasks.discovery.text.yaml_rules import scalar
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.json_ld import Json, loads

_ASSIGNED = re.compile(r"\b([A-Za-z_$][\w$]*)\s*=\s*(?=[{\[])")
_SEARCHED = 100_000


class PageState(NamedTuple):
    """JSON of a page, and the YAML of the rule `embedded` that finds it, empty where the answer is JSON itself."""

    rule: str
    value: Json


def state_of(page: Document) -> PageState | None:
    """Return the largest JSON of a page, None without any."""
    if "json" in page.page.headers.get("content-type", ""):
        value = _read(page.source)
        return None if value is None else PageState("", value)
    states = [(len(text), PageState(rule, value)) for rule, text in _places(page) if (value := _read(text)) is not None]
    return max(states, key=lambda pair: pair[0])[1] if states else None


def _read(text: str) -> Json:
    try:
        value = loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict | list) else None


def _places(page: Document) -> Iterator[tuple[str, str]]:
    """Yield the rule and the text of each place that may hold a state."""
    yield from _typed_scripts(page)
    yield from _data_attributes(page)
    yield from _assignments(page)


def _typed_scripts(page: Document) -> Iterator[tuple[str, str]]:
    for node in page.root.css("script[type]"):
        if node.attributes.get("type") == "application/json":
            own = node.attributes.get("id")
            yield scalar(f"script#{own}" if own else "script[type='application/json']"), node.text()


def _data_attributes(page: Document) -> Iterator[tuple[str, str]]:
    for node in page.root.css("[data-page], [data-props], [data-state], [data-initial]"):
        own = node.attributes.get("id")
        for name, text in node.attributes.items():
            if text and name.startswith("data-") and text[0] in "{[":
                where = f"#{own}" if own else f"{node.tag}[{name}]"
                yield f"{{css: {scalar(where)}, attr: {name}}}", text


def _assignments(page: Document) -> Iterator[tuple[str, str]]:
    for match in _ASSIGNED.finditer(page.source[:_SEARCHED]):
        try:
            _, end = json.JSONDecoder().raw_decode(page.source, match.end())
        except ValueError:
            continue
        pattern = rf"\b{re.escape(match[1])}\s*=\s*([{{\[][\s\S]*?[}}\]])\s*;?\s*</script>"
        known = re.search(pattern, page.source[:_SEARCHED])
        if known and known[1] == page.source[match.end() : end]:
            yield f"{{regex: {scalar(pattern)}}}", known[1]
