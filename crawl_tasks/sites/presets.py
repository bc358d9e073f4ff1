"""Presets: the knowledge of a forum program, so that a site file need say only where the forum is.

A preset is `engines/NAME.yaml`. One of another version of a program `extends` that of the program. A site file with
`engine: NAME` is laid over the preset's `site` part. Mappings are merged key by key. Everything else is replaced, a
rule as a whole, and `null` removes a key. The workers receive the merged site, and need no presets.
"""

from __future__ import annotations

import pathlib
from functools import lru_cache
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.board import Line
from crawl_tasks.sites.board_index_spec import IndexSpec
from crawl_tasks.sites.field_rules import Part
from crawl_tasks.sites.validation_errors import complaints
from crawl_tasks.sites.yaml_tree import Path, Tree, Value, read_yaml

_DIRECTORY = pathlib.Path(__file__).with_name("engines")
_MERGED_WITHIN = ("fields", "comments")
"""Keys of a stage that hold several rules. Every other mapping in a stage is one rule."""


class About(Part):
    """Notes on a preset for people."""

    title: Line = Field(description="The program's name.")
    tried: bool = Field(strict=True, description="Whether it was held against pages of the real program.")
    versions: Line | None = Field(default=None, description="Versions it was made for, or tried with.")
    notes: str | None = Field(default=None, max_length=2000, description="What it does not do, what was not tried.")


StageAddresses = dict[Literal["list", "post", "comment"], dict[Literal["address", "first_address"], str | None]]


class Engine(Part):
    """A preset."""

    name: str = Field(description="As a site file names it.")
    about: About = Field(description="What people should know of it.")
    extends: str | None = Field(default=None, description="The preset over which this one is laid, as a site file is.")
    index: IndexSpec | None = Field(default=None, description="How boards are found on the front page.")
    other_addresses: tuple[StageAddresses, ...] = Field(
        default=(),
        description="Parts of `site` with other addresses, which operators choose. `new` takes those that boards have, "
        "and null where no address is made from an id.",
    )
    site: dict[str, object] = Field(description="What a site file says, without name, base and boards.")

    @model_validator(mode="after")
    def _leaves_the_forum_open(self) -> Engine:
        owned = sorted({"name", "base", "boards", "engine"} & set(self.site))
        if owned:
            raise ValueError(f"site may not say {', '.join(owned)}; that is each forum's own")
        return self


def engine_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    return tuple(sorted(path.stem for path in _DIRECTORY.glob("*.yaml")))


def load_engine(name: str) -> Engine:
    """Return a preset.

    Raises:
        SiteError: There is no preset of this name, or its file is wrong.
    """
    return _load(name)[0]


def family_of(name: str) -> str:
    """Return the name that the presets of all versions of a program share: of the one they extend, without its number.

    Some versions share no rule: `phpbb2` extends nothing, and is of the family of `subsilver2`, which extends `phpbb`.
    """
    below = load_engine(name).extends if name in engine_names() else None
    return name.rstrip("0123456789") if below is None else family_of(below)


def laid_over(preset: str, value: dict[str, Value]) -> tuple[dict[str, Value], Tree]:
    """Return the site file merged over its preset, and the lines of the parts that the preset still gives.

    Raises:
        SiteError: There is no such preset, or its file is wrong.
    """
    tree = _load(preset)[1]
    below = tree.value if isinstance(tree.value, dict) else {}
    replaced: set[Path] = set()
    merged = _merged(below, value, (), replaced)
    return merged, tree.without(replaced)


@lru_cache(maxsize=64)
def _load(name: str) -> tuple[Engine, Tree]:
    """Return a preset, and the tree of its `site` part. Callers share both and must not change them."""
    # Only names of the list make a path, so that no name leads out of the directory.
    if name not in engine_names():
        raise SiteError(f"is no preset: {name[:40]!r}; known are {', '.join(engine_names())}")
    path = _DIRECTORY / f"{name}.yaml"
    tree = read_yaml(path.read_text("utf-8"), f"{path.parent.name}/{path.name}")
    value = tree.value if isinstance(tree.value, dict) else {}
    if isinstance(extended := value.get("extends"), str):
        value = _extended(_load(extended), value)
        tree = Tree(tree.source, value, tree.lines)
    try:
        engine = Engine.model_validate({**value, "name": name})
    except ValidationError as error:
        mistakes = complaints(error, [tree], Engine)
        raise SiteError("\n".join(mistakes)) from None
    return engine, tree.below("site")


def _extended(below: tuple[Engine, Tree], value: dict[str, Value]) -> dict[str, Value]:
    """Return a preset laid over another one, whose addresses to choose from and index stand where it has none."""
    engine, tree = below
    kept = engine.model_dump(mode="json", by_alias=True, exclude_defaults=True, include={"index", "other_addresses"})
    own, base = value.get("site"), tree.value
    site = _merged(base, own, (), set()) if isinstance(own, dict) and isinstance(base, dict) else base
    return {**kept, **value, "site": site}


def _merged(below: dict[str, Value], above: dict[str, Value], path: Path, replaced: set[Path]) -> dict[str, Value]:
    """Return one mapping laid over the other. Paths without any rest of the lower one are added to `replaced`."""
    result = dict(below)
    for key, value in above.items():
        old, here = below.get(key), (*path, key)
        if isinstance(value, dict) and isinstance(old, dict) and _is_merged(here):
            result[key] = _merged(old, value, here, replaced)
            continue
        # An error on this path is the site file's own, and must name its line in place of the preset's.
        replaced.add(here)
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def _is_merged(path: Path) -> bool:
    # Two half rules merged would be a third rule that nobody wrote: a selector of one with the regex of the other.
    return len(path) == 1 or (path[-1] in _MERGED_WITHIN and "fields" not in path[:-1])
