"""The demo forum's pages, read with BeautifulSoup and nothing of ours, say what its truth says."""

from __future__ import annotations

import copy
import re
import unicodedata
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache

import pytest
from bs4 import BeautifulSoup, Tag

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.sizes import BENCH, DEMO
from crawl_tasks.demo.truth import TrueComment, TruePost

SHANGHAI = timezone(timedelta(hours=8))
DAYS = {"今天": 0, "today": 0, "昨天": 1, "yesterday": 1, "前天": 2}
UNITS = {"分钟": 60, "minute": 60, "小时": 3600, "hour": 3600}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((1, 1), marks=pytest.mark.long, id="seed 1"), pytest.param((2, 2), id="seed 2, second generation"),
    ],
)  # fmt: skip
def forum(request: pytest.FixtureRequest) -> DemoForum:
    seed, generation = request.param
    return DemoForum(seed, generation=generation)


@pytest.fixture(scope="module")
def default() -> DemoForum:
    return DemoForum(1)


@pytest.fixture(scope="module")
def default_text(default: DemoForum) -> str:
    return "".join(default.render(path).body.decode() for path in default.truth().paths)


@lru_cache(maxsize=1000)
def soup_of(forum: DemoForum, path: str) -> BeautifulSoup:
    answer = forum.render(path)
    assert answer.status == 200, path
    return BeautifulSoup(answer.body.decode(), "lxml")


def one(node: Tag, css: str) -> Tag:
    found = node.select_one(css)
    assert found is not None, f"{css} is not in {node.name} {node.attrs}"
    return found


def words(node: Tag | None) -> str | None:
    return None if node is None else unicodedata.normalize("NFC", " ".join(node.get_text().split())) or None


def moment(node: Tag | None, now: int) -> int | None:
    """Read a time element as the docstring of the package describes it."""
    if node is None:
        return None
    if node.get("datetime"):
        return int(datetime.fromisoformat(str(node["datetime"])).timestamp())
    text = node.get_text()
    ago = re.fullmatch(r"(\d+) (分钟|小时|minute|hour)(前|s? ago)", text)
    if ago:
        return now - int(ago[1]) * UNITS[ago[2]]
    day = re.fullmatch(r"(今天|昨天|前天|today|yesterday) (?:at )?(\d\d):(\d\d)", text)
    if day:
        date = datetime.fromtimestamp(now, SHANGHAI) - timedelta(days=DAYS[day[1]])
        return int(date.replace(hour=int(day[2]), minute=int(day[3]), second=0).timestamp())
    form = "%Y年%m月%d日 %H:%M" if "年" in text else "%Y-%m-%d %H:%M"
    return int(datetime.strptime(text, form).replace(tzinfo=SHANGHAI).timestamp())


def body(node: Tag) -> str:
    """Read a body as the docstring of the package describes it."""
    node = copy.copy(node)
    for quote in node.select("blockquote.quote"):
        quote.decompose()
    for image in node.select("img"):
        image.replace_with(str(image.get("alt", "")))
    preformatted = {id(text) for pre in node.select("pre") for text in pre.find_all(string=True)}
    for text in node.find_all(string=True):
        if id(text) not in preformatted:
            text.replace_with(re.sub(r"\s+", " ", text))
    for block in node.select("p, li, pre, div, br"):
        block.insert_before("\n")
        block.insert_after("\n")
    lines = unicodedata.normalize("NFC", node.get_text()).split("\n")
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


def count(text: str | None) -> int:
    found = re.fullmatch(r"([\d,.]+)(万|k)?", text or "")
    assert found is not None, text
    return round(float(found[1].replace(",", "")) * {None: 1, "k": 1000, "万": 10_000}[found[2]])


def user_of(link: Tag | None) -> str | None:
    return None if link is None else str(link["href"]).removeprefix("/user/")


def read_row(row: Tag, now: int) -> tuple[object, ...]:
    edited = row.select_one("span.edited")
    return (
        str(row["data-post"]),
        words(one(row, "a.title")),
        words(row.select_one("td.author a")),
        user_of(row.select_one("td.author a")),
        moment(one(row, "td.created time"), now),
        moment(row.select_one("td.last time"), now),
        moment(edited.select_one("time"), now) if edited else None,
        int(str(edited["data-edits"])) if edited else 0,
        int(words(one(row, "td.replies")) or ""),
        count(words(one(row, "td.views"))),
    )


def true_row(post: TruePost) -> tuple[object, ...]:
    return (
        post.post_id, post.title, post.author, post.author_id, post.created_at, post.last_reply_at, post.edited_at,
        post.edits, post.reply_count, post.view_count,
    )  # fmt: skip


