"""Post and comment pages: what they hold, and which comment pages are still to fetch."""

from __future__ import annotations

import json

import pytest

from crawl_tasks.errors import Gone, ParseError
from crawl_tasks.model import Stage
from crawl_tasks.parse.document import Document
from tests.unit.pages import COMMENT, LIST, POST, answer, ask, site_parser


def comment(number: object, parent: object = "", inside: str = "", who: str = "ann") -> str:
    owner = f" data-parent={parent}" if parent != "" else ""
    author = f"<b class=who>{who}</b>" if who else ""
    return f"<div class=c data-id={number}{owner}>{author}<p class=say>say {number}</p>{inside}</div>"


def post(more: str = "") -> str:
    return f"<h1>Title</h1><div class=body><p>one<p>two</div>{more}"


def test_a_post_page_gives_the_post_and_its_first_comments() -> None:
    request = ask(Stage.POST, "7", revision="2|x")
    page = answer(request, post(comment(1) + comment(2, 1)))

    parsed = site_parser().parse(request, page, 0)

    only = parsed.items.posts[0]
    assert (only.post_id, only.title, only.body, only.revision, only.url) == (
        "7", "Title", "one\ntwo", "2|x", "https://forum.example/post/7",
    )  # fmt: skip
    assert [(one.post_id, one.comment_id, one.parent_id, one.page, one.position) for one in parsed.items.comments] == [
        ("7", "1", None, 1, 0), ("7", "2", "1", 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "starts"),
    [("20", [20, 40]), ("1,000", []), ("0", [10, 20, 30, 40]), ("1001", [10, 20, 30, 40]), ("", [10, 20, 30, 40])],
)
def test_a_page_that_shows_how_much_it_holds_is_believed_within_reason(size: str, starts: list[int]) -> None:
    rules = "  total: .total\n  per_page: 10\n  page_size: {css: .size, attr: data-n}"
    pages = COMMENT.replace("/comment/{post}/{page}", "/comment/{post}?start={offset:10}")
    request = ask(Stage.POST)
    body = post(f'<b class=size data-n="{size}"></b>').replace("<h1>", "<b class=total>50</b><h1>")

    parsed = site_parser(
        stages=(LIST, POST.replace("{css: .total, required: false}", ".none"), pages),
        post=rules,
        comment="  first_page: 2",
    ).parse(request, answer(request, body), 0)

    assert [child.address for child in parsed.children] == [
        f"https://forum.example/comment/1?start={start}" for start in starts
    ]


@pytest.mark.parametrize(
    ("first_page", "rules", "more", "tail", "pages"),
    [
        (2, "pages: .pages", "<b class=pages>4", 0, [2, 3, 4]),
        (2, "pages: .pages", "<b class=pages>4", 3, [3, 4]),
        (2, "pages: .pages", "<b class=pages>4", 4, [4]),
        (2, "pages: .pages", "<b class=pages>3", 9, [3]),
        (2, "pages: .pages", "<b class=pages>1", 9, []),
        (2, "pages: .pages", "", 0, []),
        (2, "total: .total\n  per_page: 20", "<b class=total>41", 0, [2, 3]),
        (2, "next: .next", "<a class=next>", 0, [2]),
        (2, "next: .next", "<a class=next>", 5, [5]),
        (2, "next: .next", "", 0, []),
        (1, "pages: .pages", "<b class=pages>3", 0, [1, 2, 3]),
        (1, "pages: .pages", "<b class=pages>3", 2, [2, 3]),
        (1, "pages: .pages", "", 0, [1]),
        (1, "pages: .pages", "<b class=total>0", 0, []),
        (1, "next: .next", "", 0, [1]),
        (1, "", "", 0, [1]),
        (1, "", "", 4, [4]),
        (1, "", "<b class=total>0", 0, []),
    ],
)
def test_comment_pages_are_entered_from_the_last_one_known(
    first_page: int, rules: str, more: str, tail: int, pages: list[int]
) -> None:
    parser = site_parser(post=f"  {rules}" if rules else "", comment=f"  first_page: {first_page}")
    request = ask(Stage.POST, revision="r")

    parsed = parser.parse(request, answer(request, post(more)), tail)

    assert [(one.stage, one.page, one.revision, one.only_if_new) for one in parsed.children] == [
        (Stage.COMMENT, page, "r", False) for page in pages
    ]
    assert parsed.tail == max(pages, default=1 if tail else 0)


