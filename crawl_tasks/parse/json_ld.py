"""JSON-LD of a page as one list of things, for `format: json-ld`. Vocabulary: schema.org."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import orjson
from selectolax.lexbor import LexborNode

from crawl_tasks.model.surrogates import whole_json

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
Loads = Callable[[str], Json]
MOST_THINGS = 5_000
# The walk is recursive: the limit keeps hostile nesting away from Python's limit of 1,000 calls.
_DEEPEST = 60
_CALL = re.compile(r"\s*(?:/\*\*/)?\s*([A-Za-z_$][\w.$]{0,60})\s*\(")
_NO_VALUE = re.compile(r"-?(?:NaN|Infinity)|undefined")
_SAID_BELOW = ("acceptedAnswer", "suggestedAnswer", "comment")


def linked_data(root: LexborNode, loads: Loads) -> list[Json]:
    """Return the things that the JSON-LD blocks of a page describe, in order. A block that is no JSON is skipped.

    The first of several types or authors counts. An author is always an object. Answers and comments at any depth form
    one list, `comment`, whose entries name the thing above them as `parentItem`.
    """
    things: list[Json] = []
    for block in root.css("script[type='application/ld+json']"):
        try:
            things += _things(loads(block.text()))
        except orjson.JSONDecodeError:
            continue
    return things[:MOST_THINGS]


def loads(text: str) -> Json:
    """Return a JSON text as values. A lone surrogate, half of a character, becomes U+FFFD.

    Raises:
        orjson.JSONDecodeError: The text is not JSON.
    """
    try:
        whole: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Node's slice() cuts an emoji in two, and JSON.stringify() writes the half that is left.
        if "\\u" not in text:
            raise
        whole = orjson.loads(whole_json(text))
    return whole


def loads_exactly(text: str) -> Json:
    """Return a JSON text as values, with all digits of integers above 64 bits, three times slower than `loads`."""
    try:
        whole: Json = json.loads(whole_json(text))
    except ValueError:  # an integer of more than 4,300 digits, which Python does not read
        return loads(text)
    return whole


def flaw_of(text: str, error: orjson.JSONDecodeError) -> str:
    """Return where a text is no JSON, what is there, and the remedy."""
    begin, at = text[:40].strip(), error.pos
    where = f"line {error.lineno}, column {error.colno}"
    if call := _CALL.match(text):
        return f"{where}: a call of {call[1]}() stands around it (JSONP); ask for an address without, or set a parser"
    if text.lstrip().startswith((")]}'", "for(;;);", "for (;;);", "while(1);", "while (1);")):
        return f"{where}: {begin.splitlines()[0][:10]!r} stands before it, against scripts of other sites; set a parser"
    if not text[:at].strip():
        return f"it begins with {begin!r}; check format"
    word = _NO_VALUE.match(text, at)
    what = f"{word[0]} is no value of JSON" if word else error.msg
    return f"{where}: {what}, behind {text[max(0, at - 30) : at]!r} stands {text[at : at + 20]!r}; set a parser"


def _things(value: Json, depth: int = 0) -> Iterator[dict[str, Json]]:
    graph = value.get("@graph") if isinstance(value, dict) else value
    if isinstance(graph, list) and depth < _DEEPEST:
        for entry in graph:
            yield from _things(entry, depth + 1)
    elif isinstance(value, dict):
        main = value.get("mainEntity")
        yield _plain(value)
        if isinstance(main, dict) and "@type" in main:
            yield _plain(main)


def _plain(thing: dict[str, Json]) -> dict[str, Json]:
    author = _first(thing.get("author"))
    return {
        **thing,
        "@type": _first(thing.get("@type")),
        "author": {"name": author} if isinstance(author, str) else author,
        "comment": list(_below(thing, None, 0)),
    }


def _below(thing: dict[str, Json], above: Json, depth: int) -> Iterator[dict[str, Json]]:
    """Yield the comments and answers below a thing, each before its own replies."""
    for name in _SAID_BELOW if depth < _DEEPEST else ():
        replies = thing.get(name)
        for reply in replies if isinstance(replies, list) else [replies]:
            if not isinstance(reply, dict):
                continue
            plain = _plain({key: value for key, value in reply.items() if key not in _SAID_BELOW})
            yield {**plain, "parentItem": plain.get("parentItem") or above, "comment": []}
            yield from _below(
                reply, {key: reply[key] for key in ("@id", "url", "identifier") if key in reply}, depth + 1
            )


def _first(value: Json) -> Json:
    if not isinstance(value, list):
        return value
    return value[0] if value else None
