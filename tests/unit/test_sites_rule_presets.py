"""Rule presets: names that stand for long rules, in the places where those rules may stand."""

from __future__ import annotations

import pytest

from crawl_tasks.errors import ParseError, SiteError
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import dump_site, read_site

FILE = """
name: small
base: https://forum.example
timezone: UTC
boards: [1]
list: {address: "/b/{board}", record: tr, fields: {post_id: {attr: id}, title: a}, next: usual-next}
post:
  address: "/t/{post}"
  fields:
    title: h1
    body: {css: div.text, drop: "usual-quotes, .badge"}
    edited_at: "article :is(usual-edits)"
"""
NEXT = '<a href="/b/1?page=2">{word} »</a>'


def parsed(site: Site, stage: Stage, body: str) -> tuple[str | None, list[str]]:
    """Return the text of the first post of a page, and the pages that follow."""
    path = "/b/1" if stage is Stage.LIST else "/t/7"
    request = Request("small", stage, path.rpartition("/")[2], f"https://forum.example{path}")
    page = Fetched(request.address, 200, {"content-type": "text/html; charset=utf-8"}, body.encode(), 0.0)
    result = compile_site(site, None).parser.parse(request, page, 0)
    return result.items.posts[0].body, [child.address for child in result.children if child.page > 1]


@pytest.mark.parametrize(
    "word", ["Next", "Weiter", "下一页", "Load more", "Następna", "Sonraki", "Επόμενη", "NEXT", "İleri"]
)
def test_the_usual_link_to_a_next_page_is_known_by_its_word_and_a_page_in_its_address(word: str) -> None:
    rows = '<table><tr id="7"><td><a href="/t/7">boats</a></table>'

    _, more = parsed(parse_site(FILE, "small.yaml"), Stage.LIST, rows + NEXT.format(word=word))
    _, none = parsed(parse_site(FILE, "small.yaml"), Stage.LIST, rows + f'<a href="/t/8">{word}</a>')

    assert more == ["https://forum.example/b/1?page=2"]
    assert none == []


def test_a_quote_in_a_table_goes_with_the_line_that_introduces_it() -> None:
    quote = "<table><tr><td><b>cy wrote:</b></td></tr><tr><td class=quote>old words</td></tr></table>"

    body, _ = parsed(
        parse_site(FILE, "small.yaml"), Stage.POST, f'<h1>boats</h1><div class="text">{quote}my words</div>'
    )

    assert body == "my words"


@pytest.mark.parametrize("name", ["signature", "Signature", "postSignature", "bbCodeQuote", "lastEdited"])
def test_usual_quotes_are_known_by_parts_of_class_names_in_any_case(name: str) -> None:
    text = f'<h1>boats</h1><div class="text">mine<p class="{name}">not mine</p></div>'

    body, _ = parsed(parse_site(FILE, "small.yaml"), Stage.POST, text)

    assert body == "mine"


def test_a_rule_never_drops_the_element_that_it_reads() -> None:
    file = FILE.replace("css: div.text", "css: blockquote.text")
    text = "<h1>boats</h1><blockquote class=text>mine<blockquote>old words</blockquote></blockquote>"

    body, _ = parsed(parse_site(file, "small.yaml"), Stage.POST, text)

    assert body == "mine"


def test_usual_quotes_stand_beside_a_selector_of_the_file() -> None:
    text = '<blockquote>somebody</blockquote><i class="badge">gold</i><p>my words</p><p class="signature">so long</p>'

    body, _ = parsed(parse_site(FILE, "small.yaml"), Stage.POST, f'<h1>boats</h1><div class="text">{text}</div>')

    assert body == "my words"


def test_a_published_site_has_the_rules_themselves() -> None:
    site = parse_site(FILE, "small.yaml")

    read = read_site(dump_site(site))

    assert read.post.fields["edited_at"] == site.post.fields["edited_at"]
    assert "usual-" not in str(dump_site(site))


def test_a_name_of_no_usual_rule_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SiteError, match="usual-quote is no usual rule; there are usual-quotes, usual-edits"):
        parse_site(FILE.replace("usual-quotes", "usual-quote"), "small.yaml")


def test_a_class_may_have_such_a_name() -> None:
    site = parse_site(FILE.replace("usual-quotes, .badge", ".usual-quotes"), "small.yaml")

    assert site.post.fields["body"].drop == ".usual-quotes"


@pytest.mark.parametrize("rule", ["usual-empty", "{first_of: [.none, usual-empty]}"])
@pytest.mark.parametrize(
    "words", ["There are no topics here.", "Keine Themen", "Brak tematów.", "Δεν υπάρχουν θέματα", "暂无主题"]
)
def test_a_board_without_threads_is_known_by_the_usual_words(rule: str, words: str) -> None:
    site = parse_site(FILE.replace("next: usual-next", f"empty: {rule}"), "small.yaml")

    request = Request("small", Stage.LIST, "1", "https://forum.example/b/1")
    for body, is_empty in ((f"<p>{words}</p>", True), ("<p>We are closed.</p>", False)):
        page = Fetched(request.address, 200, {"content-type": "text/html; charset=utf-8"}, body.encode(), 0.0)
        for one in (site, read_site(dump_site(site))):
            parser = compile_site(one, None).parser
            if is_empty:
                assert parser.parse(request, page, 0).items.posts == ()
            else:
                with pytest.raises(ParseError):
                    parser.parse(request, page, 0)
