"""Before the loader: presets, which know a forum program, so that a site file need say only where the forum is.

A preset is `engines/NAME.yaml`. A site file with `engine: NAME` is laid over its `site` part: mappings are merged key
by key, everything else is replaced, a rule as a whole, and `null` takes a key away. What the workers are given is the
merged site, so that they need no presets.
"""

from __future__ import annotations

import pathlib
from functools import lru_cache

from pydantic import Field, ValidationError, model_validator

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.board import Line
from crawl_tasks.sites.complaints import complaints
from crawl_tasks.sites.index import IndexSpec
from crawl_tasks.sites.rules import Part
from crawl_tasks.sites.yaml_tree import Path, Tree, Value, read_yaml

_DIRECTORY = pathlib.Path(__file__).with_name("engines")
_MERGED_WITHIN = ("fields", "comments")
"""Keys of a stage that hold several rules; every other mapping in a stage is one rule."""


class About(Part):
    """What people should know of a preset."""

    title: Line = Field(description="The program's name.")
    tried: bool = Field(strict=True, description="Whether it was held against pages of the real program.")
    versions: Line | None = Field(default=None, description="Versions it was made for, or tried with.")
    notes: str | None = Field(default=None, max_length=2000, description="What it does not do, what was not tried.")


class Engine(Part):
    """A preset."""

    name: str = Field(description="As a site file names it.")
    about: About = Field(description="What people should know of it.")
    index: IndexSpec | None = Field(default=None, description="How boards are found on the front page.")
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
    """Read a preset.

    Raises:
        SiteError: There is none of this name, or its file is wrong.
    """
    return _load(name)[0]


def laid_over(preset: str, value: dict[str, Value]) -> tuple[dict[str, Value], Tree]:
    """Return what a site file says over its preset, and where the preset's own words stand.

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
    """Read a preset, and the tree of its `site` part; both are read only."""
    if name not in engine_names():
        raise SiteError(f"is no preset: {name[:40]!r}; known are {', '.join(engine_names())}")
    path = _DIRECTORY / f"{name}.yaml"
    tree = read_yaml(path.read_text("utf-8"), f"{path.parent.name}/{path.name}")
    value = tree.value if isinstance(tree.value, dict) else {}
    try:
        engine = Engine.model_validate({**value, "name": name})
    except ValidationError as error:
        told = complaints(error, [tree], Engine, {"about": About, "index": IndexSpec})
        raise SiteError("\n".join(told)) from None
    return engine, tree.below("site")


def _merged(below: dict[str, Value], above: dict[str, Value], path: Path, replaced: set[Path]) -> dict[str, Value]:
    """Lay one mapping over the other; the paths of which nothing is left of the lower one go to `replaced`."""
    result = dict(below)
    for key, value in above.items():
        old, here = below.get(key), (*path, key)
        if isinstance(value, dict) and isinstance(old, dict) and _is_merged(here):
            result[key] = _merged(old, value, here, replaced)
            continue
        replaced.add(here)
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def _is_merged(path: Path) -> bool:
    return len(path) == 1 or (path[-1] in _MERGED_WITHIN and "fields" not in path[:-1])
