"""How the help of a command ends: with lines to copy and run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def examples(*lines: str) -> str:
    """Write an epilog of command lines, each on a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def own_name() -> str:
    """Say how to call us again from here: by name if that is on PATH, else as we were called."""
    if shutil.which("crawl-tasks"):
        return "crawl-tasks"
    return "python -m crawl_tasks" if Path(sys.argv[0]).name == "__main__.py" else sys.argv[0]
