"""Addresses: one canonical spelling, refusals with a reason, fingerprints that do not collide by construction."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawl_tasks.errors import RefusedAddress
from crawl_tasks.urls import MAX_LENGTH, fingerprint, host_of, normalize, origin_of

BASE = "https://forum.example/board/list/1?page=2"
CANONICAL = re.compile(r"https?://[a-z0-9._\-\[\]:]+/[!-~]*")
FORBIDDEN = re.compile(r"[\s\"'\\<>`{}|^\x00-\x20\x7f-\U0010ffff]")

REFUSED = {
    "empty": "",
    "blank": " \t\n",
    "no scheme": "example.com/x",
    "no scheme, with port": "example.com:80/x",
    "scheme relative without base": "//example.com/x",
    "query without base": "?a=1",
    "fragment without base": "#x",
    "ftp": "ftp://example.com/",
    "file": "file:///etc/passwd",
    "gopher": "gopher://example.com/",
    "dict": "dict://example.com/",
    "data": "data:text/html,x",
    "javascript": "javascript:alert(1)",
    "javascript broken by a newline": "java\nscript:alert(1)",
    "mailto": "mailto:a@example.com",
    "blob": "blob:https://example.com/1",
    "ws": "ws://example.com/",
    "chrome": "chrome://settings",
    "view-source": "view-source:http://example.com/",
    "jar": "jar:http://example.com/x!/",
    "user and password": "http://user:pw@example.com/",
    "user": "http://good@evil.example/",
    "host as user": "http://good:80@evil.example",
    "three slashes": "http:///evil.example",
    "one slash": "http:/evil.example",
    "no slash": "http:evil.example",
    "NUL in host": "http://exa\0mple.com/",
    "NUL in path": "http://example.com/\0a",
    "0x01 in path": "http://example.com/a\x01b",
    "blank in host": "http://exa mple.com/",
    "percent in host": "http://%65xample.com/",
    "port 0": "http://example.com:0/",
    "port 65536": "http://example.com:65536/",
    "port 99999": "http://example.com:99999/",
    "long port": "http://example.com:" + "0" * 70 + "80/",
    "negative port": "http://example.com:-1/",
    "port with a letter": "http://example.com:80a/",
    "full-width port": "http://example.com:８０８０/",
    "no host": "http://",
    "only a port": "http://:80/",
    "dot": "http://./",
    "dots": "http://../",
    "empty label": "http://a..b/",
    "two trailing dots": "http://a../",
    "label of 64": f"http://{'a' * 64}.com/",
    "name of 254": f"http://{'a.' * 126}aa/",
    "broken punycode": "http://xn--a/",
    "short IPv4": "http://127.1/",
    "IPv4 as a number": "http://2130706433/",
    "hex IPv4": "http://0x7f000001/",
    "octal IPv4": "http://0177.0.0.1/",
    "zero": "http://0/",
    "bare hex mark": "http://1.0x/",
    "IPv4 too large": "http://256.1.1.1/",
    "IPv6 zone": "http://[fe80::1%25lo]/",
    "mapped IPv4": "http://[::ffff:127.0.0.1]/",
    "mapped IPv4 in hex": "http://[::ffff:7f00:1]/",
    "unclosed bracket": "http://[::1/",
    "text after bracket": "http://[::1]x/",
    "no IPv6": "http://[::g]/",
    "too long": "http://example.com/" + "a" * 4_100,
    "8 KB": "http://example.com/" + "a" * 8_192,
    "10 MB": "http://example.com/" + "a" * 10_000_000,
    "too long once encoded": "http://example.com/" + "好" * 500,
    "10,000 parameters": "http://example.com/?" + "a&" * 2_000,
    "500 segments": "http://example.com" + "/a1/b2" * 250,
    "the same segment again and again": "http://example.com/" + "a/" * 20,
    "the same pair again and again": "http://example.com/" + "forum/thread/" * 8,
    "lone surrogate": "http://example.com/\ud800",
}

READ = {
    "upper case, default port, dots, fragment": (
        "HTTP://EXAMPLE.com:80/a/../b/./c?b=2&a=1#f",
        "http://example.com/b/c?b=2&a=1",
    ),
    "https default port": ("https://example.com:443", "https://example.com/"),
    "other port": ("https://example.com:80/", "https://example.com:80/"),
    "port with leading zeros": ("http://example.com:0080/", "http://example.com/"),
    "empty port": ("http://example.com:/", "http://example.com/"),
    "no path": ("http://example.com?a=1", "http://example.com/?a=1"),
    "empty query": ("http://example.com/x?", "http://example.com/x"),
    "order and repeats of the query": (
        "http://example.com/?b=1&a=2&a=1&c&d=&&",
        "http://example.com/?b=1&a=2&a=1&c&d=&&",
    ),
    "fragment that hides a host": ("http://evil.example#@good.example", "http://evil.example/"),
    "fragment that looks like a path": ("http://example.com/#!/post/1", "http://example.com/"),
    "order stays, repeats too": ("http://example.com/?b&a=&b=1&b=2", "http://example.com/?b&a=&b=1&b=2"),
    "plus, blank and their codes": ("http://example.com/?q=a+b%20c%2Bd", "http://example.com/?q=a+b%20c%2Bd"),
    "backslash before at": ("http://evil.example\\@good.example", "http://evil.example/@good.example"),
    "backslashes for slashes": ("http:\\\\evil.example\\x", "http://evil.example/x"),
    "backslash in query": ("http://example.com/?a\\b", "http://example.com/?a%5Cb"),
    "blanks around": (" \x00 http://example.com/ \n", "http://example.com/"),
    "breaks within": ("ht\ntp://exam\tple.com/a\r\nb", "http://example.com/ab"),
    "encoded line end stays": ("http://example.com/%0d%0aX:?%00", "http://example.com/%0D%0AX:?%00"),
    "tilde": ("http://example.com/%7Euser?%7e", "http://example.com/~user?~"),
    "encoded slash stays": ("http://example.com/a%2fb", "http://example.com/a%2Fb"),
    "not UTF-8 stays": ("http://example.com/%e4?q=%bb%D8", "http://example.com/%E4?q=%BB%D8"),
    "broken percent": ("http://example.com/%zz?%", "http://example.com/%25zz?%25"),
    "percent that would join": ("http://example.com/%2%35", "http://example.com/%2525"),
    "plus and blank": ("http://example.com/?a+b c", "http://example.com/?a+b%20c"),
    "quotes": ("http://example.com/'\"?'\"", "http://example.com/%27%22?%27%22"),
    "text": ("http://example.com/中?q=文", "http://example.com/%E4%B8%AD?q=%E6%96%87"),
    "brackets in query": ("http://example.com/?a[]=1", "http://example.com/?a[]=1"),
    "encoded dots": ("http://example.com/a/%2e%2E/b/%2e", "http://example.com/b/"),
    "dots above the root": ("http://example.com/../../x", "http://example.com/x"),
    "dots at the end": ("http://example.com/a/b/..", "http://example.com/a/"),
    "empty segments": ("http://example.com//a//b", "http://example.com//a//b"),
    "hidden file": ("http://example.com/.well-known/...", "http://example.com/.well-known/..."),
    "umlaut": ("http://bücher.de/", "http://xn--bcher-kva.de/"),
    "full width and ideographic stop": ("http://ｅxample。com/", "http://example.com/"),
    "trailing dot": ("http://LOCALHOST./", "http://localhost/"),
    "underscore and hyphen": ("http://_x.-a.com/", "http://_x.-a.com/"),
    "circled numbers": ("http://①②⑦.⓪.⓪.①/", "http://127.0.0.1/"),
    "IPv6": ("http://[0:0::0:1]:80/x", "http://[::1]/x"),
    "IPv6 with port": ("http://[2001:DB8::1]:8080", "http://[2001:db8::1]:8080/"),
    "three repeats are no loop": (
        "http://example.com/a/a/a/b/c/d/e/f/g/h/i",
        "http://example.com/a/a/a/b/c/d/e/f/g/h/i",
    ),
}

FROM_A_PAGE = {
    "root": ("/post/1", "https://forum.example/post/1"),
    "root with fragment": ("/post/1#pid9", "https://forum.example/post/1"),
    "same directory": ("thread-1-1-1.html", "https://forum.example/board/list/thread-1-1-1.html"),
    "dots": ("../post/1", "https://forum.example/board/post/1"),
    "query": ("?page=3", "https://forum.example/board/list/1?page=3"),
    "empty query": ("?", "https://forum.example/board/list/1"),
    "fragment": ("#x", "https://forum.example/board/list/1?page=2"),
    "scheme relative": ("//img.example/x", "https://img.example/x"),
    "scheme relative with backslashes": ("\\\\img.example/x", "https://img.example/x"),
    "absolute": ("http://other.example", "http://other.example/"),
    "colon after a slash": ("/a:b", "https://forum.example/a:b"),
    "dot file": ("/.x/./y", "https://forum.example/.x/y"),
}


@pytest.mark.parametrize("address", REFUSED.values(), ids=REFUSED.keys())
def test_address_is_refused_with_a_short_reason(address):
    with pytest.raises(RefusedAddress) as refused:
        normalize(address)

    assert 0 < len(str(refused.value)) < 300
    assert "pw" not in str(refused.value)


def test_refused_password_is_explained_and_not_shown():
    with pytest.raises(RefusedAddress, match="user name or password") as refused:
        normalize("http://user:hunter2@example.com/")

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("value", [None, 0, [], b"http://example.com/"])
def test_what_is_not_text_is_refused(value):
    with pytest.raises(RefusedAddress, match="must be text"):
        normalize(value)


@pytest.mark.parametrize(("address", "expected"), READ.values(), ids=READ.keys())
def test_absolute_address_has_one_spelling(address, expected):
    once = normalize(address)

    assert once == expected
    assert normalize(once) == once


@pytest.mark.parametrize(("address", "expected"), FROM_A_PAGE.values(), ids=FROM_A_PAGE.keys())
def test_reference_is_completed_from_its_page(address, expected):
    assert normalize(address, BASE) == expected


@pytest.mark.parametrize("address", ["", "  ", "\n"])
def test_an_empty_reference_does_not_stand_for_its_page(address):
    with pytest.raises(RefusedAddress, match="is empty"):
        normalize(address, BASE)


@pytest.mark.parametrize("base", ["", "/x", "ftp://example.com/", "http://u:p@example.com/"])
def test_reference_on_a_bad_page_is_refused(base):
    with pytest.raises(RefusedAddress):
        normalize("/x", base)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/x?PHPSESSID=1&tid=2", "/x?tid=2"),
        ("/x?phpsessid=1", "/x"),
        ("/x?tid=2&utm_source=a&utm_medium", "/x?tid=2"),
        ("/x;jsessionid=AB?tid=2", "/x?tid=2"),
        ("/x;v=1/y", "/x;v=1/y"),
        ("/x?asid=1", "/x?asid=1"),
        ("/x?a=1&&b", "/x?a=1&&b"),
    ],
)
def test_named_parameters_are_dropped_and_no_others(address, expected):
    names = ("PHPSESSID", "sid", "jsessionid", "utm_*")

    assert normalize(address, BASE, drop_params=names) == "https://forum.example" + expected


def test_query_is_encoded_as_the_page_is():
    assert (
        normalize("/中?q=回复☃", BASE, encoding="gbk") == "https://forum.example/%E4%B8%AD?q=%BB%D8%B8%B4%26%239731%3B"
    )


def test_unknown_charset_is_refused():
    with pytest.raises(RefusedAddress, match="no charset"):
        normalize("/?q=é", BASE, encoding="klingon")


@pytest.mark.parametrize(
    ("address", "host", "origin"),
    [
        ("https://a.example/x:1", "a.example", "https://a.example"),
        ("http://a.example:8080/", "a.example", "http://a.example:8080"),
        ("http://[::1]/", "[::1]", "http://[::1]"),
        ("http://[::1]:81/", "[::1]", "http://[::1]:81"),
    ],
)
def test_host_and_origin(address, host, origin):
    assert (host_of(address), origin_of(address)) == (host, origin)


URLISH = st.text(st.sampled_from("http:/\\?#[]@%.a0xZé中\0\n\t '\"<&=;\ud800-_~"), max_size=60)


@given(st.one_of(st.text(max_size=200), URLISH, URLISH.map("http://a.example/".__add__), URLISH.map("http://".__add__)))
def test_any_text_is_refused_or_becomes_canonical(address):
    for base in (None, BASE):
        try:
            once = normalize(address, base)
        except RefusedAddress:
            continue

        assert CANONICAL.fullmatch(once)
        assert not FORBIDDEN.search(once)
        assert len(once) <= MAX_LENGTH
        assert normalize(once) == once
        assert normalize(once, "http://other.example/") == once


@given(URLISH.map("http://a.example/".__add__))
@example("http://a.example/.;0")
@example("http://a.example/b/..;a=1/c")
def test_dropping_parameters_is_idempotent_too(address):
    try:
        once = normalize(address, drop_params=("a", "0*"))
    except RefusedAddress:
        return

    assert normalize(once, drop_params=("a", "0*")) == once
    assert normalize(once) == once


@given(
    st.tuples(st.text(), st.text(), st.integers(0), st.text()),
    st.tuples(st.text(), st.text(), st.integers(0), st.text()),
)
def test_fingerprint_is_a_63_bit_number_and_tells_requests_apart(one, other):
    assert 0 <= fingerprint(*one) < 2**63
    assert (fingerprint(*one) == fingerprint(*other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("post", "1", 12, ""), ("post", "11", 2, "")),
        (("a", "b", 1, "2"), ("ab", "", 1, "2")),
        (("p", "1:2", 3, ""), ("p", "1", 2, "3")),
    ],
)
def test_fields_do_not_run_into_each_other(one, other):
    assert fingerprint(*one) != fingerprint(*other)


def test_fingerprint_never_changes_between_versions():
    assert fingerprint("post", "123", 1, "r5") == 8_642_615_928_743_520_519
