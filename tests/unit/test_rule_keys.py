"""Keys that a rule does not read are refused where a file is checked, with the line."""

from __future__ import annotations

import pytest

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.presets import engine_names, load_engine
from crawl_tasks.sites.rule_keys import ignored_keys

SITE = """\
name: lamps
base: https://lamps.example
boards: [1]
list:
  address: /b/{{board}}/{{page}}
  record: li
  fields: {{post_id: {{attr: id}}, title: b}}
  pages: {pages}
post:
  address: /t/{{post}}
  fields: {{title: {title}, body: p}}
"""


def complaint(*, pages: str = ".pager", title: str = "h1") -> str:
    try:
        parse_site(SITE.format(pages=pages, title=title), "lamps.yaml")
    except SiteError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("pages", "names"),
    [
        ("{css: .pager a, all: true, plus: -1}", "plus is not read"),
        ("{css: .pager a, all: true, regex: '\\d+$'}", "regex is not read"),
        ("{css: .pager a, all: true, map: {last: 3}, default: 1}", "default and map are not read"),
        ("{css: .pager a, all: true, attr: data-n}", ""),
        ("{css: .pager a, all: true}", ""),
        ("{css: .pager, regex: '\\d+$', plus: -1}", ""),
    ],
)
def test_the_largest_number_of_a_pager_is_read_by_its_element_alone(pages: str, names: str) -> None:
    said = complaint(pages=pages)

    assert (names in said) if names else (said == "")
    assert said.startswith("lamps.yaml:8: list.pages: ") or not names


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("{first_of: [h1, h2], regex: a}", "regex is not read beside first_of"),
        ("{first_of: [h1, {css: h2, join: ' '}]}", "post.fields.title.first_of.1: join is not read without `all`"),
        ("{css: h1, join: ' '}", "join is not read without `all`"),
        ("{header: X-Title, all: true}", "all is not read of a header"),
        ("{first_of: [h1, h2], default: none, text: own}", ""),
        ("{css: h1, all: true, join: ' '}", ""),
    ],
)
def test_keys_that_a_rule_does_not_read_are_refused(title: str, names: str) -> None:
    said = complaint(title=title)

    assert (names in said) if names else (said == "")


ELSEWHERE = {
    "list.revision.0": "revision: {css: b, join: ' '}",
    "list.empty": "empty: {css: b, join: ' '}",
    "front.record": "front: {record: {css: li, join: ' '}, fields: {board: a, posts: b}}",
    "front.fields.posts.first_of.0": "front: {record: b, fields: {url: a, posts: {first_of: [{css: b, join: ' '}]}}}",
    "login.success": "login: {cookie_file: FORUM_X, success: {css: b, join: ' '}}",
}


@pytest.mark.parametrize("place", ELSEWHERE)
def test_a_key_that_is_not_read_is_refused_wherever_a_rule_may_be(place: str) -> None:
    stage, text = place.partition(".")[0], ELSEWHERE[place]
    site = SITE.format(pages=".pager", title="h1")
    site = site.replace(f"\n{stage}:\n", f"\n{stage}:\n  {text}\n") if stage in ("list", "post") else f"{site}{text}\n"

    with pytest.raises(SiteError) as refused:
        parse_site(site, "lamps.yaml")

    assert f": {place}: join is not read without `all`" in str(refused.value)


@pytest.mark.parametrize("engine", engine_names())
def test_no_index_of_a_preset_has_a_key_that_is_not_read(engine: str) -> None:
    assert list(ignored_keys(load_engine(engine))) == []


@pytest.mark.parametrize("engine", engine_names())
def test_no_preset_has_a_key_that_is_not_read(engine: str) -> None:
    parse_site(f"name: lamps\nbase: https://lamps.example\nengine: {engine}\nboards: [1]\n", "lamps.yaml")