def read_post(soup: BeautifulSoup, now: int) -> tuple[object, ...]:
    post = one(soup, "article.post")
    edited = post.select_one("span.edited")
    pager = soup.select_one("nav.pager")
    return (
        str(post["data-post"]),
        str(post["data-board"]),
        words(one(post, "h1.title")),
        words(post.select_one("a.author")),
        user_of(post.select_one("a.author")),
        moment(one(post, ".created time"), now),
        moment(post.select_one(".edited time"), now),
        int(str(edited["data-edits"])) if edited else 0,
        body(one(post, "div.body")),
        int(words(one(post, ".replies")) or ""),
        count(words(one(post, ".views"))),
        int(str(pager["data-pages"])) if pager else 1,
    )


def true_post(post: TruePost) -> tuple[object, ...]:
    return (
        post.post_id, post.forum_ids[0], post.title, post.author, post.author_id, post.created_at, post.edited_at,
        post.edits, post.body, post.reply_count, post.view_count, post.pages,
    )  # fmt: skip


def read_comments(soup: BeautifulSoup, now: int) -> dict[str, tuple[object, ...]]:
    return {
        str(node["data-comment"]): (
            node.get("data-parent"),
            int(str(node["data-depth"])),
            words(one(node, ".author")),
            one(node, ".author").get("data-user"),
            moment(one(node, ".created time"), now),
            body(one(node, ".body")),
            node["data-state"],
        )
        for node in soup.select("div.comment")
    }


def true_comment(comment: TrueComment) -> tuple[object, ...]:
    return (
        comment.parent_id,
        comment.depth,
        comment.author,
        comment.author_id,
        comment.created_at,
        comment.body,
        comment.state,
    )


def test_lists_show_every_thread_on_its_boards_newest_activity_first(forum: DemoForum) -> None:
    truth = forum.truth()
    posts = {post.post_id: post for post in truth.posts}
    for board in truth.forums:
        pages = [soup_of(forum, f"/list/{board.forum_id}/{page}") for page in range(1, board.pages + 1)]

        rows = [read_row(row, truth.now) for soup in pages for row in soup.select("table.threads tr.thread")]
        activity = [int(str(row[5] or row[4])) for row in rows]

        assert rows == [true_row(posts[str(row[0])]) for row in rows]
        assert {row[0] for row in rows} == {post.post_id for post in truth.posts if board.forum_id in post.forum_ids}
        assert len({row[0] for row in rows}) == len(rows)
        assert activity == sorted(activity, reverse=True)
        assert {words(soup.select_one("h1.board-title")) for soup in pages} == {board.title}


def test_following_next_from_the_index_reaches_every_list_page(forum: DemoForum) -> None:
    truth = forum.truth()
    seen: list[str] = []

    for link in soup_of(forum, "/").select("li.board a.name"):
        path: str | None = str(link["href"])
        while path:
            seen.append(path)
            following = one(soup_of(forum, path), "nav.pager").select_one("a.next")
            path = str(following["href"]) if following else None

    assert seen == [path for path in truth.paths if path.startswith("/list/")]


def test_post_pages_equal_the_truth(forum: DemoForum) -> None:
    truth = forum.truth()
    posts = [post for post in truth.posts if post.status == 200]

    read = [read_post(soup_of(forum, f"/post/{post.post_id}"), truth.now) for post in posts]

    assert read == [true_post(post) for post in posts]


def test_comments_equal_the_truth_and_stand_on_their_pages(forum: DemoForum) -> None:
    truth = forum.truth()
    expected: dict[tuple[str, int], dict[str, tuple[object, ...]]] = {
        (post.post_id, page): {} for post in truth.posts if post.status == 200 for page in range(1, post.pages + 1)
    }
    for comment in truth.comments:
        expected[comment.post_id, comment.page][comment.comment_id] = true_comment(comment)

    for (post, page), comments in expected.items():
        path = f"/post/{post}" if page == 1 else f"/comment/{post}/{page}"
        assert read_comments(soup_of(forum, path), truth.now) == comments, path


def test_nested_markup_puts_answers_inside_of_their_parents_and_only_on_nesting_boards(forum: DemoForum) -> None:
    nested = 0
    for path in forum.truth().paths:
        if forum.render(path).status != 200:
            continue
        for node in soup_of(forum, path).select("div.children > div.comment"):
            parent = node.find_parent("div", class_="comment")
            assert parent is not None
            assert parent["data-comment"] == node["data-parent"]
            nested += 1

    assert nested > 100


