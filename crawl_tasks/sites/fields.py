"""The fields of the model: the type and the text mode that a field has where its rule names none."""

from __future__ import annotations

from collections.abc import Iterable

from crawl_tasks.model import Comment, Post
from crawl_tasks.sites.field_rules import As, Rule, TextMode

POST_FIELDS = tuple(name for name in Post._fields if name not in ("seen_at", "revision", "extra", "is_page"))
COMMENT_FIELDS = tuple(name for name in Comment._fields if name not in ("post_id", "seen_at", "page", "extra"))

_NUMBERS = {
    "created_at": As.DATE, "last_reply_at": As.DATE, "edited_at": As.DATE, "reply_count": As.COUNT,
    "view_count": As.COUNT, "depth": As.INT, "position": As.INT,
}  # fmt: skip
_TEXTS = {"body_html": As.HTML, "url": As.URL}
_MODEL = frozenset(POST_FIELDS) | frozenset(COMMENT_FIELDS)
_IN_FIGURES = frozenset({As.INT, As.COUNT, As.DATE})


def kind_of(name: str, rule: Rule) -> As:
    """Return the type of a field: the one in the rule, else the one that the field's name implies."""
    return rule.as_ or _NUMBERS.get(name) or _TEXTS.get(name) or As.TEXT


def text_mode_of(name: str, rule: Rule) -> TextMode:
    """Return the text mode of a field: the one in the rule, else lines for a body and one line for the rest."""
    return rule.text or (TextMode.LINES if name == "body" else TextMode.ALL)


def misfit(name: str, rule: Rule) -> str | None:
    """Return the mistake in the type of a model field, None for a fitting type."""
    for one in rule.walk():
        kind = kind_of(name, one)
        if name in _NUMBERS and kind not in _IN_FIGURES:
            return f"{name} is a number; say as: {_NUMBERS[name]}, or leave `as` out"
        if name in _MODEL and name not in _NUMBERS and kind in _IN_FIGURES | {As.BOOL}:
            return f"{name} is text; leave `as` out"
    return None


def extra_fields(names: Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that the model lacks, which are kept as extra."""
    return tuple(name for name in names if name not in known)
