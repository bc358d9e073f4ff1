"""The terminal side of all commands: examples in help texts, lists of addresses, JSON, the name of this program."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from crawl_tasks.logs import for_terminal, hide_passwords


def echo_json(row: object, indent: int | None = None) -> None:
    """Print a value as JSON, on a terminal without characters that would steer the terminal."""
    text = hide_passwords(json.dumps(row, ensure_ascii=False, indent=indent))
    click.echo(for_terminal(text) if sys.stdout.isatty() else text)


def examples(*lines: str) -> str:
    """Return an epilog of command lines, each on a line of its own."""
    # Click wraps the lines of a paragraph anew, unless the paragraph begins with a backspace character.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def own_name() -> str:
    """Return the command that starts this program: crawl-tasks if that is on PATH, else the name used for this call."""
    if shutil.which("crawl-tasks"):
        return "crawl-tasks"
    return "python -m crawl_tasks" if Path(sys.argv[0]).name == "__main__.py" else sys.argv[0]


def named_addresses(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines with an address: no comments and blanks, and no byte order mark."""
    for line in lines:
        text = line.removeprefix("\ufeff").strip()
        if text and not text.startswith("#"):
            yield text
