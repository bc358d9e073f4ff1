"""What the documents name is there: commands, options, settings, keys, files, links, headings, make targets."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from crawl_tasks.cli.main import cli
from crawl_tasks.frontier import keys
from crawl_tasks.queues import DETAIL, QUEUES
from crawl_tasks.settings import Settings
from crawl_tasks.web.metrics import FAMILIES
from tests.chaos.__main__ import PARTS
from tools.docs.site_reference import SECTIONS

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
METRICS = {family.name for family in FAMILIES}
NETWORK = "crawl_watch"
SETTINGS = {f"CRAWL_{name.upper()}" for name in Settings.model_fields}


def commands() -> set[str]:
    return set(cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_shows_exists(page: Path) -> None:
    shown = set(re.findall(r"crawl-tasks ([a-z]+)", page.read_text("utf-8")))

    assert shown - commands() == set()


def command_of(words: str) -> click.Command:
    found: click.Command = cli
    for word in words.split():
        inner = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else None
        found = inner or found
    return found


def options_of(words: str) -> set[str]:
    return {name for option in command_of(words).params for name in option.opts + option.secondary_opts}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_of_a_command_that_a_page_shows_exists(page: Path) -> None:
    shown = re.findall(r"crawl-tasks ((?:[a-z]+ ?){1,2})([^\n`|#;]*)", page.read_text("utf-8"))
    unknown = [
        f"{words}{option}"
        for words, rest in shown
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)
        if option not in options_of(words)
    ]

    assert set(unknown) - {"--help"} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    named = set(re.findall(r"\bCRAWL_[A-Z_]+\b", page.read_text("utf-8")))

    assert {name for name in named if not SETTINGS & {name, name.removesuffix("_FILE")}} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_key_of_redis_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`crawl:([a-z]+)", page.read_text("utf-8"))

    assert [name for name in named if f"P:{name}" not in (keys.__doc__ or "")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_metric_and_queue_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")

    assert set(re.findall(r"`(crawl_[a-z_]+)`", text)) - METRICS - {NETWORK, "crawl_tasks", "crawl_delay_ms"} == set()
    assert set(re.findall(r"celery -A crawl_tasks .*-Q (\w+)", text)) - {*QUEUES, DETAIL} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_key_of_a_site_file_that_a_page_names_exists(page: Path) -> None:
    known = {
        f"{title}.{field.alias or name}" for title, model in SECTIONS for name, field in model.model_fields.items()
    }
    named = re.findall(r"`((?:boards|gate|breaker|interval)(?:\[\])?\.[a-z_]+)`", page.read_text("utf-8"))

    assert {name.replace("[]", "") for name in named} - known == set()


def anchors(page: Path) -> set[str]:
    """Return the names under which the headings of a page are linked to, as GitLab and GitHub make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_heading_that_a_page_links_to_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text("utf-8"))

    assert [
        f"{target}#{anchor}"
        for target, anchor in links
        if anchor not in anchors(page.parent / target if target else page)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_and_script_that_a_page_names_exists(page: Path) -> None:
    ours = [str(path) for top in ("crawl_tasks", "tests") for path in (ROOT / top).rglob("*.*")]
    named = re.findall(r"`([\w/]+\.(?:py|lua))[`:]", page.read_text("utf-8"))

    assert [name for name in named if not any(path.endswith(f"/{name}") for path in ours)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))

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


def test_every_test_that_the_page_about_isolation_names_exists() -> None:
    page = (ROOT / "docs" / "isolation.md").read_text("utf-8")
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", page)

    assert [test for name, test in named if f"def {test}(" not in (ROOT / "tests" / name).read_text("utf-8")] == []
    assert len(named) > 15


PROMISES = {"README.md": 5, "README.zh.md": 5, "docs/guarantees.md": 8}
"""Pages that take numbers from others, with the fewest numbers that they take."""


@pytest.mark.parametrize(("name", "fewest"), PROMISES.items(), ids=PROMISES)
def test_every_number_of_a_promise_stands_on_the_page_that_it_links_to(name: str, fewest: int) -> None:
    page = ROOT / name
    parts = re.split(r"\n\s*\n|\n(?=- )", page.read_text("utf-8"))
    linked = [(part, re.findall(r"\]\(([^)#:]+\.md)#[^)]+\)", part)) for part in parts]
    taken = [
        (number, (page.parent / links[-1]).read_text("utf-8"))
        for part, links in linked
        if links and not part.lstrip().startswith("|")
        for number in re.findall(r"\b(?<![`#])\d[\d,.]*\d\b", part)
    ]

    assert [number for number, text in taken if not re.search(rf"\b{re.escape(number)}\b", text)] == []
    assert len(taken) >= fewest


def test_the_page_about_commands_has_every_option() -> None:
    text = (ROOT / "docs" / "commands.md").read_text("utf-8").partition("## Reference")[2]
    sections = dict(section.split("\n", 1) for section in re.split(r"^### ", text, flags=re.M)[1:])
    lacking = {
        f"{words}: {name}"
        for words, section in sections.items()
        for name in options_of(words)
        if name.startswith("-") and not re.search(rf"`{name}\b", section)
    }

    assert {words.split()[0] for words in sections} == commands()
    assert lacking == set()
