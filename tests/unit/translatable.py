"""The sentences of the code that have a translation: literals that reach gettext, and those of tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from crawl_tasks.cli.failed import WORDINGS
from crawl_tasks.frontier.admin.alert_state import Change
from crawl_tasks.model import State
from crawl_tasks.model.items import UNREADABLE
from crawl_tasks.monitor.humanize import UNITS
from crawl_tasks.monitor.problems.kinds import Severity
from crawl_tasks.monitor.problems.registry import KINDS
from tests.flow.world import ROOT

PACKAGE = ROOT / "crawl_tasks"
SINKS = {"gettext": [0], "tile": [0], "bars": [1], "plot": [2], "table": [0, 2], "_refusal": [0], "_line": [0]}
"""Functions that translate some of their arguments, with the places of these."""
FROM_TABLES = {
    "part": "the registry of problems",
    "text": "the registry of problems",
    "unit": "UNITS",
    "item.change.value": "Change",
    "problem.severity.value": "Severity",
    "result.severity.value": "Severity",
    "query.state.value": "State",
    "state.value": "State",
    "failed.state.value": "State",
    "state": "State",
    "item.state": "UNREADABLE",
    "f'{{count}} {self.singular} is {fate}' if number == 1 else f'{{count}} {self.plural} are {fate}'": "WORDINGS",
}
"""Arguments whose sentences `of_tables` yields, with the table."""


def sentences() -> set[str]:
    """Return all sentences."""
    found = set(of_tables())
    for room in ("monitor", "web", "operate", "cli"):
        for file in sorted((PACKAGE / room).rglob("*.py")):
            found |= set(_of_file(file))
    return found


def of_tables() -> Iterator[str]:
    """Yield the sentences of the registry of problems, of states, and of failures with their fates."""
    for kind in KINDS.values():
        yield from filter(None, (kind.text, kind.remedy, kind.singular))
        # A template of Prometheus is no sentence.
        yield from (
            text for text in (kind.rule.fields.values() if kind.rule else ()) if " " in text and "{{" not in text
        )
    yield from (unit for unit, _, _ in UNITS)
    yield from map(str, (*Severity, *Change, *State))
    yield from UNREADABLE
    for words in WORDINGS.values():
        yield f"{{count}} {words.singular} is shown"
        yield f"{{count}} {words.plural} are shown"


def _of_file(file: Path) -> Iterator[str]:
    module = ast.parse(file.read_text("utf-8"))
    for function in (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)):
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            if name == "counted" and len(call.args) == 2:
                yield from (
                    f"{{count}} {noun}{end}" for noun in _texts(call.args[1], [function, module]) for end in ("", "s")
                )
            for place in SINKS.get(name, ()):
                found = list(_texts(call.args[place], [function, module]))
                is_sink = function.name in (*SINKS, "counted")
                if not found and name == "gettext" and not is_sink and ast.unparse(call.args[0]) not in FROM_TABLES:
                    raise AssertionError(f"{file.name}:{call.lineno}: which sentences? {ast.unparse(call.args[0])}")
                yield from found


def _texts(node: ast.expr, scopes: list[ast.AST]) -> Iterator[str]:
    """Yield the texts that an expression may have, by the literals that its names are bound to."""
    match node:
        case ast.Constant(value=str(text)) if text:
            yield text
        case ast.Name(id=name):
            for bound in _bound(name, scopes):
                yield from _texts(bound, scopes)
        case ast.IfExp():
            yield from _texts(node.body, scopes)
            yield from _texts(node.orelse, scopes)
        case ast.Dict():
            for value in node.values:
                yield from _texts(value, scopes)
        case ast.Subscript():
            yield from _texts(node.value, scopes)
        case ast.Tuple() | ast.List():
            for element in node.elts:
                yield from _texts(element.value if isinstance(element, ast.Starred) else element, scopes)
        case (
            ast.Call(func=ast.Attribute(value=owner, attr="values" | "items"))
            | ast.Call(func=ast.Name(id="list"), args=[owner])
        ):
            yield from _texts(owner, scopes)


def _bound(name: str, scopes: list[ast.AST]) -> Iterator[ast.expr]:
    for scope in scopes:
        found = False
        for node in ast.walk(scope) if isinstance(scope, ast.FunctionDef) else scope.body:
            match node:
                case (
                    ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    pass
                case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                    pass
                case _:
                    continue
            if name in {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}:
                found = True
                yield value
        if found:
            return