def test_truth_counts_paths_and_pages_of_comments_alike(forum: DemoForum) -> None:
    truth = forum.truth()

    numbers = {post.post_id: 0 for post in truth.posts}
    for comment in truth.comments:
        assert (comment.page, comment.position) == (numbers[comment.post_id] // 13 + 1, numbers[comment.post_id] % 13)
        numbers[comment.post_id] += 1

    assert len(set(truth.paths)) == len(truth.paths)
    assert all(numbers[post.post_id] == (post.reply_count if post.status == 200 else 0) for post in truth.posts)
    assert all(forum.render(path).status == 200 or path.startswith("/post/") for path in truth.paths)


def test_every_moment_is_as_exact_as_the_truth_says(forum: DemoForum) -> None:
    truth = forum.truth()

    rows: list[TruePost | TrueComment] = [*truth.posts, *truth.comments]

    assert all(row.created_at % row.precision_s == 0 for row in rows)
    assert {row.precision_s for row in rows} == {1, 60}
    assert any(row.created_at % 60 for row in rows)
    assert all(row.created_at < truth.now for row in rows)


def test_deleted_posts_keep_their_row_and_answer_404_or_410(forum: DemoForum) -> None:
    gone = [post for post in forum.truth().posts if post.state == "deleted"]

    statuses = {post.post_id: forum.render(f"/post/{post.post_id}").status for post in gone}

    assert statuses == {post.post_id: post.status for post in gone}
    assert set(statuses.values()) == {404, 410}
    assert all(post.body is None for post in gone)
    assert {forum.render(f"/comment/{post.post_id}/2").status for post in gone} == {404, 410}


def test_the_date_header_is_the_present_of_the_truth(forum: DemoForum) -> None:
    assert parsedate_to_datetime(forum.date).timestamp() == forum.truth().now


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/list/1/0", 404), ("/list/1/99", 404), ("/list/9/1", 404), ("/list/1", 404), ("/post/1", 404),
        ("/post/100001/1", 404), ("/comment/1/2", 404), ("/comment/100001/99", 404), ("/nothing", 404),
        ("/user/1", 404), ("/private/messages", 200), ("/robots.txt", 200), ("/list/1/1?from=here", 200),
        ("/list/١/1", 404), ("/list/1/1/", 404),
    ],
)  # fmt: skip
def test_other_addresses_answer_as_documented(default: DemoForum, path: str, status: int) -> None:
    assert default.render(path).status == status


def test_comment_page_one_moves_to_the_post(default: DemoForum) -> None:
    post = next(post.post_id for post in default.truth().posts if post.pages > 1)

    answer = default.render(f"/comment/{post}/1")

    assert (answer.status, answer.headers["location"]) == (301, f"/post/{post}")


def test_demo_has_what_a_forum_has(default: DemoForum) -> None:
    truth = default.truth()
    rows = sum(len(post.forum_ids) for post in truth.posts)

    assert len(truth.forums) == 4
    assert all(5 <= board.pages <= 7 for board in truth.forums)
    assert 250 <= len(truth.paths) <= 350
    assert 0.13 < (rows - len(truth.posts)) / rows < 0.17
    assert 0.015 < sum(post.status != 200 for post in truth.posts) / len(truth.posts) < 0.06
    assert sum(post.pages >= 10 for post in truth.posts) >= 2
    assert sum(post.pages == 1 for post in truth.posts) > len(truth.posts) / 2
    assert any(post.author is None for post in truth.posts)
    assert any(comment.state == "deleted" for comment in truth.comments)
    assert max(comment.depth for comment in truth.comments) > 5
    assert any("<" in post.title for post in truth.posts)


def test_bench_has_the_measures_of_the_published_one() -> None:
    forum = DemoForum(1, BENCH)
    truth = forum.truth()
    rows = sum(len(post.forum_ids) for post in truth.posts)

    kinds = {
        kind: [path for path in truth.paths if path.startswith(f"/{kind}/")] for kind in ("list", "post", "comment")
    }
    sizes = [len(forum.render(path).body) for paths in kinds.values() for path in paths[:: len(paths) // 40]]

    assert [board.pages for board in truth.forums] == [12] * 10
    assert (rows, len(truth.posts)) == (2400, 2040)
    assert 3200 <= len(kinds["comment"]) <= 3500
    assert max(post.pages for post in truth.posts) == 30
    assert 35_000 < sum(sizes) / len(sizes) < 55_000


@pytest.mark.parametrize(
    "form",
    [
        r'<time datetime="[^"]+Z">', r'<time datetime="[^"]+\+08:00">', r"<time>\d{4}年\d{1,2}月\d{1,2}日 \d\d:\d\d<",
        r"<time>\d{4}-\d\d-\d\d \d\d:\d\d<", r"<time>\d+ 分钟前<", r"<time>\d+ 小时前<", r"<time>\d+ minutes? ago<",
        r"<time>\d+ hours? ago<", r"<time>今天 ", r"<time>昨天 ", r"<time>前天 ", r"<time>today at ",
        r"<time>yesterday at ", r'class="views">\d{1,3}<', r'class="views">\d,\d{3}<', r'class="views">[\d.]+k<',
        r'class="views">[\d.]+万<', r"&lt;T&gt; &amp; &quot;", r'<blockquote class="quote">', r"<pre><code>", "&nbsp;",
        r'<img class="emoji"', "<br>", "😀",
    ],
)  # fmt: skip
def test_default_forum_has_every_form(default_text: str, form: str) -> None:
    assert re.search(form, default_text)


def test_sizes_say_how_many_comment_pages_threads_have() -> None:
    extras = DEMO.extra_pages(180)

    assert len(extras) == 180
    assert extras == sorted(extras, reverse=True)
    assert extras[0] == DEMO.longest_extra
