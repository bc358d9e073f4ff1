"""The posts of a saved page as BeautifulSoup and libxml2 find them: the reading that presets are held against.

Rules here are written from the pages and share nothing with the presets. A page is read by the first rule whose posts
are on it. Dates in words are read by dateparser, with the order of day and month that a person noted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape

import dateparser
from bs4 import BeautifulSoup, Tag

from tests.saved_pages.reading import SAVED_AT_S, Said

BY_EYE = "eye"
"""The order of a page whose dates dateparser cannot read: they were compared by a person."""


@dataclass(frozen=True)
class Rule:
    """CSS selectors of one program, in soupsieve's dialect. `text_of` is left out of a text with all that is in it."""

    post: str
    author: str
    time: str
    text: str
    left_out: str = "blockquote"
    time_pattern: str = r"(.+)"


_OLD_QUOTES = "div:has(> table):has(> .smallfont), .bbcode_container, .quotebox, div[style*=margin]:has(.smallfont)"
_RULES = (
    # XenForo 2
    Rule(
        "article.message:is([data-content^=post-], [id^=js-post-])", ".message-name .username, .message-name",
        ".message-attribution-main time, header time", ".message-content .bbWrapper",
        "blockquote, .bbCodeBlock-title, .bbCodeBlock-expandLink, .bbCodeBlock--expandable > div:first-child",
    ),
    # XenForo 2 with the theme that VerticalScope gives its forums
    Rule("div.MessageCard[id^=js-post-]", ".MessageCard__user-info__name", ".MessageCard__date-created, time.u-dt:not("
         ".MessageCard__thread-info time)", ".message-body .bbWrapper, .bbWrapper",
         "blockquote, .bbCodeBlock-title, .bbCodeBlock-expandLink"),
    # XenForo 1
    Rule("li.message[id^=post-]", ".username.author, .messageUserBlock .username", ".datePermalink .DateTime",
         ".messageText", ".bbCodeQuote, .messageTextEndMarker"),
    # phpBB 3
    Rule("div.post[id^=p]", ".postprofile .username, .postprofile .username-coloured, .postprofile dt > strong, "
         ".postprofile dt a, .author strong", ".author", ".content",
         "blockquote, dl.file, div.inline-attachment, div.codebox p",
         r"(?:»|&raquo;|:)\s*((?:\w{3},? )?\w+.*\d{4}.*)$"),
    # vBulletin 4
    Rule("li.postcontainer[id^=post_]", ".username_container .username", ".posthead .date",
         "blockquote.postcontent", ".bbcode_container"),
    # vBulletin 5
    Rule("li.b-post[data-node-id]", ".author a, a.b-comment__author", "time, .b-post__timestamp",
         ".js-post__content-text, [itemprop=commentText]", ".bbcode_container, .b-post__attachments, input"),
    # vBulletin 3
    Rule("table[id^=post]:has([id^=post_message_])", "a.bigusername, .bigusername", "td.thead, td.alt2 .smallfont",
         "[id^=post_message_]", _OLD_QUOTES),
    Rule("td:has(> [id^=post_message_]), div:has(> [id^=post_message_])", ".never", ".never", "[id^=post_message_]",
         _OLD_QUOTES),
    # SMF 2
    Rule("div.post_wrapper", ".poster h4 a, .poster h4", ".keyinfo .smalltext, .postinfo .smalltext, .page_number ~ a",
         ".post .inner", "blockquote, .quoteheader, .bbc_code_header, .codeheader",
         r"(?:on:|»)?\s*(\w+ \d.*\d{4}.*?)\s*»?$"),
    # FluxBB
    Rule("div.blockpost", ".postleft dt", "h2 a", ".postmsg", ".quotebox, .postedit"),
    # MyBB
    Rule("div.post[id^=post_]", ".author_information .largetext, .author_information strong", ".post_date",
         ".post_body", "blockquote, .codeblock .title", r"^([^(]*\d{1,2}:\d\d(?: [AP]M)?)"),
    # NodeBB
    Rule("li[component=post]", "a[component='post/header'], a[data-username], [itemprop=name]",
         "meta[itemprop=datePublished], .timeago", "[component='post/content']", "blockquote"),
    # Discourse as crawlers see it
    Rule(".crawler-post", "[itemprop=author] [itemprop=name], .creator [itemprop=name]",
         "time[itemprop=datePublished], time.post-time", "[itemprop=text]", "aside.quote, blockquote"),
    # bbPress
    Rule("div.type-reply, div.type-topic", ".bbp-author-name", ".bbp-reply-post-date", ".bbp-reply-content, "
         ".bbp-topic-content", "blockquote, .bbp-reply-revision-log, .d4p-bbp-signature"),
    # Invision Community 4
    Rule("article[id^=elComment_]", "h3.cAuthorPane_author, h3 strong, [itemprop=name]", "time",
         "[data-role=commentContent], .cPost_contentWrap .ipsType_richText",
         "blockquote, .ipsQuote, .ipsComment_signature, [data-excludequote], .ipsType_reset.ipsType_light"),
    # IP.Board 3
    Rule("div.post_block", ".author [itemprop=name], .author, .post_username", "abbr.published",
         ".entry-content, .post.entry-content", "blockquote, .edit, .signature, p.citation"),
    # Stack Exchange: the question, the answers, and the comments below each of them
    Rule("#question, .answer, li.comment",  ".comment-user, .user-details[itemprop=author]",
         ".comment-date span[title], .user-info:has(> [itemprop=author]) .relativetime",
         ".js-post-body, .comment-copy", "script, .-flair, .d-none"),
    # Vanilla
    Rule(".ItemDiscussion, .ItemComment", ".Author a.Username, .Author .Username", "time", ".Message", "blockquote, "
         ".QuoteText, .UserQuote, .js-embed"),
    # JForum
    Rule("div.post, tr.post", ".author a, .username", ".date, .postdate", ".postbody, .post-content", "blockquote"),
)  # fmt: skip


