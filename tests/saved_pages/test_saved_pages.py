"""The comparison of saved pages tells right, wrong and refused ones apart, and its list names what it says."""

from __future__ import annotations

from tests.saved_pages.__main__ import judge
from tests.saved_pages.sources import SavedPage, saved_pages

ADDRESS = "https://forum.example/threads/a-title.12/"


def page(text: str = "hello", post: str = "post-101") -> tuple[SavedPage, bytes]:
    body = f"""<html id="XF" data-app="public"><h1 class="p-title-value">A title</h1><article
      class="message message--post js-post" data-author="ann" data-content="{post}" id="js-{post}"><h4
      class="message-name"><a class="username">ann</a></h4><ul
      class="message-attribution-main"><time datetime="2024-06-19T14:17:00+0000">x</time></ul>
      <div class="message-body message-content"><div class="bbWrapper">{text}</div></div></article></html>"""
    return SavedPage("project", "commit", "path", ADDRESS, "XenForo", "en", ""), body.encode()


def test_a_page_that_both_readings_agree_on_is_right() -> None:
    verdict = judge(*page())

    assert (verdict.word, verdict.reading.engine, verdict.posts) == ("right", "xenforo", 1)


def test_a_text_that_the_preset_reads_otherwise_is_wrong() -> None:
    assert judge(*page("<blockquote>a quote of another markup</blockquote>")).word == "wrong"


def test_a_page_without_signs_is_refused() -> None:
    verdict = judge(SavedPage("p", "c", "p", ADDRESS, "none", "en", ""), b"<html><p>hello</html>")

    assert (verdict.word, verdict.reading.refused) == ("refused", "no preset: no sign of a program that has one")


def test_the_list_has_the_pages_that_the_docs_speak_of() -> None:
    pages = list(saved_pages())

    assert len(pages) >= 250
    assert len({page.forum for page in pages}) >= 60
    assert all(len(page.commit) == 40 and page.address.startswith("http") for page in pages)
