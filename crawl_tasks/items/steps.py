"""Built-in item steps (required fields, text lengths, language, unwanted text) and DropItem, the verdict of a step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from crawl_tasks.errors import SiteError
from crawl_tasks.model import UNREADABLE, Comment, Post, Request, Stage
from crawl_tasks.sites.item_steps import ItemStep, Unwanted

# Characters that a regex of a site file may search, the same number as in rules.
SEARCHED = 100_000
Item = Post | Comment
_ODD = re.compile(r"[^a-z0-9_]+")


@dataclass(frozen=True, slots=True)
class DropItem:
    """The verdict that an item is not stored. `reason` is counted as dropped:REASON, in small letters, digits and _."""

    reason: str

    @property
    def slug(self) -> str:
        """Return the reason as counters spell it, in at most 40 characters."""
        return _ODD.sub("_", self.reason.lower()).strip("_")[:40] or "unnamed"


Given = Item | DropItem | Iterable[Item]


def require(item: Item, request: Request, fields: tuple[str, ...]) -> Item | DropItem:
    """Drop an item that lacks a required field. Deleted and masked items stay, and so do posts of a list page."""
    # A list shows only some fields of a post. The post's own page shows whether one is missing.
    if request.stage is Stage.LIST or item.state in UNREADABLE:
        return item
    for name in fields:
        if name in item._fields and getattr(item, name) in (None, ""):
            return DropItem(f"without_{name}")
    return item


def limit(item: Item, lengths: dict[str, int]) -> Item:
    """Cut texts to their maximum length, in characters."""
    texts = ((name, _text(item, name), most) for name, most in lengths.items())
    cut = {name: text[:most] for name, text, most in texts if text is not None and len(text) > most}
    return replaced(item, cut) if cut else item


def tag_language(item: Item, fields: tuple[str, ...]) -> Item:
    """Add extra.language to an item with text."""
    # The import compiles patterns for 10 ms, and few sites ask for the language.
    from crawl_tasks.items.language import language_of  # noqa: PLC0415

    text = "\n".join(filter(None, (_text(item, name) for name in fields)))
    return replaced(item, {"extra": {**(item.extra or {}), "language": language_of(text)}}) if text else item


def drop_unwanted(item: Item, unwanted: Unwanted, search: re.Pattern[str]) -> Item | DropItem:
    """Drop an item whose text matches."""
    text = _text(item, unwanted.field)
    return DropItem(unwanted.reason) if text is not None and search.search(text, 0, SEARCHED) else item


def replaced(item: Item, values: Mapping[str, object]) -> Item:
    """Return the item with other values, given by field name."""
    row = [values.get(name, old) for name, old in zip(item._fields, item, strict=True)]
    return Post._make(row) if isinstance(item, Post) else Comment._make(row)


def compile_bundled(step: ItemStep) -> Callable[[Item, Request], Item | DropItem]:
    """Return the function of a step for which the site file names none."""
    if step.require:
        return lambda item, request: require(item, request, step.require)
    if step.limit:
        return lambda item, _: limit(item, step.limit)
    if step.language:
        return lambda item, _: tag_language(item, step.language)
    if step.drop is None:
        raise SiteError("items: a step is empty; it must be one of require, limit, language, drop, function")
    unwanted, search = step.drop, re.compile(step.drop.regex)
    return lambda item, _: drop_unwanted(item, unwanted, search)


def _text(item: Item, name: str) -> str | None:
    text = getattr(item, name, None)
    return text if isinstance(text, str) else None
