"""Charsets that fit each other's bytes, so that only letters tell, and pages with a broken byte among whole ones."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Fetched
from crawl_tasks.parse.values.charset import decoded
from crawl_tasks.parse.values.charset_detector import CharsetDetector

TEXTS = {
    "gb18030": "灯泡坏了怎么修理？谢谢大家，现在好了。请问哪里可以买到这种电线",
    "big5hkscs": "不可以用手，今天上午小心，怎麼辦？謝謝大家，現在好了。請問哪裡可以買到這種電線",
    "cp949": "전구가 나갔다. 어떻게 고치나요? 감사합니다, 이제 됩니다. 이 전선은 어디에서 살 수 있나요",
    "cp932": "電球が切れた。直し方を教えてください。このケーブルはどこで買えますか",
    "euc_jp": "電球が切れました。直し方を教えてください。新しい物は何処で買えますか。今日、近所の店に行って聞きました",
}
RARE = {
    "gb18030": "李雪峰 / 王志刚 / 北京朝阳区 / 螺丝刀 / 镍氢蓄电池 / 赵钱孙李",
    "big5hkscs": "陳慧琳 / 銅鑼灣 / 螺絲刀 / 鎳氫蓄電池 / 趙錢孫李",
    "cp949": "컴퓨터 / 블루투스 / 콘센트 / 헤드폰 / 청계천 / 서울특별시",
    "euc_jp": "渋谷区神宮前 / 懐中電灯 / 蛍光灯 / 佐藤健太郎 / 鈴木",
    "cp932": "渋谷区神宮前 / 懐中電灯 / 蛍光灯 / 佐藤健太郎 / 鈴木",
}


def page(text: str, charset: str, named: str = "", *, meta: str = "", root: str = "") -> Fetched:
    content_type = f"text/html; charset={named}" if named else "text/html"
    body = (
        f"{root or '<html>'}<head>{meta}<title>Forum</title></head><body><p>Reply, quote</p><p>{text}</p></body></html>"
    )
    return Fetched("https://forum.example/", 200, {"content-type": content_type}, body.encode(charset), 0.0)


@pytest.mark.parametrize("repeat", [1, 40])
@pytest.mark.parametrize("charset", ["big5hkscs", "cp949", "cp932", "euc_jp"])
@pytest.mark.parametrize("place", ["header", "meta"])
def test_a_text_in_another_charset_of_east_asia_refutes_gb2312(charset: str, place: str, repeat: int) -> None:
    text = TEXTS[charset] * repeat
    head = {"named": "gb2312"} if place == "header" else {"meta": "<meta charset=gb2312>"}

    read = decoded(page(text, charset, **head))

    assert (text in read.text, read.lost) == (True, 0)
    assert read.note == f"gb18030 is named, and does not fit: read as {charset}: set `encoding` in the site file"
    assert decoded(page(text, charset), "gb2312").charset == "gb18030"


@pytest.mark.parametrize("texts", [TEXTS, RARE])
@pytest.mark.parametrize("charset", TEXTS)
def test_no_text_refutes_its_own_charset(charset: str, texts: dict[str, str]) -> None:
    detector = CharsetDetector()
    parts = [texts[charset], texts[charset] * 40, *texts[charset].split(), *texts[charset]]

    reads = [decoded(page(part, charset, charset), detector=detector) for part in parts]

    assert {read.note for read in reads} == {""}
    assert [part for part, read in zip(parts, reads, strict=True) if part not in read.text] == []


@pytest.mark.parametrize("text", [TEXTS["big5hkscs"], TEXTS["cp932"].replace("・", ""), "Лампа не горит, что делать"])
def test_other_languages_in_gbk_do_not_refute_it(text: str) -> None:
    read = decoded(page(text, "gb18030", "gbk"))

    assert (text in read.text, read.note) == (True, "")


def test_a_page_of_few_letters_follows_the_pages_that_refuted_the_name() -> None:
    detector, short = CharsetDetector(), page("謝謝大家", "big5hkscs", "gb2312")
    decoded(page(TEXTS["big5hkscs"], "big5hkscs", "gb2312"), detector=detector)

    assert "謝謝大家" in decoded(short, detector=detector).text


@pytest.mark.parametrize("named", ["gbk", "", "utf-8"])
@pytest.mark.parametrize("text", ["好", "谢谢大家", "灯泡坏了怎么修理"])
def test_a_page_with_a_broken_byte_stays_in_the_charset_of_its_site(named: str, text: str) -> None:
    detector, broken = CharsetDetector(), page(text + "|", "gb18030", named)
    for _ in range(3):
        decoded(page(TEXTS["gb18030"], "gb18030", named), detector=detector)

    read = decoded(broken._replace(body=broken.body.replace(b"|", b"\xff")), detector=detector)

    assert (read.charset, read.lost, f"{text}\ufffd" in read.text) == ("gb18030", 1, True)


def test_a_page_in_russian_stays_so_on_a_site_in_chinese() -> None:
    detector, text = CharsetDetector(), "Лампа не горит, что делать? Спасибо, теперь всё работает"
    for _ in range(3):
        decoded(page(TEXTS["gb18030"], "gb18030"), detector=detector)

    assert text in decoded(page(text, "cp1251"), detector=detector).text


@pytest.mark.parametrize("place", ["header", "meta"])
@pytest.mark.parametrize("text", ["Άλφα και βήτα", "ΤΑ ΆΡΘΡΑ", "Στην Άννα είπα", "«Άραγε»"])
def test_the_capital_alpha_of_windows_is_no_quote(text: str, place: str) -> None:
    head = {"named": "iso-8859-7"} if place == "header" else {"meta": "<meta charset=iso-8859-7>"}

    read, filed = decoded(page(text, "cp1253", **head)), decoded(page(text, "cp1253"), "iso-8859-7")

    assert (text in read.text, read.note) == (True, "")
    assert text.replace("Ά", "’") in filed.text


@pytest.mark.parametrize(
    "text", ["Ο Άρης θα ’ρθει, και ’γώ", "Θα ’ναι καλό", "‘λέξη’ και ‘άλλη’", "το ’80", "που ’χει"]
)
def test_a_quote_of_greek_pages_is_no_capital_alpha(text: str) -> None:
    assert text in decoded(page(text, "iso8859-7", "iso-8859-7")).text


BALTIC = {
    "lv": "Lampa nedeg, ko man darīt? Paldies, tagad viss strādā. Šeit ir ļoti jauks ķēniņš, bet ģērbies žaketē",
    "lt": "Lempa nedega, ką daryti? Ačiū, dabar viskas veikia. Įjunkite šviesą, prašau, ir žiūrėkite į mūsų ėjimą",
}


@pytest.mark.parametrize("language", BALTIC)
@pytest.mark.parametrize(
    ("charset", "named", "is_stated"),
    [("cp1257", "iso-8859-4", True), ("cp1257", "iso-8859-4", False), ("iso8859-4", "windows-1257", True)],
)
def test_the_letters_of_the_baltic_refute_the_name_of_their_charset(
    charset: str, named: str, language: str, *, is_stated: bool
) -> None:
    text, root = BALTIC[language], f"<html lang={language}>" * is_stated

    read, right = (decoded(page(text, charset, name, root=root)) for name in (named, charset))

    assert (text in read.text, text in right.text, right.note) == (True, True, "")
    assert f"read as {charset}" in read.note


@pytest.mark.parametrize("language", ["", "et", "lv", "de"])
@pytest.mark.parametrize(
    "text", ["Öösel läks lamp katki, kas sõber aitab? Tänan väga", "Größere Birnen für draußen, schön"]
)
def test_other_languages_do_not_refute_a_charset_of_the_baltic(text: str, language: str) -> None:
    read = decoded(page(text, "iso8859-4", "iso-8859-4", root=f"<html lang={language}>" if language else ""))

    assert (text in read.text, read.note) == (True, "")
