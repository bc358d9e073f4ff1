"""Charsets that pages name wrongly or not at all, with little text among much markup, as on real forums."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from crawl_tasks.model import Fetched, Parsed, Request, Stage
from crawl_tasks.parse.site_parser import SiteParser, compile_parser
from crawl_tasks.parse.values.charset import LOST, decoded
from crawl_tasks.parse.values.charset_detector import CONTRADICTED, CharsetDetector
from crawl_tasks.sites.loader import parse_site

TEXTS = {
    "iso-8859-1": "Die Lampe ist über Nacht ausgefallen. Größere Birnen?|Déjà vérifié, ça marche à présent|Mañana",
    "cp1252": "It’s the lamp’s “old” cord – don’t touch it…|I’ve paid 5 € for it|Così è tutto più facile, perché no?",
    "iso-8859-15": "La lampe coûte 5 € et ne s'allume pas|Déjà vérifié l'ampoule, rien à signaler|Où est le câble ?",
    "cp1250": "Žárovka nesvítí, co mám dělat?|Děkuji, už to funguje|Kde se dá koupit takový kabel?",
    "iso-8859-2": "Żarówka nie świeci, co zrobić?|Dziękuję, już działa|Gdzie można kupić taką część w Łodzi?",
    "iso-8859-7": "Η λάμπα δεν ανάβει, τι να κάνω;|Ευχαριστώ πολύ, τώρα λειτουργεί",
    "iso-8859-9": "Lamba yanmıyor, ne yapmalıyım?|Teşekkür ederim, şimdi çalışıyor|Önce şalteri kontrol etmek lazım",
    "cp1251": "Лампа не горит, что делать?|Спасибо, теперь всё работает",
    "koi8-r": "Лампа не горит, что делать?|Спасибо, теперь всё работает",
    "gbk": "灯泡坏了怎么修理？|谢谢大家,现在好了|请问哪里可以买到这种电线",
    "big5": "燈泡壞了,點算好|謝謝大家,現在好了|請問哪裡可以買到這種電線",
    "euc-kr": "전구가 나갔다|어떻게 고치나요|감사합니다, 이제 됩니다",
    "shift_jis": "電球が切れた|直し方を教えてください|このケーブルはどこで買えますか",
    "euc-jp": "電球が切れた|直し方を教えてください|このケーブルはどこで買えますか",
    "tis-620": "หลอดไฟเสียซ่อมอย่างไร|ขอบคุณมากครับ ใช้ได้แล้ว",
    "utf-16-le": "The lamp is out|灯泡坏了怎么修理？|größere Birnen",
    "utf-16-be": "The lamp is out|Лампа не горит|größere Birnen",
    "iso2022_jp": "電球が切れた|直し方を教えてください",
}  # fmt: skip
NAMED = ("text/html", "text/html; charset=utf-8", "text/html; charset=none")
NON_WESTERN = ("iso-8859-7", "cp1251", "koi8-r", "gbk", "big5", "euc-kr", "shift_jis", "euc-jp", "tis-620")


def page(body: bytes, content_type: str = "text/html", url: str = "https://forum.example/") -> Fetched:
    return Fetched(url, 200, {"content-type": content_type}, body, 0.0)


def forum_page(charset: str, *, head: str = "", markup: int = 1_500) -> bytes:
    """Return a page with far more markup than letters beyond ASCII."""
    posts = "".join(f'<div data-x="{"y" * markup}"><p>{text}</p></div>\n' for text in TEXTS[charset].split("|"))
    return f"<html><head>{head}<title>Forum</title></head><body>{posts}</body></html>".encode(charset)


def texts_of(charset: str, text: str) -> list[str]:
    return [one for one in TEXTS[charset].split("|") if one in text]


@pytest.mark.parametrize("markup", [0, 300, 3_000])
@pytest.mark.parametrize(
    ("charset", "content_type"),
    # The bytes of ISO-2022-JP are ASCII, so that the name fits them.
    [one for one in product(TEXTS, NAMED) if one != ("iso2022_jp", NAMED[1])],
)
def test_no_letter_is_lost_where_no_charset_that_fits_is_named(charset: str, content_type: str, markup: int) -> None:
    read = decoded(page(forum_page(charset, markup=markup), content_type))

    assert texts_of(charset, read.text) == TEXTS[charset].split("|")
    assert read.lost == 0
    assert "set `encoding`" in read.note or read.charset.startswith("utf-16")


def test_an_escape_in_a_post_does_not_turn_a_page_into_kanji() -> None:
    said = b"<p>evil \x1b$B here</p><p>all other posts</p>"
    meta = b"<meta charset=iso-2022-jp><p>\x1b$B%1!<%V%k\x1b(B</p>"

    named, filed, alone = (
        decoded(page(said, "text/html; charset=utf-8")),
        decoded(page(said), "utf-8"),
        decoded(page(said)),
    )

    assert [read.text for read in (named, filed, alone)] == [said.decode()] * 3
    assert "ケーブル" in decoded(page(meta, "text/html; charset=utf-8")).text
    assert decoded(page(meta), "utf-8").text == meta.decode()


@pytest.mark.parametrize("charset", NON_WESTERN)
def test_letters_in_rows_refute_the_charset_that_servers_name_for_all_pages(charset: str) -> None:
    read = decoded(page(forum_page(charset), "text/html; charset=ISO-8859-1"))

    assert texts_of(charset, read.text) == TEXTS[charset].split("|")


def test_quotes_and_signs_do_not_refute_a_charset() -> None:
    detector, named = CharsetDetector(), "text/html; charset=iso-8859-1"
    texts = ["«a» »b« … – — ’ ‘ “ ” •|·|© ®", "1½ cups, ¾ tsp, ¼ l, 350° ± 5, 12 m², 3 m³|2 × 4, § 7, 5 µm"]
    bodies = ["".join(f"<p>{line}</p>" for line in text.split("|")).encode("cp1252") for text in texts]
    alone = [decoded(page(body, named)) for body in bodies]

    for _ in range(3):
        decoded(page(forum_page("iso-8859-1"), named), detector=detector)

    behind = [decoded(page(body, named), detector=detector) for body in bodies]
    assert [(read.charset, read.note) for read in alone + behind] == [("cp1252", "")] * 4


def test_a_page_of_few_letters_follows_the_pages_before_it() -> None:
    detector, named = CharsetDetector(), "text/html; charset=iso-8859-1"
    short = "<p>Kde je kabel, prosím? Už vím</p>".encode("cp1250")
    alone = decoded(page(short, named)).charset
    for _ in range(3):
        decoded(page(forum_page("cp1250"), named), detector=detector)

    assert (alone, decoded(page(short, named), detector=detector).charset) == ("cp1252", "cp1250")


@pytest.mark.parametrize(
    "text", [*TEXTS["iso-8859-1"].split("|"), *TEXTS["cp1252"].split("|"), "Déjà vérifié", "Já não há pão"]
)
def test_letters_of_western_europe_do_not_refute_its_charset(text: str) -> None:
    read = decoded(page(f"<html><p>{text}</p></html>".encode("cp1252"), "text/html; charset=ISO-8859-1"))

    assert (text in read.text, read.note) == (True, "")


@pytest.mark.parametrize("charset", ["cp1250", "iso-8859-2", "iso-8859-9"])
@pytest.mark.parametrize("named", ["iso-8859-1", "windows-1252", "iso-8859-15"])
def test_a_page_that_reads_plainly_better_in_another_charset_refutes_a_western_name(charset: str, named: str) -> None:
    read = decoded(page(forum_page(charset), f"text/html; charset={named}"))

    assert texts_of(charset, read.text) == TEXTS[charset].split("|")
    assert "is named, and does not fit" in read.note
    assert decoded(page(forum_page(charset), f"text/html; charset={charset}")).note == ""


def test_a_page_of_another_language_is_noticed_behind_many_of_the_usual_one() -> None:
    detector, named = CharsetDetector(), "text/html; charset=iso-8859-1"
    for _ in range(120):
        decoded(page(forum_page("iso-8859-1") * 3, named), detector=detector)

    polish, usual = (
        decoded(page(forum_page(one) * 3, named), detector=detector) for one in ("iso-8859-2", "iso-8859-1")
    )

    assert texts_of("iso-8859-2", polish.text) == TEXTS["iso-8859-2"].split("|")
    assert texts_of("iso-8859-1", usual.text) == TEXTS["iso-8859-1"].split("|")
    assert usual.note == ""


@pytest.mark.parametrize(("header", "meta"), [("koi8-r", "windows-1251"), ("windows-1251", "koi8-r"), ("koi8-r", "")])
def test_the_meta_element_wins_where_it_reads_better_than_the_header(header: str, meta: str) -> None:
    charset = meta or "windows-1251"
    body = forum_page("cp1251" if charset == "windows-1251" else charset, head=f"<meta charset={meta}>" * bool(meta))

    read, right = (decoded(page(body, f"text/html; charset={name}")) for name in (header, charset))

    assert texts_of("cp1251", read.text) == texts_of("cp1251", right.text) == TEXTS["cp1251"].split("|")
    assert ("of its meta element" in read.note, right.note) == (bool(meta), "")


@pytest.mark.parametrize(("charset", "twin"), [("iso-8859-15", "cp1252"), ("iso-8859-2", "cp1250")])
def test_quotes_of_windows_are_no_control_characters(charset: str, twin: str) -> None:
    text = "It’s the “old” cord – don’t touch"

    read = decoded(page(f"<p>{text}</p>".encode(twin), f"text/html; charset={charset}"))

    assert text in read.text


@pytest.mark.parametrize("charset", [one for one in TEXTS if not one.startswith(("utf", "iso2022"))])
def test_the_meta_element_wins_over_a_header_that_fails(charset: str) -> None:
    head = "<!--" + "x" * 9_000 + f'--><meta http-equiv="Content-Type" content="text/html; charset={charset}">'

    read = decoded(page(forum_page(charset, head=head), "text/html; charset=utf-8"))

    assert texts_of(charset, read.text) == TEXTS[charset].split("|")
    assert read.note == ""


@pytest.mark.parametrize("named", ["text/html; charset=ISO-8859-1", "text/html; charset=gbk", "text/html"])
def test_bytes_that_are_utf8_are_read_so_whatever_the_header_says(named: str) -> None:
    body = "<html><p>Größere Birnen für draußen, naïve €</p></html>".encode()

    assert decoded(page(body, named)).is_utf8


def test_a_word_of_the_site_file_outranks_bytes_that_are_utf8() -> None:
    body = "<p>Größe, naïve</p>".encode()

    assert decoded(page(body), "latin-1").text == "<p>GrÃ¶ÃŸe, naÃ¯ve</p>"


@pytest.mark.parametrize("named", ["x-euc-jp", "EUC-JP", "x-sjis", "windows-31j", "ks_c_5601-1987", "windows-949"])
def test_the_labels_of_browsers_are_known(named: str) -> None:
    charset = {"x": "euc-jp", "E": "euc-jp", "w": "cp932", "k": "cp949"}[named[0]]
    charset = {"x-sjis": "cp932", "windows-949": "cp949"}.get(named, charset)
    text = "전구가 나갔다" if charset == "cp949" else "電球が切れた"

    read = decoded(page(f"<p>{text}</p>".encode(charset), f"text/html; charset={named}"))

    assert text in read.text
    assert read.note == ""


def test_a_replacement_character_of_the_forum_itself_is_neither_lost_nor_another_charset() -> None:
    body = ("<p>broken at the forum: \ufffd\ufffd\ufffd</p>" * 40).encode()

    whole, damaged = decoded(page(body)), decoded(page(body + "<p>größer über</p>".encode() + b"<p>cut \xc3</p>"))

    assert (whole.is_utf8, whole.lost) == (True, 0)
    assert (damaged.charset, damaged.lost) == ("utf-8", 1)


def test_a_cut_character_is_damage_on_a_forum_that_writes_utf8() -> None:
    detector, named = CharsetDetector(), "text/html; charset=utf-8"
    decoded(page("<p>größer</p>".encode(), named), detector=detector)

    read = decoded(page(b"<p>a cut title, as f\xc3</p>", named), detector=detector)

    assert (read.charset, read.lost) == ("utf-8", 1)


def test_a_broken_line_does_not_refute_the_charset_of_all_others() -> None:
    lines = [f"<p>{text} {n}</p>".encode("gbk") for n in range(6) for text in TEXTS["gbk"].split("|")]

    read = decoded(page(b"\n".join([*lines, b"<p>\xb5\xc6\xc5\xff</p>"])))

    assert read.charset == "gb18030"
    assert 0 < read.lost <= 2


def test_a_short_page_follows_the_charset_of_the_pages_before() -> None:
    detector, short = CharsetDetector(), "<p>Già provato, non è servito</p>".encode("cp1252")
    alone = decoded(page(short)).charset
    for _ in range(3):
        decoded(page(forum_page("cp1252")), detector=detector)

    after = decoded(page(short), detector=detector)

    assert alone == "cp1250"
    assert after.text == "<p>Già provato, non è servito</p>"


def test_a_page_in_another_charset_than_those_before_says_so() -> None:
    detector = CharsetDetector()
    for _ in range(3):
        decoded(page(forum_page("cp1251")), detector=detector)

    read = decoded(page(forum_page("big5")), detector=detector)

    assert texts_of("big5", read.text) == TEXTS["big5"].split("|")
    assert f"{CONTRADICTED} cp1251" in read.note


SITE = r"""
name: lamps
base: https://lamps.example
boards: [1]
list: {address: '/b/{board}', record: li, fields: {post_id: {attr: id}, title: b}}
post:
  address: /t/{post}
  next: .more
  identity: '^/t/(?P<post>\d+)$'
  fields: {title: h1, body: {css: .text, required: false}}
  comments: {record: .reply, fields: &reply {comment_id: {attr: id}, author: .who, body: p}}
