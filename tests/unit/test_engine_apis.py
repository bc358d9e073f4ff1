"""The presets that read JSON, on small answers of ours in the form of each program's API."""

from __future__ import annotations

import json

import pytest

from crawl_tasks.errors import Gone
from crawl_tasks.model import Parsed, Stage
from tests.unit.pages import found_extra
from tests.unit.presets import Preset

WHEN, MOMENT = "2024-06-19T14:17:05.000Z", 1718806625
LATER, LATER_MOMENT = "2024-06-20T00:00:00.000Z", 1718841600
DISCOURSE, FLARUM, LOBSTERS, WORDPRESS = map(Preset, ("discourse", "flarum", "lobsters", "wordpress"))


def read(preset: Preset, stage: Stage, key: str, body: object, *, page: int = 1, total: int | None = None) -> Parsed:
    headers = {} if total is None else {"x-wp-totalpages": str(total)}
    return preset.parse(stage, key, json.dumps(body), page=page, headers=headers)


def tree(parsed: Parsed) -> list[tuple[str, str | None, str | None, str | None]]:
    return [(one.comment_id, one.parent_id, one.author, one.state) for one in parsed.items.comments]


def following(parsed: Parsed) -> list[tuple[Stage, int]]:
    return [(child.stage, child.page) for child in parsed.children if child.stage is not Stage.POST]


def discourse_post(number: int, **more: object) -> dict[str, object]:
    return {
        "id": 900 + number, "post_number": number, "post_type": 1, "username": f"user{number}", "created_at": WHEN,
        "updated_at": LATER, "version": 1, "cooked": f"<p>say {number}</p>", "reply_to_post_number": None, **more,
    }  # fmt: skip


def discourse_topic(*posts: dict[str, object], stream: int) -> dict[str, object]:
    return {
        "id": 12, "title": "A <title>", "category_id": 4, "posts_count": stream, "views": 77, "created_at": WHEN,
        "last_posted_at": LATER, "post_stream": {"posts": list(posts), "stream": list(range(901, 901 + stream))},
    }  # fmt: skip


def test_discourse_rows_name_their_authors_by_the_list_of_users() -> None:
    row = {
        "id": 12, "title": "A <title>", "category_id": 4, "posts_count": 1_500, "highest_post_number": 1_510,
        "created_at": WHEN, "last_posted_at": LATER, "views": 77, "posters": [{"user_id": 7}, {"user_id": 8}],
    }  # fmt: skip
    pinned = {**row, "id": 13, "pinned": True, "closed": True, "posts_count": 1, "posters": []}
    body = {
        "users": [{"id": 8, "username": "bob"}, {"id": 7, "username": "ann"}],
        "topic_list": {"topics": [pinned, row], "more_topics_url": "/latest?page=1"},
    }

    parsed = read(DISCOURSE, Stage.LIST, "4", body)

    first, second = parsed.items.posts
    assert (first.author, first.reply_count, found_extra(first)) == (None, 0, {"pinned": "pinned", "locked": "closed"})
    assert (second.post_id, second.forum_id, second.title, second.author) == ("12", "4", "A <title>", "ann")
    assert (second.reply_count, second.view_count, second.created_at, second.last_reply_at, second.revision) == (
        1499, 77, MOMENT, LATER_MOMENT, "1499|1510",
    )  # fmt: skip
    assert following(parsed) == [(Stage.LIST, 2)]
    assert parsed.children[-2].address.endswith("page=1")  # behind it stands the pinned topic


