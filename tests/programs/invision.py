"""Invision Community 4: titles in addresses, a link to the page's own content, and widgets of topics and posts beside."""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Ask
from tests.programs.layouts import Layout, Part, lines, moment, restyled
from tests.programs.parts import below, top

NEWEST = 5


def _frame(title: str, body: str) -> str:
    return f"""<html lang=en-US><head><title>{escape(title)}</title></head><body class=ipsApp><a href="#ipsLayout_mainArea" class=ipsHide
      title="Go to main content on this page">Jump to content</a><div id=ipsLayout_header><a href="/" id=elLogo>Our Community</a><ul
      id=elUserNav><li><a href="/login/">Existing user? Sign In</a></li><li><a href="/register/">Sign Up</a></li></ul><nav><ul><li><a
      href="/">Forums</a></li><li><a href="/discover/">Activity</a></li><li><a href="/search/">Search</a></li></ul></nav></div><main
      id=ipsLayout_body><div id=ipsLayout_mainArea>{body}</div></main><footer><a href="/contact/">Contact Us</a></footer></body></html>"""


def _board_url(board: Board) -> str:
    return f"/forum/{board.number}-{board.slug}/"


def _topic_url(topic: Topic) -> str:
    return f"/topic/{topic.number}-{topic.slug or 'topic'}/"


def _front(content: Content) -> str:
    rows = "".join(
        f"""<li class="cForumRow ipsDataItem" data-forumid={one.number}><div class=ipsDataItem_icon><span class=ipsItemStatus></span></div><div
          class=ipsDataItem_main><h4 class=ipsDataItem_title><a href="{_board_url(one)}">{escape(one.title)}</a></h4><ul
          class=ipsDataItem_subList>{"".join(f'<li><a href="{_board_url(sub)}">{escape(sub.title)}</a></li>' for sub in below(one, content.boards))}
          </ul><div class=ipsType_richText><p>All about it</p></div></div><dl class=ipsDataItem_stats><dt>12</dt><dd>posts</dd></dl><ul
          class=ipsDataItem_lastPoster>{_last(content, one)}</ul></li>"""
        for one in top(content.boards)
    )
    newest = sorted(content.visible.values(), key=lambda one: -one.last.at)[:NEWEST]
    widget = "".join(
        f"""<li class=ipsDataItem><div class=ipsDataItem_main><div class=ipsType_break><a href="{_topic_url(one)}?do=getLastComment"
          class=ipsDataItem_title>{escape(one.title)}</a></div><p>By <a href="/profile/{one.said[0].number}-x/">{escape(one.last.author)}</a> ·
          {_time(one.last.at)}</p></div></li>"""
        for one in newest
    )
    return _frame(
        "Forums - Our Community",
        f"""<h1 class=ipsType_pageTitle>Forums</h1><ol class=ipsDataList><li class=cForumRow_category><h2>Main</h2>
          <ol>{rows}</ol></li></ol><aside id=ipsLayout_sidebar><h3>Topics</h3><ul>{widget}</ul></aside>""",
    )


def _last(content: Content, board: Board) -> str:
    topics = [one for one in content.listed(board.number) if one.board == board.number]
    one = max(topics, key=lambda topic: topic.last.at, default=None)
    if one is None:
        return "<li>No posts here yet</li>"
    return f"""<li class=ipsType_break><a href="{_topic_url(one)}">{escape(one.title)}</a></li><li>By <a href="/profile/{one.last.number}-x/">
      {escape(one.last.author)}</a></li><li><a href="{_topic_url(one)}?do=getLastComment">{_time(one.last.at)}</a></li>"""