comment: {record: .reply, first_page: 2, fields: *reply, address: '/t/{post}/{page}'}
"""


def thread_read(parser: SiteParser, body: bytes, key: str = "1") -> Parsed:
    request = Request("lamps", Stage.POST, key, f"https://lamps.example/t/{key}")
    return parser.parse(request, page(body, "text/html; charset=utf-8", request.address), 0)


def replies(text: str) -> str:
    return "".join(f'<div class="reply" id="{n}"><b class="who">ivo</b><p>{text} {n}</p></div>' for n in range(1, 5))


def test_texts_with_characters_that_could_not_be_read_are_counted(tmp_path: Path) -> None:
    parser = compile_parser(parse_site(SITE, str(tmp_path / "lamps.yaml")))
    body = f"<h1>Größe</h1><p class=text>Über müde</p>{replies('größer')}".encode()

    broken = thread_read(parser, body.replace("größer 3".encode(), b"gr\xffer 3"))
    whole = thread_read(parser, body.replace("größer 3".encode(), "gr\ufffdßer 3".encode()))

    assert [note for note in broken.notes if LOST in note] == [
        f"1 of 5 texts {LOST}, as they are not in utf-8: set `encoding` in the site file"
    ]
    assert whole.notes == ()


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "utf-16"])
def test_a_page_in_utf16_is_not_taken_for_one_that_broke_off(tmp_path: Path, charset: str) -> None:
    parser = compile_parser(parse_site(SITE, str(tmp_path / "lamps.yaml")))
    body = f"<html><body><h1>Lamp</h1><p class=text>Über müde</p>{replies('größer')}</body></html>"
    thread_read(parser, body.encode())

    parsed = thread_read(parser, body.encode(charset))

    assert parsed.broke_off == ""
    assert [one.body for one in parsed.items.comments] == [f"größer {n}" for n in range(1, 5)]


@pytest.mark.parametrize("named", ["iso-8859-1", "us-ascii", "windows-1252"])
def test_one_word_in_utf8_is_enough_on_a_page_that_names_a_western_charset(named: str) -> None:
    body = "<html><p>The café is closed</p></html>".encode()

    assert "café" in decoded(page(body, f"text/html; charset={named}")).text
    assert "café" in decoded(page("<html><p>The café is closed</p></html>".encode("cp1252"))).text
