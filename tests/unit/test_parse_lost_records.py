"""Records that a rule leaves out are named, where the rules of the fields read them as they read the others."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Stage
from crawl_tasks.parse.lost_records import lost_records
from tests.unit.pages import answer, ask, site_parser

LISTED = """
  address: '/list/{{board}}/{{page}}'
  record: {record}
  fields:
    post_id: {{css: a.t, attr: href, regex: '/post/(\\d+)'}}
    title: a.t
    author: .who
    last_reply_at: .at
"""
TALK = """
  address: '/comment/{{post}}/{{page}}'
  record: {record}
  fields: {{comment_id: {key}, author: .who, created_at: time, body: .say}}
"""
THREAD = "\n  address: '/post/{post}'\n  fields: {title: h1, body: .body}\n"
SAID = "are read as the records beside, and `record` leaves them out"
MEANT = "are read as the records beside, and `:not()` in `record` leaves them out"


def row(number: int, classes: str = "topic", more: str = "") -> str:
    link = f"<a class=t href=/post/{number}>thread {number}</a>"
    return f"<tr class='{classes}'><td>{link}</td><td class=who>ann{number}</td>{more}<td class=at>3 May 2024</td></tr>"


def listed(record: str, page: str) -> list[str]:
    parser = site_parser(stages=(LISTED.format(record=record), THREAD, TALK.format(record=".c", key="{attr: id}")))
    request = ask(Stage.LIST)
    return [note for note in parser.parse(request, answer(request, page), 0).notes if SAID in note or MEANT in note]


def rows(*of: str) -> str:
    return f"<table>{''.join(row(number) for number in range(10, 20))}{''.join(of)}</table>"


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("tr.cold", SAID),
        ("tr.topic[data-n]", SAID),
        ("tr.topic:not(:has(i.pin))", SAID),
        ("tr.topic:not(.hot)", MEANT),
        ("'tr:not(.hot):not(:has(i))'", MEANT),
    ],
)
def test_rows_that_a_rule_leaves_out_are_named_and_those_that_it_names_itself_are_meant(record: str, said: str) -> None:
    pins = [row(number, "topic hot", "<td><i class=pin></i></td>") for number in (7, 8)]
    page = rows(*pins).replace("<tr class='topic'>", "<tr class='topic cold' data-n=1>")
    notes = listed(record, page)

    assert notes == [f"2 of 12 {said} (the first: '7')"]
    assert (lost_records(notes)[0] > 0) is (said == SAID)


def test_rows_of_another_class_beside_the_records_are_named() -> None:
    page = rows(row(7, "hot"), row(8, "hot"), "<tr class=foot><td><a class=t href=/rules>rules</a></td></tr>")

    assert listed("tr.topic", page) == [f"2 of 12 {SAID} (the first: '7')"]


@pytest.mark.parametrize(
    "beside",
    [
        "<tr class='topic head'><th>Topic<th>Author<th>Last post</tr>",
        "<tr class='topic rules'><td><a class=t href=/rules>rules</a></td><td class=who>ann</td></tr>",
        row(10, "topic hot"),
        "<tr class='topic hot'><td><a class=x href=/post/7>thread</a></td></tr>",
        f"</table><ul><li><table>{row(7, 'topic hot')}</table></ul><table>",
    ],
)
def test_what_is_no_other_thread_is_not_named(beside: str) -> None:
    assert listed("tr.topic:not(.hot, .head, .rules)", rows(beside)) == []


def post(number: int | None, who: str, classes: str = "post member", text: str = "") -> str:
    mark = f" id=p{number}" if number is not None else ""
    said = f"<b class=who>{who}</b><time>3 May 2024 10:0{len(who)}</time><p class=say>{text or who}</p>"
    return f"<div class='{classes}'{mark}>{said}</div>"


def talk(record: str, page: str, stage: Stage = Stage.COMMENT, key: str = "{attr: id}") -> list[str]:
    parser = site_parser(stages=(LISTED.format(record="tr.topic"), THREAD, TALK.format(record=record, key=key)))
    request = ask(stage, page=2 if stage is Stage.COMMENT else 1)
    return [note for note in parser.parse(request, answer(request, page), 0).notes if SAID in note or MEANT in note]


MEMBERS = "".join(post(number, f"ann{number}") for number in range(6))


@pytest.mark.parametrize("record", ["div.post.member[id]", "div.member", "'div.post:not(.guest)'"])
@pytest.mark.parametrize("number", [None, 9])
def test_posts_that_a_rule_leaves_out_are_named(record: str, number: int | None) -> None:
    page = f"<h1>x</h1>{MEMBERS}{post(number, 'bob', 'post guest')}{MEMBERS.replace('id=p', 'id=q')}"

    [note] = talk(record, page)

    assert note.startswith(f"1 of 13 {MEANT if ':not(' in record else SAID}")


@pytest.mark.parametrize("classes", ["opening", "post first"])
def test_the_post_above_its_comments_is_none_of_them(classes: str) -> None:
    page = f"<h1>x</h1><p class=body>x</p>{post(77, 'op', classes)}{MEMBERS}"

    assert talk("div.member", page, Stage.POST) == []


def test_of_two_posts_above_the_comments_only_the_first_may_be_that_of_the_thread() -> None:
    above = post(77, "op", "post first") + post(78, "bob", "post guest")
    page = f"<h1>x</h1><p class=body>x</p>{above}{MEMBERS}"

    [note] = talk("div.member", page, Stage.POST)

    assert note == f"1 of 7 {SAID} (the first: 'p78')"


def test_the_post_above_its_comments_and_quotes_within_them_are_not_named() -> None:
    quoted = post(3, "bob", text=f"<div>{post(8, 'eve', 'post quote')}</div>")
    page = f"<h1>x</h1><p class=body>x</p>{post(None, 'op', 'post first')}{MEMBERS}{quoted}"

    assert talk("div.post.member[id]", page, Stage.POST) == []


def test_an_advertisement_and_a_removed_post_are_not_named() -> None:
    beside = "<div class='post ad'>buy</div><div class='post gone' id=p9><p class=say>removed</p></div>"

    assert talk("div.post.member", f"<h1>x</h1>{MEMBERS}{beside}") == []


def test_behind_pages_that_lack_nothing_one_of_a_few_is_looked_at_and_each_behind_a_find() -> None:
    parser = site_parser(stages=(LISTED.format(record="tr.topic"), THREAD, TALK.format(record=".c", key="{attr: id}")))
    request = ask(Stage.LIST)

    def is_told(page: str) -> bool:
        return any(SAID in note for note in parser.parse(request, answer(request, page), 0).notes)

    quiet = [is_told(rows()) for _ in range(20)]
    found = [is_told(rows(row(7, "hot"))) for _ in range(16)]

    assert not any(quiet)
    assert found.index(True) < 8
    assert all(found[found.index(True) :])
