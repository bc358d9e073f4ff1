"""Scripts and style sheets that pages share are kept for a while, and within a size."""

from __future__ import annotations

from crawl_tasks.fetch.browser_requests import KEPT_BYTES, KEPT_S, KeptScripts
from crawl_tasks.fetch.page_requests import PageAnswer

URL = "http://f/app.js"


def test_a_script_is_kept_for_a_while_for_its_own_site() -> None:
    now = [1000.0]
    kept = KeptScripts(clock=lambda: now[0])
    kept.keep("demo", URL, PageAnswer(200, {}, b"one"))

    assert kept.get("other", URL) is None
    now[0] += KEPT_S
    assert kept.get("demo", URL) is not None
    now[0] += 1
    assert kept.get("demo", URL) is None


def test_of_more_than_the_size_those_go_that_were_not_used_the_longest() -> None:
    kept = KeptScripts()
    third = b" " * (KEPT_BYTES // 3)
    for name in ("a", "b", "c"):
        kept.keep("demo", name, PageAnswer(200, {}, third))
    kept.get("demo", "a")
    kept.keep("demo", "d", PageAnswer(200, {}, third))

    assert [name for name in "abcd" if kept.get("demo", name)] == ["a", "c", "d"]


def test_what_failed_or_must_not_be_stored_is_not_kept() -> None:
    kept = KeptScripts()
    kept.keep("demo", "failed", PageAnswer(500, {}, b""))
    kept.keep("demo", "private", PageAnswer(200, {"cache-control": "no-store"}, b""))

    assert kept.get("demo", "failed") is kept.get("demo", "private") is None
