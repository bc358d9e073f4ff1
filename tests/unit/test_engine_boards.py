"""The presets' front pages: boards and sub-boards are found; categories and links elsewhere are not."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Items, Stage
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
FRONTS = {
    "phpbb": """<ul class="topiclist forums"><li class=row><dl><a class=forumtitle
      href="./viewforum.php?f=4&sid=0">G</a>
      <a class="subforum read" href="./viewforum.php?f=5&sid=0">Talk</a><dd class=topics>8</dd><dd
      class=posts>POSTS</dd>
      <dd class=lastpost><a href="./viewtopic.php?p=LAST&sid=SID">x</a><time
      datetime="2024-06-19T14:17:00Z">x</time></dd>
      </dl></li><li class=row><dl><a class=forumtitle href="https://elsewhere.example/">Link</a></dl></li></ul>""",
    "mybb": """<table><tr><td class=trow1></td><td class=trow1><strong><a href="forumdisplay.php?fid=4">G</a></strong>
      <div class=smalltext><div class="subforumicon x"></div><a href="forumdisplay.php?fid=5">Talk</a></div></td>
      <td class=trow1>8</td><td class=trow1>POSTS</td><td class=trow1><a
      href="showthread.php?tid=LAST&amp;action=lastpost">x</a>
      <span title="06-19-2024, 02:17 PM">1 hour ago</span></td></tr></table>""",
    "discuz": """<table class=fl_tb><tr><td><h2><a href="forum-4-1.html">G</a><em>(2)</em></h2></td>
      <td class=fl_i><span>8</span><span> / POSTS</span></td><td class=fl_by><cite><span title="2024-6-19 22:17">1
      小时前</span>
      <a href="home.php">userLAST</a></cite></td></tr></table>""",
    "nodebb": """<li component="categories/category"><h2 class=title><a href="/category/4/g">G</a></h2>
      <ul><li class=category-children-item><a href="/category/5/talk">Talk</a></li></ul><div class="meta stats">
      <div><span title=8>8</span></div><div><span title=POSTS>1k</span></div></div>
      <a class=timeago href="/post/LAST" title="2024-06-19T14:17:00.000Z"></a></li>""",
    "smf": """<div id=board_4 class=up_contain><a class=board_on></a><a class=subject
      href="/index.php?board=4.0">G</a>
      <div class=board_stats><p>Posts: POSTS<br>Topics: 8</p></div><div class=lastpost><a
      href="/index.php?topic=3.msgLAST#new">x</a></div><div class=children><a
      href="/index.php?board=5.0">Talk</a></div></div>
      <div id=board_6 class=up_contain><a class=board_redirect></a><a class=subject
      href="/index.php?board=6.0">L</a></div>""",
    "vbulletin4": """<li class="forumbit_post L2"><h2 class=forumtitle><a href="forumdisplay.php?4-G">G</a></h2>
      <ul class=forumstats><li>Threads: 8</li><li>Posts: POSTS</li></ul><div class=forumlastpost><a
      href="showthread.php?3-x&amp;p=LAST#postLAST">x</a></div>
      <ol><li class=subforum><a href="forumdisplay.php?5-Talk">Talk</a></li></ol></li>""",
    "xenforo": """<div class="node node--forum"><h3 class=node-title><a href="/forums/g.4/">G</a></h3>
      <a class="subNodeLink subNodeLink--forum" href="/forums/talk.5/">Talk</a><div
      class=node-stats><dl><dd>POSTS</dd></dl></div>
      <div class=node-extra><a href="/threads/x.3/post-LAST" class=node-extra-title>x</a>
      <time datetime="2024-06-19T14:17:00+0000">x</time></div></div>""",
    "fluxbb": """<div id=brdmain><div class=blocktable><table><tr><td class=tcl><h3><a
      href="viewforum.php?id=4">G</a></h3>
      <td class=tc2>8</td><td class=tc3>POSTS</td><td class=tcr><a
      href="viewtopic.php?pid=LAST#pLAST">x</a></tr></table>
      </div></div>""",
    "punbb": """<div class="main-content main-category"><div id=forum4 class=main-item><h3><a
      href="/viewforum.php?id=4">G</a></h3>
      <ul><li class=info-topics>8</li><li class=info-posts>POSTS</li><li class=info-lastpost>
      <a href="/viewtopic.php?pid=LAST#pLAST">x</a></li></ul></div></div>""",
}
NO_SUB_BOARDS = {"discuz", "fluxbb", "punbb"}
NO_TIMES = {"smf", "vbulletin4", "fluxbb", "punbb"}
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


@pytest.mark.parametrize("engine", sorted(FRONTS))
def test_a_row_of_a_front_page_tells_of_its_board_and_those_below_whenever_posts_or_last_post_change(
    engine: str,
) -> None:
    preset = Preset(engine, "boards: [4, 5, {id: front, kind: front, address: /front}]\n")

    def shown(posts: str, last: str, sid: str = "1") -> dict[str, str]:
        page = FRONTS[engine].replace("POSTS", posts).replace("LAST", last).replace("SID", sid)
        parsed = preset.parse(Stage.LIST, "front", page)
        assert parsed.items == Items("forum")
        assert all(child.is_ping for child in parsed.children)
        return {child.key: child.revision for child in parsed.children}

    before, again = shown("1,000", "70"), shown("1,000", "70", "2")
    keys = {"4"} if engine in NO_SUB_BOARDS else {"4", "5"}

    assert before == again
    assert before.keys() == keys
    assert {one.partition("|")[0] for one in before.values()} == {"0" if engine in NO_TIMES else "1718806620"}
    for other in (shown("1,001", "70"), shown("1,000", "71")):
        assert not set(before.values()) & set(other.values())


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
