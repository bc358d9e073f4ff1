"""A page between fetch and commit: what the log says of it."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Lease, Stage
from crawl_tasks.registry.site_registry import CompiledSite, compile_site
from crawl_tasks.worker.page_reading import read_page
from tests.unit.pages import answer, ask, site_parser


def opened() -> CompiledSite:
    return compile_site(site_parser().site, "https://me.example")


def read(site: CompiledSite, body: str) -> None:
    request = ask(Stage.LIST)
    read_page(site, Lease(1, 1, 1, request, "v", 0, 0), answer(request, body))


def row(one: object) -> str:
    return f"<li class=row data-id='{one}'><a class=t>T{one}</a><b class=n>1</b></li>"


def test_what_a_page_was_read_without_is_logged_once_for_each_kind(caplog: pytest.LogCaptureFixture) -> None:
    site = opened()

    read(site, row(7) + row("a b"))
    read(site, row(8) + row(9) + row("c d") + row("it's e"))
    read(site, row(8) + "<li class=row>advert")

    assert [record.__dict__["remark"] for record in caplog.records] == [
        "1 of 2 records were left out: their post_id holds a blank (the first: 'a b')",
        "1 of 2 records without post_id were left out",
    ]
    assert {record.levelname for record in caplog.records} == {"WARNING"}


def test_a_new_version_of_a_site_is_remarked_upon_anew(caplog: pytest.LogCaptureFixture) -> None:
    for site in (opened(), opened()):
        read(site, row(7) + row("a b"))

    assert len(caplog.records) == 2


@pytest.mark.parametrize("cut", ["T7 and...", "T7 and…", "T7 [...]"])
def test_a_title_that_a_list_cuts_is_left_to_the_thread(cut: str) -> None:
    site, request = opened(), ask(Stage.LIST)
    body = row(7).replace(">T7<", f">{cut}<") + row(8)

    posts = read_page(site, Lease(1, 1, 1, request, "v", 0, 0), answer(request, body)).items.posts

    assert [one.title for one in posts] == [None, "T8"]


def test_a_title_that_lists_alone_tell_is_kept_although_it_is_cut() -> None:
    site, request = opened().site, ask(Stage.LIST)
    without = site.post.model_copy(
        update={"fields": {name: one for name, one in site.post.fields.items() if name != "title"}}
    )
    alone = compile_site(site.model_copy(update={"post": without}), "https://me.example")
    body = row(7).replace(">T7<", ">T7 and...<")

    posts = read_page(alone, Lease(1, 1, 1, request, "v", 0, 0), answer(request, body)).items.posts

    assert [one.title for one in posts] == ["T7 and..."]