def test_a_post_sent_by_hand_gives_its_comment_pages_the_count_it_shows() -> None:
    request = ask(Stage.POST)

    children = (
        site_parser().parse(request, answer(request, post("<i class=total>1,234</i><b class=pages>2")), 0).children
    )

    assert [one.revision for one in children] == ["1234"]


@pytest.mark.parametrize(
    ("rules", "page", "more", "follows"),
    [
        ("next: .next", 2, "<a class=next>", [3]),
        ("next: .next", 2, "", []),
        ("next: .next\n  max_pages: 2", 2, "<a class=next>", []),
        ("pages: .pages", 2, "<b class=pages>5", []),
    ],
)
def test_comment_pages_follow_each_other_only_where_their_number_is_not_known(
    rules: str, page: int, more: str, follows: list[int]
) -> None:
    parser = site_parser(post="", comment=f"  first_page: 2\n  {rules}")
    request = ask(Stage.COMMENT, page=page, revision="r")

    parsed = parser.parse(request, answer(request, comment(1) + more), 0)

    assert [(one.page, one.revision, one.only_if_new) for one in parsed.children] == [(n, "r", False) for n in follows]
    assert parsed.tail == max(follows, default=0)


def test_comment_pages_that_count_themselves_are_a_chain_where_the_post_does_not_count_them() -> None:
    parser = site_parser(post="", comment="  first_page: 1\n  pages: .pages")
    request = ask(Stage.COMMENT, page=2)

    parsed = parser.parse(request, answer(request, comment(1) + "<b class=pages>5"), 0)

    assert [one.page for one in parsed.children] == [3]


def test_a_phantom_last_page_does_not_go_round_in_circles() -> None:
    parser = site_parser(post="", comment="  first_page: 2\n  next: .next")
    request = ask(Stage.COMMENT, page=4)
    page = answer(request, comment(1) + "<a class=next>", url="https://forum.example/comment/1/3")

    parsed = parser.parse(request, page, 0)

    assert parsed.children == ()
    assert [one.page for one in parsed.items.comments] == [3]
    assert parsed.notes == ("asked for page 4, was sent to page 3: the thread ends here",)


def test_comments_whose_ids_are_odd_or_another_s_are_left_out_and_remarked_upon() -> None:
    request = ask(Stage.COMMENT, "7", 2)
    told = [("1", "a"), ("1", "b"), ("x y", "c"), ("2", "d")]
    body = "".join(
        f'<div class=c data-id="{one}"><i class=who>A</i><p class=say>{said}</p></div>' for one, said in told
    )

    parsed = site_parser().parse(request, answer(request, body), 0)

    assert [comment.comment_id for comment in parsed.items.comments] == ["1", "2"]
    assert parsed.notes == (
        "1 of 4 records were left out: their comment_id is that of a record before, of another body (the first: '1')",
        "1 of 4 records were left out: their comment_id holds a blank (the first: 'x y')",
    )


def made_ids(rules: str, *said: tuple[str, str, str], at_s: float = 0) -> tuple[list[str], tuple[str, ...]]:
    """Return the ids of comments whose page shows none, and the notes on them."""
    fields = "  fields: {author: .who, created_at: .when, body: .say}\n"
    pages = f"\n  address: /comment/{{post}}/{{page}}\n  record: .c\n  id_of: {rules}\n{fields}"
    request = ask(Stage.COMMENT, "7", 2)
    body = "".join(
        f"<div class=c><b class=who>{who}</b><i class=when>{when}</i><p class=say>{words}</p></div>"
        for who, when, words in said
    )
    page = answer(request, body)
    parsed = site_parser(stages=(LIST, POST, pages)).parse(request, page._replace(at_s=page.at_s + at_s), 0)
    assert not parsed.is_cut
    return [one.comment_id for one in parsed.items.comments], parsed.notes


def test_a_made_id_is_the_same_at_the_next_visit_though_its_time_counts_from_now() -> None:
    said = [("ann", "2 hours ago", "Yes."), ("ben", "2024-06-19 10:00", "No.")]

    ids, notes = made_ids("[author, created_at, body]", *said)
    later, _ = made_ids("[author, created_at, body]", *said, at_s=90)

    assert ids == later
    assert len(set(ids)) == 2
    assert [note for note in notes if "leave created_at out of id_of" in note] == [
        "1 ids would be made of a time that moves ('2 hours ago'): leave created_at out of id_of"
    ]