def truth_of(address: str, body: bytes, *, order: str = "") -> tuple[Said, ...]:
    """Return the posts of a thread page or the titles of a list page, empty where no rule knows the page."""
    source = _decoded(body)
    if "data-preloaded=" in source and (carried := tuple(_discourse(source))):
        return carried
    soup = BeautifulSoup(source, "lxml")
    old = tuple(_phpbb2(soup, order)) or tuple(_subsilver2(soup, order))
    if old:
        return old
    if "<!--beginarticle-->" in source:
        return (_mail(soup),)
    for rule in _RULES:
        posts = [post for post in soup.select(rule.post) if post.select_one(rule.text) is not None]
        if posts:
            # The last one first, and out of the tree with it: so no post holds the posts below it.
            return tuple(_said(rule, post.extract(), order) for post in reversed(posts))[::-1]
    return tuple(_titles(soup, order))


def _decoded(body: bytes) -> str:
    with suppress(UnicodeDecodeError):
        return body.decode("utf-8")
    found = re.search(rb"charset=[\"']?([\w-]+)", body[:4000])
    named = found[1].decode() if found else "utf-8"
    try:
        return body.decode("cp1252" if named.lower() == "iso-8859-1" else named)
    except (LookupError, UnicodeDecodeError):
        return body.decode("utf-8", "replace")


def _said(rule: Rule, post: Tag, order: str) -> Said:
    name = post.select_one(rule.author)
    when = post.select_one(rule.time)
    author = (
        None
        if name is None
        else str(post.get("data-username") or name.get("content") or next(name.stripped_strings, ""))
    )
    moment = None if when is None else _moment(when, rule.time_pattern, order)
    return Said(author or None, moment, _text(post.select_one(rule.text), rule.left_out))


def _text(element: Tag | None, left_out: str) -> str:
    if element is None:
        return ""
    for part in element.select(left_out):
        part.extract()
    for face in element.select("img[class*=smil], img[class*=emoji], img[src*=smil], img[src*=emoticon]"):
        face.replace_with(str(face.get("alt", "")))
    return element.get_text(" ")


def _moment(element: Tag, pattern: str, order: str) -> int | None:
    for holder in (element, *element.select("time, [data-time], [data-timestamp], [title]")):
        for name in ("data-timestamp", "data-time"):
            if str(holder.get(name, "")).isdigit():
                return int(str(holder[name]))
        for name in ("datetime", "content", "title"):
            text = str(holder.get(name, ""))
            if name == "title" and " at " in text:
                return _in_words(text, order)
            if re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", text):
                return _epoch(datetime.fromisoformat(text.partition(",")[0].replace("Z", "+00:00")))
    found = re.search(pattern, " ".join(element.get_text(" ").split()))
    return _in_words(found[1], order) if found else None


def _in_words(text: str, order: str) -> int | None:
    if order == BY_EYE:
        return None
    settings = {
        "TIMEZONE": "UTC", "RETURN_AS_TIMEZONE_AWARE": True,
        "RELATIVE_BASE": datetime.fromtimestamp(SAVED_AT_S, UTC).replace(tzinfo=None),
    } | ({"DATE_ORDER": order} if order else {})  # fmt: skip
    moment = dateparser.parse(text, settings=settings)
    return None if moment is None else _epoch(moment)


