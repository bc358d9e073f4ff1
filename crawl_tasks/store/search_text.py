"""Search texts: tokens for SQLite's full-text index, with CJK bigrams, and its queries from the words of a person.

Chinese, Japanese and Korean have no blanks between words. So each two neighbours of a run are a token (CJK bigrams, as
Lucene calls them), and the last character once more alone: a run of any length is then a phrase of tokens. A character
alone would be the beginning of thousands of bigrams: all characters of a text have a column of their own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from operator import add
from typing import Final

from crawl_tasks.errors import ConfigError

# Kana, ideographs with their extensions, and Hangul. NFKC has made full and half width forms one.
_CJK: Final = re.compile("[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U000323af]+")
_CHARACTER: Final = re.compile(rf'("{_CJK.pattern[:-1]}")\*')
"""The phrase of one character alone."""
_TERM: Final = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')


def tokenized(text: str) -> str:
    """Return a text whose CJK runs are bigrams, parted by blanks."""
    # A quarter of the time of an index went here. A text in ASCII needs none of it.
    return text if text.isascii() else _CJK.sub(_bigrams, unicodedata.normalize("NFKC", text))


def characters(text: str) -> str:
    """Return the CJK characters of a text, each once, parted by blanks."""
    if text.isascii():
        return ""
    return " ".join(dict.fromkeys("".join(_CJK.findall(unicodedata.normalize("NFKC", text)))))


def match_expression(query: str, filters: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the expression of FTS5 for a query: all words, "whole phrases", beginnings* and no -excluded words.

    `filters` are values of other columns, one of which must be there. They are compared by their words alone.

    Raises:
        ConfigError: the query has no word.
    """
    wanted, excluded = list[str](), list[str]()
    for sign, quoted, word in _TERM.findall(query):
        phrase = _phrase(quoted or word)
        if phrase:
            character = _CHARACTER.fullmatch(phrase)
            (excluded if sign else wanted).append(f"characters : {character[1]}" if character else f"text : {phrase}")
    if not wanted:
        raise ConfigError(f"search: {query[:200]!r} has no word to search for")
    expression = f"({' AND '.join(wanted)})" + "".join(f" NOT {phrase}" for phrase in excluded)
    return expression + "".join(
        f" AND {column} : ({' OR '.join(phrases)})" for column, phrases in _filters(filters or {})
    )


def _filters(values: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    for column, wanted in values.items():
        phrases = list(map(_phrase, wanted))
        if phrases and all(phrases):
            yield column, phrases


def search_words(query: str) -> list[str]:
    """Return the wanted words and phrases of a query as they were typed."""
    return [(quoted or word).rstrip("*") for sign, quoted, word in _TERM.findall(query) if not sign]


def _phrase(term: str) -> str:
    """Return a term as a phrase of tokens, empty without any letter or digit."""
    is_beginning = term.endswith("*")
    text = unicodedata.normalize("NFKC", term).replace('"', " ").rstrip("*")
    while text and not text[-1].isalnum() and not _CJK.match(text[-1]):
        text = text[:-1]
    if not any(character.isalnum() for character in text):
        return ""
    runs = list(_CJK.finditer(text))
    last = runs[-1] if runs and runs[-1].end() == len(text) else None
    tokens = _CJK.sub(_bigrams, text)
    if last is not None:
        # The run may go on in the text: its last character alone is then no token, but the beginning of one.
        is_beginning = len(last[0]) == 1
        if not is_beginning:
            tokens = tokens.rstrip().rpartition(" ")[0]
    return f'"{tokens.strip()}"' + ("*" if is_beginning else "")


def _bigrams(run: re.Match[str]) -> str:
    text = run[0]
    return f" {' '.join(map(add, text, text[1:]))} {text[-1]} "
