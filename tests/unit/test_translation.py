"""The translation: every sentence of the code is in the catalogue, and no English is left where Chinese is chosen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from string import Formatter

import pytest
import redis
from rich.cells import cell_len

from crawl_tasks.frontier.admin.alert_state import Change
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.monitor.alerts.receivers import News, text_of
from crawl_tasks.monitor.output_language import gettext, use_language
from crawl_tasks.monitor.problems.alert_rules import rules_file
from crawl_tasks.monitor.problems.registry import KINDS
from crawl_tasks.monitor.progress import Pace, Stored, line_of, plain_text, site_table
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.monitor.top import recent, top_table
from crawl_tasks.web.login import Login
from tests.unit.command_line import run
from tests.unit.test_cli_watching import printed
from tests.unit.test_item_pages import reading, shown
from tests.unit.test_web_accessibility import pages_of_the_crawl
from tests.unit.test_web_pages import populated
from tests.unit.translatable import PACKAGE, sentences

CATALOGUE: dict[str, str] = json.loads((PACKAGE / "monitor" / "zh.json").read_text("utf-8"))
# Commands, settings, keys of a site file, functions and paths are the same in all languages.
NAMES = re.compile(
    r"crawl-tasks( [a-z]+)*|celery -A crawl_tasks [a-z]+|pip install 'crawl-tasks\[archive\]'|make setup|ulimit -n"
    r"|--?[a-z-]+( (dead|parked|[A-Z]+))?|https?://\S+|CONFIG SET [a-z-]+ [a-z]+|Retry-After|[A-Z_]{3,}"
    r"|[\w.{}/-]*[_./{][\w.{}/-]*"
)
CODES = re.compile(r"crawl-tasks [a-z]+|CRAWL_[A-Z_]+|--[a-z]+")
ENGLISH = re.compile(r"[A-Za-z]{2,} [a-z]{2,}")

ENGLISH_EVERYWHERE = re.compile("no rule fits|it answered|read by|there is no site")
"""Texts of a forum, of a site's rules and of an error message."""


@pytest.fixture
def chinese() -> Iterator[None]:
    use_language("zh")
    yield
    use_language("en")


def test_the_catalogue_has_each_sentence_of_the_code_and_no_other() -> None:
    assert sentences() ^ CATALOGUE.keys() == set()


def test_a_translation_has_the_values_and_the_commands_of_its_sentence() -> None:
    # A command or a setting of another name would send people the wrong way.
    wrong = [
        english
        for english, chinese in CATALOGUE.items()
        if values_of(chinese) != values_of(english) or set(CODES.findall(chinese)) != set(CODES.findall(english))
    ]

    assert wrong == []
    # Texts go into pages as they are, so that a character of HTML would be markup there.
    assert [text for text in CATALOGUE.values() if re.search('[<>&"]', text.replace(":<8}", ""))] == []


def values_of(text: str) -> set[tuple[str, str | None]]:
    return {(name, form) for _, name, form, _ in Formatter().parse(text) if name}


def test_without_a_setting_or_a_translation_a_sentence_is_english() -> None:
    use_language("zh")
    chinese = gettext("{count} pages", count=2)
    use_language("en")

    assert (chinese, gettext("{count} pages", count=2)) == ("2 个页面", "2 pages")
    assert gettext("no such sentence") == "no such sentence"


def test_no_page_has_an_english_sentence_left(client: redis.Redis, tmp_path: Path, chinese: None) -> None:
    pages = pages_of_the_crawl(client)
    for base in reading(client, tmp_path, login=Login("")):
        pages |= {path: shown(base, f"/posts{path}") for path in ("", "/search", "/thread?site=bikes&id=7")}

    left = {name: found for name, text in pages.items() if (found := english_in(text))}

    assert left == {}
    assert all('<html lang="zh-CN">' in text for text in pages.values())


def english_in(page: str) -> list[str]:
    """Return the English that a page shows or tells a screen reader, without names and the texts of forums."""
    page = re.sub(r"<style>.*?</style>|<title>[^<]*</title>|<pre.*?</pre>|<bdi>.*?</bdi>", "", page, flags=re.S)
    page = re.sub(r'<div class="text">.*?</div>|<h[23] dir="auto">.*?</h[23]>', "", page, flags=re.S)
    texts = [*re.findall(r">([^<]+)<", page), *re.findall(r'(?:aria-label|data-name)="([^"]*)"', page)]
    return [
        text
        for text in map(unescape, texts)
        if ENGLISH.search(NAMES.sub("", text)) and not ENGLISH_EVERYWHERE.match(text)
    ]


def test_a_terminal_shows_no_english_sentence(client: redis.Redis, chinese: None) -> None:
    snapshot, history = take_snapshot(populated(client)), recent()
    history.note(snapshot)

    shown = "\n".join([
        plain_text(snapshot), line_of(snapshot, Pace(), 60.0, Stored(3, 4)),
        printed(site_table("x", snapshot.sites)), printed(top_table(snapshot, history, 10)),
    ])  # fmt: skip

    # The tables fold remedies where they like, so that a command's words may stand alone.
    left = [line for line in shown.splitlines() if ENGLISH.search(NAMES.sub("", line)) and "crawl-tasks" not in line]
    assert left == []


def test_commands_speak_chinese_by_setting_and_json_does_not(redis_server: RedisServer, client: redis.Redis,
                                                             tmp_path: Path) -> None:  # fmt: skip
    populated(client)
    here = {"home": tmp_path, "redis_url": redis_server.url, "language": "zh"}

    try:
        texts = [run(*words.split(), **here).output for words in COMMANDS]
        asjson = [run(*words.split(), "--json", **here).output for words in COMMANDS]
    finally:
        use_language("en")

    for words, text, row in zip(COMMANDS, texts, asjson, strict=True):
        assert COMMANDS[words] in text
        assert not re.search("[\u4e00-\u9fff]", row.replace("日本", "")), row
    places = [cell_len(line.partition("每 ")[0]) for line in texts[2].splitlines() if "每 " in line]
    assert len(places) > 3
    assert len(set(places)) == 1, "the columns stand below each other, though a Chinese character takes two cells"


COMMANDS = {
    "status": "未完成",
    "check": "个问题",
    "schedule list": "从未扫描",
    "failed list": "显示了 4 个页面；下一步：crawl-tasks failed retry --kind page",
}


def test_another_language_is_refused(tmp_path: Path) -> None:
    said = run("status", home=tmp_path, language="fr")

    assert (said.exit_code, said.output) == (
        2,
        "crawl-tasks: CRAWL_LANGUAGE: Input should be 'en' or 'zh'; it is 'fr'\n",
    )


def test_an_alert_and_the_rules_are_in_the_language_and_names_stay(chinese: None) -> None:
    problem = KINDS["CrawlParked"].problem("demo", count=1, reason="parse")

    text = text_of([News(Change.BEGINS, problem, 0)], "crawl")

    assert text.splitlines()[:2] == ["crawl: 1 条告警", "开始 (警告) CrawlParked: demo：1 个页面被搁置（parse）"]
    assert "alert: CrawlNoProgress" in rules_file()
    assert "15 分钟没有抓到任何页面" in rules_file()
