"""Before step 1, survey: what stands in the bodies of an unknown program and says the same in all: its buttons."""

from __future__ import annotations

import re
from collections.abc import Sequence

from selectolax.lexbor import LexborNode

_FEWEST = 3
_NAME = re.compile(r"[A-Za-z_][\w-]*")


def buttons_in(bodies: Sequence[LexborNode | None]) -> list[str]:
    """Return selectors of elements with a class whose text is in nearly every body, and everywhere the same."""
    there = [body for body in bodies if body is not None]
    if len(there) < _FEWEST:
        return []
    said: dict[str, list[str]] = {}
    for body in there:
        for css, text in _named(body):
            said.setdefault(css, []).append(text)
    same = [css for css, texts in said.items() if len(texts) * 5 >= len(there) * 4 and len(set(texts)) == 1]
    return [css for css in same if not _is_inside(css, same, there)]


def _named(body: LexborNode) -> list[tuple[str, str]]:
    """Return the first element of each tag and class with its text."""
    found: dict[str, str] = {}
    for node in body.css("*[class]"):
        names = (node.attributes.get("class") or "").split()
        if node.mem_id != body.mem_id and names and _NAME.fullmatch(names[0]) and node.text().strip():
            found.setdefault(f"{node.tag}.{names[0]}", " ".join(node.text().split()))
    return list(found.items())


def _is_inside(css: str, others: Sequence[str], bodies: Sequence[LexborNode]) -> bool:
    """Say whether what a selector finds stands in what another one finds."""
    return any(body.css_first(f"{other} {css}") is not None for other in others if other != css for body in bodies[:1])
