"""Rules for the JSON API behind drawn pages: each shape of an answer becomes rules that read all of it."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.api_rules import _is_as_good, _thread_lines
from crawl_tasks.discovery.json_rules import FoundRecords, paged
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
