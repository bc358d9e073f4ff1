"""phpBB 2: a session in each link, rel=next for the next topic, a note's element below every post, no zone in lists."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta, timezone
from html import escape
from uuid import uuid4

from tests.programs.content import Board, Said, Topic
from tests.programs.host import Ask
from tests.programs.layouts import Layout, Part, lines, moment, restyled

_HERE = timezone(timedelta(hours=2))


def _frame(body: str, head: str = "") -> str:
    """Write a page whose links name one session, as for visitors without a cookie."""
    text = f"""<html><head><title>Our forum</title>{head}</head><body><span class=maintitle>Our forum</span><a class=mainmenu
      href="/login.php?SID">Log in</a> <a class=mainmenu href="/memberlist.php?SID">Memberlist</a> <a class=nav href="/index.php?SID">Index</a>
      {body}<span class=copyright>Powered by nobody</span></body></html>"""
    return text.replace("SID", f"sid={uuid4().hex}")


def time_of(at: int, zone: timezone = UTC) -> str:
    there = moment(at, zone)
    return f"{there:%a %b} {there.day}, {there.year} {there.hour % 12 or 12}:{there:%M} {'pm' if there.hour > 11 else 'am'}"


def text_of(one: Said, zone: timezone = UTC) -> str:
    """Write the text of a post: quotes stand in tables between its parts, and below is an element for a note."""
    quote = (
        ""
        if one.quotes is None
        else f"""</span><table><tr><td><span class=genmed><b>Somebody wrote:</b></span></td></tr><tr><td
      class=quote>{one.quotes} said so</td></tr></table><span class=postbody>"""
    )
    edited = (
        one.edited_at
        and f"Last edited by {escape(one.author)} on {time_of(one.edited_at, zone)}; edited 1 time in total"
    )
    return f"<span class=postbody>{quote}{lines(one)}</span><span class=gensmall>{'<br><br>' * bool(edited)}{edited or ''}</span>"


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<tr><td class=row1><img alt="No new posts"></td><td class=row1><span class=forumlink><a class=forumlink
          href="/viewforum.php?f={one.number}&amp;SID">{escape(one.title)}</a><br></span><span class=genmed>About it</span></td><td
          class=row2><span class=gensmall>12</span></td><td class=row2><span class=gensmall>70</span></td></tr>"""
        for one in boards
    )
    return _frame(
        f"<table class=forumline><tr><th colspan=2>Forum</th><th>Topics</th><th>Posts</th></tr>{rows}</table>"
    )


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr><td class=row1><img alt="No new posts"></td><td class=row1><span class=topictitle><a class=topictitle
          href="/viewtopic.php?t={one.number}&amp;SID">{escape(one.title)}</a></span><span class=gensmall><br></span></td><td
          class=row2><span class=postdetails>{len(one.said) - 1}</span></td><td class=row3><span class=name><a
          href="/profile.php?mode=viewprofile&amp;u=7&amp;SID">{escape(one.said[0].author)}</a></span></td><td class=row2><span
          class=postdetails>1{one.number}7</span></td><td class=row3Right><span class=postdetails>{time_of(one.last.at, _HERE)}<br><a
          href="/profile.php?mode=viewprofile&amp;u=8&amp;SID">{escape(one.last.author)}</a> <a
          href="/viewtopic.php?p={one.last.number}&amp;SID#{one.last.number}"><img alt="View latest post"></a></span></td></tr>"""
        for one in part.items
    )
    head = "<tr><th colspan=2>Topics</th><th>Replies</th><th>Author</th><th>Views</th><th>Last Post</th></tr>"
    none = "<tr><td class=row1 colspan=6><span class=gen>There are no posts in this forum</span></td></tr>"
    return _frame(
        f"""<a class=maintitle href="/viewforum.php?f={board.number}&amp;SID">{escape(board.title)}</a><table
          class=forumline>{head}{rows or none}</table>{_pager(f"/viewforum.php?f={board.number}&amp;topicdays=0", part)}"""
    )


def _thread(topic: Topic, part: Part) -> str:
    posts = "".join(_post(one) for one in part.items)
    here = f"/viewtopic.php?t={topic.number}&amp;"
    around = "".join(f'<link rel={name[:4]} href="{here}view={name}&amp;SID">' for name in ("previous", "next"))
    pager = _pager(f"{here}postdays=0&amp;postorder=asc", part)
    return _frame(
        f"""<a class=maintitle href="{here}SID">{escape(topic.title)}</a>{pager}<a class=nav
          href="/viewforum.php?f={topic.board}&amp;SID">{ {1: "General", 2: "Talk &amp; more"}[topic.board] }</a><table
          class=forumline><tr><td class=catHead colspan=2><span class=nav><a class=nav href="{here}view=previous&amp;SID">View previous
          topic</a> :: <a class=nav href="{here}view=next&amp;SID">View next topic</a></span></td></tr><tr><th>Author</th><th>Message</th></tr>
          {posts}<tr><td class=catBottom colspan=2><span class=gensmall>Display posts from previous: <select><option>All Posts</option>
          <option>1 Day</option></select></span></td></tr></table><span class=gensmall>All times are GMT + 2 Hours</span>{pager}""",
        around,
    )


def _post(one: Said) -> str:
    return f"""<tr><td class=row1><span class=name><a name={one.number}></a><b>{escape(one.author)}</b></span><br><span
      class=postdetails>Joined: 13 May 2005<br>Posts: 67</span></td><td class=row1><table><tr><td><a
      href="/viewtopic.php?p={one.number}&amp;SID#{one.number}"><img alt=Post></a><span class=postdetails>Posted: {time_of(one.at, _HERE)}<span
      class=gen>&nbsp;</span>&nbsp; Post subject: </span></td><td><a href="/posting.php?mode=quote&amp;p={one.number}&amp;SID"><img
      alt="Reply with quote"></a></td></tr><tr><td colspan=2><hr></td></tr><tr><td colspan=2>{text_of(one, _HERE)}</td></tr></table></td></tr><tr><td class=row1><span class=nav><a
      class=nav href="#top">Back to top</a></span></td><td class=row1><a href="/profile.php?mode=viewprofile&amp;u=3&amp;SID"><img
      alt="View user's profile"></a></td></tr><tr><td class=spaceRow colspan=2><img alt=""></td></tr>"""


def _pager(address: str, part: Part) -> str:
    count = -(-part.total // part.size)
    if count < 2:
        return f"<span class=nav>Page <b>1</b> of <b>{max(count, 1)}</b></span>"
    links = [
        f"<b>{at}</b>" if at == part.number
        else f'<a href="{address}&amp;start={(at - 1) * part.size}&amp;SID">{at}</a>'
        for at in range(1, count + 1)
    ]  # fmt: skip
    more = f'&nbsp;<a href="{address}&amp;start={part.start + part.size}&amp;SID">Next</a>' if part.has_more else ""
    return f"<span class=nav>Goto page {', '.join(links)}{more}</span>"


def _start(ask: Ask, _: int) -> int:
    return ask.number("start", 0)


SUBSILVER = Layout(
    _front,
    _list,
    _thread,
    r"/viewforum\.php\?f=(?P<board>\d+)",
    r"/viewtopic\.php\?t=(?P<topic>\d+)(?!.*view=)",
    _start,
)

RESTYLED = restyled(
    SUBSILVER, forumline="boardline", maintitle="pagetitle", topictitle="subject", forumlink="boardlink",
    postbody="posttext", bodyline="frameline",
)  # fmt: skip
"""A forum of no known program with the same faults: none of phpBB's own class names."""

_ZONE = "<span class=gensmall>All times are GMT + 2 Hours</span>"
PHPBB2 = replace(SUBSILVER, front=lambda boards: _front(boards).replace("<span class=copyright>", f"{_ZONE}<span>"))
"""phpBB 2 as it is: its front page names the zone too."""

FORK = restyled(SUBSILVER, postbody="posttext")
"""A program made from phpBB 2: its preset finds boards and threads, and no texts."""
