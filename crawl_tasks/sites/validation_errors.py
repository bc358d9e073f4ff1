"""Validation errors of a YAML file, one line per mistake: file, line, key, remedy. For site files and presets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from pydantic import BaseModel, ValidationError

from crawl_tasks.sites.field_rules import Rule, suggest
from crawl_tasks.sites.yaml_tree import Path, Tree


def complaints(error: ValidationError, trees: Sequence[Tree], root: type[BaseModel]) -> Iterable[str]:
    """Yield a line for each mistake.

    Args:
        error: the errors that pydantic found.
        trees: the files of the values. A mistake is placed in the first file that has most of its path.
        root: the model of the whole file.
    """
    for mistake in error.errors(include_url=False, include_input=False):
        loc = mistake["loc"]
        dotted = ".".join(str(part) for part in loc)
        message = mistake["msg"].removeprefix("Value error, ")
        if mistake["type"] == "extra_forbidden":
            message = f"is not a key here{suggest(str(loc[-1]), _known_keys(loc[:-1], root))}"
        elif mistake["type"] == "missing":
            message = "is missing; add it"
        path = loc or _path_named_by(message)
        yield f"{_place(path, trees)}: {f'{dotted}: ' if dotted else ''}{message}"


def complaint_at(path: Path, text: str, trees: Sequence[Tree]) -> str:
    """Return a complaint about a path, with the file and the line."""
    return f"{_place(path, trees)}: {'.'.join(map(str, path))}: {text}"


def _place(path: Path, trees: Sequence[Tree]) -> str:
    tree = max(trees, key=lambda candidate: candidate.depth(path))
    return f"{tree.source}:{tree.line(path)}"


def _path_named_by(message: str) -> tuple[str, ...]:
    """Return the path at the beginning of a complaint about the whole file, as in `list.address: ...`."""
    return tuple(message.partition(": ")[0].partition(" ")[0].split("."))


def _known_keys(parent: Path, root: type[BaseModel]) -> Iterable[str]:
    """Return the keys that the mapping at a path may have."""
    model = root
    for name in parent:
        fields = {info.alias or field: info for field, info in model.model_fields.items()}
        if name in fields:
            model = next(models_in(fields[name].annotation), Rule)
    return [info.alias or field for field, info in model.model_fields.items()]


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models that the annotation of a field names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)
