"""Rules broken on purpose: whatever the program, the pages that `try` reads refute them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from crawl_tasks.discovery.proof.checks import check_trials
from crawl_tasks.discovery.proof.dry_run import DryRun, missing_in, try_site
from crawl_tasks.discovery.proof.site_check import FEW
from crawl_tasks.model import Post, Stage
from crawl_tasks.operate.one_page import site_probe
from crawl_tasks.parse.document import Document
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.field_rules import As, Rule
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import Format, Records, StageSpec
from tests.programs.content import small_forum
from tests.programs.host import served
from tests.programs.test_programs import CASES, Case, found_by_new

CONTENT = small_forum()
PROGRAMS = {name: case for name, case in CASES.items() if "," not in name}
NOTHING, NO_KEY = Rule(css="nothing-has-this-name"), Rule(json="nothing_has_this_name")


Spec = TypeVar("Spec", StageSpec, Records)


def with_fields(spec: Spec, fields: dict[str, Rule]) -> Spec:
    return spec.model_copy(update={"fields": spec.fields | fields})


def with_field(stage: str, name: str, other: str) -> Callable[[Site], Site | None]:
    """Return a change that reads a field by the rule of another one, where the site has both."""

    def change(site: Site) -> Site | None:
        spec, inside = getattr(site, stage), site.post.comments
        if spec is None or spec.parser or not {name, other} <= set(spec.fields):
            return None
        changed = {stage: with_fields(spec, {name: spec.fields[other]})}
        if stage == "comment" and inside is not None and {name, other} <= set(inside.fields):
            comments = with_fields(inside, {name: inside.fields[other]})
            changed["post"] = site.post.model_copy(update={"comments": comments})
        return site.model_copy(update=changed)

    return change


def without_records(stage: str) -> Callable[[Site], Site | None]:
    """Return a change by which no record is found, and every page counts as empty."""

    def change(site: Site) -> Site | None:
        spec = getattr(site, stage)
        if spec is None or spec.parser:
            return None
        nothing, always = (NOTHING, Rule(css="body")) if spec.format is Format.HTML else (NO_KEY, Rule(json="`true`"))
        lost = spec.model_copy(update={"record": nothing, "empty": always})
        post = site.post
        if stage == "comment" and post.comments is not None:
            post = post.model_copy(update={"comments": post.comments.model_copy(update={"record": nothing})})
        return site.model_copy(update={stage: lost, "post": post})

    return change


def of_one_board(site: Site) -> Site | None:
    """Let the rows' selector hold what only the first board has: on the others no row is found, and all count as empty."""
    spec = site.list
    if spec.parser or spec.record is None or not (spec.record.css or spec.record.json_path):
        return None
    first, *others = (one for one in tried_pages(site) if one.request.stage is Stage.LIST and one.request.page == 1)
    shared = {row.title for one in others for row in one.rows if isinstance(row, Post)}
    titles = {row.title for row in first.rows if isinstance(row, Post)} - shared
    assert first.page is not None
    if spec.record.json_path:
        own = json.dumps([row.post_id for row in first.rows if isinstance(row, Post) and row.title in titles])
        rule = f"({spec.record.json_path})[?contains(`{own}`, to_string({spec.fields['post_id'].json_path}))]"
        rows = spec.record.model_copy(update={"json_path": rule})
        return site.model_copy(update={"list": spec.model_copy(update={"record": rows, "empty": Rule(json="`true`")})})
    links = {
        node.attributes["href"] for node in Document(first.page).root.css("a[href]") if node.text().strip() in titles
    }
    if not links:
        return None
    record = (
        f":is({spec.record.css}):has({', '.join(f'a[href={json.dumps(link)}]' for link in sorted(map(str, links)))})"
    )
    rows = spec.record.model_copy(update={"css": record})
    return site.model_copy(update={"list": spec.model_copy(update={"record": rows, "empty": Rule(css="body")})})


def to_itself(site: Site) -> Site | None:
    """Let the pager of lists lead to the page that shows it."""
    spec = site.list
    if spec.parser:
        return None
    first = spec.first_address or re.sub(r"\{page\}|\{offset:\d+\}", "0", spec.address or "") or None
    always = Rule(json="`true`") if spec.format is Format.JSON else Rule(css="html", attr="no-such", default="#")
    pager = {"next": always, "pages": None, "total": None, "address": first, "first_address": None}
    return site.model_copy(update={"list": spec.model_copy(update=pager)})


