"""The changing forum's own logic: its script, its truth, its front ends, and what its judge calls a difference."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

import pytest

from crawl_tasks.demo.forum import Answer
from crawl_tasks.demo.generator import Author
from crawl_tasks.demo.texts import TextPair
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.parse.values.dates import read_date
from crawl_tasks.sites.loader import load_site
from crawl_tasks.store.upsert import Store
from tests.changing import changes
from tests.changing.changes import HALVES, Desk
from tests.changing.crawl import SITE_FILE
from tests.changing.fronts import FrontEnd
from tests.changing.history import History, comment_facts, post_facts
from tests.changing.judge import Difference, Judge, by_kind
from tests.changing.named import Named
from tests.changing.pages import Shown, show
from tests.changing.script import WEIGHTS, Script
from tests.changing.topics import COUNT_ONLY, SIZE, Forum, Topic

NOW = 1_800_000_030.0
MANY = 400


def desk_of(forum: Forum) -> Desk:
    return Desk(forum, Author(forum.seed, SIZE, 0, forum.next_comment), Random(1), NOW, lambda *_: None)


def text_of(forum: Forum, path: str) -> str:
    return show(forum, path, NOW).answer.body.decode("utf-8", "replace")


def long_topic(forum: Forum) -> Topic:
    return next(one for one in forum.topics.values() if len(one.replies) > 13 and not one.gone and one.precision_s > 1)


def test_two_forums_of_one_seed_go_through_the_same_changes() -> None:
    one, other = Script(Forum(3, NOW)), Script(Forum(3, NOW))

    assert [one.next(NOW) for _ in range(MANY)] == [other.next(NOW + 7) for _ in range(MANY)]


def test_a_script_comes_by_every_kind_of_change() -> None:
    script = Script(Forum(1, NOW))

    done = [" ".join(what.split()[:2]) for _ in range(MANY) for what in script.next(NOW)]

    assert len(WEIGHTS) == 22
    for what in ("new post", "silent edit", "seen edit", "put back", "comment again", "stub for", "removed comment"):
        assert what in done
    for what in ("deleted", "restored", "moved", "pinned", "unpinned", "on", "off", "renamed", "flair", "views"):
        assert any(one.startswith(what) for one in done), what


def test_meddling_changes_the_thread_that_is_read_and_no_other() -> None:
    forum = Forum(1, NOW)
    script, topic = Script(forum), long_topic(forum)

    touched = {name for _ in range(20) if script.meddle(topic.post_id, NOW) for name in forum.touched}

    assert touched == {topic.post_id}


def test_comments_slide_to_earlier_pages_when_one_is_removed() -> None:
    forum = Forum(1, NOW)
    topic = long_topic(forum)
    first_of_page_2 = topic.page(2)[0].comment_id

    changes.remove_comments(desk_of(forum), topic.post_id)
    forum.put(replace(forum.topics[topic.post_id], replies=topic.replies[1:]))

    after = forum.topics[topic.post_id]
    assert after.page(1)[-1].comment_id == first_of_page_2
    assert after.version == topic.version + 2


def test_a_comment_that_is_put_back_stands_at_its_place() -> None:
    forum = Forum(1, NOW)
    topic = long_topic(forum)
    desk = desk_of(forum)

    changes.remove_comments(desk, topic.post_id, 8)
    for _ in range(8):
        changes.put_back(desk, topic.post_id)

    assert forum.topics[topic.post_id].replies == topic.replies


@pytest.mark.parametrize(
    ("gone", "is_listed", "is_marked"), [(410, False, False), (404, True, False), (404, True, True)]
)
def test_a_deleted_thread_is_gone_in_its_own_way(gone: int, is_listed: bool, is_marked: bool) -> None:
    forum = Forum(1, NOW)
    topic = replace(long_topic(forum), is_pinned=True)
    path = f"/list/{topic.boards[0]}/1"

    forum.put(replace(topic, gone=gone, is_listed=is_listed, is_marked=is_marked))

    assert show(forum, f"/post/{topic.post_id}", NOW).answer.status == gone
    assert (f'data-post="{topic.post_id}"' in text_of(forum, path)) is is_listed
    assert (f'data-post="{topic.post_id}" data-state="deleted"' in text_of(forum, path)) is is_marked


def test_the_board_of_counts_shows_neither_moments_of_comments_nor_edits() -> None:
    forum = Forum(1, NOW)
    topic = replace(long_topic(forum), boards=(COUNT_ONLY, "1"), is_pinned=True, edits=2, edited_at=int(NOW))
    forum.put(topic)

    counts, full = text_of(forum, f"/list/{COUNT_ONLY}/1"), text_of(forum, "/list/1/1")

    assert 'class="edited"' not in counts
    assert '<td class="last"><time' not in counts
    assert 'class="edited"' in full
    assert f'<td class="replies">{len(topic.replies)}</td>' in counts


def test_positions_are_those_of_nested_comments_on_the_page() -> None:
    forum = Forum(1, NOW)
    topic = next(one for one in forum.topics.values() if forum.board_of(one).nests and len(one.replies) > 6)

    facts = comment_facts(topic, forum.board_of(topic))

    page = text_of(forum, f"/post/{topic.post_id}")
    places = {page.index(f'data-comment="{one.comment_id}"'): one.comment_id for one in topic.page(1)}
    in_order = [places[place] for place in sorted(places)]
    assert [facts[f"{topic.post_id}/{name}"]["position"] for name in in_order] == list(range(len(in_order)))


def test_a_front_end_gives_a_kept_page_with_its_age_until_it_is_too_old() -> None:
    made = iter(["first", "second"])
    front = FrontEnd("skewed", ahead_s=120.0, keeps_s=60.0)

    def make(_: str, clock: float) -> Shown:
        return Shown(Answer(200, {}, f"{next(made)} at {clock}".encode()))

    fresh, _ = front.answer("/x", NOW, make)
    kept, is_kept = front.answer("/x", NOW + 59, make)
    late, is_kept_late = front.answer("/x", NOW + 61, make)

    wire = front.pack(kept.shown.answer, kept.made_at, NOW + 59)
    assert (is_kept, is_kept_late) == (True, False)
    assert kept is fresh
    assert late.shown.answer.body == f"second at {NOW + 181}".encode()
    assert b"Age: 59" in wire
    date = wire.split(b"Date: ")[1].split(b"\r\n")[0].decode()
    assert date == "Fri, 15 Jan 2027 08:02:30 GMT"


def test_a_front_end_without_a_date_sends_none() -> None:
    assert b"Date" not in FrontEnd("right", is_dated=False).pack(Answer(200, {}, b""), NOW, NOW)


def test_words_are_as_of_the_clock_of_the_front_end() -> None:
    forum = Forum(1, NOW)
    topic = replace(long_topic(forum), boards=("3",), is_pinned=True, created_at=int(NOW) // 60 * 60 - 3600)
    forum.put(topic)

    page = show(forum, "/list/3/1", NOW + 30).answer.body.decode()

    row = page.split(f'data-post="{topic.post_id}"')[1]
    words = row.split("<time>")[1].split("</time>")[0]
    assert read_date(words, NOW + 30, ZoneInfo("Asia/Shanghai")) == topic.created_at


@pytest.mark.parametrize(("half", "raw"), [(HALVES[0], b"&#55357;"), (HALVES[1], b"\xf0\x9f\x98<")])
def test_half_an_emoji_is_on_the_page_and_the_truth_has_its_replacement(half: TextPair, raw: bytes) -> None:
    forum = Forum(1, NOW)
    topic = replace(long_topic(forum), body=half)

    forum.put(topic)

    assert raw in show(forum, f"/post/{topic.post_id}", NOW).answer.body
    assert post_facts(topic)["body"] == "\ufffd"


def test_the_site_file_reads_what_the_forum_shows() -> None:
    site = load_site(SITE_FILE)

    assert [sign.field for sign in site.list.revision] == ["reply_count", "last_reply_at", "edits"]
    assert {board.id for board in site.boards} == set(Forum(1, NOW).boards)


# -- the judge --------------------------------------------------------------------------------------------------


def judged(tmp_path: Path, forum: Forum, history: History, *pages: Items) -> list[str]:
    """Return the kinds of difference that the judge finds in what was stored of one thread."""
    truth = tmp_path / "truth.json"
    truth.write_text(history.to_json())
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        for page in pages:
            store.write([page])
        judge = Judge(store, truth, "s")
        kept = {post.post_id for page in pages for post in page.posts}
        judge.truth["posts"] = {key: one for key, one in judge.truth["posts"].items() if key in kept}
        judge.truth["comments"] = {
            key: one for key, one in judge.truth["comments"].items() if key.partition("/")[0] in kept
        }
        return sorted(one.kind for one in judge.differences())


def seen(forum: Forum, post_id: str, at: float) -> Items:
    """Return a thread as a perfect reader sees it, lists and all its pages."""
    topic = forum.topics[post_id]
    post = Post(
        post_id, at, topic.boards[0], None, topic.title, topic.author, topic.created_at, topic.body.text, None,
        len(topic.replies), topic.views, topic.last_reply_at, topic.edited_at, "normal", None,
        {"pinned": "1" if topic.is_pinned else "0"},
    )  # fmt: skip
    facts = comment_facts(topic, forum.board_of(topic))
    comments = [Comment(post_id, key.partition("/")[2], at, **one) for key, one in facts.items()]
    return Items("s", (), (post,), tuple(comments))


@pytest.fixture
def forum() -> Forum:
    return Forum(1, NOW)


def plain_topic(forum: Forum) -> Topic:
    """Take a thread of one board, never edited, that has comments."""
    return next(one for one in forum.topics.values() if len(one.boards) == 1 and one.replies and not one.edits)


def test_a_perfect_crawl_has_no_differences(tmp_path: Path, forum: Forum) -> None:
    history, post_id = History(forum), plain_topic(forum).post_id

    assert judged(tmp_path, forum, history, seen(forum, post_id, 1.0)) == []


def test_an_edit_that_was_not_seen_is_a_difference(tmp_path: Path, forum: Forum) -> None:
    topic = plain_topic(forum)
    history, before = History(forum), seen(forum, topic.post_id, 1.0)

    forum.put(replace(topic, title="another"))
    history.follow(NOW, ["title"])

    assert judged(tmp_path, forum, history, before) == ["post title"]


@pytest.mark.parametrize(("seen_s", "kinds"), [(10.0, ["post title versions' order"]), (5.9, [])])
def test_versions_out_of_order_are_a_difference_unless_a_cache_s_age_could_hide_it(
    tmp_path: Path, forum: Forum, seen_s: float, kinds: list[str]
) -> None:
    topic = plain_topic(forum)
    history, pages = History(forum), [seen(forum, topic.post_id, NOW + 20)]
    for at, seen_at, title in ((5, seen_s, "second"), (25, 30.0, "third")):
        forum.put(replace(forum.topics[topic.post_id], title=title))
        history.follow(NOW + at, ["title"])
        pages.append(seen(forum, topic.post_id, NOW + seen_at))

    assert judged(tmp_path, forum, history, *pages) == kinds


def test_a_title_that_never_was_is_a_difference(tmp_path: Path, forum: Forum) -> None:
    topic = plain_topic(forum)
    history, after = History(forum), seen(forum, topic.post_id, 2.0)

    false = seen(forum, topic.post_id, 1.0)
    false = false._replace(posts=(false.posts[0]._replace(title="never"),))

    assert judged(tmp_path, forum, history, false, after) == ["post title invented"]


def test_what_stands_and_is_called_deleted_is_a_difference(tmp_path: Path, forum: Forum) -> None:
    topic = plain_topic(forum)
    history, page = History(forum), seen(forum, topic.post_id, 1.0)

    page = page._replace(comments=(page.comments[0]._replace(state="deleted"), *page.comments[1:]))

    assert judged(tmp_path, forum, history, page) == ["comment deleted, never was"]


@pytest.mark.parametrize(
    ("state", "kinds"), [("normal", ["comment normal, is deleted"]), ("deleted", []), ("missing", [])]
)
def test_a_comment_that_was_removed_must_be_marked_where_it_is_stored(
    tmp_path: Path, forum: Forum, state: str, kinds: list[str]
) -> None:
    topic = plain_topic(forum)
    history, first = History(forum), seen(forum, topic.post_id, 1.0).comments[0]

    forum.put(replace(topic, replies=topic.replies[1:], removed=topic.replies[:1]))
    history.follow(NOW, ["removed"])
    page = seen(forum, topic.post_id, 2.0)
    if state != "missing":
        page = page._replace(comments=(first._replace(state=state), *page.comments))

    assert judged(tmp_path, forum, history, page) == kinds


def test_what_a_page_no_longer_shows_may_stay_as_it_was(tmp_path: Path, forum: Forum) -> None:
    topic = plain_topic(forum)
    history, before = History(forum), seen(forum, topic.post_id, 1.0)

    forum.put(replace(topic, author=None))
    history.follow(NOW, ["author"])

    assert judged(tmp_path, forum, history, before) == []


def test_a_truth_at_rest_names_what_happened(forum: Forum) -> None:
    history, script = History(forum), Script(forum)

    for _ in range(50):
        history.follow(NOW, script.next(NOW))

    truth = json.loads(history.to_json())
    assert sum(len(post["was"]) for post in truth["posts"].values()) >= 50
    assert all(post["shown"]["state"] == post["past"]["state"][-1] for post in truth["posts"].values())


def test_differences_are_counted_by_kind_with_an_example() -> None:
    found = [Difference("post title", "1", "one"), Difference("post title", "2", "two")]

    assert by_kind(found) == ["2 times post title, as: one"]


# -- what only a full pass finds ------------------------------------------------------------------------------------


def answer(forum: Forum, path: str) -> dict[str, object]:
    shown = show(forum, path, NOW)
    return {"path": path, "versions": shown.versions, "revisions": shown.revisions}


CHANGES: dict[str, Callable[[Topic], Topic]] = {
    "silent": lambda topic: replace(topic, title=f"{topic.title}!"),
    "edited": lambda topic: replace(topic, edits=topic.edits + 1),
    "moved": lambda topic: replace(topic, boards=(COUNT_ONLY,)),
    "two-boards": lambda topic: replace(topic, boards=(*topic.boards, COUNT_ONLY)),
    "gone": lambda topic: replace(topic, gone=404),
    "back": lambda topic: replace(topic, gone=0),
}


@pytest.mark.parametrize(
    ("kind", "story", "is_named"),
    [
        ("post body", "row page silent row", True),  # the list shows the same revision as before
        ("post body", "row page edited row", False),  # it shows another one
        ("post body", "row page edited", True),  # it was not looked at since
        ("post body", "row page edited row page silent row", True),
        ("post body", "row page silent row page", False),  # the page was read, as it is
        ("post body", "row silent row", False),  # it was never read
        ("post title", "row page silent row", False),  # the row says it
        ("post title", "row page silent", True),
        ("post edits", "row page edited row", False),
        ("post edits", "row page edited two-boards other-row", True),  # whose rows show none
        ("post body invented", "row page silent", False),
        ("post forum_id", "row page moved row", True),  # the new board has the revision of the old one
        ("post forum_id", "edited row page moved row", False),  # the new board shows no edits
        ("post forum_id", "row page gone row back moved row", True),
        ("post forum_id", "row page gone row page back moved row page", False),
    ],
)
def test_a_difference_is_named_where_no_list_showed_it(forum: Forum, kind: str, story: str, is_named: bool) -> None:
    topic, history = plain_topic(forum), History(forum)
    forum.put(replace(topic, replies=(), is_pinned=True))

    answers = []
    for step in story.split():
        topic = forum.topics[topic.post_id]
        if step in CHANGES:
            forum.put(CHANGES[step](topic))
            history.follow(NOW, [step])
        else:
            board = topic.boards[-1 if step == "other-row" else 0]
            place = f"/post/{topic.post_id}" if step == "page" else f"/list/{board}/1"
            answers.append(answer(forum, place))
    named = Named(json.loads(history.to_json()), answers)

    assert (Difference(kind, topic.post_id, "") in named) is is_named