def _epoch(moment: datetime) -> int:
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _phpbb2(soup: BeautifulSoup, order: str) -> Iterator[Said]:
    """Yield the posts of subSilver, whose author and text stand in cells of one row and in no element of their own."""
    for details in soup.select("td > span.postdetails"):
        found = re.search(r"Posted: (.+?)(?:\s{2,}|\xa0|Post subject|$)", details.get_text(" "))
        row = details.find_parent("tr")
        while row is not None and row.select_one("span.name b") is None:
            row = row.find_parent("tr")
        if found is None or row is None:
            continue
        body = " ".join(_text(part, ".quote, .code") for part in row.select("span.postbody"))
        body = re.split(r"_{10,}", body)[0]
        name = row.select_one("span.name b")
        yield Said(name.get_text(strip=True) if name else None, _in_words(found[1], order), body)


def _subsilver2(soup: BeautifulSoup, order: str) -> Iterator[Said]:
    """Yield the posts of subsilver2, whose author and text stand in rows of one table."""
    for name in soup.select(".postauthor"):
        table = name.find_parent("table")
        body = table.select_one("div.postbody") if table is not None else None
        found = re.search(r"Posted:\s*(.+?\d:\d\d(?: [ap]m)?)", table.get_text(" ")) if table is not None else None
        if table is not None and body is not None:
            left_out = "div.quotetitle, div.quotecontent, div.codetitle, .attachcontent, .attachtitle"
            yield Said(name.get_text(strip=True), _in_words(found[1], order) if found else None, _text(body, left_out))


def _mail(soup: BeautifulSoup) -> Said:
    """Return the message of a page of Pipermail."""
    name, when, text = soup.select_one("h1 ~ b"), soup.select_one("h1 ~ i"), soup.select_one("pre")
    moment = _in_words(when.get_text(), "") if when else None
    return Said(name.get_text(" ", strip=True) if name else None, moment, text.get_text() if text else "")


def _discourse(source: str) -> Iterator[Said]:
    found = re.search(r'data-preloaded="([^"]*)"', source)
    for key, value in json.loads(unescape(found[1])).items() if found else ():
        if re.fullmatch(r"topic_\d+", key):
            topic = json.loads(value)
            for post in topic["post_stream"]["posts"]:
                # A small action, such as that a topic was closed, is none.
                if post["post_type"] != 1:
                    continue
                text = _text(BeautifulSoup(post["cooked"], "lxml"), "aside.quote, .lightbox-wrapper .meta")
                # A topic begins a moment before its first post is stored.
                at = topic["created_at"] if post["post_number"] == 1 else post["created_at"]
                yield Said(post["username"], _epoch(datetime.fromisoformat(at)), text)


_ROWS = (
    # phpBB 3
    Rule("ul.topics > li.row", ".topic-poster .username, .topic-poster .username-coloured, dt a[href*='u=']",
         ".topic-poster time", "a.topictitle"),
    # XenForo 2
    Rule("div.structItem--thread", ".structItem-parts .username", "li.structItem-startDate time",
         ".structItem-title a:not(.labelLink)"),
    # vBulletin 4
    Rule("li.threadbit", ".threadmeta .username", ".threadmeta .label", "a.title", time_pattern=r"(\d+[-./]\d+.+)$"),
    # phpBB 2
    Rule("tr:has(a.topictitle)", "td.row3 .name a, td.row3 .name", ".never", "a.topictitle"),
    # SMF 2, bbPress, PunBB, Pipermail, vBulletin 3
    Rule("tr:has(> td.subject)", "td.subject p a", ".never", "td.subject span a"),
    Rule("ul.type-topic", ".bbp-topic-started-by .bbp-author-name", ".never", "a.bbp-topic-permalink"),
    Rule("div.main-item:not(.moved)", ".item-starter cite", ".never", ".item-subject h3 a"),
    Rule("li:has(> a[name]):has(> i)", "i", ".never", "a"),
    Rule("tr:has(a[id^=thread_title_])", ".never", ".never", "a[id^=thread_title_]"),
)  # fmt: skip


def _titles(soup: BeautifulSoup, order: str) -> Iterator[Said]:
    for rule in _ROWS:
        rows = [row for row in soup.select(rule.post) if row.select_one(rule.text) is not None]
        if rows:
            said = [_said(rule, row, order) for row in rows]
            # An archive may show a message twice in sequence.
            yield from (row for at, row in enumerate(said) if str(rows[at]) != str(rows[at - 1]) or at == 0)
            return
