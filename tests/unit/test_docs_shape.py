"""The shape of the documents: short paragraphs, headings with a subject, a whole index, translations in step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.test_docs import PAGES, ROOT
from tools.docs.generated import settings_page

README_WORDS, PARAGRAPH_WORDS, BULLET_WORDS = 900, 90, 50
LONGEST_PAGE, ALL_WORDS = 4000, 60_000
VERSION = re.compile(r"\d+\.\d+ \((?:unreleased|\d{4}-\d\d-\d\d)\)")
WORDS_A_CHARACTER = 0.6
"""A Chinese word has 1.5 to 2 characters."""
CHINESE = r"[\u3400-\u9fff]"
DOCS = ROOT / "docs"
NO_SUBJECT = re.compile(r"(?:\d+\. )?(?:What|Who|Where|When|How(?!-to)|Why|It|They|This|That)\b")


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.M | re.S)


def words(text: str) -> float:
    chinese = len(re.findall(CHINESE, text))
    others = re.sub(CHINESE, " ", text).split()
    return WORDS_A_CHARACTER * chinese + sum(bool(re.search(r"\w", word)) for word in others)


def paragraphs(text: str) -> Iterator[str]:
    """Yield headings, paragraphs, items of lists, and cells of tables."""
    for block in re.split(r"\n\s*\n", without_code(text)):
        whole = ""
        for line in map(str.strip, block.splitlines()):
            if line.startswith("|"):
                yield from line.strip("|").split(" | ")
            elif re.match(r"[-*] |\d+\. |#", line):
                yield whole
                whole = line
            else:
                whole += f" {line}"
        yield whole


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_paragraph_is_long(page: Path) -> None:
    long = [text for text in paragraphs(page.read_text("utf-8")) if words(text) > PARAGRAPH_WORDS]

    assert long == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_has_a_head(page: Path) -> None:
    blocks = re.split(r"\n\s*\n", without_code(page.read_text("utf-8")))
    tables = [re.findall(r"^ *\|.*$", block, re.M) for block in blocks]

    headless = [rows[0] for rows in tables if rows and not re.fullmatch(r" *\|[-: |]+\|", (*rows, "")[1])]

    assert headless == []


def test_a_long_paragraph_item_or_cell_would_be_noticed() -> None:
    long = "word " * (PARAGRAPH_WORDS + 1)
    text = f"# Head\n\n{long}\n\n- one\n- {long}\n\n| a | {long} |\n\n```\n{long}\n```\n\n{'字' * 151}\n\n{'字' * 150}"

    assert sum(words(part) > PARAGRAPH_WORDS for part in paragraphs(text)) == 4


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_readme_is_short(name: str) -> None:
    assert words((ROOT / name).read_text("utf-8")) <= README_WORDS


def test_the_pages_have_no_more_words_than_somebody_reads() -> None:
    english = [
        page for page in PAGES if page.parent != DOCS / "zh" and page.name not in {"README.zh.md", "CHANGELOG.md"}
    ]
    count = {str(page.relative_to(ROOT)): len(page.read_text("utf-8").split()) for page in english}

    assert {name: words for name, words in count.items() if words > LONGEST_PAGE} == {}
    assert sum(count.values()) <= ALL_WORDS, "say once what two pages say"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_heading_names_its_subject(page: Path) -> None:
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text("utf-8")), re.M)

    assert [heading for heading in headings if NO_SUBJECT.match(heading)] == []
    assert len(headings) == len(set(headings)) or page.name == "CHANGELOG.md"


def test_the_changelog_has_versions_and_short_bullets() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    bullets = [" ".join(part.split()) for part in re.findall(r"^- (.+(?:\n  .+)*)", text, re.M)]

    assert [head for head in re.findall(r"^## (.+)$", text, re.M) if not VERSION.fullmatch(head)] == []
    assert [bullet for bullet in bullets if words(bullet) > BULLET_WORDS] == []
    assert [bullet for bullet, times in Counter(bullets).items() if times > 1] == []
    assert len(bullets) > 100


def listed(index: Path) -> Counter[Path]:
    lines = [line for line in index.read_text("utf-8").splitlines() if re.match(r"- |\d+\. ", line)]
    links = [link for line in lines for link in re.findall(r"\]\(([^)#:]+\.md)\)", line)]
    return Counter((index.parent / link).resolve() for link in links)


@pytest.mark.parametrize("index", [DOCS / "index.md", DOCS / "zh" / "index.md"], ids=["english", "chinese"])
def test_the_index_lists_every_page_once(index: Path) -> None:
    here = {page for page in PAGES if page.parent == index.parent} - {index}
    english = {page for page in PAGES if page.parent == DOCS} - {DOCS / "index.md"}
    translated = {page.name for page in here}
    wanted = here | {page for page in english if page.name not in translated}

    found = listed(index)

    assert wanted - set(found) == set()
    assert set(found) - wanted == {ROOT / "CONTRIBUTING.md"}
    assert {page: times for page, times in found.items() if times > 1} == {}


def test_the_index_has_the_four_kinds_of_page() -> None:
    headings = re.findall(r"^## (.+)$", (DOCS / "index.md").read_text("utf-8"), re.M)

    assert headings[:4] == ["Tutorials", "How-to guides", "Reference", "Explanation"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_sentences_before_its_first_table(page: Path) -> None:
    before, table, _ = page.read_text("utf-8").partition("\n|")

    assert not table or words(re.sub(r"^#.*$", "", without_code(before), flags=re.M)) > 15


TRANSLATIONS = ["README.md", *(f"docs/{page.name}" for page in sorted((DOCS / "zh").glob("*.md")))]


def translation(page: str) -> Path:
    return ROOT / ("README.zh.md" if page == "README.md" else page.replace("docs/", "docs/zh/"))


def test_what_must_be_translated_is() -> None:
    names = ("README", "docs/index", "docs/tutorial", "docs/site-files", "docs/settings", "docs/operate", "docs/deploy")

    assert set(TRANSLATIONS) == {f"{name}.md" for name in names}


@pytest.mark.parametrize("page", TRANSLATIONS)
def test_a_translation_has_every_heading_row_and_command(page: str) -> None:
    ours, theirs = (path.read_text("utf-8") for path in (ROOT / page, translation(page)))

    for shape in (
        r"^(#+|\|)",
        r"^(?:- |\d+\. )",
        r"crawl-tasks [a-z]+(?: [a-z]+)?(?: --[a-z-]+)*",
        r"`CRAWL_\w+",
        r"`(?:gate|interval|breaker|boards|tests)[\[\]./][^`]+`",
        r"^```.*$",
    ):
        assert sorted(re.findall(shape, theirs, re.M)) == sorted(re.findall(shape, ours, re.M))


@pytest.mark.parametrize("page", TRANSLATIONS)
def test_a_page_and_its_translation_lead_to_each_other(page: str) -> None:
    ours, theirs = ROOT / page, translation(page)

    for one, other in ((ours, theirs), (theirs, ours)):
        links = re.findall(r"^\[(?:中文|English)\]\((.+)\)$", one.read_text("utf-8"), re.M)
        assert [(one.parent / link).resolve() for link in links] == [other]


def test_the_chinese_settings_have_the_names_and_defaults_of_today() -> None:
    def rows(text: str) -> list[str]:
        return re.findall(r"^- (`CRAWL_\w+` \(.+?\))[:：]", text, re.M)

    assert rows((DOCS / "zh" / "settings.md").read_text("utf-8")) == rows(settings_page())
    assert len(rows(settings_page())) > 15
