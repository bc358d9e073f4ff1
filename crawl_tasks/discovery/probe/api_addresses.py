"""API addresses: the paths that the scripts of a page name, each with `*` for what only the script knows. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

PAGER: Final = re.compile(
    r"[?&](?P<name>page|p|pg|page_?(?:num(?:ber)?|no)|offset|start|skip|from|cursor|after|before|since|next|marker|token)"
    r"=(?:\*|\d+)(?=&|$)",
    re.IGNORECASE,
)
"""A parameter that tells one page of an answer from another."""

_LITERAL = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`")
_CONSTANT = re.compile(r"\b(\w+)\s*[=:]\s*([\"'`])(/[^\"'`\s]*)\2")
_NAME_BEFORE = re.compile(r"\b(\w+)\s*\+\s*$")
_BETWEEN = re.compile(r"\s*\+\s*[^+\"'`;\n]{1,80}\+\s*")
_BEHIND = re.compile(r"\s*\+\s*[\w$(]")
_ADDRESS = re.compile(r"/(?!/)[^\s\"'<>\\^|]{1,200}")
# Files, and what a reader does not ask for.
_OTHERS = re.compile(
    r"\.(?:js|mjs|css|map|png|jpe?g|gif|svg|ico|webp|woff2?|webmanifest|xml|txt)(?:\?|$)"
    r"|\b(?:log_?(?:in|out)|sign_?(?:in|up|out)|register|auth|token|session|csrf|password|upload|vote|like|report|delete"
    r"|edit|search|settings|notifications?|me|users?|profiles?|members?|tags?|stats|health|config|metrics|track)\b",
    re.IGNORECASE,
)


def addresses_in(scripts: Sequence[str]) -> list[str]:
    """Return the paths that scripts name, in order: `/api/boards/*?page=*` for a text that is put together.

    A route such as `/board/:id` or `/board/[id]` is one too.
    """
    addresses = [_tidy(address) for text in scripts for address in _texts(text, _constants(text))]
    return list(
        dict.fromkeys(address for address in addresses if _ADDRESS.fullmatch(address) and not _OTHERS.search(address))
    )


def _constants(text: str) -> dict[str, str]:
    return {name: value.rstrip("/") for name, _, value in _CONSTANT.findall(text)}


def _texts(text: str, constants: dict[str, str]) -> Iterator[str]:
    """Yield the literals of a script, joined where only a value is between them."""
    whole, end = "", 0
    for match in _LITERAL.finditer(text):
        literal = next(part for part in match.groups() if part is not None)
        literal = re.sub(r"\$\{([^{}]*)\}", lambda mark: constants.get(mark[1].strip(), "*"), literal)
        between = text[end : match.start()]
        if whole and _BETWEEN.fullmatch(between):
            whole += f"*{literal}"
        else:
            yield whole
            named = _NAME_BEFORE.search(between)
            whole = constants.get(named[1], "") + literal if named else literal
        end = match.end()
        if _BEHIND.match(text, end) and not _BETWEEN.match(text, end):
            yield f"{whole}*"
            whole = ""
    yield whole


def _tidy(text: str) -> str:
    route = re.sub(r"(?<=/):\w+\??|\[\w+\]|\{\w+\}", "*", text)
    return re.sub(r"\*+", "*", route.partition("#")[0])
