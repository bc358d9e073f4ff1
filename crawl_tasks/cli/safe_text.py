"""Safe text for the terminal: foreign text without the escape sequences that move the cursor or change the title."""

from __future__ import annotations

import json
import sys
import unicodedata

import click

from crawl_tasks.logs import for_terminal, hide_passwords

# Unicode categories: control, format (such as right-to-left overrides), surrogate, line and paragraph separator.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def printable(text: str, most: int = 500) -> str:
    """Return a text of at most `most` characters, with control and direction characters as escapes."""
    safe = "".join(_escaped(char) if unicodedata.category(char) in _UNSAFE else char for char in text[:most])
    return safe + "…" if len(text) > most else safe


def echo_json(row: object, indent: int | None = None) -> None:
    """Print a value as JSON, on a terminal without characters that would steer the terminal."""
    text = hide_passwords(json.dumps(row, ensure_ascii=False, indent=indent))
    click.echo(for_terminal(text) if sys.stdout.isatty() else text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
