"""Proposals: titles and numbers of replies that stand in one text, the link to a thread."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.links.links import PageLink
from crawl_tasks.discovery.records.link_text import link_text_of
from crawl_tasks.model import Stage
from crawl_tasks.parse.document import Document
from tests.unit.pages import answer, ask

TITLES = ("Old lamps", "1984 (a book)", "灯")


def links(form: str) -> list[PageLink]:
    request = ask(Stage.LIST)
    html = "".join(f"<a href=/t/{at}>{form.format(at, title, at * 7)}</a>" for at, title in enumerate(TITLES, 1))
    nodes = Document(answer(request, html)).root.css("a")
    return [PageLink(node, f"/t/{at}", "/t/#", (str(at),), node.text()) for at, node in enumerate(nodes, 1)]


@pytest.mark.parametrize(
    ("form", "title", "count"),
    [
        ("{0}: {1}({2})", r"'^\d+:\s(.+)\(\d+\)$'", r"{css: a, regex: '\((\d+)\)$', plus: -1}"),
        ("{1} - {2} posts", r"'^(.+)\s-\s\d+\sposts$'", r"{css: a, regex: '\s-\s(\d+)\sposts$', plus: -1}"),
        ("Topic: {1}", r"'^Topic:\s(.+)$'", None),
        ("{1} ({2}/{0})", r"'^(.+)\s\(\d+/\d+\)$'", None),
    ],
)
def test_marks_around_titles_are_left_out_and_a_number_behind_counts(form: str, title: str, count: str | None) -> None:
    shown = links(form)
    found = link_text_of(shown, dict(enumerate(TITLES)))

    assert found is not None
    assert found.rule("a") == f"{{css: a, regex: {title}}}"
    assert found.count_rule("a", shown, {0: 6, 1: 13, 2: 20}).get("reply_count") == count


@pytest.mark.parametrize("known", [{0: 6, 1: 13, 2: 19}, {0: 5, 1: 12}, {0: 6}])
def test_a_number_that_is_not_that_of_the_replies_counts_nothing(known: dict[int, int]) -> None:
    shown = links("{0}: {1}({2})")
    found = link_text_of(shown, dict(enumerate(TITLES)))

    assert found is not None
    assert found.count_rule("a", shown, known) == {}


@pytest.mark.parametrize("form", ["{1}", "{0} {1} by Ann{2}"])
def test_texts_that_differ_in_more_than_numbers_have_no_marks(form: str) -> None:
    shown = links(form)
    mixed = [*shown[:2], links("Re: {1}")[2]]

    assert link_text_of(mixed, dict(enumerate(TITLES))) is None