def test_who_says_the_same_twice_has_two_comments_without_a_time_and_a_copy_with_one_has_one() -> None:
    said = [("ann", "2024-06-19 10:00", "Thanks!"), ("ann", "2024-06-19 10:00", "Thanks!")]

    assert len(made_ids("[author, body]", *said)[0]) == 2
    assert len(made_ids("[author, created_at, body]", *said)[0]) == 1
    assert made_ids("[author, body]", *said)[0][0] == made_ids("[author, body]", said[0])[0][0]


def test_a_picture_without_words_has_the_made_id_that_a_missing_text_has() -> None:
    [shown, hidden] = (made_ids("[author, body]", ("ann", "", text))[0] for text in ("<img src=a.png>", ""))

    assert shown == hidden


def test_nested_comments_have_the_enclosing_one_as_parent_and_only_their_own_words() -> None:
    parser = site_parser(comment="  first_page: 2\n  nesting: nested")
    request = ask(Stage.COMMENT, page=2)
    inner = comment(3, who="cid")
    body = comment(1, inside=comment(2, inside=inner, who=""), who="") + comment(4, 99)

    found = parser.parse(request, answer(request, body), 0).items.comments

    assert [(one.comment_id, one.parent_id, one.depth, one.author, one.body) for one in found] == [
        ("1", None, 0, None, "say 1"), ("2", "1", 1, None, "say 2"), ("3", "2", 2, "cid", "say 3"),
        ("4", "99", 0, "ann", "say 4"),
    ]  # fmt: skip


@pytest.mark.parametrize(("beside", "authors"), [("previous", ["ann", "bob"]), ("next", ["bob", None])])
def test_a_record_of_two_rows_is_read_in_both(beside: str, authors: list[str | None]) -> None:
    fields = f"fields: {{comment_id: {{attr: data-id}}, body: .say, author: {{beside: {beside}, css: .who}}}}"
    parser = site_parser(stages=(LIST, POST, f"\n  address: '/comment/{{post}}/{{page}}'\n  record: .c\n  {fields}\n"))
    request = ask(Stage.COMMENT, page=2)
    row = "<tr><td class=who>{}</td></tr> <!-- and --> <tr class=c data-id={}><td class=say>x</td></tr>"
    body = f"<table>{row.format('ann', 1)} {row.format('bob', 2)}</table>"

    found = parser.parse(request, answer(request, body), 0).items.comments

    assert [one.author for one in found] == authors


def test_indented_comments_answer_the_last_one_above_of_smaller_depth() -> None:
    fields = "fields: {comment_id: {attr: data-id}, depth: {attr: data-depth}}"
    parser = site_parser(
        stages=(LIST, POST, f"\n  address: '/comment/{{post}}/{{page}}'\n  record: .c\n  {fields}\n"),
        comment="  first_page: 2\n  nesting: indented",
    )
    request = ask(Stage.COMMENT, page=2)
    depths = {1: 0, 2: 1, 3: 2, 4: 1, 5: 3, 6: 0}
    body = "".join(f"<p class=c data-id={number} data-depth={depth}>" for number, depth in depths.items())

    found = parser.parse(request, answer(request, body), 0).items.comments

    assert [(one.comment_id, one.parent_id) for one in found] == [
        ("1", None), ("2", "1"), ("3", "2"), ("4", "1"), ("5", "4"), ("6", None),
    ]  # fmt: skip


def test_a_broad_selector_on_a_crowded_page_still_reads_each_record() -> None:
    fields = "fields: {comment_id: {attr: data-id}, author: b, body: .say}"
    parser = site_parser(stages=(LIST, POST, f"\n  address: '/comment/{{post}}/{{page}}'\n  record: .c\n  {fields}\n"))
    request = ask(Stage.COMMENT, page=2)
    body = "".join(comment(n, inside="<b>x</b>" * 30, who=f"u{n}") for n in range(5))

    found = parser.parse(request, answer(request, body), 0).items.comments

    assert [one.author for one in found] == ["u0", "u1", "u2", "u3", "u4"]


