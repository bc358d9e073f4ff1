"""The comparison with the truth finds what is missing, too many, or different."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crawl_tasks.local.compare import compare, compare_with_truth, needless_requests, requests_by_path, spelled
from crawl_tasks.model import Comment, Forum, Items, Post
from crawl_tasks.store.upsert import Store

TRUTH = {
    "forums": [{"forum_id": "1", "title": "茶馆", "pages": 1}],
    "posts": [
        {
            "post_id": "7", "forum_ids": ["1", "2"], "title": "T", "author": None, "author_id": None, "created_at": 60,
            "last_reply_at": 120, "edited_at": None,
            "edits": 2, "body": "a b\nc", "reply_count": 1, "view_count": 5, "state": "normal",
        }
    ],
    "comments": [
        {
            "comment_id": "9", "post_id": "7", "parent_id": None, "depth": 0, "author": "x",
            "author_id": "3", "created_at": 120,
            "body": "hi", "state": "deleted", "page": 1,
        }
    ],
    "paths": ["/list/1/1", "/post/7"],
}  # fmt: skip

POST = Post(
    "7", 1.0, forum_id="1", title="T", created_at=60, last_reply_at=120, body=" a  b\n\nc ", reply_count=1,
    view_count=5, state="normal", extra={"edits": "2"},
)  # fmt: skip
COMMENT = Comment("7", "9", 1.0, author="x", author_id="3", created_at=120, body="hi", depth=0, page=1, state="deleted")
PAGE = Items("demo", (Forum("1", "茶馆"),), (POST, POST._replace(forum_id="2", seen_at=0.5)), (COMMENT,))


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    file = tmp_path / "truth.json"
    file.write_text(json.dumps(TRUTH), "utf-8")
    return file


def stored(tmp_path: Path, *pages: Items) -> Store:
    store = Store(f"sqlite:///{tmp_path}/crawl.db").open()
    store.write(pages)
    return store


def test_a_database_that_has_it_all_is_equal(tmp_path: Path, truth: Path) -> None:
    with stored(tmp_path, PAGE) as store:
        found = compare_with_truth(store, "demo", truth)

    assert {kind: comparison.is_equal for kind, comparison in found.items()} == {
        "forums": True,
        "posts": True,
        "comments": True,
    }


def test_other_sites_do_not_count(tmp_path: Path, truth: Path) -> None:
    with stored(tmp_path, PAGE, PAGE._replace(site="other", posts=(POST._replace(post_id="8"),))) as store:
        found = compare_with_truth(store, "demo", truth)

    assert found["posts"].is_equal


def test_each_fault_is_counted_by_its_field(tmp_path: Path, truth: Path) -> None:
    wrong = POST._replace(title="U", extra={"edits": "1"})
    with stored(tmp_path, Items("demo", (), (wrong, POST._replace(post_id="8")), ())) as store:
        found = compare_with_truth(store, "demo", truth)

    assert (found["forums"].missing, found["comments"].missing) == (1, 1)
    assert (found["posts"].missing, found["posts"].surplus) == (0, 1)
    assert found["posts"].differing == {"title": 1, "edits": 1, "forum_ids": 1}
    assert not found["posts"].is_equal


def test_examples_are_few_and_say_what_should_be() -> None:
    found = compare({str(n): {"a": 1} for n in range(50)}, {str(n): {"a": 2} for n in range(50)})

    assert found.differing == {"a": 50}
    assert len(found.examples) == 10
    assert found.examples[0] == "0 a: 2 should be 1"


def test_spelling_brings_white_space_and_accents_to_one_form() -> None:
    assert spelled("cafe\u0301\u00a0 x\r\n\n  y ") == "café x\ny"
    assert spelled(None) is None


def test_requests_are_counted_by_path_without_robots(tmp_path: Path) -> None:
    log = tmp_path / "log"
    answers = (
        ("/robots.txt", 200),
        ("/post/1", 200),
        ("/post/1", 500),
        ("/list/1/1", 200),
        ("/post/2", 410),
        ("/post/2", 410),
    )
    log.write_text("".join(f'{{"path": "{path}", "status": {status}}}\n' for path, status in answers))

    assert requests_by_path(log) == {"/post/1": 2, "/list/1/1": 1, "/post/2": 2}
    # A page that is gone is looked at again when it is listed again.
    assert needless_requests(log) == {"/post/1": 1}
    assert requests_by_path(tmp_path / "none") == needless_requests(tmp_path / "none") == {}