def test_a_discourse_topic_is_read_with_its_replies_and_all_its_pages_are_known() -> None:
    quote = '<aside class="quote">quoted</aside><p>said <img class="emoji" alt=":tada:"></p><img src="/pic.png">'
    posts = [
        discourse_post(1, version=2, cooked='<p>one</p><a class="attachment" href="/up/a.pdf">a.pdf</a>'),
        discourse_post(2, cooked=quote, reply_to_post_number=1), discourse_post(3, reply_to_post_number=2),
        discourse_post(4, post_type=3), discourse_post(5, user_deleted=True), discourse_post(6, hidden=True),
    ]  # fmt: skip

    parsed = read(DISCOURSE, Stage.POST, "12", discourse_topic(*posts, stream=41))

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.forum_id) == ("A <title>", "user1", "one\na.pdf", "4")
    assert (post.created_at, post.edited_at, post.reply_count, post.state) == (MOMENT, LATER_MOMENT, 40, "normal")
    assert found_extra(post) == {"attachments": "https://forum.example/up/a.pdf"}
    assert tree(parsed) == [
        ("2", None, "user2", "normal"), ("3", "2", "user3", "normal"), ("5", None, "user5", "deleted"),
        ("6", None, "user6", "masked"),
    ]  # fmt: skip
    reply = parsed.items.comments[0]
    assert (reply.body, reply.edited_at) == ("said :tada:", None)
    assert found_extra(reply) == {"images": "https://forum.example/pic.png"}
    assert following(parsed) == [(Stage.COMMENT, 2), (Stage.COMMENT, 3)]


@pytest.mark.parametrize("tags", [["linux", "how to"], [{"id": 1, "name": "linux", "slug": "l"}, {"name": "how to"}]])
def test_likes_and_tags_of_discourse_are_read(tags: list[object]) -> None:
    liked = [{"id": 2, "count": 3}, {"id": 3, "can_act": True}]
    posts = [discourse_post(1, actions_summary=liked), discourse_post(2, actions_summary=liked[1:]), discourse_post(3)]

    parsed = read(DISCOURSE, Stage.POST, "12", {**discourse_topic(*posts, stream=3), "tags": tags})

    assert found_extra(parsed.items.posts[0]) == {"score": "3", "tags": "linux, how to"}
    assert [found_extra(one) for one in parsed.items.comments] == [{}, {}]


def test_the_last_page_of_a_discourse_topic_has_no_next() -> None:
    parsed = read(DISCOURSE, Stage.COMMENT, "12", discourse_topic(discourse_post(41), stream=41), page=3)

    assert [(one.comment_id, one.page) for one in parsed.items.comments] == [("41", 3)]
    assert parsed.children == ()


def mega_topic(*posts: dict[str, object], count: int, last: int) -> dict[str, object]:
    stream = {"posts": list(posts), "isMegaTopic": True, "firstId": 901, "lastId": 900 + last}
    return {**discourse_topic(*posts, stream=count), "post_stream": stream}


def test_a_discourse_topic_without_a_stream_is_read_to_its_last_page() -> None:
    first = read(DISCOURSE, Stage.POST, "12", mega_topic(*map(discourse_post, range(1, 21)), count=10_000, last=10_041))

    assert following(first) == [(Stage.COMMENT, page) for page in range(2, 501)]


@pytest.mark.parametrize(("page", "last", "pages"), [(499, 9_980, []), (500, 10_000, [501]), (503, 10_041, [])])
def test_the_count_of_a_discourse_topic_without_a_stream_is_no_limit(page: int, last: int, pages: list[int]) -> None:
    body = mega_topic(discourse_post(last), count=10_000, last=10_041)

    parsed = read(DISCOURSE, Stage.COMMENT, "12", body, page=page)

    assert following(parsed) == [(Stage.COMMENT, page) for page in pages]


def flarum_post(number: int, user: str = "7", **more: object) -> dict[str, object]:
    attributes = {"number": number, "createdAt": WHEN, "contentType": "comment", "contentHtml": f"<p>say {number}</p>"}
    return {
        "type": "posts", "id": str(100 + number), "attributes": attributes | more,
        "relationships": {"user": {"data": {"type": "users", "id": user}}},
    }  # fmt: skip