@pytest.mark.parametrize(
    ("stage", "body", "said"),
    [
        (Stage.POST, "<div class=body>x", "post: title found nothing"),
        (Stage.POST, "<h1>x", "post: body found nothing"),
        (Stage.COMMENT, "<p>another page", "no comments, no pager and not marked as empty"),
        (Stage.COMMENT, "<div class=c><div class=c>", "comment_id found in none of 2 records"),
    ],
)
def test_a_page_that_is_not_what_it_should_be_is_a_parse_error(stage: Stage, body: str, said: str) -> None:
    request = ask(stage)

    with pytest.raises(ParseError, match=said) as caught:
        site_parser().parse(request, answer(request, body), 0)

    assert str(caught.value).startswith(f"forum: {stage}: ")
    assert request.address in str(caught.value)


WORDLESS = ("<img src=/cat.jpg>", "<blockquote>said before</blockquote>", "<p><iframe src=/film></iframe></p>")


@pytest.mark.parametrize("shown", WORDLESS)
@pytest.mark.parametrize(
    "rule",
    [
        "{css: .body, drop: blockquote}",
        "{first_of: [.none, {css: .body, drop: blockquote}]}",
        "{css: .body, drop: blockquote, all: true}",
        "{xpath: '//*[@class=\"body\"]', drop: blockquote}",
        "{css: .body, drop: blockquote, regex: '^(.*?)(?:Edited)?$'}",
    ],
)
def test_a_post_that_is_a_picture_or_a_quote_has_an_empty_text(rule: str, shown: str) -> None:
    request, rules = ask(Stage.POST), f"body: {rule}, body_html: .body"
    parser = site_parser(stages=(LIST, POST.replace("body: .body", rules), COMMENT))
    page = answer(request, f"<h1>x</h1><div class=body>{shown}</div>{comment(1)}")

    items = parser.parse(request, page, 0).items

    assert (items.posts[0].body, bool(items.posts[0].body_html)) == ("", True)
    assert [one.comment_id for one in items.comments] == ["1"]


@pytest.mark.parametrize(
    "rule", ["{css: .say, drop: blockquote}", "{first_of: [{css: .say, drop: blockquote}, {css: .none}]}"]
)
def test_a_comment_that_became_a_picture_loses_its_text_and_one_without_an_element_keeps_it(rule: str) -> None:
    parser = site_parser(stages=(LIST, POST, COMMENT.replace("body: .say", f"body: {rule}")))
    request = ask(Stage.COMMENT, page=2)
    said = [*(f"<div class=say>{shown}</div>" for shown in (*WORDLESS, "", "words")), "<p>hidden"]
    page = "".join(f"<div class=c data-id={at}>{text}</div>" for at, text in enumerate(said))

    found = parser.parse(request, answer(request, page), 0).items.comments

    assert [one.body for one in found] == ["", "", "", None, "words", None]


MADE = "<b class=who>ann</b><time datetime=2024-06-19T14:17>x</time><p class=say>"
ADVERTISEMENTS = ["<div class=c data-id=9><ins></ins></div>", "<div class=c data-id=1><ins></ins></div>"]


@pytest.mark.parametrize("record", [".c ~ .c", ".c\n    begins_with_post: true"])
@pytest.mark.parametrize("advertisement", [*ADVERTISEMENTS, f"<div class=c data-id=1>{MADE}one</div>"])
def test_a_record_of_the_post_and_an_advertisement_are_no_comments(record: str, advertisement: str) -> None:
    rules = f"""
  comments:
    record: {record}
    fields: {{comment_id: {{attr: data-id}}, author: .who, created_at: time, body: .say}}
  pages: .pages"""
    parser = site_parser(stages=(LIST, POST.replace("body: .body, ", ""), COMMENT), post=rules)
    posts = [f"<div class=c data-id={number}>{MADE}say {number}</div>" for number in range(1, 6)]
    page = f"<h1>x</h1>{posts[0]}{advertisement}{''.join(posts[1:])}"

    items = parser.parse(ask(Stage.POST), answer(ask(Stage.POST), page), 0).items

    assert [(one.comment_id, one.body) for one in items.comments] == [(f"{n}", f"say {n}") for n in range(2, 6)]


def test_records_with_ids_that_a_rule_reads_nothing_of_are_no_advertisements() -> None:
    fields = "{comment_id: {attr: data-id}, author: .who, created_at: time, body: .say}"
    rules = f"\n  address: '/comment/{{post}}/{{page}}'\n  record: .c\n  fields: {fields}\n"
    request = ask(Stage.COMMENT, page=2)
    read, other = f"{MADE}a</p>", "<b class=x>bob</b><p class=y>words</p>"
    page = "".join(f"<div class=c data-id={n}>{read if n < 3 else other}</div>" for n in range(1, 9))

    found = site_parser(stages=(LIST, POST, rules)).parse(request, answer(request, page), 0).items.comments

    assert [one.comment_id for one in found] == [f"{n}" for n in range(1, 9)]


def replies_of(page: str) -> tuple[list[str], list[str]]:
    """Return the ids and the notes of a comment page whose rules read id, author, time and text."""
    fields = "{comment_id: {attr: data-id}, author: .who, created_at: time, body: .say}"
    rules = f"\n  address: '/comment/{{post}}/{{page}}'\n  record: .c\n  fields: {fields}\n"
    request = ask(Stage.COMMENT, page=2)
    parsed = site_parser(stages=(LIST, POST, rules)).parse(request, answer(request, page), 0)
    return [comment.comment_id for comment in parsed.items.comments], list(parsed.notes)


@pytest.mark.parametrize(("bare", "lost"), [(1, 0), (2, 0), (3, 3), (20, 20)])
def test_records_without_anything_are_left_out_and_named_where_they_are_many(bare: int, lost: int) -> None:
    page = "".join(f"<div class=c data-id={n}>{MADE}a</p></div>" for n in range(8)) + "<div class=c>x</div>" * bare

    ids, notes = replies_of(page)

    assert len(ids) == 8
    assert notes == ([f"{lost} of {8 + lost} records without comment_id were left out"] if lost else [])


def test_one_record_with_id_and_words_is_kept_and_named() -> None:
    other = "<div class=c data-id=7><b class=x>bob</b><p class=y>words that no rule reads</p></div>"
    page = "".join(f"<div class=c data-id={n}>{MADE}a</p></div>" for n in range(6)) + other

    ids, notes = replies_of(page)

    assert ids[-1] == "7"
    assert notes == ["1 of 7 records have an id, and neither author nor time nor text (the first: '7')"]


def test_replies_that_all_have_the_id_of_the_post_are_named() -> None:
    rules = """
  comments:
    record: .c
    begins_with_post: true
    fields: {comment_id: {attr: data-id}, author: .who, created_at: time, body: .say}
  pages: .pages"""
    parser = site_parser(stages=(LIST, POST.replace("body: .body, ", ""), COMMENT), post=rules)
    page = "<h1>x</h1>" + "".join(f"<div class=c data-id=1>{MADE}say {number}</div>" for number in range(5))

    notes = parser.parse(ask(Stage.POST), answer(ask(Stage.POST), page), 0).notes

    assert [note for note in notes if "4 of 4 records were left out: their comment_id is that of the post" in note]


def test_a_page_without_the_record_of_its_post_is_no_post() -> None:
    rules = """
  comments:
    record: .none
    begins_with_post: true
    fields: {comment_id: {attr: data-id}, author: .who, body: {css: .say, required: false}}
  pages: .pages"""
    parser = site_parser(stages=(LIST, POST.replace("body: .body, ", ""), COMMENT), post=rules)

    with pytest.raises(ParseError, match=r"comments\.record found nothing"):
        parser.parse(ask(Stage.POST), answer(ask(Stage.POST), post(comment(1))), 0)


def test_records_without_authors_are_kept_where_none_has_one() -> None:
    page = "<div class=c data-id=1><p class=say>one</p></div><div class=c data-id=2></div>"
    request = ask(Stage.COMMENT, page=2)

    found = site_parser().parse(request, answer(request, page), 0).items.comments

    assert [one.comment_id for one in found] == ["1", "2"]


@pytest.mark.parametrize(
    ("said", "body"),
    [("words<br>Edited by ann", "words"), ("Edited by ann", ""), ("words<br>Edited by ann<br>more", None)],
)
def test_a_regex_that_keeps_nothing_of_a_text_empties_it_and_one_that_does_not_match_misses_it(
    said: str, body: str | None
) -> None:
    rule = r"body: {css: .say, regex: '(?s)^(.*?)(?:^|\n)Edited by \w+$'}"
    parser = site_parser(stages=(LIST, POST, COMMENT.replace("body: .say", rule)))
    request = ask(Stage.COMMENT, page=2)

    found = parser.parse(request, answer(request, f"<div class=c data-id=1><p class=say>{said}</p></div>"), 0)

    assert [one.body for one in found.items.comments] == [body]


@pytest.mark.parametrize("unclosed", ["<em>", "<b><i>", "<font color=red>"])
def test_a_tag_that_a_post_leaves_open_hides_no_post_behind_it(unclosed: str) -> None:
    record = "article[id]"
    rules = f"record: '{record} ~ {record}', fields: {{comment_id: {{attr: id}}, body: p}}"
    own = f"  pages: .pages\n  comments: {{{rules}}}"
    texts = ["first", f"second {unclosed} open", "third <aside><article id=quoted><p>old</article></aside>", "fourth"]
    # The blanks between the posts make the parser open the tag again, around all that follows.
    said = "\n".join(f"<article id={at}><p>{text}</p></article>" for at, text in enumerate(texts))
    request = ask(Stage.POST)

    found = site_parser(post=own).parse(request, answer(request, post(f"<main>{said}</main>")), 0).items.comments

    assert [one.comment_id for one in found] == ["1", "2", "3"]


def test_a_page_of_comments_without_a_word_is_told() -> None:
    request = ask(Stage.COMMENT, page=2)
    page = "".join(f"<div class=c data-id={at}><b class=who>ann</b><p class=say><img></div>" for at in range(3))

    notes = site_parser().parse(request, answer(request, page), 0).notes

    assert notes == ("comment.body: found in none of 3 records",)


@pytest.mark.parametrize(
    ("rule", "text"), [("json: said, drop: blockquote", ""), ("json: said, css: .words", None), ("json: told", None)]
)
def test_an_empty_text_in_json_is_there_and_an_element_that_its_html_lacks_is_not(rule: str, text: str | None) -> None:
    fields = f"{{title: {{json: title}}, body: {{{rule}, required: false}}}}"
    rules = f"\n  address: /post/{{post}}\n  format: json\n  fields: {fields}\n  pages: {{json: pages}}"
    parser, request = site_parser(stages=(LIST, rules, COMMENT), post=""), ask(Stage.POST)

    for said in ("", "<blockquote>old</blockquote>"):
        page = answer(request, json.dumps({"title": "x", "said": said}))
        assert parser.parse(request, page, 0).items.posts[0].body == text


def test_the_text_of_the_next_rule_stands_before_an_empty_one() -> None:
    rule = "{first_of: [.first, .second]}"
    parser = site_parser(stages=(LIST, POST.replace("body: .body", f"body: {rule}"), COMMENT.replace(".say", rule)))
    request, said = ask(Stage.POST), "<p class=first><img src=a.png></p><p class=second>words</p>"

    items = parser.parse(request, answer(request, f"<h1>x</h1>{said}<div class=c data-id=1>{said}</div>"), 0).items

    assert (items.posts[0].body, items.comments[0].body) == ("words", "words")


def test_a_file_below_an_empty_text_is_a_post_and_an_empty_element_alone_is_none() -> None:
    rules = "body: .body, attachments: {css: a.file, attr: href, as: url}"
    request, page = ask(Stage.POST), "<h1>x</h1><div class=body></div>"
    parser = site_parser(stages=(LIST, POST.replace("body: .body", rules), COMMENT))
    strict = site_parser(
        stages=(LIST, POST.replace("body: .body", rules.replace(".body", "{css: .body, required: true}")), COMMENT)
    )
    file = "<a class=file href=/plan.pdf>"

    assert parser.parse(request, answer(request, page + file), 0).items.posts[0].body is None
    for reader, text in ((parser, page), (strict, page + file)):
        with pytest.raises(ParseError, match="post: body found nothing"):
            reader.parse(request, answer(request, text), 0)


@pytest.mark.parametrize("body", ["{first_of: [.none, .body]}", "{css: .body, regex: '^(.*?)(?:Edited)?$'}"])
def test_a_poll_without_a_word_is_a_post_and_a_shell_that_a_script_has_yet_to_fill_is_none(body: str) -> None:
    rules = f"body: {body}, author: .who, created_at: .when"
    request, shell = ask(Stage.POST), "<h1>x</h1><div class=body></div>"
    parser = site_parser(stages=(LIST, POST.replace("body: .body", rules), COMMENT))

    for shown in ("<b class=who>ann</b>", "<i class=when>2024-06-19 10:00</i>"):
        assert parser.parse(request, answer(request, shell + shown), 0).items.posts[0].body is None
    for page in (shell, "<h1>x</h1><b class=who>ann</b>"):
        with pytest.raises(ParseError, match="post: body found nothing"):
            parser.parse(request, answer(request, page), 0)


