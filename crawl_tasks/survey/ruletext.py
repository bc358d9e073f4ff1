"""Before step 1, survey: proposed rules as lines of YAML. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

CHECK = "  # check this"
_PLAIN = re.compile(r"[A-Za-z][\w.-]*(?: [A-Za-z][\w.-]*)*")
_WIDEST = 118


def scalar(text: str) -> str:
    """Write a scalar, in single quotes where it needs any: escapes mean nothing there."""
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def indented(lines: Iterable[str], by: int = 2) -> list[str]:
    """Move lines to the right."""
    return [" " * by + line for line in lines]


def fields_text(fields: Mapping[str, str], by: int) -> list[str]:
    """Write fields on one line where they fit, else one a line; the values are YAML."""
    whole = f"fields: {{{', '.join(f'{name}: {value}' for name, value in fields.items())}}}{CHECK}"
    if len(whole) + by <= _WIDEST:
        return indented([whole], by)
    return indented([f"fields:{CHECK}", *(f"  {name}: {value}" for name, value in fields.items())], by)
