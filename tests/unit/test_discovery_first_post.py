"""Proposals: the first post of a thread, where it stands apart from the comments."""

from __future__ import annotations

from crawl_tasks.discovery.html_rules.thread_rules import thread_rules
from crawl_tasks.discovery.links.links import links_of
from crawl_tasks.discovery.records.thread_page import FetchedThread, ThreadRecords
from crawl_tasks.model import Fetched
from crawl_tasks.parse.document import Document

CHROME = "Our club, Harbour street 12, phone 02-123-4567, registered at the court under number 987-65"
"""The end of each page, which is said on the only page without comments too."""


def thread(number: int, replies: int, pager: str = "") -> FetchedThread:
    comments = "".join(
        f"<li id=c{number}{at}><b>Ann</b> <time>2026-05-0{1 + at} 10:00</time><p>Reply {number}{at} of words</p></li>"
        for at in range(replies)
    )
    html = f"""<h1>Lamp {number} &gt; Club</h1><div><a href=/t/{number}>Lamp {number}</a></div><h2>Lamp {number}</h2>
        <div class=top><i>{("Bob", "Carl", "Dora")[number % 3]}</i> <em>2026-04-1{number} 09:00</em></div>
        <div class=text>The {number} text that begins a thread</div><ul>{comments}</ul>{pager}
        <div><p>{CHROME}</p></div>"""
    document = Document(Fetched(f"http://forum.example/t/{number}", 200, {}, html.encode(), 1_780_000_000.0))
    return FetchedThread(links_of(document)["/t/#"][0], number, document)


def test_the_end_of_a_page_without_comments_is_no_text_and_a_heading_with_more_no_title() -> None:
    samples = [thread(number, replies) for number, replies in enumerate((3, 2, 0, 4, 0), 1)]

    found = thread_rules(samples, ThreadRecords("li", ""), samples[0].link, None, is_post_inside=False)

    lines = "\n".join(found.lines)
    assert "body: {css: div.text" in lines, lines
    assert "title: h2," in lines, lines


def test_a_thread_that_opens_at_its_last_page_is_read_back() -> None:
    pager = "<nav><a href='/t/1?c=1#list'>1</a> <b>2</b> <a class=next href='/t/1?c=2'>Last</a></nav>"
    # The last page of a long thread may be short, and another page the largest.
    samples = [thread(2, 9, "<a class=next href=/t/2?c=2>Next</a>"), thread(1, 3, pager)]

    found = thread_rules(samples, ThreadRecords("li", ""), samples[0].link, None, is_post_inside=False)

    lines = "\n".join(found.lines)
    assert "following-sibling" in lines
    assert "c={page}" not in lines
    [link] = samples[1].document.xml.xpath(lines.split("xpath: '")[1].split("', attr")[0])
    assert link.get("href") == "/t/1?c=1#list"
