"""Rules for the JSON API behind drawn pages: each shape of an answer becomes rules that read all of it."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.json_rules.api_rules import _is_as_good, _thread_lines, comment_rules
from crawl_tasks.discovery.json_rules.json_rules import FoundRecords, paged
from crawl_tasks.discovery.probe.json_document import nested_lists
from crawl_tasks.model import Comment, Post

POSTS = [{"id": number, "html": f"<p>words of {number}</p>", "user": {"name": f"ann{number}"}} for number in range(9)]


def thread(address: str, count: int) -> list[str]:
    """Return the lines for threads whose answers have the post before its comments in one list."""
    answer = {"data": {"subject": "boats", "posts": POSTS[:count]}}
    post = Post("7", title="boats", author="ann0", body="words of 0")
    comments = [Comment("7", str(one["id"]), author=one["user"]["name"], body=f"words of {one['id']}") for one in POSTS]
    pairs = list(zip(comments[1:count], POSTS[1:count], strict=True))
    return _thread_lines(
        FoundRecords(address, "", [], [(post, answer)]), FoundRecords(address, "data.posts[1:]", [answer], pairs)
    )


def test_the_post_stands_before_the_comments_of_the_first_page_alone() -> None:
    lines = thread("/api/t/{post}?offset=0&limit=8", 8)

    post, comment = lines[: lines.index("comment:")], lines[lines.index("comment:") :]
    assert "    record: {json: 'data.posts[1:]'}" in post
    assert "  record: {json: data.posts}" in comment
    assert "  empty: {json: 'type(data.posts)'}" in comment
    assert "  address: '/api/t/{post}?offset={offset:8}&limit=8'" in comment
    assert "  next: {json: 'length(data.posts) >= `8`'}" in post
    assert "body: {json: html, text: lines}" in " ".join(comment)
    assert "author: {json: 'data.posts[0].user.name'}" in " ".join(post)


def test_a_thread_in_one_answer_has_no_further_pages() -> None:
    lines = thread("/api/t/{post}", 5)

    assert "  pages: {json: '`1`'}" in lines
    assert "  max_pages: 1" in lines
    assert "  address: '/api/t/{post}?page={page}'" in lines
    assert not any(line.startswith("  next") for line in lines)


def test_replies_within_their_comment_are_records_and_what_each_says_of_itself_is_no_parent() -> None:
    inner = [
        {"id": 8, "pid": 7, "parent_key": 8, "text": "six of one"},
        {"id": 9, "pid": 7, "parent_key": 9, "text": "half"},
    ]
    outer = {"id": 7, "pid": None, "parent_key": 7, "text": "boats", "replies": inner}
    answer = {"data": [outer, {"id": 10, "pid": None, "parent_key": 10, "text": "ropes"}]}
    records = [*dict(nested_lists(answer))["data[].[[@], replies][][]"]]
    pairs = [(Comment("1", str(one["id"]), body=one["text"]), one) for one in records]

    lines = comment_rules(FoundRecords("/c?path=/t/{post}&page=1", "data[].[[@], replies][][]", [answer], pairs))

    assert [one["id"] for one in records] == [7, 8, 9, 10]
    assert "  record: {json: 'data[].[[@], replies][][]'}" in lines
    assert "comment_id: {json: id}, parent_id: {json: pid}" in " ".join(lines)
    assert "  next: {json: 'length(data) >= `2`'}" in lines


def test_a_text_is_read_as_html_rather_than_as_its_source() -> None:
    records = [{"id": n, "html": f"<p>a <b>knot</b> of {n}</p>", "raw": f"a **knot** of {n}"} for n in range(4)]
    pairs = [(Comment("1", str(one["id"]), body=f"a knot of {one['id']}"), one) for one in records]

    lines = comment_rules(FoundRecords("/c/{post}", "@", [records], pairs))

    assert "body: {json: html, text: lines}, body_html: {json: html}" in " ".join(lines)


@pytest.mark.parametrize(
    ("address", "page", "every"),
    [
        ("/a?page=1", 1, "/a?page={page}"),
        ("/a?page=0", 1, "/a?page={offset:1}"),
        ("/a?page=2", 2, "/a?page={page}"),
        ("/a?page=1", 2, "/a?page={offset:1}"),
        ("/a?offset=0&limit=20", 1, "/a?offset={offset:20}&limit=20"),
        ("/a?start=0", 1, "/a?start={offset:3}"),
        ("/a?skip=25", 2, "/a?skip={offset:25}"),
        ("/a/page", 1, None),
        ("/a?pages=1", 1, None),
    ],
)
def test_the_address_of_one_page_tells_those_of_all(address: str, page: int, every: str | None) -> None:
    assert paged(address, 3, page) == every


@pytest.mark.parametrize(
    ("score", "is_apart", "holds"),
    [
        ((0, 80, 1), False, True),
        ((0, 79, 30), False, False),
        ((0, 50, 1), True, True),
        ((0, 49, 30), True, False),
        ((-1, 100, 30), False, False),
    ],
)
def test_an_api_that_tells_half_of_the_records_is_not_taken(
    score: tuple[int, int, int], is_apart: bool, holds: bool
) -> None:
    assert _is_as_good(score, (0, 100, 20), is_apart=is_apart) is holds


def test_fewer_refutations_do_not_outweigh_lost_records() -> None:
    assert not _is_as_good((0, 10, 20), (-1, 100, 20), is_apart=False)
