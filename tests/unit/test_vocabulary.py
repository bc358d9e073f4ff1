"""Names of modules, classes and Lua scripts are made of standard words, or of words that the glossary explains."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from crawl_tasks.frontier import keys
from crawl_tasks.frontier.wire.site_terms import SITE_STATE
from tests.flow.world import ROOT

PACKAGE = ROOT / "crawl_tasks"
STANDARD = frozenset(Path(__file__).with_name("vocabulary.txt").read_text("utf-8").split())
"""Words of our names that projects of the field use for the same: crawlers, task queues, HTTP and SQL libraries."""
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
SHORTEST = 3
"""Letters of the shortest word that is looked at."""
MOST_OF_OUR_OWN = 0.09
VAGUE = frozenset(("one", "said", "told", "there", "mine"))
"""Names that do not say what they hold."""
MOST_FOUND = 0.004


@cache
def definitions() -> tuple[tuple[Definition, Path], ...]:
    """Return modules, classes and functions with their files."""
    return tuple(
        (node, file)
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, Definition)
    )


def names() -> Iterator[tuple[str, Path]]:
    """Yield each name with its file."""
    for node, file in definitions():
        if isinstance(node, ast.Module) and not file.stem.startswith("__"):
            yield file.stem, file
        elif isinstance(node, ast.ClassDef):
            yield node.name, file
    for file in sorted(PACKAGE.rglob("*.lua")):
        yield file.stem, file


def words_of(name: str) -> set[str]:
    """Return a name's words in small letters."""
    return {word.lower() for word in WORD.findall(name) if len(word) >= SHORTEST}


def explained() -> set[str]:
    """Return the words that the glossary explains, in the singular and as they stand there."""
    rows = re.findall(r"^- \*\*([^*]+)\*\*", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)
    words = set(re.findall(r"[a-z]{3,}", " ".join(rows).lower()))
    return words | {word.removesuffix("s") for word in words}


def is_explained(word: str, glossary: set[str]) -> bool:
    return bool({word, word.removesuffix("s"), word.removesuffix("es"), f"{word}s"} & glossary)


def test_a_name_is_made_of_standard_words_or_of_words_of_the_glossary() -> None:
    glossary = explained()
    strange = {
        f"{word}: {name} ({file.relative_to(ROOT)})"
        for name, file in names()
        for word in words_of(name) - STANDARD
        if not is_explained(word, glossary)
    }

    assert strange == set(), "take the field's term, or explain the word in docs/glossary.md"


def test_few_words_are_our_own() -> None:
    used = set().union(*(words_of(name) for name, _ in names()))

    assert len(used - STANDARD) < MOST_OF_OUR_OWN * len(used)


def test_the_list_holds_no_word_that_no_name_uses() -> None:
    used = set().union(*(words_of(name) for name, _ in names()))

    assert sorted(STANDARD - used) == []


@pytest.mark.parametrize("word", ["heed", "sieve", "brood", "herald", "graves", "seize", "pacer", "shelf"])
def test_words_of_the_old_dialect_are_in_no_list(word: str) -> None:
    assert word not in STANDARD
    assert not is_explained(word, explained())


@pytest.mark.parametrize("word", ["shut", "readings", "brood", "shelf", "shelved", "suspects"])
def test_words_of_the_old_dialect_are_in_no_key_and_no_field_of_redis(word: str) -> None:
    literals = [text for file in PACKAGE.rglob("*.lua") for text in re.findall(r"'([^'\n]*)'", file.read_text("utf-8"))]
    stored = "\n".join([*literals, *(name for field in SITE_STATE for name in field.fields()), keys.__doc__ or ""])

    assert not re.search(rf"\b{word}\b", stored)


LIMITS = {"what": 2.0, ";": 2.0}
"""How often a docstring may say it, per 1,000 words."""


@pytest.mark.parametrize(("sign", "most"), LIMITS.items(), ids=["what", "semicolon"])
def test_docstrings_name_the_noun_and_end_their_sentences(sign: str, most: float) -> None:
    text = "\n".join(ast.get_docstring(node) or "" for node, _ in definitions()).lower()
    words = re.findall(r"[a-z']+", text)
    count = text.count(sign) if sign == ";" else words.count(sign)

    assert 1000 * count / len(words) < most


def test_a_docstring_says_return() -> None:
    given = [
        f"{file.relative_to(ROOT)}: {node.name}"
        for node, file in definitions()
        if isinstance(node, ast.FunctionDef) and (ast.get_docstring(node) or "").startswith(("Give the ", "Give a "))
    ]

    assert given == []


def local_names() -> Iterator[tuple[str, str]]:
    """Yield each use of a name in the code, with its file and line."""
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE)
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Name | ast.arg):
                yield node.id if isinstance(node, ast.Name) else node.arg, f"{place}:{node.lineno}"


def test_a_local_name_says_what_it_holds() -> None:
    names = list(local_names())

    assert [place for name, place in names if name in VAGUE] == [], "name the row, the match, the site, the reason"
    assert sum(name == "found" for name, _ in names) < MOST_FOUND * len(names)
