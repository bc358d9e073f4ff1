"""The preset for vBulletin 5: topics reached by links, and comments below posts."""

from __future__ import annotations

from crawl_tasks.model import Stage
from tests.unit.pages import found_extra
from tests.unit.presets import Preset

MOMENT = 1718806620
VB5 = Preset("vbulletin5", "boards: [{id: general, address: /forum/general}]\n")
VB5_ROW = """<tr class="topic-item js-topic-item" data-node-id=ID><td><span class=js-prefix>PREFIX</span>
<a class="topic-title js-topic-title" href="/forum/general/ID-title">Title ID</a><div class=topic-info>Started by
<a>ann</a>, 06-19-2024, 02:17 PM</div></td><td class=posts-count>7 responses</td><td class=views-count>1,000 views</td>
<td><div class=lastpost-by>by bob <span class=post-date>06-19-2024, 02:17 PM</span></div></td></tr>"""
VB5_POST = """<li class="b-post" data-node-id=ID itemscope><div itemprop=author><span itemprop=name>userID</span></div>
<div class=b-post__timestamp><time datetime="2024-06-19T14:17:00">x</time></div>
<div class=js-post__content-text><div class=bbcode_quote>old</div>say ID</div>COMMENT</li>"""


def test_vbulletin_5_topics_are_reached_by_their_links() -> None:
    rows = [
        VB5_ROW.replace("ID", "12").replace("PREFIX", ""),
        VB5_ROW.replace("ID", "13").replace("PREFIX", "Redirect:"),
    ]
    body = f"<head><link rel=next href=/forum/general/page2></head><h1 class=main-title>B</h1><table>{''.join(rows)}"

    parsed = VB5.parse(Stage.LIST, "general", body)

    (post,) = parsed.items.posts
    assert (post.post_id, post.title, post.author, post.reply_count, post.view_count) == (
        "12",
        "Title 12",
        "ann",
        7,
        1000,
    )
    assert (post.created_at, post.last_reply_at) == (MOMENT, MOMENT)
    assert [child.address for child in parsed.children] == [
        "https://forum.example/forum/general/12-title", "https://forum.example/forum/general/page2",
    ]  # fmt: skip


def test_vbulletin_5_comments_hang_below_their_posts() -> None:
    comment = """<ul><li class="b-post b-comment js-comment" data-node-id=300><a class=b-comment__author
      data-vbnamecard=9>zoe</a><div class=b-post__timestamp>06-19-2024, 10:17 AM</div><div class=js-post__content
      itemprop=commentText>aside</div></li><li class=b-comment data-node-id=301><div
      class=js-comment__content-text>older</div></li></ul>"""
    posts = [VB5_POST.replace("ID", number).replace("COMMENT", "") for number in ("12", "101")]
    answered = VB5_POST.replace("ID", "102").replace("COMMENT", comment)
    body = f"<link rel=next href='12-title/page2'><h1 class=main-title>A title</h1><ul>{''.join(posts)}{answered}</ul>"

    parsed = VB5.parse(Stage.POST, "12", body, url="https://forum.example/forum/general/12-title")

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.created_at) == ("A title", "user12", "say 12", MOMENT)
    assert [(one.comment_id, one.parent_id, one.body) for one in parsed.items.comments] == [
        ("101", None, "say 101"), ("102", None, "say 102"), ("300", "102", "aside"), ("301", "102", "older"),
    ]  # fmt: skip
    said = parsed.items.comments[2]
    assert (said.author, said.author_id, said.created_at is not None) == ("zoe", "9", True)
    assert [child.address for child in parsed.children] == ["https://forum.example/forum/general/12-title/page2"]


def test_vbulletin_5_names_a_guest_without_a_link() -> None:
    head = "<li class=b-post data-node-id=ID><div class=author><strong>Guest</strong></div>"
    guest = f"{head}<div class=js-post__content-text>x</div></li>"
    posts = f"<ul>{guest.replace('ID', '12')}{guest.replace('ID', '101')}</ul>"

    items = VB5.parse(Stage.POST, "12", f"<h1 class=main-title>A title</h1>{posts}").items

    assert (items.posts[0].author, items.comments[0].author) == ("Guest", "Guest")


def test_vbulletin_5_pictures_and_files_are_named() -> None:
    file = '<img src="/p.png"></div><div class=b-post-attachments><a href="filedata/fetch?id=4&amp;d=15">a.zip</a>'
    first = VB5_POST.replace("ID", "12").replace("COMMENT", "")
    second = VB5_POST.replace("say ID", file).replace("ID", "101").replace("COMMENT", "")

    parsed = VB5.parse(Stage.POST, "12", f"<h1 class=main-title>A title</h1><ul>{first}{second}</ul>")

    assert found_extra(parsed.items.posts[0]) == {}
    assert found_extra(parsed.items.comments[0]) == {
        "images": "https://forum.example/p.png", "attachments": "https://forum.example/filedata/fetch?id=4&d=15",
    }  # fmt: skip
