"""Discuz! 6.0 and 7.2: what their templates write around a post, for members, guests and edited texts."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Comment, Stage
from tests.unit.test_engine_versions import Version

DISCUZ = Version("discuz7", "discuz7")
MEMBER_ABOVE = """<div class="popupmenu_popup userinfopanel" id="userinfo7"><div class="popavatar">
<ul class="profile_side"><li class="pm"><a href="pm.php?uid=3">PM</a></li></ul></div>
<div class="popuserinfo"><p><a href="space.php?uid=3">ann</a>
<em>online</em></p></div></div><div><div class="avatar"><a href="space.php?uid=3"><img src=a.png></a></div>
<p><em><a href="faq.php">Novice</a></em></p></div>"""


def post(number: int, author: str, text: str) -> str:
    moment = f'<div class="postinfo"><strong>#{number}</strong><em id="authorposton{number}">2010-1-1 10:00</em></div>'
    return (
        f'<table id="pid{number}"><tr><td class="postauthor">{author}</td><td class="postcontent">{moment}'
        f'<div class="postmessage defaultpost">{text}</div></td></tr></table>'
    )


def said(text: str, number: int = 7) -> str:
    return f'<div id="postmessage_{number}" class="t_msgfont">{text}</div>'


def read(author: str, text: str) -> Comment:
    first = post(6, '<div class="postinfo"><a href="space.php?uid=9">op</a></div>', said("first", 6))
    page = f'<div id="nav"></div><div class="viewthread"><h1>A title</h1>{first}{post(7, author, text)}</div>'
    [comment] = DISCUZ.preset().parse(Stage.POST, "12", page).items.comments
    return comment


@pytest.mark.parametrize(
    ("author", "name", "number"),
    [
        ('<div class="postinfo"><a href="space.php?uid=3">ann</a></div>' + MEMBER_ABOVE, "ann", "3"),
        (MEMBER_ABOVE, "ann", "3"),
        ('<div class="avatar"><a href="javascript:;">Guest <em>1.2.3.x</em></a></div>', "Guest", None),
        ('<div class="avatar">Anonymous</div>', "Anonymous", None),
        ('<div class="avatar">gone_ann <em>deleted</em></div>', "gone_ann", None),
        ('<cite><a href="space.php?uid=3" class="dropmenu">ann</a></cite><p>Al</p>', "ann", "3"),
        ('<cite><a href="javascript:;">Guest <em>1.2.3.x</em></a></cite>unregistered', "Guest", None),
        ("<cite>gone_ann</cite>deleted", "gone_ann", None),
    ],
)
def test_the_author_of_a_post_is_read_in_every_form(author: str, name: str, number: str | None) -> None:
    comment = read(author, said("words"))

    assert (comment.author, comment.author_id) == (name, number)


@pytest.mark.parametrize(
    ("text", "body", "is_edited"),
    [
        ("words", "words", False),
        ("words [see 2010-1-1 10:00] more", "words [see 2010-1-1 10:00] more", False),
        ("words<br><br>[<i> 本帖最后由 ann 于 2010-1-1 11:00 编辑 </i>]", "words", True),
        ("<i>slanted</i> words<br><br>[<i> 本帖最后由 ann 于 2010-1-1 11:00 编辑 </i>]", "slanted words", True),
        ('<i class="pstatus"> 本帖最后由 ann 于 2010-1-1 11:00 编辑 </i><br><br>words', "words", True),
    ],
)
def test_the_note_of_an_edit_is_no_part_of_a_text(text: str, body: str, is_edited: bool) -> None:
    comment = read("<cite>ann</cite>", said(text))

    assert comment.body == body
    assert comment.edited_at == ((comment.created_at or 0) + 3600 if is_edited else None)


@pytest.mark.parametrize("text", ['<div class="notice">banned</div>', '<div class="locked">banned</div>'])
def test_a_text_that_is_hidden_is_masked(text: str) -> None:
    comment = read("<cite>ann</cite>", text)

    assert (comment.body, comment.state) == (None, "masked")


def test_a_post_with_an_attachment_for_members_is_not_masked() -> None:
    comment = read("<cite>ann</cite>", f'{said("words")}<div class="notice">Attachment: <em>log in</em></div>')

    assert (comment.body, comment.state) == ("words", "normal")
