"""Secrets of a session, in whatever way a page writes them."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from crawl_tasks.fetch.login_sessions import Session
from crawl_tasks.fetch.redaction import items_without, redacted
from crawl_tasks.model import Comment, Fetched, Items, Post

PASSWORD = 'p&ss <wörd> "5/7" it\'s'


def page(body: bytes, *secrets: str) -> Fetched:
    session = Session(secrets=secrets, origin="https://forum.example")
    return Fetched("https://forum.example/post/1", 200, {}, body, 0.0, secrets=session.hidden())


@pytest.mark.parametrize(
    "write",
    [
        str,
        html.escape,
        lambda text: html.escape(text, quote=False),
        lambda text: html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        lambda text: html.escape(text, quote=False).encode("ascii", "xmlcharrefreplace").decode(),
        lambda text: json.dumps(text)[1:-1],
        lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
        lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
        lambda text: quote(text, safe=""),
        quote_plus,
    ],
)
def test_a_secret_is_cut_out_of_bodies_and_texts_in_each_way_of_writing(write: Callable[[str], str]) -> None:
    kept = page(f"<p>mine is {write(PASSWORD)}.</p>".encode(), PASSWORD)
    post = Post("1", body_html=f"mine is {write(PASSWORD)}.")

    clean, count = items_without(Items("demo", posts=(post,)), kept)

    assert redacted(kept).body == b"<p>mine is ***.</p>"
    assert (clean.posts[0].body_html, count) == ("mine is ***.", {"password": 1})


@pytest.mark.parametrize("charset", ["utf-8", "gbk", "big5", "euc_jp"])
def test_a_secret_is_cut_out_of_pages_in_other_charsets(charset: str) -> None:
    kept = page("<p>我的密碼大家大家大家</p>".replace("我的", "").encode(charset), "密碼大家大家大家")
    post = Post("1", body="密碼大家大家大家")

    clean, count = items_without(Items("demo", posts=(post,)), kept)

    assert redacted(kept).body == b"<p>***</p>"
    assert (clean.posts[0].body, count) == ("***", {"password": 1})


def test_texts_of_rules_and_ids_of_authors_are_cut_too_and_addresses_are_not() -> None:
    secret = "9fK3xQ7ZtR2mB8vL"
    address = f"https://forum.example/post/1?sid={secret}"
    post = Post("1", url=address, author_id=f"ann-{secret}", extra={"signature": f"I am {secret}", "rank": None})
    reply = Comment("1", "2", extra={"signature": secret, "rank": "old"})

    clean, count = items_without(Items("demo", posts=(post,), comments=(reply,)), page(b"", secret))

    assert clean.posts[0]._replace(url=None) == Post(
        "1", author_id="ann-***", extra={"signature": "I am ***", "rank": None}
    )
    assert clean.posts[0].url == address
    assert clean.comments[0].extra == {"signature": "***", "rank": "old"}
    assert count == {"password": 3}
