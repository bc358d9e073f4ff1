"""The presets that read HTML, on small pages of ours in each program's markup: a board, a thread, its last page."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from crawl_tasks.errors import AccessDenied, Gone
from crawl_tasks.model import Parsed, Stage
from tests.unit.pages import found_extra
from tests.unit.presets import Preset

ISO, MOMENT = "2024-06-19T14:17:00+0000", 1718806620


@dataclass(frozen=True)
class Program:
    """Markup of one program. A row is (id, is it a moved topic), a post (id, its body)."""

    name: str
    board: str
    row: str
    moved: str
    post: str
    thread: str
    pager: str
    quote: str
    board_key: str = "4"

    def listing(self, *rows: str) -> str:
        return self.board.replace("ROWS", "".join(rows))

    def topic(self, *posts: tuple[int, str], pager: str = "") -> str:
        written = [self.post.replace("ID", str(number)).replace("BODY", body) for number, body in posts]
        whole = "".join(one.replace("NTH", "firstpost topicpost" if "101" in one else "") for one in written)
        return self.thread.replace("POSTS", whole).replace("PAGER", pager)


PROGRAMS = (
    Program(
        "xenforo",
        board='<html data-template=forum_view><h1 class=p-title-value>Board</h1><div data-type=thread>ROWS</div>',
        row=f"""<div class="structItem structItem--thread js-threadListItem-ID" data-author="ann">
          <div class=structItem-title><a class=labelLink>Prefix</a><a href="/threads/t.ID/">Title ID</a></div>
          <li class=structItem-startDate><time class=u-dt datetime="{ISO}">Jun 19</time></li>
          <div class="structItem-cell structItem-cell--meta"><dl class="pairs"><dt>Replies</dt><dd>7</dd></dl>
          <dl class="pairs structItem-minor"><dt>Views</dt><dd>1K</dd></dl></div>
          <time class="structItem-latestDate u-dt" datetime="{ISO}" data-time="{MOMENT}">5 minutes ago</time></div>""",
        moved='<i class="structItem-status structItem-status--redirect"></i>',
        thread='<html><h1 class=p-title-value><span class=label>P</span>A title</h1>PAGER POSTS',
        post=f"""<article class="message message--post" data-author="userID" data-content="post-ID">
          <ul class=message-attribution-main><time datetime="{ISO}">x</time></ul>
          <div class=message-body><div class=bbWrapper>BODY</div></div></article>""",
        pager='<ul class=pageNav-main><li class=pageNav-page><a>1</a><li class=pageNav-page><a>3</a></ul>',
        quote='<blockquote class="bbCodeBlock--quote" data-source="post: 102">old</blockquote>',
    ),
    Program(
        "vbulletin4",
        board='<span class=forumtitle>Board</span><div id=threadlist><ol id=threads>ROWS</ol></div>',
        row="""<li class="threadbit hot" id="thread_ID"><a class=title href="showthread.php?t=ID">Title ID</a>
          <div class=threadmeta><div class=author><span class=label>Started by
          <a class=username>ann</a>, 06-19-2024 02:17 PM</span></div></div>
          <ul class=threadstats><li>Replies: <a class=understate>7</a></li><li>Views: 1,000</li></ul>
          <dl class=threadlastpost><dd>by bob</dd><dd>06-19-2024, <em class=time>02:17 PM</em>
          <a class=lastpostdate href="showthread.php?t=ID&amp;p=9#post9"><img src="/l.png"></a></dd></dl></li>""",
        moved='class="threadbit moved"',
        thread="<h1>Thread: <span class=threadtitle>A title</span></h1>PAGER<ol id=posts>POSTS</ol>",
        post="""<li class="postbitlegacy postcontainer" id="post_ID"><div class=posthead>
          <span class=date>06-19-2024,&nbsp;<span class=time>02:17 PM</span></span></div>
          <div class=username_container><a class=username>userID</a></div>
          <div class=postbody><blockquote class="postcontent restore">BODY</blockquote></div></li>""",
        pager='<form class="pagination popupmenu"><span><a class=popupctrl>Page 1 of 3</a></span></form>',
        quote="""<div class=bbcode_quote><div class=bbcode_postedby>by
          <a href="showthread.php?p=102#post102">x</a></div>          old</div>""",
    ),
    Program(
        "smf",
        board='<div id=messageindex><div id=topic_container>ROWS</div></div>',
        row="""<div class=windowbg><div class=board_icon></div><div class="info info_block">
          <div class=message_index_title><span class=preview><span id=msg_9>
          <a href="/index.php?topic=ID.0">Title ID</a></span></span></div>
          <p class=floatleft>Started by <a href="/index.php?action=profile;u=3">ann</a></p></div>
          <div class=board_stats><p>Replies: 7<br>Views: 1,000</p></div>
          <div class=lastpost><p>
          <a href="/index.php?topic=ID.0#msg9">June 19, 2024, 02:17:00 PM</a> by bob</p></div></div>""",
        moved='<span class="main_icons move"></span>',
        thread='<h2><span id=top_subject>A title</span></h2><div class=pagelinks>PAGER</div>'
        '<div id=forumposts>POSTS</div>',
        post="""<div class=windowbg id=msgID><div class=post_wrapper><div class=poster><h4><a>userID</a></h4></div>
          <div class=postarea><div class=keyinfo><div class=postinfo><span class=messageicon></span>
          <a class=smalltext>June 19, 2024, 02:17:00 PM</a><span class=modified id=modified_ID></span></div></div>
          <div class=post><div class=inner id=msg_ID>BODY</div></div></div></div></div>""",
        pager='<span class=current_page>1</span> <a class=nav_page>2</a> <a class=nav_page>3</a>',
        quote='<blockquote><cite><a href="/index.php?msg=102">Quote from: x</a></cite>old</blockquote>',
    ),
    Program(
        "flaskbb",
        board='<div class=forum-header><a>Board</a></div><ul class=pagination></ul><div class=forum-body>ROWS'
        '<div class="row forum-row">No Topics.</div></div>',
        row="""<div class="row forum-row"><div class=topic-info><div class=topic-name>
          <a href="/topic/ID-title">Title ID</a></div><div class=topic-author>by <a>ann</a></div></div>
          <div class=topic-stats>8</div><div class=topic-stats>1000</div>
          <div class=topic-last-post><a href="/post/9">2 days ago</a>
          <div class=topic-author>by bob</div></div></div>""",
        moved="",
        thread='<ul class=pagination>PAGER</ul><div class=topic-header><a>A title</a></div><div>POSTS</div>',
        post="""<div id=ID class="row post-row"><div class=author-name><h4><a>userID</a></h4></div>
          <div class=post-box><div class=post-meta><a href="/post/ID">19 June 2024 - 14:17</a></div>
          <div class=post-content id=pidID>BODY<div class=post-signature>mine</div></div></div></div>""",
        pager='<li><a>1</a><li><a>3</a><li><a>»</a>',
        quote="",
    ),
    Program(
        "fluxbb",
        board='<ol class=crumbs><li><a href=/index.php>Index</a><li><a href="/viewforum.php?id=4">Board</a></ol>'
        '<div id=vf><table><tbody>ROWS<tr class="rowodd inone"><td class=tcl>No topics</td></tr></tbody></table></div>',
        row="""<tr class=rowodd><td class=tcl><div class=icon>1</div><div class=tclcon><div>
          <a href="viewtopic.php?id=ID">Title ID</a> <span class=byuser>by ann</span> <span class=pagestext>[
          <a href="viewtopic.php?id=ID">1</a> <a href="viewtopic.php?id=ID&amp;p=2">2</a> ]</span></div></div></td>
          <td class=tc2>7</td><td class=tc3>1,000</td>
          <td class=tcr><a href="viewtopic.php?pid=9#p9">2024-06-19 14:17:00</a>
          <span class=byuser>by bob</span></td></tr>""",
        moved='class="rowodd imoved"',
        thread="""<ol class=crumbs><li><a href="viewforum.php?id=4">Board</a>
          <li><a href="viewtopic.php?id=12">A title</a></ol>
          <p class=pagelink>Pages: PAGER</p>POSTS""",
        post="""<div id=pID class="blockpost roweven blockpost1 NTH"><h2><span class=conr>#1</span>
          <a href="viewtopic.php?pid=ID#pID">2024-06-19 14:17:00</a></h2><div class=postleft><dl>
          <dt><strong><a href="profile.php?id=3">userID</a></strong></dt><dd class=usertitle>Member</dd></dl></div>
          <div class=postright><h3>Re: A title</h3><div class=postmsg><p>BODY</p><p class=postedit>Last edited by x
          (2024-06-19 14:18:00)</p></div><div class="postsignature postmsg"><p>mine</p></div></div></div>""",
        pager='<strong>1</strong> <a>2</a> <a>3</a> <a rel=next href="viewtopic.php?id=12&amp;p=2">Next</a>',
        quote="",
    ),
    Program(
        "punbb",
        board="""<h1 class=main-title><a href="/viewforum.php?id=4">Board</a></h1><p class=paging><strong>1</strong></p>
          <div class="main-content main-forum">ROWS<div class="main-item empty"><h3>No topics</h3></div></div>""",
        row="""<div id=topicID class="main-item odd"><h3 class=hn><span class=item-num>1</span>
          <a href="/viewtopic.php?id=ID">Title ID</a></h3><p><span class=item-starter>by <cite>ann</cite></span></p>
          <ul><li class=info-replies><strong>7</strong> replies<li class=info-views><strong>1,000</strong> views
          <li class=info-lastpost>Last post <a href="/viewtopic.php?pid=9#p9">2024-06-19 14:17:00</a>
          <cite>by bob</cite></ul></div>""",
        moved='class="main-item moved"',
        thread="""<h1 class=main-title><a href="/viewtopic.php?id=12">A title</a> <small>(Page 1)</small></h1>
          <p class=paging>PAGER</p><div class="main-content main-topic">POSTS</div>""",
        post="""<div class="post odd firstpost NTH"><div id=pID class=posthead><h3>
          <span class=post-byline>by <a>userID</a></span>
          <span class=post-link><a href="/viewtopic.php?pid=ID#pID">2024-06-19 14:17:00</a></span>
          <span class=post-edit>(edited by x 2024-06-19 14:18:00)</span></h3></div>
          <ul class=author-ident><li class=username><a>userID</a><li class=usertitle>Member</ul>
          <div class=entry-content><p>BODY</p><div class=sig-content>mine</div></div></div>""",
        pager='<strong>1</strong> <a>2</a> <a>3</a> <a href="/viewtopic.php?id=12&amp;p=2">Next</a>',
        quote="",
    ),
)  # fmt: skip
IDS = [program.name for program in PROGRAMS]
EACH = pytest.mark.parametrize("program", PROGRAMS, ids=IDS)


def following(parsed: Parsed) -> list[int]:
    return [child.page for child in parsed.children if child.stage is not Stage.POST]


@EACH
def test_the_rows_of_a_board_are_read(program: Program) -> None:
    rows = [program.row.replace("ID", number) for number in ("12", "13")]

    parsed = Preset(program.name).parse(Stage.LIST, "4", program.listing(*rows))

    first = parsed.items.posts[0]
    assert [one.post_id for one in parsed.items.posts] == ["12", "13"]
    assert (first.title, first.author, first.reply_count, first.view_count) == ("Title 12", "ann", 7, 1000)
    assert first.revision == (f"7|{MOMENT}" if program.name == "xenforo" else "7|9")
    assert first.last_reply_at == (None if program.name == "flaskbb" else MOMENT)
    assert first.created_at == (MOMENT if program.name in ("xenforo", "vbulletin4") else None)


@EACH
def test_an_empty_board_is_no_error(program: Program) -> None:
    parsed = Preset(program.name).parse(Stage.LIST, "4", program.listing())

    assert (parsed.items.posts, parsed.children) == ((), ())


@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.moved], ids=lambda one: one.name)
def test_what_was_moved_away_is_no_topic_of_the_board(program: Program) -> None:
    row = program.row.replace("ID", "13")
    if program.moved.startswith("class="):
        moved = re.sub(r'class=(?:"[^"]*"|[^\s>]+)', program.moved, row, count=1)
    else:
        moved = row[: row.rindex("</div>")] + program.moved + "</div>"

    parsed = Preset(program.name).parse(Stage.LIST, "4", program.listing(program.row.replace("ID", "12"), moved))

    assert [one.post_id for one in parsed.items.posts] == ["12"]


@EACH
def test_a_thread_is_its_first_post_and_what_follows_it(program: Program) -> None:
    body = program.topic((101, "one"), (102, "two<br>lines"), (103, f"{program.quote}three"), pager=program.pager)

    parsed = Preset(program.name).parse(Stage.POST, "12", body)

    (post,) = parsed.items.posts
    assert (post.title, post.author, post.body, post.created_at) == ("A title", "user101", "one", MOMENT)
    assert post.edited_at == (MOMENT + 60 if program.name in ("fluxbb", "punbb") else None)
    assert [(one.comment_id, one.author, one.body, one.created_at) for one in parsed.items.comments] == [
        ("102", "user102", "two\nlines", MOMENT), ("103", "user103", "three", MOMENT),
    ]  # fmt: skip
    assert parsed.items.comments[1].parent_id == ("102" if program.quote else None)
    assert following(parsed) == [2, 3]


@EACH
def test_the_last_page_of_a_thread_has_all_its_posts_and_no_next(program: Program) -> None:
    body = program.topic((120, "x"), (121, "y"), pager=program.pager)

    parsed = Preset(program.name).parse(Stage.COMMENT, "12", body, page=3)

    assert [one.comment_id for one in parsed.items.comments] == ["120", "121"]
    assert parsed.children == ()


@EACH
def test_a_thread_of_one_page_has_no_pages_to_fetch(program: Program) -> None:
    parsed = Preset(program.name).parse(Stage.POST, "12", program.topic((101, "one")))

    assert (parsed.items.comments, parsed.children) == ((), ())


FILES = [
    (
        "smf",
        """see<img src="/p.png"><img class=smiley src="/s.gif"></div></div><div class=attachments>
        <div class=attachments_top><a href="/index.php?action=dlattach;attach=4;image"><img src="/t.png"></a></div>
        <div class=attachments_bot><a href="/index.php?action=dlattach;attach=4">p.png</a>""",
        "/index.php?action=dlattach;attach=4",
    ),
    (
        "vbulletin4",
        """see<img src="/p.png"><img class=inlineimg src="/s.gif"></blockquote><div class=attachments><ul>
        <li><a href="attachment.php?attachmentid=4&amp;d=12500">a.zip</a></ul></div>""",
        "/attachment.php?attachmentid=4&d=12500",
    ),
]


TAGS = [
    (
        "xenforo",
        "<dl class=tagList><dd><span class=js-tagList><a class=tagItem>linux</a> <a class=tagItem>how to</a></dl>",
    ),
    (
        "vbulletin4",
        '<div id=tag_list_cell><a href="tags.php?tag=linux">linux</a>, <a href="tags.php?tag=how">how to</a>',
    ),
]


@pytest.mark.parametrize(("name", "tags"), TAGS, ids=[name for name, _ in TAGS])
def test_the_tags_of_a_thread_are_read(name: str, tags: str) -> None:
    program = PROGRAMS[IDS.index(name)]

    parsed = Preset(name).parse(Stage.POST, "12", f"{program.topic((101, 'one'), (102, 'two'))}{tags}")

    assert [found_extra(one) for one in (*parsed.items.posts, *parsed.items.comments)] == [
        {"tags": "linux, how to"},
        {},
    ]


@pytest.mark.parametrize(("name", "body", "file"), FILES, ids=[name for name, *_ in FILES])
def test_pictures_and_files_of_each_post_are_named(name: str, body: str, file: str) -> None:
    program = PROGRAMS[IDS.index(name)]

    parsed = Preset(name).parse(Stage.POST, "12", program.topic((101, body), (102, "none"), (103, body)))

    extra = {"images": "https://forum.example/p.png", "attachments": f"https://forum.example{file}"}
    assert [found_extra(one) for one in (*parsed.items.posts, *parsed.items.comments)] == [extra, {}, extra]


WALLS = [
    ("xenforo", "<html data-template=error><h1 class=p-title-value>Oops</h1>", Gone),
    ("xenforo", "<html data-template=login>", AccessDenied),
    ("vbulletin4", "<div class=standard_error>Invalid Thread</div>", Gone),
    ("vbulletin4", "<div class=standard_error><form><input name=vb_login_username></form></div>", AccessDenied),
    ("smf", "<div id=fatal_error>missing</div>", Gone),
    ("smf", "<form id=frmLogin></form>", Gone),
    ("punbb", "<div id=brd-message>Bad request</div>", Gone),
    ("hackernews", "No such item.", Gone),
]


@pytest.mark.parametrize(("name", "body", "error"), WALLS)
def test_a_page_that_says_no_is_no_thread(name: str, body: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        Preset(name).parse(Stage.POST, "12", body)


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("href=/threads/t.12/", "/threads/t.12/"),
        ("href=/threads/t.12/unread data-preview-url=/threads/t.12/preview", "/threads/t.12/"),
        ("href=/threads/t.12/unread", "/threads/12/"),
        ("href=/threads/t.13/", "/threads/12/"),
    ],
)
def test_threads_of_xenforo_are_asked_for_at_the_address_that_has_their_title(link: str, address: str) -> None:
    row = f"""<div class="structItem structItem--thread js-threadListItem-12" data-author=ann>
      <div class=structItem-title><a {link}>Title</a></div></div>"""

    parsed = Preset("xenforo").parse(Stage.LIST, "4", f"<html><div data-type=thread>{row}</div>")

    assert [child.address for child in parsed.children] == [f"https://forum.example{address}"]


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("threads/12-A-title?s=aa11", "/threads/12-A-title"),
        ("showthread.php?12-A-title&amp;s=aa11", "/showthread.php?12-A-title"),
        ("showthread.php?t=12&amp;goto=newpost", "/showthread.php?t=12"),
        ("showthread.php?t=13", "/showthread.php?t=12"),
    ],
)
def test_threads_of_vbulletin_4_are_asked_for_where_their_rows_lead(link: str, address: str) -> None:
    row = f'<ol id=threads><li class=threadbit id=thread_12><a class=title href="{link}">Title</a></li></ol>'

    parsed = Preset("vbulletin4").parse(Stage.LIST, "4", row)

    assert [child.address for child in parsed.children] == [f"https://forum.example{address}"]