def _trail(board: Board) -> str:
    return f"""<nav class=ipsBreadcrumb><ul data-role=breadcrumbList><li><a href="/">Home</a></li><li>Main</li><li><a
      href="{_board_url(board)}">{escape(board.title)}</a></li></ul></nav>"""


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<li class="ipsDataItem" data-rowid={one.number}><div class=ipsDataItem_main><h4 class=ipsDataItem_title><span class=ipsType_break><a
          href="{_topic_url(one)}">{escape(one.title)}</a></span></h4><div class=ipsDataItem_meta><span>By <a
          href="/profile/{one.said[0].number}-x/">{escape(one.said[0].author)}</a>, {_time(one.said[0].at)}</span></div></div><ul
          class=ipsDataItem_stats><li><span class=ipsDataItem_stats_number>{len(one.said) - 1}</span> <span>replies</span></li><li><span
          class=ipsDataItem_stats_number>1{one.number}7</span> <span>views</span></li></ul><ul class=ipsDataItem_lastPoster><li><a
          href="/profile/{one.last.number}-x/">{escape(one.last.author)}</a></li><li><a href="{_topic_url(one)}?do=getLastComment">
          {_time(one.last.at)}</a></li></ul></li>"""
        for one in part.items
    )
    none = "<div class=ipsType_center><p>There are no topics in this forum yet</p></div>"
    listed = f"<ol class=cTopicList>{rows}</ol>" if rows else none
    return _frame(
        f"{board.title} - Our Community",
        f"""{_trail(board)}<h1 class=ipsType_pageTitle>{escape(board.title)}</h1>{listed}{_pager(_board_url(board), part)}""",
    )


def _thread(topic: Topic, part: Part) -> str:
    board = Board(topic.board, {1: "General", 2: "Talk & more"}[topic.board], {1: "general", 2: "talk"}[topic.board])
    posts = "".join(_post(topic, one) for one in part.items)
    share = "".join(
        f'<li><a href="https://share.example/{name}?url={_topic_url(topic)}">Share on {name}</a></li>'
        for name in ("x", "y")
    )
    return _frame(
        f"{topic.title} - {board.title} - Our Community",
        f"""{_trail(board)}<div class=ipsPageHeader><h1 class=ipsType_pageTitle><span>{escape(topic.title)}</span></h1><div>By <a
          href="/profile/{topic.said[0].number}-x/">{escape(topic.said[0].author)}</a> {_time(topic.said[0].at)} in <a
          href="{_board_url(board)}">{escape(board.title)}</a></div></div><ul><li><a href="{_topic_url(topic)}?do=reply">Reply to this
          topic</a></li><li><a href="/startTopic/?forum={board.number}">Start new topic</a></li></ul>{_pager(_topic_url(topic), part)}<div
          id=comments>{posts}</div><ul class=ipsShareLinks>{share}</ul><a href="{_board_url(board)}">Go to topic listing</a>""",
    )


def _post(topic: Topic, one: Said) -> str:
    edited = (
        f"<span class=ipsType_light data-excludequote>Edited {_time(one.edited_at)} by x</span>"
        if one.edited_at
        else ""
    )
    quote = (
        '<blockquote class=ipsQuote data-ipsquote><div class=ipsQuote_citation>x said:</div><p>old</p></blockquote>'
        if one.quotes else ""
    )  # fmt: skip
    own = f"{_topic_url(topic)}?do=findComment&comment={one.number}"
    return f"""<a id=comment-{one.number}></a><article id=elComment_{one.number} class="cPost ipsComment"><aside class=cAuthorPane><h3
      class=cAuthorPane_author><strong><a href="/profile/{one.number}-x/">{escape(one.author)}</a></strong></h3><ul><li>Members</li><li>12 posts</li>
      </ul></aside><div class=ipsColumn id=comment-{one.number}_wrap data-commentid={one.number}><div class=ipsComment_meta><a href="{own}">Posted
      {_time(one.at)}</a></div><div class=cPost_contentWrap><div data-role=commentContent>{quote}<p>{lines(one)}</p>{edited}</div></div><ul
      class=ipsComment_controls><li><a href="/login/">Quote</a></li><li><a href="{own}&do=reactComment&reaction=1&csrfKey=ab12">Like</a></li></ul>
      </div></article>"""


def _pager(where: str, part: Part) -> str:
    count = -(-part.total // part.size)
    cells = "".join(
        f'<li class="ipsPagination_page{" ipsPagination_active" * (at == part.number)}"><a href="{where}{f"page/{at}/" if at > 1 else ""}">{at}</a></li>'
        for at in range(1, count + 1)
    )
    after = (
        f'<li class=ipsPagination_next><a href="{where}page/{part.number + 1}/" rel=next>Next</a></li>'
        if part.has_more
        else ""
    )
    return f"<ul class=ipsPagination data-pages={count}>{cells}{after}</ul>" if count > 1 else ""


def _time(at: int) -> str:
    return f'<time datetime="{moment(at):%Y-%m-%dT%H:%M:%SZ}" title="{moment(at):%m/%d/%Y %I:%M %p}">{moment(at):%B %d, %Y}</time>'


def _start(ask: Ask, size: int) -> int:
    found = re.search(r"/page/(\d+)/$", ask.path)
    return (int(found[1]) - 1) * size if found else 0


INVISION = Layout(
    lambda _: "", _list, _thread, r"/forum/(?P<board>\d+)-[\w-]+/", r"/topic/(?P<topic>\d+)-[\w-]+/", _start, newest=_front,
)  # fmt: skip

RESTYLED_INVISION = restyled(INVISION, ips="box", cForumRow="boardRow", elComment_="post_", cAuthor="author")
"""A forum of no known program with the same pages."""