def test_a_post_without_body_is_fine_where_the_site_file_says_so() -> None:
    stages = (LIST, POST.replace("body: .body", "body: {css: .body, required: false}"), COMMENT)
    request = ask(Stage.POST)

    assert site_parser(stages=stages).parse(request, answer(request, "<h1>x"), 0).items.posts[0].body is None


def test_fields_of_a_post_are_looked_for_in_its_record_only() -> None:
    parser = site_parser(post="  record: article\n  pages: .pages")
    request = ask(Stage.POST)

    parsed = parser.parse(request, answer(request, f"<h1>menu</h1><article>{post()}</article>"), 0)

    assert parsed.items.posts[0].title == "Title"
    with pytest.raises(ParseError, match="post: record found nothing"):
        parser.parse(request, answer(request, post()), 0)


def test_comments_on_the_post_page_may_have_rules_of_their_own() -> None:
    own = "  pages: .pages\n  comments: {record: .d, fields: {comment_id: {attr: id}, author: i}}"
    request = ask(Stage.POST)

    found = site_parser(post=own).parse(request, answer(request, post("<p class=d id=5><i>bob")), 0).items.comments

    assert [(one.comment_id, one.author) for one in found] == [("5", "bob")]


def test_json_pages_are_read_like_others() -> None:
    listing = """
  address: /list/{board}/{page}
  format: json
  record: {json: topics}
  fields: {post_id: {json: id}, title: {json: title}, reply_count: {json: n}}
  revision: [reply_count]
"""
    parser = site_parser(listing="  pages: {json: pages}", stages=(listing, POST, COMMENT))
    request = ask(Stage.LIST)

    parsed = parser.parse(
        request, answer(request, '{"pages": 2, "topics": [{"id": 7, "title": "T", "n": 3}, null]}'), 0
    )

    assert [(one.post_id, one.title, one.revision) for one in parsed.items.posts] == [("7", "T", "3")]
    assert [(one.stage, one.page) for one in parsed.children] == [(Stage.POST, 1), (Stage.LIST, 2)]
    with pytest.raises(ParseError, match="is not JSON, it begins with '<html>"):
        parser.parse(request, answer(request, "<html>login"), 0)


LINKED = """
  record: .c
  fields: {comment_id: {attr: data-id}}
  next: {css: .next, attr: href, as: url}
"""


@pytest.mark.parametrize("tail", [0, 7])
def test_comment_pages_without_a_template_are_walked_by_their_links(tail: int) -> None:
    parser = site_parser(post="", stages=(LIST, POST, LINKED))
    first, second = ask(Stage.POST), ask(Stage.COMMENT, page=2)

    after_first = parser.parse(first, answer(first, post("<a class=next href='/t/1?p=2#x'>")), tail)
    after_second = parser.parse(second, answer(second, comment(1) + "<a class=next href='?p=3'>"), tail)
    after_last = parser.parse(second, answer(second, comment(1) + "<b class=pages>2"), tail)

    assert [(one.page, one.address) for one in after_first.children] == [(2, "https://forum.example/t/1?p=2")]
    assert [(one.page, one.address) for one in after_second.children] == [(3, "https://forum.example/comment/1/2?p=3")]
    assert after_last.children == ()


def test_the_last_page_of_linked_comments_may_show_comments_without_a_link() -> None:
    parser = site_parser(post="", stages=(LIST, POST, LINKED))
    request = ask(Stage.POST)

    assert parser.parse(request, answer(request, post(comment(1))), 0).children == ()


@pytest.mark.parametrize(
    "end", ["</body></html>", "</BODY>\n</HTML>\n<!-- 0.02 s -->", "</html>" + "<!-- 9 queries -->" * 200, ""]
)
def test_a_page_that_broke_off_is_told_where_others_of_its_site_have_an_end(end: str) -> None:
    parser = site_parser()

    def broke_off(page: str) -> bool:
        request = ask(Stage.POST)
        parsed = parser.parse(request, answer(request, page), 0)
        assert [note for note in parsed.notes if "</html>" in note] == [parsed.broke_off] * bool(parsed.broke_off)
        return bool(parsed.broke_off)

    whole = post(comment(1) + comment(2)) + end
    cut = post(comment(1)) + "<b>Fatal error</b>: Allowed memory size exhausted"

    assert (broke_off(cut), broke_off(whole)) == (False, False)
    assert (broke_off(cut), broke_off(whole)) == (bool(end), False)


