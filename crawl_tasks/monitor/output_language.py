"""The language of pages, summaries and alerts, by gettext's way: an English sentence is the key of its translation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_catalogue: dict[str, str] = {}
_is_english = ContextVar("is_english", default=False)


def use_language(language: str) -> None:
    """Choose the language of this process, before anything is shown."""
    _catalogue.clear()
    if language != "en":
        _catalogue.update(json.loads(Path(__file__).with_name(f"{language}.json").read_text("utf-8")))


@contextmanager
def english() -> Iterator[None]:
    """Keep to English in this thread, as for JSON: programs read it."""
    token = _is_english.set(True)
    try:
        yield
    finally:
        _is_english.reset(token)


def gettext(message: str, /, **values: object) -> str:
    """Return a message in the language of this process, else in English, with the values of its braces."""
    text = message if _is_english.get() else _catalogue.get(message, message)
    return text.format(**values) if values else text
