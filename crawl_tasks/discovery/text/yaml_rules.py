"""YAML rules: proposed rules as lines of YAML. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

CHECK = "  # check this"
_PLAIN = re.compile(r"[A-Za-z][\w.-]*(?: [A-Za-z][\w.-]*)*")
_WIDEST = 118
_PAIR = re.compile(r"(?P<before> *)(?P<key>next|pages|fields): (?P<value>\{.+\})(?P<remark>  #.*)?")


def settled(rules: str) -> str:
    """Return rules that the forum's pages bear out: a remark stays only where it says what was not seen."""
    return re.sub(f"{CHECK}$", "", rules, flags=re.MULTILINE)


def scalar(text: str) -> str:
    """Return a YAML scalar, in single quotes if necessary: these have no escapes."""
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def literal(text: str) -> str:
    """Return a regex of a text, in which a space matches any white space: texts on pages have line breaks.

    It matches one character of it: with any number, a long text of blanks would take hours.
    """
    return re.escape(text).replace("\\-", "-").replace("\\ ", r"\s")


def indented(lines: Iterable[str], by: int = 2) -> list[str]:
    """Return lines with indentation."""
    return [" " * by + line for line in lines]


def aliased(lines: Iterable[str]) -> list[str]:
    """Return lines where a repeated value is written once, by YAML's anchors and aliases."""
    whole = list(lines)
    values = [match["value"] for line in whole if (match := _PAIR.fullmatch(line))]
    names: dict[str, str] = {}
    written = []
    for line in whole:
        match = _PAIR.fullmatch(line)
        if match is None or values.count(match["value"]) < 2:
            written.append(line)
            continue
        value, key = match["value"], match["key"]
        name = names.get(value)
        names.setdefault(value, key + (str(len(names) + 1) if key in names.values() else ""))
        value_text = f"*{name}" if name else f"&{names[value]} {value}"
        written.append(f"{match['before']}{key}: {value_text}{'' if name else match['remark'] or ''}")
    return written


def fields_text(fields: Mapping[str, str], by: int, anchor: str = "") -> list[str]:
    """Return fields as one mapping, as many on a line as fit. The values are YAML. `anchor` names the mapping."""
    lines = [f"fields: &{anchor} {{" if anchor else "fields: {"]
    for at, (name, value) in enumerate(fields.items()):
        last = at == len(fields) - 1
        pair = f"{name}: {value}" + ("}" if last else ",")
        room = _WIDEST - by - len(lines[-1]) - (len(CHECK) if last else 1)
        if len(pair) > room and not (len(lines) == 1 and lines[0].endswith("{")):
            lines.append(f"  {pair}")
        else:
            lines[-1] += pair if lines[-1].endswith("{") else f" {pair}"
    lines[-1] += CHECK
    return indented(lines, by)
