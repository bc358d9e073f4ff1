"""The language of pages, summaries and alerts, by gettext's way: an English sentence is the key of its translation."""

from __future__ import annotations

import json
from pathlib import Path

_catalogue: dict[str, str] = {}


def use_language(language: str) -> None:
    """Choose the language of this process, before anything is shown."""
    _catalogue.clear()
    if language != "en":
        _catalogue.update(json.loads(Path(__file__).with_name(f"{language}.json").read_text("utf-8")))


def gettext(message: str, /, **values: object) -> str:
    """Return a message in the language of this process, else in English, with the values of its braces."""
    text = _catalogue.get(message, message)
    return text.format(**values) if values else text
