"""Mutations of one file, Python or Lua: where something small can be wrong, and its text then. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_SAYS = re.compile(r"^(?:log|logger|logging|click|sys\.std\w+)\b")
"""Calls that only say something."""

_LUA = (
    (re.compile(r" (<|>|==|~=|<=|>=) "), {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "~=", "~=": "=="}),
    (re.compile(r" (and|or) "), {"and": "or", "or": "and"}),
    (re.compile(r" ([+-]) (?=[\w(])"), {"+": "-", "-": "+"}),
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: its place, what it is, and the whole text of the file with it."""

    file: str
    line: int
    change: str
    text: str


def mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a file."""
    found = _of_lua(text) if file.endswith(".lua") else _of_python(text)
    return [Mutant(file, line, change, changed) for line, change, changed in found if changed != text]


def _of_lua(text: str) -> Iterator[tuple[int, str, str]]:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        code = line.partition("--")[0]
        stripped = code.strip()
        if not stripped:
            continue
        is_whole = code.count("(") == code.count(")") and code.count("{") == code.count("}")
        if is_whole and re.match(r"redis\.call\(|if .* then (?:return|\w+\().* end$", stripped):
            yield _changed(lines, number, "", "removed")
        for pattern, swapped in _LUA:
            for match in pattern.finditer(code):
                new = swapped[match[1]]
                changed = f"{line[: match.start(1)]}{new}{line[match.end(1) :]}"
                yield _changed(lines, number, changed, f"{match[1]} to {new}")


def _changed(lines: list[str], number: int, line: str, what: str) -> tuple[int, str, str]:
    return (
        number + 1,
        f"{what}: {lines[number].strip()[:90]}",
        "\n".join([*lines[:number], line, *lines[number + 1 :]]),
    )


def _of_python(text: str) -> Iterator[tuple[int, str, str]]:
    lines = text.encode().split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in (node for statement in function.body for node in ast.walk(statement)):
                for new in _variants(node):
                    assert isinstance(node, ast.stmt | ast.expr)
                    assert node.end_lineno is not None
                    assert node.end_col_offset is not None
                    begin = starts[node.lineno - 1] + node.col_offset
                    end = starts[node.end_lineno - 1] + node.end_col_offset
                    raw = text.encode()
                    old = " ".join(raw[begin:end].decode().split())
                    changed = (raw[:begin] + new.encode() + raw[end:]).decode()
                    yield node.lineno, f"{old[:70]} to {new[:70]}", changed


def _variants(node: ast.AST) -> Iterator[str]:
    """Yield what can stand in the place of a node."""
    match node:
        case ast.Compare(left=left, ops=[only], comparators=comparators):
            yield f"({ast.unparse(ast.Compare(left, [_COMPARED[type(only)]()], comparators))})"
        case ast.BoolOp(op=op, values=values):
            yield f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right) if not _has_text(node):
            yield f"({ast.unparse(ast.BinOp(left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), right))})"
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
        case ast.Expr(value=ast.Call() as call) if not _SAYS.match(ast.unparse(call)):
            yield "pass"
        case ast.Raise():
            yield "pass"
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and not value.value):
            yield "return None"
        case ast.Call(func=func, args=[first, second, *rest], keywords=keywords) if not _SAYS.match(ast.unparse(func)):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield ast.unparse(ast.Call(func, [second, first, *rest], keywords))


def _has_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )
