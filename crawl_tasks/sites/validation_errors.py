"""Validation errors of a YAML file, one line per mistake: file, line, key, remedy. For site files and presets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ValidationError

from crawl_tasks.sites import board_index_spec, crawl_policy, event_hooks, item_steps, schema, stages
from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.yaml_tree import Path, Tree

_SECTIONS: dict[str, type[BaseModel]] = {
    "gate": crawl_policy.Gate,
    "weights": crawl_policy.Weights,
    "breaker": crawl_policy.Breaker,
    "freshness": crawl_policy.Freshness,
    "interval": crawl_policy.Interval,
    "order": crawl_policy.Orders,
    "priority": crawl_policy.Priorities,
    "guard": crawl_policy.Guards,
    "boards": schema.Board,
    "list": stages.ListSpec,
    "post": stages.PostSpec,
    "comment": stages.CommentSpec,
    "comments": stages.Records,
    "front": board_index_spec.FrontSpec,
    "hooks": event_hooks.Hooks,
    "items": item_steps.ItemStep,
}


def complaints(
    error: ValidationError, trees: Sequence[Tree], root: type[BaseModel], sections: dict[str, type[BaseModel]]
) -> Iterable[str]:
    """Yield a line for each mistake.

    Args:
        error: the errors that pydantic found.
        trees: the files of the values. A mistake is placed in the first file that has most of its path.
        root: the model of the whole file.
        sections: the models of the sections, by key.
    """
    for mistake in error.errors(include_url=False, include_input=False):
        loc = mistake["loc"]
        dotted = ".".join(str(part) for part in loc)
        message = mistake["msg"].removeprefix("Value error, ")
        if mistake["type"] == "extra_forbidden":
            message = f"is not a key here{stages.suggest(str(loc[-1]), _known_keys(loc[:-1], root, sections))}"
        elif mistake["type"] == "missing":
            message = "is missing; add it"
        path = loc or _path_named_by(message)
        yield f"{_place(path, trees)}: {f'{dotted}: ' if dotted else ''}{message}"


def site_complaints(error: ValidationError, trees: Sequence[Tree]) -> str:
    """Return all mistakes of a site file and its preset."""
    return "\n".join(complaints(error, trees, schema.Site, _SECTIONS))


def _place(path: Path, trees: Sequence[Tree]) -> str:
    tree = max(trees, key=lambda one: one.depth(path))
    return f"{tree.source}:{tree.line(path)}"


def _path_named_by(message: str) -> tuple[str, ...]:
    """Return the path at the beginning of a complaint about the whole file, as in `list.address: ...`."""
    return tuple(message.partition(": ")[0].partition(" ")[0].split("."))


def _known_keys(parent: Path, root: type[BaseModel], sections: dict[str, type[BaseModel]]) -> Iterable[str]:
    """Return the keys allowed under a path: those of the nearest section, or of a rule."""
    names = [part for part in parent if isinstance(part, str)]
    model = sections.get(names[-1], Rule) if names else root
    if len(names) > 1 and names[-1] not in ("comments", "weights"):
        model = Rule
    return [info.alias or name for name, info in model.model_fields.items()]
