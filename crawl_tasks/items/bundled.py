"""The steps that come with the crawler: required fields, lengths, language, unwanted text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from crawl_tasks.errors import SiteError
from crawl_tasks.items.verdict import Drop, Item
from crawl_tasks.model import UNREADABLE, Comment, Post, Request, Stage
from crawl_tasks.sites.steps import ItemStep, Unwanted

SEARCHED = 100_000


def require(item: Item, request: Request, fields: tuple[str, ...]) -> Item | Drop:
    """Drop an item that lacks a field; a post is judged on its own page, one that is deleted or masked never."""
    if request.stage is Stage.LIST or item.state in UNREADABLE:
        return item
    for name in fields:
        if name in item._fields and getattr(item, name) in (None, ""):
            return Drop(f"without_{name}")
    return item


def limit(item: Item, lengths: dict[str, int]) -> Item:
    """Cut texts to their greatest length."""
    texts = ((name, _text(item, name), most) for name, most in lengths.items())
    cut = {name: text[:most] for name, text, most in texts if text is not None and len(text) > most}
    return replaced(item, cut) if cut else item


def tag_language(item: Item, fields: tuple[str, ...]) -> Item:
    """Write extra.language; nothing where there is no text."""
    from crawl_tasks.items.language import language_of  # noqa: PLC0415  # 10 ms for its scripts, which few sites ask for

    text = "\n".join(filter(None, (_text(item, name) for name in fields)))
    return replaced(item, {"extra": {**(item.extra or {}), "language": language_of(text)}}) if text else item


def drop_unwanted(item: Item, unwanted: Unwanted, search: re.Pattern[str]) -> Item | Drop:
    """Drop an item whose text matches."""
    text = _text(item, unwanted.field)
    return Drop(unwanted.reason) if text is not None and search.search(text, 0, SEARCHED) else item


def replaced(item: Item, values: Mapping[str, object]) -> Item:
    """Give the item with other values, by field."""
    row = [values.get(name, old) for name, old in zip(item._fields, item, strict=True)]
    return Post._make(row) if isinstance(item, Post) else Comment._make(row)


def compile_bundled(step: ItemStep) -> Callable[[Item, Request], Item | Drop]:
    """Make the function of a step of a site file that names none of its own."""
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
