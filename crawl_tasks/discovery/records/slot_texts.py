"""Texts of one slot in all records: whether they are names, moments, or a function of the author. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping

from crawl_tasks.discovery.text.timestamps import moment_of
from crawl_tasks.discovery.text.vocabulary import REPLIES, VIEWS

LONGEST_DATE = 70
"""Letters of a date at most. A longer text is a sentence that speaks of days."""
_LONGEST_NAME, _MOST_WORDS = 40, 4


def matches_in(regex: str, texts: Mapping[int, str]) -> dict[int, str]:
    """Return the first groups of a regex in texts, without the texts that it does not fit."""
    return {at: match[1] for at, text in texts.items() if (match := re.search(regex, text)) is not None}


def are_moments(texts: Collection[str]) -> bool:
    """Return whether most texts are moments."""
    return sum(len(text) <= LONGEST_DATE and moment_of(text) is not None for text in texts) * 2 > len(texts)


def is_of_author(texts_by_record: Mapping[int, str | int], authors: Mapping[int, str]) -> bool:
    """Return whether each author has one text in all records: a signature, a rank, the day of joining."""
    groups: dict[str, list[str | int]] = defaultdict(list)
    for at, text in texts_by_record.items():
        if at in authors:
            groups[authors[at]].append(text)
    several = [texts for texts in groups.values() if len(texts) > 1]
    # One author may have said the same thrice.
    is_shown = len(several) > 1 or len(groups) == 1
    return is_shown and sum(map(len, several)) > 2 and all(len(set(signatures)) == 1 for signatures in several)


def are_names(texts: Collection[str]) -> bool:
    """Return whether most texts are names, and no moments, counts or initials."""
    kinds = set(texts)
    is_one = len(kinds) == 1 and len(texts) > 2
    if is_one or sum(map(is_name, texts)) < 0.9 * len(texts) or are_moments(texts):
        return False
    # An initial stands for a picture.
    are_initials = 2 * sum(len(text) <= 1 + text.isupper() for text in texts) > len(texts)
    return not are_initials and not all(REPLIES.search(text) or VIEWS.search(text) for text in kinds)


def is_name(text: str) -> bool:
    """Return whether a text may be the name of a person."""
    return (
        0 < len(text) <= _LONGEST_NAME
        and len(text.split()) <= _MOST_WORDS
        and any(char.isalpha() for char in text)
        # `[source]` is a button.
        and not (text[0] == "[" and text[-1] == "]")
        and not any(char in text for char in "?!:;，。？！：")
        and not (any(char.isdigit() for char in text) and (REPLIES.search(text) or VIEWS.search(text)))
    )
