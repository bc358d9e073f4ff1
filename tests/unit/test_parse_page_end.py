"""The end of a page: what broke off, in any charset."""

from __future__ import annotations

import pytest

from crawl_tasks.parse.page_end import PageEnd

WHOLE = "<!DOCTYPE html><html><body><div><p>Hello</p></div></body></html>"


@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_page_that_broke_off_is_told_from_a_whole_one_in_any_charset(charset: str) -> None:
    end = PageEnd()
    end.learn()

    assert end.note(WHOLE.encode(charset)) == ("", True)
    note, is_sure = end.note(WHOLE[:-12].encode(charset))
    assert "ends before </html>, which others of this site have" in note
    assert is_sure
