"""The page about site files says what the schema says."""

from __future__ import annotations

from pathlib import Path

from crawl_tasks.parse.site_parser import compile_parser
from crawl_tasks.sites.loader import parse_site
from tools.docs.site_reference import SECTIONS

PAGE = Path(__file__).parents[2] / "docs" / "site-files.md"


def test_every_key_has_a_sentence() -> None:
    silent = [
        f"{title}.{name}"
        for title, model in SECTIONS
        for name, info in model.model_fields.items()
        if not info.description
    ]

    assert silent == []


def test_the_example_in_the_docs_is_a_good_site_file() -> None:
    example = PAGE.read_text().split("```yaml\n")[1].split("```")[0]

    parser = compile_parser(parse_site(example, str(PAGE)))

    assert parser.site.boards


def test_every_piece_of_a_site_file_in_the_docs_is_a_good_one() -> None:
    pieces = PAGE.read_text("utf-8").split("```yaml\n")[1:]
    files = [piece.split("```")[0] for piece in pieces]
    whole = [
        text if "base:" in text else f"name: piece\nbase: https://piece.example\nengine: phpbb\n{text}"
        for text in files
    ]

    assert all(parse_site(text, str(PAGE)).list for text in whole)
    assert len(whole) > 5