def comments_to_themselves(site: Site) -> Site | None:
    """Let the pager of threads lead to the page that shows it."""
    post, comment = site.post, site.comment
    if comment is None or post.parser or comment.parser or comment.first_page == 1:
        return None
    always = (
        Rule(json="`true`")
        if comment.format is Format.JSON
        else Rule(css="html", attr="no-such", default="#", as_=As.URL)
    )
    pager = {"next": always, "pages": None, "total": None}
    again = comment.model_copy(update=pager | {"address": post.address})
    return site.model_copy(update={"post": post.model_copy(update=pager), "comment": again})


def same_id(spec: StageSpec | Records) -> Rule:
    is_json = isinstance(spec, StageSpec) and spec.format is Format.JSON
    return Rule(json="type(@)") if is_json else Rule(css="nothing-has-this-name", default="4711")


def with_ids_that_meet(site: Site) -> Site | None:
    """Let all threads of a page have one id."""
    spec = site.list
    if spec.parser:
        return None
    return site.model_copy(update={"list": with_fields(spec, {"post_id": same_id(spec)})})


def with_comments_that_meet(site: Site) -> Site | None:
    """Let all comments of a page have one id."""
    spec, inside = site.comment, site.post.comments
    if spec is None or spec.parser:
        return None
    changed = {"comment": with_fields(spec, {"comment_id": same_id(spec)})}
    if inside is not None:
        comments = with_fields(inside, {"comment_id": same_id(site.post)})
        changed["post"] = site.post.model_copy(update={"comments": comments})
    return site.model_copy(update=changed)


BROKEN = {
    "pager to itself": to_itself,
    "pager of threads to itself": comments_to_themselves,
    "ids that meet": with_ids_that_meet,
    "ids of comments that meet": with_comments_that_meet,
    "rows of one board": of_one_board,
    "author = title": with_field("list", "author", "title"),
    "id = author": with_field("list", "post_id", "author"),
    "title = author": with_field("list", "title", "author"),
    "title of the page = author": with_field("post", "title", "author"),
    "author of the page = title": with_field("post", "author", "title"),
    "text = title": with_field("post", "body", "title"),
    "text of comments = author": with_field("comment", "body", "author"),
    "author of comments = text": with_field("comment", "author", "body"),
    "replies = views": with_field("list", "reply_count", "view_count"),
    "no row, and called empty": without_records("list"),
    "no comment, and called empty": without_records("comment"),
}


NEEDED = {
    "replies = views": "view_count",
    "pager of threads to itself": "a later page",
    "ids of comments that meet": "several comments",
    "no comment, and called empty": "several comments",
    "rows of one board": "several boards",
}
"""What the pages that are tried must show for a rule to be seen broken."""


def shown_by(site: Site) -> Iterator[str]:
    """Yield the names of values, and of what else the tried pages show."""
    tried = tried_pages(site)
    lists = [one for one in tried if one.request.stage is Stage.LIST]
    if len({one.request.key for one in lists for row in one.rows if isinstance(row, Post) and row.title}) > 1:
        yield "several boards"
    for one in tried:
        yield from (name for row in one.rows for name, value in row._asdict().items() if value)
        comments = one.parsed.items.comments if one.parsed else ()
        if len(comments) >= FEW:
            yield "several comments"
        if one.request.stage is Stage.COMMENT and one.request.page > 1:
            yield "a later page"


def tried_pages(site: Site) -> list[DryRun]:
    opened = compile_site(site, None)
    return list(try_site(site_probe(opened, load_settings()), opened))


def verdict(site: Site) -> list[str]:
    """Return what `try` would say against a site file."""
    trials = tried_pages(site)
    return missing_in(trials) + [str(one) for one in check_trials(site, trials) if not one.holds]


@pytest.mark.parametrize("case", PROGRAMS.values(), ids=PROGRAMS)
def test_a_broken_rule_is_refuted(case: Case, tmp_path: Path) -> None:
    unnoticed, tried = [], 0
    with served(case.make(CONTENT), case.below) as host:
        site = found_by_new(host, case, tmp_path)
        assert verdict(site) == []
        shown = set(shown_by(site))
        for name, change in BROKEN.items():
            broken = change(site)
            if broken is not None and NEEDED.get(name, "post_id") in shown:
                tried += 1
                unnoticed += [] if verdict(broken) else [name]

    assert tried
    assert unnoticed == []