def flarum_answer(*posts: dict[str, object], count: int) -> dict[str, object]:
    discussion = {"title": "A <title>", "createdAt": WHEN, "lastPostedAt": LATER, "commentCount": count}
    return {
        "links": {"next": "https://forum.example/api/posts?filter[discussion]=12&page[offset]=20"}
        if count > 20
        else {},
        "data": list(posts),
        "included": [
            {"type": "discussions", "id": "7", "attributes": discussion},
            {"type": "users", "id": "7", "attributes": {"username": "ann"}},
            {"type": "users", "id": "8", "attributes": {"displayName": "bob"}},
        ],
    }


def test_flarum_rows_name_their_authors_by_what_is_included() -> None:
    attributes = {"title": "T", "createdAt": WHEN, "lastPostedAt": LATER, "commentCount": 3, "lastPostNumber": 5}
    row = {
        "type": "discussions", "id": "12", "attributes": {**attributes, "isSticky": True, "isLocked": False},
        "relationships": {"user": {"data": {"type": "users", "id": "7"}}},
    }  # fmt: skip
    body = {
        "links": {"next": "https://forum.example/api/discussions?page%5Boffset%5D=20"}, "data": [row],
        "included": [{"type": "tags", "id": "7"}, {"type": "users", "id": "7", "attributes": {"username": "ann"}}],
    }  # fmt: skip

    parsed = read(FLARUM, Stage.LIST, "general", body)

    (post,) = parsed.items.posts
    assert (post.post_id, post.title, post.author, post.reply_count, post.revision) == ("12", "T", "ann", 2, "2|5")
    assert (post.created_at, post.last_reply_at, found_extra(post)) == (MOMENT, LATER_MOMENT, {"pinned": "sticky"})
    assert following(parsed) == [(Stage.LIST, 2)]


def test_a_flarum_discussion_is_one_request_with_its_first_posts() -> None:
    mention = '<p><a href="https://forum.example/d/12/2" class="PostMention" data-id="102">bob</a> yes</p>'
    first = mention.replace("d/12/2", "d/12/1").replace("102", "101")
    posts = (
        flarum_post(1, editedAt=LATER, contentHtml="<blockquote>q</blockquote><p>one</p>", likesCount=4),
        flarum_post(2, "8", likesCount=0),
        flarum_post(4, contentHtml=mention), flarum_post(5, "99", contentHtml=first, isHidden=True),
    )  # fmt: skip

    parsed = read(FLARUM, Stage.POST, "12", flarum_answer(*posts, count=21))

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.reply_count) == ("A <title>", "ann", "one", 20)
    assert (post.created_at, post.edited_at, post.last_reply_at) == (MOMENT, LATER_MOMENT, LATER_MOMENT)
    assert (found_extra(post), found_extra(parsed.items.comments[0])) == ({"score": "4"}, {"score": "0"})
    assert tree(parsed) == [
        ("102", None, "bob", "normal"), ("104", "102", "ann", "normal"), ("105", None, None, "deleted"),
    ]  # fmt: skip
    assert following(parsed) == [(Stage.COMMENT, 2)]
    assert parsed.children[0].address.endswith("page[offset]=20")


def test_a_flarum_discussion_without_posts_is_gone() -> None:
    with pytest.raises(Gone):
        read(FLARUM, Stage.POST, "12", {"data": [], "included": []})


def story(**more: object) -> dict[str, object]:
    return {
        "short_id": "ab12cd", "title": "A <title>", "created_at": "2024-06-19T09:17:05.000-05:00", "comment_count": 2,
        "submitter_user": "ann", "url": "https://elsewhere.example/", "score": 9, "description": "", **more,
    }  # fmt: skip


@pytest.mark.parametrize(("rows", "pages"), [(25, [2]), (24, [2]), (0, [])])
def test_a_page_of_lobsters_stories_has_a_next_one(rows: int, pages: list[int]) -> None:
    parsed = read(LOBSTERS, Stage.LIST, "python", [story(short_id=f"story{number}") for number in range(rows)])

    assert len(parsed.items.posts) == rows
    assert [page for _, page in following(parsed)] == pages


