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
