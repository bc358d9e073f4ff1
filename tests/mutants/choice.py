"""The test files that rest on a file of the crawler: those first that are near by imports and share its words."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

from tests.flow.world import ROOT

DIRECTORIES = ("unit", "frontier", "store", "programs", "alerts", "isolation")
"""Whole crawls are left out: a mutant has minutes, not hours."""


def tests_of(file: str, most: int) -> list[str]:
    """Return at most so many test files, those first that are most likely to notice a change of a file."""
    stem = re.findall(r"[a-z]{3,}", file.removesuffix(".py").removesuffix(".lua").removeprefix("crawl_tasks/"))
    tests = [path for directory in DIRECTORIES for path in sorted((ROOT / "tests" / directory).glob("test_*.py"))]
    tests = [path for path in tests if "docs" not in path.stem]
    if file.endswith(".lua"):
        near = {path: 1 for path in tests if path.parent.name == "frontier"}
    else:
        steps = _steps_to(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        near = {path: steps[name] for path in tests if (name := _name(path)) in steps}
    points: Counter[Path] = Counter()
    for path, distance in near.items():
        text = path.read_text("utf-8")
        shared = sum(word[:5] in path.stem for word in stem)
        said = min(20, sum(len(re.findall(rf"\b{word}", text)) for word in stem[-2:]))
        at_home = path.parent.name in file.split("/")
        points[path] = 20 * at_home - 20 * distance + 15 * shared + said
    return [str(path.relative_to(ROOT)) for path, _ in points.most_common(most)]


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def _imported() -> dict[str, set[str]]:
    """Return who imports a module, by its name."""
    importers: dict[str, set[str]] = {}
    for path in (*(ROOT / "crawl_tasks").rglob("*.py"), *(ROOT / "tests").rglob("*.py")):
        name = _name(path)
        if name.endswith(".conftest"):
            importers[name] = {_name(test) for test in path.parent.glob("test_*.py")}
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = []
            if isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            for module in modules:
                importers.setdefault(module, set()).add(name)
    return importers


def _steps_to(module: str) -> dict[str, int]:
    """Return by how many imports each module rests on one."""
    steps, edge = {module: 0}, [module]
    while edge:
        after = [user for name in edge for user in sorted(_imported().get(name, ())) if user not in steps]
        steps |= dict.fromkeys(after, steps[edge[0]] + 1)
        edge = list(dict.fromkeys(after))
    return steps