@pytest.mark.parametrize(
    "rule", ["{css: .body, regex: 'said: (.+)'}", "{first_of: [{css: .body, regex: 'said: (.+)'}]}"]
)
def test_a_regex_that_no_longer_fits_a_text_is_no_empty_element(rule: str) -> None:
    parser = site_parser(stages=(LIST, POST.replace("body: .body", f"body: {rule}, author: .who"), COMMENT))
    request, shown = ask(Stage.POST), "<h1>x</h1><b class=who>ann</b><div class=body>other words</div>"

    with pytest.raises(ParseError, match="post: body found nothing"):
        parser.parse(request, answer(request, shown), 0)


@pytest.mark.parametrize("rule", ["{css: .body, default: none}", "{first_of: [.body], default: none}"])
def test_a_default_stands_in_place_of_an_empty_text(rule: str) -> None:
    parser = site_parser(stages=(LIST, POST.replace("body: .body", f"body: {rule}"), COMMENT.replace(".say", rule)))
    request, shown = ask(Stage.POST), "<div class=body><img></div>"

    items = parser.parse(request, answer(request, f"<h1>x</h1>{shown}<div class=c data-id=1>{shown}</div>"), 0).items

    assert (items.posts[0].body, items.comments[0].body) == ("none", "none")


def test_a_frame_that_scripts_have_yet_to_fill_teaches_no_end() -> None:
    parser, request = site_parser(), ask(Stage.POST)

    with pytest.raises(ParseError):
        parser.parse(request, answer(request, "<html><body><div id=app></div></body></html>"), 0)

    assert parser.parse(request, answer(request, post(comment(1))), 0).broke_off == ""


@pytest.mark.parametrize(
    ("page", "is_doubted"),
    [
        ("<!DOCTYPE html><html><body><div id=a><ul>{}</ul></div>", False),  # a forum that writes no end
        ("<!doctype html><body><div id=a><ul>{}</ul>", True),
        ("\n<HTML lang=en><body><TABLE>{}", True),
        ("<div><ul>{}", False),  # a part of a page
    ],
)
def test_a_page_that_ends_within_open_elements_is_doubted_before_any_other_was_seen(
    page: str, is_doubted: bool
) -> None:
    request = ask(Stage.POST)

    parsed = site_parser().parse(request, answer(request, page.format(post(comment(1)))), 0)

    assert ["</html>" in note for note in parsed.notes] == [True] * is_doubted
    assert not parsed.broke_off


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('{"a": 1,\n "b": NaN}', "line 2, column 7: NaN is no value of JSON"),
        ('{"a": [1, 2],\n}', "line 1, column 13: trailing comma is not allowed"),
        ('{"a": "one\nline"}', "line 1, column 11: unexpected control character in string"),
        (')]}\'\n{"a": 1}', 'line 1, column 1: ")]}\'" stands before it'),
        ('/**/ show.it({"a": 1});', "a call of show.it() stands around it (JSONP)"),
        ('{"a": 1}\n{"a": 2}', "line 2, column 1: unexpected content after document"),
        ("<html>", "it begins with '<html>'; check format"),
        ("", "it begins with ''; check format"),
    ],
)
def test_what_is_no_json_is_told_with_the_place_and_what_stands_there(body: str, says: str) -> None:
    with pytest.raises(ParseError) as caught:
        Document(answer(ask(Stage.LIST), body)).json  # noqa: B018 (read for its error)

    assert f"is not JSON, {says}" in str(caught.value) or f"is not JSON, line 1, column 1: {says}" in str(caught.value)


def test_a_further_page_of_a_thread_that_is_gone_says_so_by_the_words_of_its_first_page() -> None:
    parser = site_parser(post="  pages: .pages\n  gone_when: {css: p.message, regex: no such thread}")
    request = ask(Stage.COMMENT, page=2)

    with pytest.raises(Gone):
        parser.parse(request, answer(request, "<p class=message>There is no such thread.</p>"), 0)
