"""FluxBB 1.5 with Air."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, lines
from tests.programs.parts import by_parameter, page_links, plain


def _frame(body: str) -> str:
    return f"""<html><head><title>Our forum</title></head><body><div id="punindex" class="pun"><div class="punwrap"><div id="brdheader">
      <h1 id="brdtitle"><a href="index.php">Our forum</a></h1></div><div id="brdmain">{body}</div><div id="brdfooter">Powered by
      <a href="https://fluxbb.org/">FluxBB</a></div></div></div></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<tr><td class="tcl"><h3><a href="viewforum.php?id={one.number}">{escape(one.title)}</a></h3></td><td class="tc2">3</td>
          <td class="tc3">9</td><td class="tcr">Never</td></tr>"""
        for one in boards
    )
    return _frame(f'<div class="blocktable"><table><tbody>{rows}</tbody></table></div>')


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr class="row{" isticky" * one.is_pinned}{" iclosed" * one.is_locked}"><td class="tcl"><div class="tclcon"><div><a
          href="viewtopic.php?id={one.number}">{escape(one.title)}</a> <span class="byuser">by {escape(one.said[0].author)}</span></div></div></td>
          <td class="tc2">{len(one.said) - 1}</td><td class="tc3">1{one.number}7</td><td class="tcr"><a
          href="viewtopic.php?pid={one.last.number}#p{one.last.number}">{plain(one.last.at)}</a></td></tr>"""
        for one in part.items
    )
    none = '<tr class="inone"><td colspan="4">Forum is empty.</td></tr>'
    return _frame(
        f"""<ul class="crumbs"><li><a href="index.php">Index</a></li><li>» <a href="viewforum.php?id={board.number}">{escape(board.title)}</a></li>
          </ul><p class="pagelink">{page_links(f"viewforum.php?id={board.number}&amp;p=", part)}</p><div id="vf"><table><tbody>{rows or none}</tbody>
          </table></div>"""
    )


def _thread(topic: Topic, part: Part) -> str:
    def post(one: Said) -> str:
        first = " firstpost" * (one is topic.said[0])
        edited = f'<p class="postedit"><em>Last edited by x ({plain(one.edited_at or 0)})</em></p>'
        quote = '<div class="quotebox"><cite>x wrote:</cite><blockquote><p>old</p></blockquote></div>'
        return f"""<div id="p{one.number}" class="blockpost{first}"><h2><a href="viewtopic.php?pid={one.number}#p{one.number}">{plain(one.at)}</a>
          </h2><div class="postleft"><dl><dt><a href="profile.php?id=2">{escape(one.author)}</a></dt></dl></div><div class="postright"><h3>Re:
          {escape(topic.title)}</h3><div class="postmsg">{quote if one.quotes else ""}<p>{lines(one)}</p>{edited if one.edited_at else ""}</div></div></div>"""

    return _frame(
        f"""<ul class="crumbs"><li><a href="viewforum.php?id={topic.board}">Board</a></li><li><a href="viewtopic.php?id={topic.number}">
          {escape(topic.title)}</a></li></ul><p class="pagelink">{page_links(f"viewtopic.php?id={topic.number}&amp;p=", part)}</p>
          {"".join(map(post, part.items))}"""
    )


FLUXBB = Layout(
    _front,
    _list,
    _thread,
    r"/viewforum\.php\?id=(?P<board>\d+)",
    r"/viewtopic\.php\?id=(?P<topic>\d+)",
    by_parameter("p"), per_list=20
)  # fmt: skip