def test_a_lobsters_story_comes_with_all_its_comments() -> None:
    comments = [
        {"short_id": "c1", "parent_comment": None, "depth": 0, "commenting_user": "bob", "comment": "<p>x<p>y"},
        {"short_id": "c2", "parent_comment": "c1", "depth": 1, "commenting_user": {"username": "cid"},
         "is_deleted": True, "created_at": WHEN, "last_edited_at": LATER},
    ]  # fmt: skip

    parsed = read(LOBSTERS, Stage.POST, "ab12cd", story(comments=comments, tags=["c", "python"]))

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.created_at, post.body, post.reply_count) == (
        "A <title>", "ann", MOMENT, "", 2,
    )  # fmt: skip
    assert found_extra(post) == {"link": "https://elsewhere.example/", "score": "9", "tags": "c, python"}
    assert tree(parsed) == [("c1", None, "bob", "normal"), ("c2", "c1", "cid", "deleted")]
    assert [one.depth for one in parsed.items.comments] == [0, 1]
    assert parsed.items.comments[0].body == "x\ny"
    assert parsed.children == ()


def article(number: int, **more: object) -> dict[str, object]:
    return {
        "id": number, "date_gmt": "2024-06-19T14:17:05", "modified_gmt": "2024-06-20T00:00:00",
        "link": "https://forum.example/2024/a/", "title": {"rendered": "A &amp; B&#8217;s"},
        "content": {"rendered": "<p>one</p><p>two</p><img src='/p.png'>"},
        "_embedded": {"author": [{"name": "ann"}]}, **more,
    }  # fmt: skip


def wordpress_comment(number: int, parent: int = 0, **more: object) -> dict[str, object]:
    return {
        "id": number, "post": 12, "parent": parent, "author_name": "bob", "date_gmt": "2024-06-19T14:17:05",
        "content": {"rendered": f"<p>say {number}</p>"}, **more,
    }  # fmt: skip


def test_wordpress_articles_and_comments_both_lead_to_articles() -> None:
    articles = read(WORDPRESS, Stage.LIST, "posts", [article(12), article(13)], total=2)
    comments = read(WORDPRESS, Stage.LIST, "comments", [wordpress_comment(31), wordpress_comment(30)], total=1)

    assert [(one.post_id, one.title, one.author, one.created_at) for one in articles.items.posts] == [
        ("12", "A & B’s", "ann", MOMENT), ("13", "A & B’s", "ann", MOMENT),
    ]  # fmt: skip
    assert following(articles) == [(Stage.LIST, 2)]
    assert [(one.post_id, one.title, one.author, one.revision) for one in comments.items.posts] == [
        ("12", None, None, "31")
    ]
    assert following(comments) == []


def test_a_wordpress_article_is_read_and_its_comments_are_asked_for() -> None:
    parsed = read(WORDPRESS, Stage.POST, "12", article(12))

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.created_at, post.edited_at) == (
        "A & B’s", "ann", "one\ntwo", MOMENT, LATER_MOMENT,
    )  # fmt: skip
    assert found_extra(post) == {"link": "https://forum.example/2024/a/", "images": "https://forum.example/p.png"}
    assert following(parsed) == [(Stage.COMMENT, 1)]


@pytest.mark.parametrize(("is_protected", "state"), [(True, "masked"), (False, "normal")])
def test_an_article_behind_a_password_is_masked(is_protected: bool, state: str) -> None:
    shown = {"id": 12, "title": {"rendered": "Lamps"}, "content": {"rendered": "", "protected": is_protected}}
    parsed = read(WORDPRESS, Stage.POST, "12", shown)

    assert [one.state for one in parsed.items.posts] == [state]


