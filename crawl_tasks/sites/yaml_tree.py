"""YAML text into plain values with the line of every key. Only the YAML that a site file needs, and nothing that runs.

The node graph is walked here: no tag makes an object, and no key appears twice. The number of visited nodes is limited,
which also ends alias bombs and cycles.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from yaml.cyaml import CSafeLoader
from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from crawl_tasks.errors import SiteError
from crawl_tasks.model.surrogates import whole_text

MAX_NODES = 20_000
MAX_DEPTH = 30
_CORE = "tag:yaml.org,2002:"

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]
Path = tuple[str | int, ...]


class _Loader(CSafeLoader):
    """The parser of libyaml, many times as fast as one in Python, with plain scalars of YAML 1.2: `no` is a word."""


_HALVES = re.compile(r"(?:\\u[dD][89a-fA-F][0-9a-fA-F]{2})+")

_Loader.yaml_implicit_resolvers = {}  # none of YAML 1.1
for _kind, _pattern, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", "~|null|Null|NULL|", ("~", "n", "N", "")),
    ("int", "[-+]?(?:0o?[0-7_]+|[0-9_]+|0x[0-9a-fA-F_]+)", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+"
        r"|\.[0-9_]+(?:[eE][-+][0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
):
    _Loader.add_implicit_resolver(f"{_CORE}{_kind}", re.compile(f"^(?:{_pattern})$"), list(_first))


@dataclass
class Tree:
    """Plain values, and the line (from 1) on which each path begins."""

    source: str
    value: Value = None
    lines: dict[Path, int] = field(default_factory=dict)
    nodes: int = 0

    def line(self, path: Path) -> int:
        """Return the line of a path, or of the nearest path above that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def depth(self, path: Path) -> int:
        """Return the number of leading parts of a path that are in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return len(path)

    def below(self, key: str) -> Tree:
        """Return the part of the file under a key."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return Tree(self.source, value, {path[1:]: line for path, line in self.lines.items() if path[:1] == (key,)})

    def without(self, paths: Collection[Path]) -> Tree:
        """Return the tree without the lines at and below some paths, which another file has replaced."""
        lines = {path: line for path, line in self.lines.items() if not _lies_below(path, paths)}
        return Tree(self.source, self.value, lines)


def _lies_below(path: Path, paths: Collection[Path]) -> bool:
    """Return whether a path is one of some paths, or lies below one."""
    return any(path[:length] in paths for length in range(1, len(path) + 1))


def read_yaml(text: str, source: str) -> Tree:
    """Return one YAML document as a tree.

    Raises:
        SiteError: The text is not YAML, or uses more of YAML than a site file may.
    """
    tree = Tree(source)
    try:
        root = _Loader(text).get_single_node()
    except MarkedYAMLError as error:
        # JSON writes a character beyond 65,535 as two escapes, which libyaml refuses.
        whole = _HALVES.sub(lambda match: whole_text(match[0].encode().decode("unicode_escape")), text)
        if whole != text and "Unicode character escape" in str(error.problem):
            return read_yaml(whole, source)
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise SiteError(f"{source}:{line}: is not YAML: {error.problem or error.context}; mend this line") from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise SiteError(f"{source}:1: is not YAML: {str(error).splitlines()[0]}; save it as UTF-8 text") from None
    if root is not None:
        tree.value = _value(root, (), tree)
    return tree


def _value(node: Node, path: Path, tree: Tree) -> Value:
    line = node.start_mark.line + 1
    tree.lines.setdefault(path, line)
    tree.nodes += 1
    # Nodes are counted as visited, not as written: each alias counts with everything below.
    if tree.nodes > MAX_NODES or len(path) > MAX_DEPTH:
        raise SiteError(f"{tree.source}:{line}: is too large or refers to itself; use fewer aliases and levels")
    if not isinstance(node, ScalarNode) and node.tag not in (f"{_CORE}map", f"{_CORE}seq"):
        raise SiteError(f"{tree.source}:{line}: the tag {str(node.tag)[:60]!r} is not read; remove it")
    if isinstance(node, MappingNode):
        return _mapping(node, path, tree)
    if isinstance(node, SequenceNode):
        return [_value(child, (*path, index), tree) for index, child in enumerate(node.value)]
    assert isinstance(node, ScalarNode)  # noqa: S101  # YAML has these three kinds of node
    return _scalar(str(node.tag), str(node.value), f"{tree.source}:{line}")


def _mapping(node: MappingNode, path: Path, tree: Tree) -> Value:
    result: dict[str, Value] = {}
    for key_node, value_node in node.value:
        place = f"{tree.source}:{key_node.start_mark.line + 1}"
        if not isinstance(key_node, ScalarNode):
            raise SiteError(f"{place}: a key must be a word; quote it")
        key = str(key_node.value)
        if key == "<<":
            raise SiteError(f"{place}: merge keys (<<) are not read; write the keys out")
        # Many YAML readers keep the last of two equal keys, and the first is lost in silence.
        if key in result:
            raise SiteError(f"{place}: {'.'.join(map(str, (*path, key)))}: stands twice; remove one")
        tree.lines[(*path, key)] = key_node.start_mark.line + 1
        result[key] = _value(value_node, (*path, key), tree)
    return result


def _scalar(tag: str, text: str, place: str) -> Value:
    kind = tag.removeprefix(_CORE)
    try:
        if kind == "str":
            # JSON writes an emoji as two escapes, which YAML reads as two halves of a character.
            return whole_text(text)
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind == "int":
            return int(text.replace("_", ""), 0) if text.lstrip("+-").startswith(("0x", "0o")) else int(text)
        if kind == "float":
            return float(text.replace(".inf", "inf").replace(".nan", "nan").replace(".Inf", "inf"))
    except ValueError:
        raise SiteError(f"{place}: {text[:40]!r} is not a number; quote it if it is text") from None
    raise SiteError(f"{place}: the tag {tag[:60]!r} is not read; remove it") from None
