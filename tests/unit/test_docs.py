"""What the documents name is there: commands, files, links, make targets."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from crawl_tasks.cli.main import cli
from tests.chaos.__main__ import PARTS

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("README*.md"), *sorted((ROOT / "docs").rglob("*.md"))]


def commands() -> set[str]:
    return set(cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_shows_exists(page: Path) -> None:
    shown = set(re.findall(r"crawl-tasks ([a-z]+)", page.read_text("utf-8")))

    assert shown - commands() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`((?:crawl_tasks|tests|config|docker|docs)/[\w./-]*\w)`", page.read_text("utf-8"))

    assert [name for name in named if "NAME" not in name and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_that_a_page_shows_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    shown = re.findall(r"^make ((?:[a-z]+ ?)+)", page.read_text("utf-8"), re.M)

    assert {word for words in shown for word in words.split()} - targets == set()


def test_every_test_and_part_of_chaos_that_the_faults_name_exists() -> None:
    page = (ROOT / "docs" / "faults.md").read_text("utf-8")
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", page)
    tests = {(name, test) for name, test in named if f"def {test}(" in (ROOT / "tests" / name).read_text("utf-8")}
    parts = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"chaos (`\w+`(?:, `\w+`)*)", page))))

    assert set(named) - tests == set()
    assert len(tests) > 90
    assert parts - {"NAME"} <= set(PARTS)


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text("utf-8")

    assert [name for name in commands() - {"version"} if not re.search(rf"\b{name}\b", text)] == []
