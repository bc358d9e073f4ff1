"""Front pages: which boards are found, which links are none."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Stage
from crawl_tasks.parse.board_index import FoundBoard, FrontPage, IndexReader
from crawl_tasks.sites.board_index_spec import IndexSpec
from tests.unit.pages import answer, ask, site_parser

SPEC: dict[str, object] = {"record": ".b", "fields": {"url": {"css": "a", "attr": "href"}, "title": "a"}}


def front_page(body: str, spec: dict[str, object] = SPEC) -> FrontPage:
    reader = IndexReader(site_parser().site, IndexSpec.model_validate(spec))
    return reader.read(answer(ask(Stage.LIST), body))


def test_the_id_of_a_board_is_read_from_its_address() -> None:
    found = front_page('<div class=b><a href="/list/7/1#x">Seven</a></div>')

    assert found.boards == (FoundBoard("7", "Seven", "https://forum.example/list/7/1"),)


@pytest.mark.parametrize("href", ["https://elsewhere.example/list/7/1", "/about", "/post/7"])
def test_links_that_are_no_boards_of_this_site_are_left_out_and_named(href: str) -> None:
    found = front_page(f'<div class=b><a href="{href}">x</a></div><div class=b><a href="/list/8/1">8</a></div>')

    assert [board.board_id for board in found.boards] == ["8"]
    assert len(found.left_out) == 1
    assert found.left_out[0].endswith(href)


def test_a_board_that_is_linked_twice_is_found_once() -> None:
    found = front_page('<div class=b><a href="/list/7/1">A</a></div><div class=b><a href="/list/7/1">B</a></div>')

    assert [board.title for board in found.boards] == ["A"]


def test_ids_and_parents_may_have_rules_of_their_own_and_the_zone_is_read() -> None:
    body = '{"zone": "UTC+8", "all": [{"id": 3, "name": "Three", "up": 1}, {"name": "none"}]}'
    fields = {"board": {"json": "id"}, "title": {"json": "name"}, "parent": {"json": "up"}}
    spec = {"format": "json", "record": {"json": "all"}, "fields": fields, "timezone": {"json": "zone"}}

    found = front_page(body, spec)

    assert found == FrontPage((FoundBoard("3", "Three", None, "1"),), (), "UTC+8")


def test_a_page_without_boards_gives_none() -> None:
    assert front_page("<p>nothing</p>") == FrontPage(())


def test_a_zone_that_a_page_of_its_own_names_is_read_there_only() -> None:
    spec = {**SPEC, "timezone": {"json": "zone"}, "timezone_at": "/api"}
    reader = IndexReader(site_parser().site, IndexSpec.model_validate(spec))

    front = reader.read(answer(ask(Stage.LIST), '<div class=b><a href="/list/7/1">Seven</a></div>'))
    apart = reader.zone(answer(ask(Stage.LIST), '{"zone": "Europe/Berlin"}'))

    assert (front.zone, apart) == (None, "Europe/Berlin")
