"""The demo forum: a bundled forum to crawl, which the crawler meets only over HTTP.

Everything comes from a seed: the same seed, size and generation give the same bytes, Date header included.
As a process: `python -m crawl_tasks.demo --help`.
A Mutation, half an hour later, brings 5 posts (one on two boards), 3 comments (one opens a page) and 1 edit.
The rest is the contract of the markup: the site file follows the contract, and tests check the pages.

Addresses (links are root-relative, ids are decimal numbers)
    /                        index: one `li.board[data-board]` a board, with `a.name[href=/list/{forum_id}/1]`
    /list/{forum_id}/{page}  rows, last activity first, on pages 1..P, else 404
    /post/{post_id}          the post and comment page 1 (the first 13 comments, oldest first)
    /comment/{post_id}/{page}  comments of pages 2..P, 13 a page, oldest first, beyond P 404
                             (page 1 answers 301 to /post/{post_id})
    /robots.txt              allows /list, /post, /comment, disallows /private, Crawl-delay only by option
    /private/...             200, linked from every page's menu, to catch crawlers that ignore robots.txt
    /user/{n}, /static/...   linked, and 404: a crawler of posts and comments needs no such page
    A deleted post keeps its row on the lists and answers 410 or 404 (half each), as do its comment pages.

Common to all pages
    UTF-8, `Content-Type: text/html; charset=utf-8`, `<html lang="zh">` or `"en"`, by the board.
    A moment is always one `time` element of one of two kinds. Words such as "发表于" are outside:
        <time datetime="2024-06-19T14:17:05Z">06/19</time>    the attribute is exact (zone Z or +08:00)
        <time>2024年6月19日 22:17</time>                       text only, in Asia/Shanghai
    Texts without attribute: `2024-06-19 22:17`, `2024年6月19日 22:17`, and on boards with relative times also
    `5 分钟前`, `3 小时前`, `今天 12:30`, `昨天 12:30`, `前天 12:30`, `5 minutes ago`, `1 hour ago`,
    `today at 12:30`, `yesterday at 12:30`. Relative texts count from the response's Date header. The Age
    header is the time since then, as if each page came out of a cache. All are exact to the minute, and the true
    moments behind them are whole minutes, so that the value read equals the truth.
    A thread's moments have seconds only if all boards that show it use the attribute.
    Pager, on every list page, and on post and comment pages if the thread has more than one comment page:
        <nav class="pager" data-pages="6"><span class="pages">共 6 页</span> <a rel="next" class="next" href="...">
    `a.next` is missing on the last page. Links to neighbour pages are of class `page`.
    Advertisements, menus, signatures and other page chrome use none of the classes named here.

List page
    h1.board-title                    title of the board (nav.crumbs is page chrome)
    table.threads tr.thread           a row, [data-post] is the post's id (`tr.promo` rows are advertisements)
      a.title[href=/post/{id}]        title
      td.author a[href=/user/{n}]     author, missing (the cell says "-") for a deleted account
      td.created time                 when the post was written
      td.replies                      exact number of comments, deleted ones included
      td.views                        `532`, `3,456`, `12.3k`, `1.2万`
      td.last time                    moment of the newest comment, missing without comments
      span.edited[data-edits]         only on edited posts: how often (`span.edited time`: when last)
    The same thread may be on several lists. The marks of a change are the same on all lists and on all
    days: the number in td.replies and span.edited[data-edits].

Post page
    article.post[data-post][data-board]   once, data-board is the thread's home board
      h1.title, a.author[href=/user/{n}] (missing for a deleted account), .created time, .edited time (if edited),
      .views, .replies                as on the row
      div.body                        the text (a blockquote.quote inside quotes somebody else)
    section.comments                  always there, empty if there are no comments

Comment (on post pages in section.comments, on comment pages likewise, which have no article.post)
    div.comment[data-comment]         id, [data-parent]: id of the parent, missing for an answer to the post,
                                      [data-depth]: 0 for an answer to the post, [data-state]: normal or deleted
      .author[data-user]              always there, first element of the comment, empty for a deleted one
      .created time                   .body  as in a post
      div.children                    on nesting boards: the answers to this comment that are on the same page,
                                      as div.comment again, after the body. Elsewhere all comments are siblings
    So for each field the first match in document order inside a comment is its own. data-parent is given on
    nesting boards too, since the parent may be on an earlier page. A deleted comment's body says "[deleted]".

Body text, in the form of the truth and of `normalise`
    blockquote.quote is left out. p, li, pre, div and br begin a new line, and so does a line break inside pre.
    An image counts as its alt text (emoji). Entities are resolved. Then NFC, every run of white space in a line
    (no-break space too) becomes one space, ends are stripped, empty lines vanish, and lines are joined by a newline.
"""

from __future__ import annotations

from pathlib import Path

SITE_FILE = Path(__file__).with_name("demo.yaml")
"""The site file of the demo forum: the same as config/sites/demo.yaml of a clone, which `make docs` copies here."""
