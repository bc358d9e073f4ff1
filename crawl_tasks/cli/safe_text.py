"""Text of strangers on our terminal: without the escapes that move its cursor or change its title."""

from __future__ import annotations

import unicodedata

_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def printable(text: str, most: int = 500) -> str:
    """Write control and direction characters as escapes; cut what is longer than `most`."""
    safe = "".join(_escaped(char) if unicodedata.category(char) in _UNSAFE else char for char in text[:most])
    return safe + "…" if len(text) > most else safe


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