def test_files_of_wordpress_are_named_once_and_no_larger_pictures() -> None:
    body = (
        '<p>see<img class="wp-smiley" src="/s.png"></p><a href="/wp-content/uploads/p-large.png"><img src="/p.png"></a>'
        '<div class="wp-block-file"><a href="/wp-content/uploads/a.pdf">a</a>'
        '<a class="wp-block-file__button" href="/wp-content/uploads/a.pdf">Download</a></div>'
    )

    article_page = read(WORDPRESS, Stage.POST, "12", article(12, content={"rendered": body}))
    comments = read(WORDPRESS, Stage.COMMENT, "12", [wordpress_comment(30, content={"rendered": body})], total=1)

    extra = {
        "images": "https://forum.example/p.png", "attachments": "https://forum.example/wp-content/uploads/a.pdf",
    }  # fmt: skip
    assert found_extra(article_page.items.posts[0]) == {"link": "https://forum.example/2024/a/", **extra}
    assert found_extra(comments.items.comments[0]) == extra


@pytest.mark.parametrize(("total", "pages"), [(2, [2]), (1, [])])
def test_wordpress_says_in_a_header_how_many_pages_of_comments_there_are(total: int, pages: list[int]) -> None:
    rows = [wordpress_comment(30), wordpress_comment(31, 30)]

    parsed = read(WORDPRESS, Stage.COMMENT, "12", rows, total=total)

    assert tree(parsed) == [("30", None, "bob", "normal"), ("31", "30", "bob", "normal")]
    assert (parsed.items.comments[0].body, parsed.items.comments[0].created_at) == ("say 30", MOMENT)
    assert [page for _, page in following(parsed)] == pages


@pytest.mark.parametrize(
    ("preset", "stage", "key", "body", "total"),
    [
        (DISCOURSE, Stage.LIST, "4", {"users": [], "topic_list": {"topics": []}}, None),
        (FLARUM, Stage.LIST, "general", {"data": [], "links": {}}, None),
        (WORDPRESS, Stage.LIST, "posts", [], 0),
        (WORDPRESS, Stage.COMMENT, "12", [], 0),
    ],
)
def test_an_empty_board_is_no_error(preset: Preset, stage: Stage, key: str, body: object, total: int | None) -> None:
    parsed = read(preset, stage, key, body, total=total)

    assert (parsed.items.posts, parsed.items.comments, parsed.children) == ((), (), ())


@pytest.mark.parametrize(
    ("preset", "body", "boards"),
    [
        (
            DISCOURSE,
            {"categories": [{"id": 4, "name": "Support"}, {"id": 5, "name": "Sub", "parent_category_id": 4}]},
            [("4", "Support", None), ("5", "Sub", "4")],
        ),
        (
            DISCOURSE,
            {"category_list": {"categories": [{"id": 4, "name": "S", "subcategory_list": [{"id": 5, "name": "T"}]}]}},
            [("4", "S", None), ("5", "T", None)],
        ),
        (
            FLARUM,
            {"data": [
                {"id": "1", "attributes": {"slug": "general", "name": "General"}},
                {"id": "2", "attributes": {"slug": "talk", "name": "Talk"},
                 "relationships": {"parent": {"data": {"id": "1"}}}},
                {"id": "3", "attributes": {"slug": "staff", "name": "Staff", "isHidden": True}},
            ]},
            [("general", "General", None), ("talk", "Talk", "general")],
        ),
        (LOBSTERS, [{"tag": "c", "description": "C", "active": True}, {"tag": "old"}], [("c", "C", None)]),
        (WORDPRESS, {"name": "A blog"}, [("posts", "A blog", None), ("comments", "Comments", None)]),
    ],
)  # fmt: skip
def test_boards_are_found(preset: Preset, body: object, boards: list[tuple[str, str, str | None]]) -> None:
    assert preset.boards(json.dumps(body)) == boards
