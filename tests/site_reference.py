"""The reference of the site file in Markdown, made from the schema, so that docs/site-files.md cannot fall behind."""

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
    ("render", stages.Render),
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


def reference() -> str:
    """Return the tables of all sections as Markdown."""
    return "\n".join(line for title, model in SECTIONS for line in _section(title, model))


def preset_table() -> str:
    """Return the table of presets as Markdown."""
    rows = ["| `engine:` | program | tried with real pages | notes |", "|---|---|---|---|"]
    for name in presets.engine_names():
        about = presets.load_engine(name).about
        tried = (
            about.versions or "yes" if about.tried else f"not yet ({about.versions})" if about.versions else "not yet"
        )
        rows.append(f"| `{name}` | {about.title} | {tried} | {_plain(' '.join((about.notes or '').split()))} |")
    return "\n".join(rows)


def rewritten(page: str) -> str:
    """Return docs/site-files.md with its tables made anew."""
    head, _, rest = page.partition("<!-- presets -->\n")
    _, _, rest = rest.partition("<!-- /presets -->")
    middle = rest.partition("## Reference\n\n")[0]
    table = f"<!-- presets -->\n\n{preset_table()}\n\n<!-- /presets -->"
    return f"{head}{table}{middle}## Reference\n\n{reference().strip()}\n"


def _section(title: str, model: type[BaseModel]) -> Iterator[str]:
    yield f"### {title}\n" if title[0].isupper() else f"### `{title}`\n"
    yield "| key | default | range | meaning |"
    yield "|---|---|---|---|"
    inherited = stages.StageSpec.model_fields if title != "Every stage" else {}
    for name, info in model.model_fields.items():
        if not info.repr or (issubclass(model, stages.StageSpec) and name in inherited):
            continue  # written by the loader, or said above
        row = (f"`{info.alias or name}`", _default(info), _range(info), _plain(info.description or ""))
        yield f"| {' | '.join(row)} |"
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


def _plain(text: str) -> str:
    return text.replace("|", "\\|")
