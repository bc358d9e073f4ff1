"""XenForo 2: addresses with a title in them, to which those without it are redirected."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape
from urllib.parse import urlsplit

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask, moved, page

FRAME = """<!DOCTYPE html><html id="XF" lang="en-US" dir="LTR" data-xf="2.3" data-app="public"
data-template="{template}" data-container-key="" data-content-key="" data-logged-in="false" data-cookie-prefix="xf_"
class="has-no-js template-{template}"><head><meta charset="utf-8"><title>Our forum</title></head>
<body data-template="{template}"><div class="p-pageWrapper" id="top"><nav class="p-nav"><a href="{base}/forums/">Forums</a>
<a href="{base}/whats-new/posts/">New posts</a><a href="{base}/login/">Log in</a></nav>
<ul class="p-breadcrumbs"><li><a href="{base}/forums/"><span>Forums</span></a></li>{crumbs}</ul>
<div class="p-body"><div class="p-title"><h1 class="p-title-value">{title}</h1></div>
<div class="p-body-main"><div class="p-body-content"><div class="p-body-pageContent">{body}</div></div></div></div>
<footer class="p-footer" id="footer"><div class="p-footer-copyright"><a href="https://xenforo.com">Community platform by
XenForo<sup>®</sup> <span>© 2010-2024 XenForo Ltd.</span></a></div></footer></div></body></html>"""


def time_of(at: int, css: str = "u-dt") -> str:
    there = datetime.fromtimestamp(at, UTC)
    return f"""<time class="{css}" dir="auto" datetime="{there:%Y-%m-%dT%H:%M:%S}+0000" data-timestamp="{at}" data-time="{at}"
      data-date="{there:%b %d, %Y}" title="{there:%b %d, %Y}">{there:%b %d, %Y}</time>"""


class XenForo:
    """The default style of 2.2 and 2.3."""

    def __init__(self, content: Content, per_list: int = 20, per_page: int = 20) -> None:
        self._content = content
        self._per_list = per_list
        self._per_page = per_page

    def answer(self, ask: Ask) -> Answer:
        found = re.fullmatch(r"/(threads|forums)/(?:[^/]*\.)?(\d+)(?:/(?:page-(\d+))?)?", ask.path)
        if ask.path == "/whats-new/posts/":
            return moved(f"{ask.base}/whats-new/posts/{self._content.boards[0].number}/", 303)
        if ask.path.startswith("/whats-new/posts/"):
            newest = sorted(self._content.visible.values(), key=lambda topic: -topic.last.at)
            rows = "".join(self._row(topic, is_notice=False) for topic in newest[: self._per_list])
            return self._page(ask, "whats_new_posts", "New posts", f'<div class="structItemContainer">{rows}</div>')
        if found is None:
            return self._index(ask) if ask.path in ("/", "/forums/") else self._error(ask)
        kind, number, at = found[1], int(found[2]), int(found[3] or 1)
        known = self._content.visible if kind == "threads" else {one.number: one for one in self._content.boards}
        thing = known.get(number)
        if thing is None:
            return self._error(ask)
        right = self._path(thing, at)
        if ask.path != right:
            return moved(ask.base + right)
        return self._thread(ask, thing, at) if isinstance(thing, Topic) else self._forum(ask, thing, at)

    def _path(self, thing: Topic | Board, at: int = 1) -> str:
        kind = "threads" if isinstance(thing, Topic) else "forums"
        return f"/{kind}/{thing.slug}.{thing.number}/".replace("/.", "/") + (f"page-{at}" if at > 1 else "")

    def _page(self, ask: Ask, template: str, title: str, body: str, crumbs: str = "", status: int = 200) -> Answer:
        below = urlsplit(ask.base).path
        body, crumbs = (text.replace('href="/', f'href="{below}/') for text in (body, crumbs))
        whole = FRAME.format(base=ask.base, template=template, title=title, body=body, crumbs=crumbs)
        return page(whole, status, Set_Cookie="xf_csrf=abcdef; path=/; secure")

    def _error(self, ask: Ask) -> Answer:
        text = '<div class="blockMessage">The requested thread could not be found.</div>'
        return self._page(ask, "error", "Oops! We ran into some problems.", text, status=404)

    def _index(self, ask: Ask) -> Answer:
        rows = ""
        for board in self._content.boards:
            below = [one for one in self._content.boards if one.parent == board.number]
            links = "".join(f'<li><a href="{self._path(one)}" class="subNodeLink subNodeLink--forum subNodeLink--unread">'
                            f"{escape(one.title)}</a></li>" for one in below)  # fmt: skip
            subs = f'<div class="node-subNodesFlat"><span>Sub-forums:</span><ol>{links}</ol></div>' if links else ""
            if board.parent is None:
                rows += f"""<div class="node node--id{board.number} node--depth2 node--forum node--read"><div class="node-body">
                  <span class="node-icon"></span><div class="node-main"><h3 class="node-title"><a href="{self._path(board)}"
                  data-xf-init="element-tooltip">{escape(board.title)}</a></h3><div class="node-description">Words</div>{subs}
                  </div><div class="node-extra"><a href="/threads/x.3/post-130" class="node-extra-title">A topic</a>
                  </div></div></div>"""
        body = f"""<div class="block block--category"><h2 class="block-header"><a href="/categories/main.9/">Main</a></h2>
          <div class="block-body">{rows}<div class="node node--id8 node--link"><div class="node-body"><div class="node-main">
          <h3 class="node-title"><a href="/link-forums/there.8/">Elsewhere</a></h3></div></div></div></div></div>"""
        return self._page(ask, "forum_list", "Our forum", body)

    def _pager(self, path: str, at: int, last: int) -> str:
        if last < 2:
            return ""
        pages = "".join(
            f'<li class="pageNav-page{" pageNav-page--current" if one == at else ""}"><a href="{self._at(path, one)}">{one}</a></li>'
            for one in range(1, last + 1)
        )
        jump = (
            f'<a href="{self._at(path, at + 1)}" class="pageNav-jump pageNav-jump--next">Next</a>' if at < last else ""
        )
        return f"""<nav class="pageNavWrapper pageNavWrapper--mixed"><div class="pageNav"><ul class="pageNav-main">{pages}
          </ul>{jump}</div></nav>"""

    def _at(self, path: str, number: int) -> str:
        return f"{path}page-{number}" if number > 1 else path

    def _forum(self, ask: Ask, board: Board, at: int) -> Answer:
        listed = self._content.listed(board.number)
        last = -(-max(1, len(listed)) // self._per_list)
        if at > last:
            return moved(ask.base + self._path(board, last), 303)
        shown = listed[(at - 1) * self._per_list : at * self._per_list]
        rows = "".join(self._row(topic, is_notice=topic.board != board.number) for topic in shown)
        none = (
            '<div class="structItem js-emptyThreadList"><div class="structItem-cell">There are no threads.</div></div>'
        )
        pager = self._pager(self._path(board), at, last)
        body = f"""{pager}<div class="block" data-xf-init="" data-type="thread"><div class="block-container"><div
          class="block-body"><div class="structItemContainer"><div class="structItemContainer-group js-threadList">
          {rows or none}</div></div></div></div></div>{pager}"""
        return self._page(ask, "forum_view", escape(board.title), body)

    def _row(self, topic: Topic, *, is_notice: bool) -> str:
        first, last, path = topic.said[0], topic.last, self._path(topic)
        states = [name for name, there in (("locked", topic.is_locked), ("sticky", topic.is_pinned)) if there]
        states += ["redirect"] if is_notice else []
        icons = "".join(f'<li><i class="structItem-status structItem-status--{one}"></i></li>' for one in states)
        number = topic.number + 1000 if is_notice else topic.number
        count = "&ndash;" if is_notice else len(topic.said) - 1
        return f"""<div class="structItem structItem--thread is-prefix2 js-inlineModContainer js-threadListItem-{number}"
          data-author="{escape(first.author)}"><div class="structItem-cell structItem-cell--icon"></div>
          <div class="structItem-cell structItem-cell--main"><ul class="structItem-statuses">{icons}</ul>
          <div class="structItem-title"><a href="/forums/x.1/?prefix_id=2" class="labelLink"><span class="label">New</span></a>
          <a href="{path}" class="" data-tp-primary="on">{escape(topic.title)}</a></div><div class="structItem-minor">
          <ul class="structItem-parts"><li><a class="username">{escape(first.author)}</a></li><li class="structItem-startDate">
          <a href="{path}" rel="nofollow">{time_of(first.at)}</a></li></ul><span class="structItem-pageJump">
          <a href="{path}page-2">2</a></span></div></div><div class="structItem-cell structItem-cell--meta">
          <dl class="pairs pairs--justified"><dt>Replies</dt><dd>{count}</dd></dl>
          <dl class="pairs pairs--justified structItem-minor"><dt>Views</dt><dd>1K</dd></dl></div>
          <div class="structItem-cell structItem-cell--latest">
          <a href="{path}latest" rel="nofollow">{time_of(last.at, "structItem-latestDate u-dt")}</a></div></div>"""

    def _thread(self, ask: Ask, topic: Topic, at: int) -> Answer:
        last = -(-len(topic.said) // self._per_page)
        if at > last:
            return moved(ask.base + self._path(topic, last), 303)
        shown = topic.said[(at - 1) * self._per_page : at * self._per_page]
        posts = "".join(self._post(topic, said) for said in shown)
        pager = self._pager(self._path(topic), at, last)
        board = self._content.board(topic.board)
        crumbs = f'<li><a href="{ask.base}{self._path(board)}"><span>{escape(board.title)}</span></a></li>'
        body = f"""<div class="block block--messages"><div class="block-outer">{pager}</div><div class="block-container">
          <div class="block-body js-replyNewMessageContainer">{posts}</div></div><div class="block-outer">{pager}</div></div>"""
        title = (
            f'<span class="label label--red">New</span><span class="label-append">&nbsp;</span>{escape(topic.title)}'
        )
        return self._page(ask, "thread_view", title, body, crumbs)

    def _post(self, topic: Topic, said: Said) -> str:
        quote = ""
        if said.quotes:
            quote = f"""<blockquote data-attributes="member: 1" data-quote="x" data-source="post: {said.quotes}"
              class="bbCodeBlock bbCodeBlock--expandable bbCodeBlock--quote js-expandWatch"><div class="bbCodeBlock-title">
              <a href="/goto/post?id={said.quotes}" class="bbCodeBlock-sourceJump">x said:</a></div>
              <div class="bbCodeBlock-content"><div class="bbCodeBlock-expandContent">old</div><div
              class="bbCodeBlock-expandLink"><a>Click to expand...</a></div></div></blockquote>"""
        edited = f'<div class="message-lastEdit">Last edited: {time_of(said.edited_at)}</div>' if said.edited_at else ""
        link = f"{self._path(topic)}post-{said.number}"
        return f"""<article class="message message--post js-post js-inlineModContainer" data-author="{escape(said.author)}"
          data-content="post-{said.number}" id="js-post-{said.number}"><span id="post-{said.number}"></span>
          <div class="message-inner"><div class="message-cell message-cell--user"><section class="message-user">
          <h4 class="message-name"><a class="username">{escape(said.author)}</a></h4></section></div>
          <div class="message-cell message-cell--main"><div class="message-main js-quickEditTarget">
          <header class="message-attribution message-attribution--split"><ul class="message-attribution-main listInline">
          <li class="u-concealed"><a href="{link}" rel="nofollow">{time_of(said.at)}</a></li></ul>
          <ul class="message-attribution-opposite"><li><a href="{link}">#1</a></li></ul></header>
          <div class="message-content js-messageContent"><div class="message-userContent lbContainer">
          <article class="message-body js-selectToQuote"><div><div class="bbWrapper">{quote}{"<br>".join(map(escape, said.lines))}
          </div></div></article></div>{edited}</div></div></div></div></article>"""
