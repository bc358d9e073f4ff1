"""The examples at the end of a command's help."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def examples(*lines: str) -> str:
    """Return an epilog of command lines, each on a line of its own."""
    # Click wraps the lines of a paragraph anew, unless the paragraph begins with a backspace character.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def own_name() -> str:
    """Return the command that starts this program: crawl-tasks if that is on PATH, else the name used for this call."""
    if shutil.which("crawl-tasks"):
        return "crawl-tasks"
    return "python -m crawl_tasks" if Path(sys.argv[0]).name == "__main__.py" else sys.argv[0]
