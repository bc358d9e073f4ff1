"""Text, harmless HTML, and the charset of a page."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from crawl_tasks.model import Fetched
from crawl_tasks.parse.values.charset import decode
from crawl_tasks.parse.values.text import clean_html, lines, one_line


def serialised(html: str) -> str:
    node = LexborHTMLParser(f"<div>{html}</div>").css_first("div")
    return (node.html or "") if node else ""


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain", "plain"),
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("<p>one\n  more</p>\n<p>two</p>", "one more\ntwo"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("one<br><br><br>two", "one\ntwo"),
        ("a <b>b</b><i>c</i> d", "a bc d"),
        ("<ul><li>one<li>two</ul>", "one\ntwo"),
        ("<div>one<div>two</div>three</div>", "one\ntwo\nthree"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a b\nc"),
        ("<h1>head</h1>text<blockquote>quote</blockquote>", "head\ntext\nquote"),
        ("&lt;T&gt; &amp;amp; &quot;x&quot; &nbsp; y", '<T> &amp; "x" y'),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("<a href='/x?a=1&b=2' title='a>b'>link</a> on", "link on"),
        ("<span title='\"quoted\" > sign'>x</span>", "x"),
        ("<pre>if a:\n    b\n</pre>end", "if a:\n    b\nend"),
        ("<script>alert('<p>')</script>x<style>p{}</style><!-- no --><template>t</template>", "x"),
        ("<noscript>n</noscript>x", "x"),
        ("<img class='emoji' alt='😀' src='/e.png'> hi", "😀 hi"),
        ("<img class='smilies' alt=':)'> hi", ":) hi"),
        ("<img alt='👍🏽'>", "👍🏽"),
        ("<img src='/photo.jpg' alt='my photo of the sea'> hi", "hi"),
        ("\u3000\u3000第一段。<br>\u3000\u3000第二段。", "第一段。\n第二段。"),
        ("cafe\u0301", "café"),
        ("a\tb\r\nc\fd", "a b c d"),
        ("<x-odd data-a='1'>odd</x-odd> tag", "odd tag"),
        ("", ""),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ],
)
def test_text_is_what_a_reader_sees(html: str, text: str) -> None:
    assert lines(serialised(html)) == text


def test_a_single_line_has_single_blanks() -> None:
    assert one_line("  a\n\t b\u3000c\xa0 ") == "a b c"


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ("<p onclick='x()' class=a style='b'>hi</p>", "<p>hi</p>"),
        ("<a href='https://a.example/?x=1&amp;y=2' onclick=x target=_blank>l</a>", '<a href="https://a.example/?x=1&amp;y=2">l</a>'),
        ("<a href='/local'>l</a>", '<a href="/local">l</a>'),
        ("<a href='javascript:alert(1)'>l</a>", "<a>l</a>"),
        ("<a href='java&#10;script:alert(1)'>l</a>", "<a>l</a>"),
        ("<a href=' &#1;JaVaScRiPt:alert(1)'>l</a>", "<a>l</a>"),
        ("<a href='data:text/html,x'>l</a>", "<a>l</a>"),
        ("<img src=x onerror=alert(1)>", '<img src="x">'),
        ("<script>alert('</p>')</script><b>x</b>", "<b>x</b>"),
        ("<svg><script>a</script></svg><math><mi>x</mi></math>y", "y"),
        ("<iframe src='//e.example'></iframe>x", "x"),
        ("<style><img src=x onerror=a></style>x", "x"),
        ("<!-- <b>c</b> -->x", "x"),
        ("<form><input value=x><button>b</button></form>", "b"),
        ("a &lt;script&gt; b", "a &lt;script&gt; b"),
        ("<span title='&quot;&gt;<script>'>x</span>", "<span>x</span>"),
        ("<a title='&quot;&gt;<script>'>x</a>", '<a title="&quot;&gt;&lt;script&gt;">x</a>'),
    ],
)  # fmt: skip
def test_html_keeps_only_what_is_harmless(html: str, kept: str) -> None:
    node = LexborHTMLParser(f"<div>{html}</div>").css_first("div")

    assert clean_html((node.inner_html or "") if node else "") == kept


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["<", ">", '"', "'", "&", "<p ", "<script>", "</script>", "<a href=", "javascript:", "onerror=", "<img ",
             "<!--", "-->", "<svg>", "<style>", "</style>", "<math>", "&lt;", "&#x3c;", " ", "x", "<title>", "]]>"]
        ),
        max_size=25,
    )
)  # fmt: skip
def test_no_soup_gets_anything_live_through(pieces: list[str]) -> None:
    cleaned = clean_html(serialised("".join(pieces)))

    tree = LexborHTMLParser(f"<div>{cleaned}</div>")
    for node in tree.css("div *"):
        assert node.tag in {"p", "a", "img", "div", "head", "body"}
        assert all(not name.startswith("on") for name in node.attributes)
        address = re.sub(r"\s", "", node.attributes.get("href") or node.attributes.get("src") or "")
        assert not address.lower().startswith("javascript:")


@settings(deadline=None)
@given(st.text(max_size=200))
@example("an icon \ue000\ue001")
@example("\ufdd0\ufdd1")
def test_text_goes_through_whole_but_for_blanks(text: str) -> None:
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace("\0", "")

    found = lines(serialised(shown))

    assert "".join(found.split()) == "".join(one_line(shown_back(shown)).split())


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<br>", "<b>", "</b>", "<li>", "<table>", "<tr>", "<td>", "<x-y>", "<a title='a>b'>",
             "&lt;", "&amp;nbsp;", "&nbsp;", "&#9;", "&#13;", "\n", " ", "  ", "x", "字", "e\u0301", "\u0338", "\u3000",
             "\u2028"]
        ),
        max_size=25,
    )
)  # fmt: skip
def test_lines_are_cut_where_blocks_begin_and_end(pieces: list[str]) -> None:
    html = serialised("".join(pieces))

    found = lines(html)

    breaks = re.sub("</?(?:p|br|li|div|table|tbody|tr)>", "\v", re.sub("</?td>", " ", " ".join(html.split())))
    bare = [unescape(re.sub("<[^>]*>", "", one)) for one in breaks.split("\v")]
    assert found == unicodedata.normalize("NFC", "\n".join(filter(None, [" ".join(one.split()) for one in bare])))


def shown_back(html: str) -> str:
    return LexborHTMLParser(f"<div>{html}</div>").css_first("div").text()  # type: ignore[union-attr]  # it is there


CHINESE = "今天天气很好，我们去公园散步。" * 20


def page(body: bytes, content_type: str | None = None) -> Fetched:
    headers = {} if content_type is None else {"content-type": content_type}
    return Fetched("https://forum.example/", 200, headers, body, 0.0)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (CHINESE.encode(), "text/html; charset=utf-8"),
        (CHINESE.encode(), 'text/html; charset="UTF-8"'),
        (CHINESE.encode(), None),
        (b"\xef\xbb\xbf" + CHINESE.encode(), "text/html; charset=gbk"),
        (CHINESE.encode("utf-16"), "text/html"),
        (CHINESE.encode("gb18030"), "text/html; charset=gb2312"),
        (CHINESE.encode("gbk"), "text/html; charset=GBK"),
        (b'<meta charset="gb2312">' + CHINESE.encode("gb18030"), "text/html"),
        (b'<meta http-equiv=content-type content="text/html; charset=gbk">' + CHINESE.encode("gbk"), None),
        (b"<!-- <meta charset=latin1> -->" + CHINESE.encode(), None),
        (CHINESE.encode("gbk"), "text/html; charset=utf-8"),
        (CHINESE.encode("gbk"), "text/html; charset=klingon"),
        (CHINESE.encode("gbk"), None),
        (CHINESE.encode("big5", "ignore") * 2, "text/html; charset=big5"),
    ],
)
def test_the_charset_is_found_as_a_browser_finds_it(body: bytes, content_type: str | None) -> None:
    text, _ = decode(page(body, content_type))

    assert "今天天" in text
    assert "\ufffd" not in text


def test_the_site_file_may_overrule_the_header() -> None:
    assert decode(page(CHINESE.encode("gbk"), "text/html; charset=latin1"), "gbk") == (CHINESE, False)


def test_a_few_bad_bytes_are_damage_and_not_another_charset() -> None:
    text, clean = decode(page(CHINESE.encode() + b"\xff" + CHINESE.encode(), "text/html; charset=utf-8"))

    assert text == f"{CHINESE}\ufffd{CHINESE}"
    assert not clean


@settings(deadline=None)
@given(st.binary(max_size=300), st.sampled_from([None, "utf-8", "gbk", "shift_jis", "utf-7", "hex", "x-user-defined"]))
def test_no_bytes_make_the_decoder_fail(body: bytes, charset: str | None) -> None:
    text, _ = decode(page(body, f"text/html; charset={charset}" if charset else None))

    assert isinstance(text, str)
