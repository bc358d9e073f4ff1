"""The presets' front pages: boards and sub-boards are found; categories and links elsewhere are not."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Stage
from tests.unit.presets import Preset

PAGES = {
    "xenforo": """<div class="node node--category"><h3 class=node-title><a href="/categories/c.1/">C</a></h3></div>
      <div class="node node--forum"><h3 class=node-title><a href="/forums/general.4/">General</a></h3>
      <a class="subNodeLink subNodeLink--forum" href="/forums/talk.5/">Talk</a></div>
      <div class="node node--link"><h3 class=node-title><a href="/link-forums/6/">Link</a></h3></div>""",
    "vbulletin4": """<li class="forumbit_nopost L1">
      <h2><span class=forumtitle><a href="forumdisplay.php?1-C">C</a></span></h2>
      <ol><li class="forumbit_post L2"><h2 class=forumtitle><a href="forumdisplay.php?4-General">General</a></h2>
      <ol><li class=subforum><a href="forumdisplay.php?5-Talk">Talk</a></li></ol></li></ol></li>""",
    "smf": """<a href="#c1">C</a><div class=up_contain id=board_4><a class=board_on></a>
      <a class="subject mobile_subject" href="/index.php?board=4.0" id=b4>General</a></div>
      <div class=children><a href="/index.php?board=5.0">Talk</a></div>
      <div class=up_contain><a class=board_redirect></a><a class=subject href="/index.php?board=6.0">Link</a></div>""",
    "flaskbb": """<div class=category-header><a href="/category/1-c">C</a></div>
      <div class="row category-row"><div class=forum-name><a href="/forum/4-general">General</a></div></div>
      <div class="row category-row"><div class=forum-name><a href="/forum/5-talk">Talk</a></div></div>
      <div class="row category-row"><div class=forum-name><span class=forum-link>Link to</span>:
      <a href="https://elsewhere.example/">Link</a></div></div>""",
    "fluxbb": """<div id=brdmain><div class=blocktable><h2>C</h2><table><tr class=rowodd><td class=tcl>
      <h3><a href="viewforum.php?id=4">General</a></h3><td class=tcr><a href="viewtopic.php?pid=9#p9">Today</a></tr>
      <tr><td class=tcl><h3><a href="viewforum.php?id=5">Talk</a></h3></tr>
      <tr class=iredirect><td><h3>Link to: <a href="https://elsewhere.example/">Link</a></h3></tr></table></div></div>""",
    "punbb": """<div class="main-content main-category"><div id=forum4 class=main-item><h3 class=hn>
      <a href="/viewforum.php?id=4">General</a></h3>
      <li class=info-lastpost><a href="/viewtopic.php?pid=9#p9">x</a></div>
      <div id=forum5 class=main-item><h3 class=hn><a href="/viewforum.php?id=5">Talk</a></h3></div>
      <div class="main-item redirect"><h3>Link to <a href="https://elsewhere.example/">Link</a></h3></div></div>""",
}
SMF_ROW = """<div id=messageindex><div id=topic_container><div class=windowbg><div class=board_icon>
<img src="/images/post/xx.png"></div><div class=info><span id=msg_9><a href="/index.php?topic=12.0">Title</a></span>
<p class=floatleft>Started by <a href="/index.php?action=profile;u=3">ann</a></p></div></div></div></div>"""
OLD_SMF = """<div id=messageindex><table class=table_grid><tbody><tr><td class="icon2"><img src="/post/xx.gif"></td>
<td class="subject"><div><span id=msg_9><a href="/index.php?topic=12.0">Title</a></span>
<p>Started by <a href="/index.php?action=profile;u=3">ann</a> <small>&#171; <a>1</a> 2 &#187;</small></p></div>
</td><td class="stats">7 Replies<br>1,000 Views</td>
<td class="lastpost">June 19, 2024, 02:17:00 PM<br>by <a>bob</a></td>
</tr><tr><td class="icon2"><img src="/post/moved.gif"></td><td class=subject><span id=msg_8>
<a href="/index.php?topic=13.0">MOVED: x</a></span></td></tr></tbody></table></div>
<div class=pagelinks>Pages: [<strong>1</strong>] <a class=navPages href="/index.php?board=4.20">2</a></div>"""
OLD_POST = """<div class=windowbg><div class=post_wrapper><div class=poster><h4><a>userID</a></h4></div>
<div class=postarea><div class=keyinfo><h5><a>Re: x</a></h5>
<div class=smalltext>« <strong>WORD on:</strong> June 19, 2024, 02:17:00 PM »</div>
</div><div class=post><div class=inner id=msg_ID>
<div class=quoteheader><a href="/index.php?topic=12.msg101#msg101">Quote
</a></div><blockquote>old</blockquote>say ID</div></div></div></div></div>"""


@pytest.mark.parametrize("engine", sorted(PAGES))
def test_boards_are_found_and_what_is_none_is_not(engine: str) -> None:
    assert Preset(engine).boards(PAGES[engine]) == [("4", "General", None), ("5", "Talk", None)]


def test_boards_of_vbulletin_5_are_named_by_the_end_of_their_path() -> None:
    page = "<table><tr class=forum-item><td><a class=forum-title href=/forum/main/general>General</a></table>"

    assert Preset("vbulletin5").boards(page) == [("general", "General", None)]


def test_hacker_news_has_the_boards_of_its_bar() -> None:
    bar = "<span class=pagetop><a href=news>HN</a><a href=newest>new</a><a href=front>past</a><a href=ask>ask</a>"

    assert [board for board, _, _ in Preset("hackernews").boards(bar)] == ["newest", "ask"]


def test_a_board_of_smf_2_0_is_read() -> None:
    parsed = Preset("smf").parse(Stage.LIST, "4", OLD_SMF)

    (post,) = parsed.items.posts
    assert (post.post_id, post.title, post.author, post.reply_count, post.view_count) == ("12", "Title", "ann", 7, 1000)
    assert post.last_reply_at == 1718806620
    assert parsed.children[-1].page == 2


@pytest.mark.parametrize("board", [SMF_ROW, OLD_SMF], ids=["2.1", "2.0"])
def test_a_guest_of_smf_may_have_a_figure_for_a_name(board: str) -> None:
    guest = board.replace('<a href="/index.php?action=profile;u=3">ann</a>', "Guest 7")

    parsed = Preset("smf").parse(Stage.LIST, "4", guest)

    assert [post.author for post in parsed.items.posts] == ["Guest 7"]


def test_a_notice_of_smf_that_a_topic_was_moved_is_no_topic() -> None:
    notice = SMF_ROW.replace("/xx.png", "/moved.png")

    assert Preset("smf").parse(Stage.LIST, "4", notice).items.posts == ()


def test_a_thread_of_smf_2_0_is_read() -> None:
    posts = [
        OLD_POST.replace("ID", number).replace("WORD", word) for number, word in (("101", ""), ("102", "Reply #1"))
    ]
    title = "<div class=cat_bar><h3 class=catbg>Topic: A title (Read 123 times)</h3></div>"

    parsed = Preset("smf").parse(Stage.POST, "12", f"<div id=forumposts>{title}{''.join(posts)}</div>")

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.created_at) == ("A title", "user101", "say 101", 1718806620)
    assert [(one.comment_id, one.parent_id, one.author, one.created_at) for one in parsed.items.comments] == [
        ("102", "101", "user102", 1718806620)
    ]
