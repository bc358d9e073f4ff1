"""How the help of a command ends: with lines to copy and run."""

from __future__ import annotations


def examples(*lines: str) -> str:
    """Write an epilog of command lines, each on a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
