"""The demo forum grows from its seed alone, and changes between generations by exactly what it announces."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_tasks.demo import render
from crawl_tasks.demo.content import Board, Style
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.mutation import STEP_S
from crawl_tasks.demo.texts import Language, normalise
from crawl_tasks.demo.truth import TrueComment, TruePost, Truth

NOW = int(datetime(2024, 6, 19, 14, 17, tzinfo=UTC).timestamp())


def posts_of(truth: Truth) -> dict[str, TruePost]:
    return {post.post_id: post for post in truth.posts}


def comments_of(truth: Truth) -> dict[str, TrueComment]:
    return {comment.comment_id: comment for comment in truth.comments}


def pages_of(forum: DemoForum) -> dict[str, bytes]:
    return {path: forum.wire(path) for path in ("/", *forum.truth().paths)}


def test_same_seed_gives_the_same_bytes_in_another_process() -> None:
    program = (
        "import hashlib; from crawl_tasks.demo.forum import DemoForum; f = DemoForum(7, generation=2);"
        "print(hashlib.sha256(b''.join(f.wire(p) for p in f.truth().paths)).hexdigest(), hash('salted'))"
    )

    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout for _ in range(2)]

    assert runs[0].split()[0] == runs[1].split()[0]
    assert runs[0].split()[1] != runs[1].split()[1]


def test_another_seed_gives_another_forum() -> None:
    assert DemoForum(1).truth().posts != DemoForum(2).truth().posts


def test_generation_two_is_the_same_whether_asked_for_or_reached() -> None:
    forum = DemoForum(3)
    for path in forum.truth().paths:
        forum.wire(path)

    forum.mutate()

    assert pages_of(forum) == pages_of(DemoForum(3, generation=2))
    assert forum.generation == 2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_news_are_exactly_five_posts_three_comments_and_one_edit(seed: int) -> None:
    forum = DemoForum(seed)
    before = forum.truth()

    news = forum.mutate()
    after = forum.truth()
    old, new = posts_of(before), posts_of(after)
    commented = {post_id for _, post_id in news.comments}
    edited = {post_id for post_id in old if new[post_id].body != old[post_id].body}

    assert set(new) - set(old) == set(news.posts)
    assert len(news.posts) == 5
    assert edited == set(news.edited)
    assert len(edited) == 1
    assert {post_id for post_id in old if new[post_id] != old[post_id]} == commented | edited
    assert set(comments_of(after)) - set(comments_of(before)) == {comment_id for comment_id, _ in news.comments}
    assert {key: comments_of(after)[key] for key in comments_of(before)} == comments_of(before)
    assert after.now == before.now + STEP_S


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_new_comments_open_a_page_end_a_long_thread_and_stand_in_a_short_one(seed: int) -> None:
    forum = DemoForum(seed)
    before = posts_of(forum.truth())

    news = forum.mutate()
    after = posts_of(forum.truth())
    placed = comments_of(forum.truth())
    opening, ending, short = ((comment, before[post], after[post]) for comment, post in news.comments)

    assert opening[2].pages == opening[1].pages + 1
    assert (placed[opening[0]].page, placed[opening[0]].position) == (opening[2].pages, 0)
    assert ending[2].pages == ending[1].pages >= 4
    assert placed[ending[0]].page == ending[2].pages
    assert short[2].pages == placed[short[0]].page == 1
    assert len({post for _, post in news.comments}) == 3


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_comments_bump_a_thread_and_an_edit_does_not(seed: int) -> None:
    forum = DemoForum(seed)
    before = posts_of(forum.truth())

    news = forum.mutate()
    after = posts_of(forum.truth())
    edit = after[news.edited[0]]

    for comment_id, post_id in news.comments:
        assert after[post_id].last_reply_at == comments_of(forum.truth())[comment_id].created_at
        assert after[post_id].reply_count == before[post_id].reply_count + 1
        assert f'/post/{post_id}"' in forum.render(f"/list/{after[post_id].forum_ids[0]}/1").body.decode()
    assert edit.last_reply_at == before[edit.post_id].last_reply_at
    assert edit.edits == before[edit.post_id].edits + 1
    assert edit.edited_at is not None
    assert forum.truth().now - STEP_S < edit.edited_at < forum.truth().now


def test_only_pages_that_the_news_touch_change_for_a_reader_of_threads() -> None:
    forum = DemoForum(1)
    before = {path: forum.render(path).body for path in forum.truth().paths if not path.startswith("/list")}
    boards = {post.post_id: post.forum_ids[0] for post in forum.truth().posts}

    news = forum.mutate()
    changed = {path.split("/")[2] for path in before if forum.render(path).body != before[path]}
    relative = {post_id for post_id in changed if boards[post_id] in ("3", "4")}

    assert changed - relative <= {*news.edited, *(post_id for _, post_id in news.comments)}


def test_generations_go_on_until_no_thread_can_open_a_page() -> None:
    forum = DemoForum(1, generation=6)

    assert forum.generation == 6
    with pytest.raises(ValueError, match="no thread left to grow"):
        DemoForum(1, generation=200)


def test_truth_as_json_has_the_same_rows() -> None:
    truth = DemoForum(2).truth()

    row = json.loads(truth.to_json())

    assert [TruePost(**{**post, "forum_ids": tuple(post["forum_ids"])}) for post in row["posts"]] == list(truth.posts)
    assert [TrueComment(**comment) for comment in row["comments"]] == list(truth.comments)
    assert row["paths"] == list(truth.paths)
    assert (row["seed"], row["size"], row["generation"], row["now"]) == (2, "demo", 1, truth.now)


@pytest.mark.parametrize(
    ("style", "ago_s", "expected"),
    [
        (Style.HAN, 0, "2024年6月19日 22:17"),
        (Style.LOCAL, 0, "2024-06-19 22:17"),
        (Style.RELATIVE, 60, "1 分钟前"),
        (Style.RELATIVE, 3540, "59 分钟前"),
        (Style.RELATIVE, 3600, "1 小时前"),
        (Style.RELATIVE, 3660, "今天 21:16"),
        (Style.RELATIVE, 82_800, "23 小时前"),
        (Style.RELATIVE, 86_400, "昨天 22:17"),
        (Style.RELATIVE, 172_800, "前天 22:17"),
        (Style.RELATIVE, 259_200, "2024-06-16 22:17"),
    ],
)
def test_boards_write_moments_in_their_style(style: Style, ago_s: int, expected: str) -> None:
    board = Board("1", "t", Language.CHINESE, style, nests=False)

    assert render.moment(board, NOW - ago_s, NOW) == f"<time>{expected}</time>"


@given(st.integers(1, 10**7), st.sampled_from(Language))
def test_a_moment_as_attribute_reads_back_to_the_second(ago_s: int, language: Language) -> None:
    board = Board("1", "t", language, Style.ATTRIBUTE, nests=False)

    text = render.moment(board, NOW - ago_s, NOW).split('"')[1]

    assert datetime.fromisoformat(text).timestamp() == NOW - ago_s


@pytest.mark.parametrize(
    ("number", "chinese", "english"),
    [
        (7, "7", "7"),
        (999, "999", "999"),
        (3456, "3,456", "3,456"),
        (12_000, "1.2万", "12.0k"),
        (390_000, "39万", "390.0k"),
    ],
)
def test_views_are_shortened_without_loss(number: int, chinese: str, english: str) -> None:
    assert (render.views(Language.CHINESE, number), render.views(Language.ENGLISH, number)) == (chinese, english)


@given(st.text())
@settings(max_examples=200)
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)

    assert normalise(once) == once
    assert "  " not in once
    assert "\n\n" not in once


def test_the_demo_imports_nothing_else_of_the_project_and_no_library() -> None:
    program = (
        "import sys, crawl_tasks; before = set(sys.modules); import crawl_tasks.demo.__main__;"
        "new = {name for name in set(sys.modules) - before};"
        "print(sorted(n for n in new if n.startswith('crawl_tasks') and not n.startswith('crawl_tasks.demo')));"
        "roots = {n.split('.')[0] for n in new}; print(sorted(roots - {*sys.stdlib_module_names, 'crawl_tasks'}))"
    )

    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, cwd=Path(__file__).parents[2]
    )

    assert result.stdout.split("\n")[:2] == ["[]", "[]"]
