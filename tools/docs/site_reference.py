"""The keys of a site file and the presets in Markdown, made from the schema and the preset files."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from crawl_tasks.sites import (
    board_index_spec,
    crawl_policy,
    event_hooks,
    field_rules,
    item_steps,
    presets,
    render,
    request_body,
    schema,
    site_login,
    stages,
)

SECTIONS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("The file", schema.Site),
    ("boards", schema.Board),
    ("gate", crawl_policy.Gate),
    ("gate.weights", crawl_policy.Weights),
    ("breaker", crawl_policy.Breaker),
    ("freshness", crawl_policy.Freshness),
    ("interval", crawl_policy.Interval),
    ("order", crawl_policy.Orders),
    ("priority", crawl_policy.Priorities),
    ("guard", crawl_policy.Guards),
    ("Every stage", stages.StageSpec),
    ("body", request_body.Body),
    ("render", render.Render),
    ("list", stages.ListSpec),
    ("post", stages.PostSpec),
    ("post.comments", stages.Records),
    ("comment", stages.CommentSpec),
    ("front", board_index_spec.FrontSpec),
    ("login", site_login.SiteLogin),
    ("hooks", event_hooks.Hooks),
    ("items", item_steps.ItemStep),
    ("items.drop", item_steps.Unwanted),
    ("Rules", field_rules.Rule),
    ("lookup", field_rules.Lookup),
    ("about", presets.About),
    ("index", board_index_spec.IndexSpec),
)


_KEYS_HEAD = """\
# Keys of a site file

`make docs` makes this page from the schema. Each key has its default and its range in brackets. A key without a default
may be left out, unless it says `required`. [Site files](site-files.md) explains how the keys work together.
"""
_PRESETS_HEAD = """\
# Presets

`engine: NAME` in a [site file](site-files.md#presets) takes one of these. `make docs` makes this page from the preset
files. A preset that is not tried yet was written from knowledge of the program's markup, without pages of a real forum.
"""


def reference() -> str:
    """Return the lists of all sections as Markdown."""
    return "\n".join(line for title, model in SECTIONS for line in _section(title, model))


def keys_page() -> str:
    """Return the text of docs/site-keys.md."""
    return f"{_KEYS_HEAD}\n{reference().strip()}\n"


def presets_page() -> str:
    """Return the text of docs/presets.md."""
    lines = [_preset_line(name, presets.load_engine(name).about) for name in presets.engine_names()]
    return "\n".join([_PRESETS_HEAD, *lines, ""])


def _preset_line(name: str, about: presets.About) -> str:
    tried = f"tried with {about.versions or 'real pages'}" if about.tried else "not tried yet"
    versions = f" ({about.versions})" if about.versions and not about.tried else ""
    notes = " ".join((about.notes or "").split())
    return f"- `{name}`: {about.title}, {tried}{versions}." + (f"\n\n  {notes}\n" if notes else "")


def _section(title: str, model: type[BaseModel]) -> Iterator[str]:
    yield f"### {title}\n" if title[0].isupper() else f"### `{title}`\n"
    inherited = stages.StageSpec.model_fields if title != "Every stage" else {}
    for name, info in model.model_fields.items():
        if not info.repr or (issubclass(model, stages.StageSpec) and name in inherited):
            continue  # written by the loader, or said above
        terms = ", ".join(filter(None, (_default(info), _range(info))))
        yield f"- `{info.alias or name}`{f' ({terms})' if terms else ''}: {info.description or ''}"
    yield ""


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.default
    if value is None or value is PydanticUndefined or value == () or value == {} or isinstance(value, BaseModel):
        return ""
    return f"`{_word(value)}`"


def _word(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _range(info: FieldInfo) -> str:
    found: dict[str, object] = {}
    for rule in _metadata(info):
        for name in ("ge", "gt", "le"):
            if getattr(rule, name, None) is not None:
                found[name] = getattr(rule, name)
    if not found:
        return ""
    return f"{found['ge']} to {found['le']}" if "ge" in found else f"above {found['gt']}, to {found['le']}"


def _metadata(info: FieldInfo) -> Iterator[object]:
    yield from info.metadata
    for part in getattr(info.annotation, "__args__", ()):
        for inner in getattr(part, "__metadata__", ()):
            yield from inner.metadata if isinstance(inner, FieldInfo) else (inner,)
