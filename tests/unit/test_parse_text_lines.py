"""A footer that has become a part of the last text of each page is told."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.proof.checks import check_trials
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.model import Comment, Fetched, Items, Parsed, Post, Request, Stage
from crawl_tasks.parse.text_lines import tail_of
from tests.unit.pages import BASE, site_parser

FOOTER = "Board index\nPowered by Forum 1.2. Page made in 0.{} s"


def thread(number: int, post: str, *texts: str) -> DryRun:
    request = Request("forum", Stage.POST, f"{number}", f"{BASE}/post/{number}")
    comments = tuple(Comment(f"{number}", f"{number}{at}", 1.0, body=text) for at, text in enumerate(texts))
    items = Items("forum", posts=(Post(f"{number}", 1.0, title=f"title {number}", body=post),), comments=comments)
    return DryRun(request, Fetched(request.address, 200, {}, b"", 1.0), Parsed(items))


@pytest.mark.parametrize(
    ("texts", "tail"),
    [
        (["hello", "words\n" + FOOTER.format(3)], "poweredbyforumpagemadeins"),
        (["words\n" + FOOTER.format(3)], "poweredbyforumpagemadeins"),
        (["hello", "Powered by Forum 1.2."], ""),
        (["one\nsent from my phone", "two\nsent from my phone"], ""),
        (["hello", "words\nbye 1"], ""),
        (["it works as before\nthat is all", "words\nit works as before"], ""),
        (["hello", ""], ""),
    ],
)
def test_the_tail_of_a_page_is_the_line_that_only_its_last_text_has(texts: list[str], tail: str) -> None:
    parsed = thread(1, *texts).parsed

    assert parsed is not None
    assert tail_of(parsed)[0] == tail


@pytest.mark.parametrize(("footers", "is_refuted"), [(4, True), (3, True), (2, False), (0, False)])
def test_one_footer_in_the_last_texts_of_threads_refutes_the_rules(footers: int, is_refuted: bool) -> None:
    trials = []
    for number in range(6):
        end = f"\n{FOOTER.format(number)}" if number < footers else f"\nthat is all from me{'abcdef'[number]}"
        trials.append(thread(number, f"post {number}", f"first {number}", f"last {number}{end}"))

    refuted = [check for check in check_trials(site_parser().site, trials) if not check.holds]

    assert ("last texts of pages end on their own" in [check.name for check in refuted]) == is_refuted


def test_a_line_that_people_write_elsewhere_too_is_no_footer() -> None:
    said = "first we try the simple thing"
    trials = [thread(number, f"post {number}", f"words {'abcdef'[number]}\n{said}") for number in range(5)]
    trials.append(thread(5, f"{said}\nand it works", "fine"))

    refuted = [check.name for check in check_trials(site_parser().site, trials) if not check.holds]

    assert "last texts of pages end on their own" not in refuted
