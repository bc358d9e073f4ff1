"""Titles in the rows of an unknown program: a part of the link, or its text between numbers and other marks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.links import PageLink
from crawl_tasks.discovery.records.record_queries import selector_in
from crawl_tasks.discovery.text.yaml_rules import literal, scalar
from crawl_tasks.parse.values.counts import read_count


def title_of(records: Sequence[LexborNode], links: Sequence[PageLink], headings: Mapping[int, str]) -> str | None:
    """Return the selector of titles where a link holds more than its title, as a linked card does."""
    targets: list[LexborNode | None] = [None] * len(records)
    for row, heading in headings.items():
        if links[row].text == heading or not heading:
            return None
        inner = [node for node in links[row].node.css("*") if " ".join(node.text().split()) == heading]
        targets[row] = inner[-1] if inner else None
    rows = [row for row, target in enumerate(targets) if target is not None]
    return selector_in([records[row] for row in rows], [targets[row] for row in rows]) if rows else None


@dataclass(frozen=True, slots=True)
class LinkText:
    """The regexes of what is before and behind titles in links: `11: Old lamps(48)`."""

    before: str
    behind: str

    def rule(self, css: str) -> str:
        """Return the rule of titles in the elements of a selector."""
        return f"{{css: {scalar(css)}, regex: {scalar(rf'^{self.before}(.+){self.behind}$')}}}"

    def count_rule(self, css: str, links: Sequence[PageLink], known: Mapping[int, int]) -> dict[str, str]:
        """Return the rule of the number behind titles, where it is that of replies, perhaps with the first post."""
        regex = self.behind.replace(r"\d+", r"(\d+)") + "$"
        if self.behind.count(r"\d+") != 1:
            return {}
        matches = ((re.search(regex, links[row].text), count) for row, count in known.items())
        more = {(read_count(match[1]) or 0) - count for match, count in matches if match is not None}
        plus = {0: "", 1: ", plus: -1"}
        if len(known) < 2 or len(more) != 1 or not more <= plus.keys():
            return {}
        return {"reply_count": f"{{css: {scalar(css)}, regex: {scalar(regex)}{plus[more.pop()]}}}"}


def link_text_of(links: Sequence[PageLink], headings: Mapping[int, str]) -> LinkText | None:
    """Return the marks around titles in links, None where they differ in more than their numbers, or without any."""
    pairs = [(links[row].text, heading) for row, heading in headings.items() if heading]
    if len(pairs) < 2 or not all(heading in text and heading != text for text, heading in pairs):
        return None
    around: set[tuple[str, str]] = set()
    for text, heading in pairs:
        before, _, behind = text.partition(heading)
        around.add((_with_any_number(before), _with_any_number(behind)))
    return LinkText(*around.pop()) if len(around) == 1 else None


def _with_any_number(text: str) -> str:
    """Return the regex of a text with other numbers."""
    return re.sub(r"\d+", r"\\d+", literal(text))
