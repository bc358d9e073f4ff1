"""JSON fields: those of records in an unknown API, by the names and the values of their keys. Pure."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Final
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.probe.json_document import rule, scalars
from crawl_tasks.discovery.text.yaml_rules import scalar
from crawl_tasks.parse.context import is_key
from crawl_tasks.parse.json_ld import Json
from crawl_tasks.parse.values.dates import read_date

_UTC = ZoneInfo("UTC")
_LONGEST: Final = 300
_WHO = r"author|user|poster|owner|creator|created_?by|started_?by|posted_?by|by|member|writer|account"
# Likeliest first. A pattern is that of the whole path, whose last part is the value's own name.
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "id": (r"_?id", r"uuid|guid", r"[a-z]{1,10}_?id|key|no|number|num", r"slug|hash"),
    "slug": (r"slug",),
    "title": (r"(?:.+\.)?(?:(?:thread|topic)_?)?(?:title|subject|headline)(?:\.\w+)?", r"topic|name|label|caption"),
    "author": (
        rf"(?:.+\.)?(?:{_WHO})\.(?:display_?name|nick_?name|nick|name)", rf"(?:.+\.)?(?:{_WHO})\.(?:user_?name|login)",
        rf"(?:{_WHO})(?:_?name)?|user_?name|nick_?name|nick",
    ),
    "created_at": (
        r"(?:created|posted|published|submitted|written|started)(?:_?(?:at|on|date|time|utc))?"
        r"|(?:create|post|publish|add)_?(?:date|time)|dateline|c_?time",
        r"date(?:_?time)?|time(?:_?stamp)?|ts|when|at",
    ),
    "body": (
        r"(?:.+\.)?(?:(?:body|content|text|message)_?html|html|cooked|rendered)",
        r"(?:.+\.)?(?:body|content|text|message|raw|markdown|post|comment)",
    ),
    "reply_count": (r"(?:num_?|n_?|total_?)?(?:repl(?:y|ies)|comments?|answers?)(?:_?(?:count|num|total))?",),
    "last_reply_at": (r"last_?(?:post|reply|comment|message|activity|active)\w*|last_?(?:at|date|time)|bumped\w*",),
    "posts": (r"(?:num_?|n_?|total_?)?(?:posts?|messages?)(?:_?(?:count|num|total))?",),
}  # fmt: skip
_TAG = re.compile(r"<(?:/?[a-z][a-z0-9]*)\b[^>]*>", re.IGNORECASE)


def names_of(entries: Sequence[Json]) -> dict[str, str]:
    """Return the JMESPaths of the fields of records, by name of the field, where the records have values that fit."""
    records = [dict(scalars(entry)) for entry in entries]
    fit: dict[str, Callable[[list[str]], bool]] = {
        "id": lambda texts: len(set(texts)) == len(records) and all(map(is_key, texts)),
        "slug": lambda texts: len(set(texts)) == len(records) and all(map(is_key, texts)),
        "title": lambda texts: len(texts) == len(records) and all(0 < len(text) <= _LONGEST for text in texts),
        "author": lambda texts: all(0 < len(text) <= 80 for text in texts) and not all(map(str.isdigit, texts)),
        "created_at": lambda texts: all(moment_in(text) for text in texts),
        "last_reply_at": lambda texts: all(moment_in(text) for text in texts),
        "body": lambda texts: not all(map(str.isdigit, texts)),
        "reply_count": lambda texts: len(texts) == len(records) and all(map(str.isdigit, texts)),
        "posts": lambda texts: len(texts) == len(records) and all(text.isdigit() and int(text) for text in texts),
    }
    paths = dict.fromkeys(path for record in records for path in record)
    names = {}
    for name, patterns in _NAMES.items():
        named = (path for pattern in patterns for path in paths if re.fullmatch(pattern, _snake(path)))
        for path in named:
            texts = _texts(records, path)
            if _is_usual(texts, records) and fit[name](texts):
                names[name] = path
                break
    return names


def _snake(path: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", path).lower()


def _texts(records: Sequence[dict[str, str]], path: str) -> list[str]:
    return [record[path] for record in records if path in record]


def _is_usual(texts: Sequence[str], records: Sequence[dict[str, str]]) -> bool:
    return bool(texts) and 5 * len(texts) >= 4 * len(records)


def moment_in(text: str) -> int | None:
    """Return the moment of a text, None for a text without one and for the future."""
    at = read_date(text, time.time(), _UTC)
    return at if at is not None and 0 < at <= time.time() + 86_400 else None


def rules_of(names: dict[str, str], entries: Sequence[Json], fields: Sequence[str]) -> dict[str, str] | None:
    """Return the YAML rules of some fields, None if nothing tells whether a text is HTML."""
    rules = {name: rule(names[name]) for name in fields if name in names}
    if "posts" in names and "reply_count" in fields:
        rules.setdefault("reply_count", f"{{json: {scalar(names['posts'])}, plus: -1}}")
    if "body" in rules:
        texts = [text for entry in entries if (text := dict(scalars(entry)).get(names["body"]))]
        tagged = [bool(_TAG.search(text)) for text in texts]
        if any(tagged):
            if not all(text.lstrip().startswith("<") and text.rstrip().endswith(">") for text in texts):
                return None
            path = scalar(names["body"])
            rules |= {"body": f"{{json: {path}, text: lines}}", "body_html": f"{{json: {path}}}"}
    return rules
