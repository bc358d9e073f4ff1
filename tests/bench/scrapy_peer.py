"""The bench forum crawled by Scrapy, to compare CPU side by side: the same pages, fields and links, into SQLite.

In an environment of its own (`pip install scrapy`):
    python -m crawl_tasks.demo --prerender --size bench --port 8766 &
    python tests/bench/scrapy_peer.py http://127.0.0.1:8766 /tmp/peer.db
Prints the rows stored and the CPU seconds of the process, imports included.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from typing import ClassVar

import scrapy
from peer_store import TEXT, PeerStore, moment
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

BASE, DATABASE = sys.argv[1:3]
BOARDS = range(1, 11)


class Forum(scrapy.Spider):
    name = "forum"
    custom_settings: ClassVar[dict[str, object]] = {
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "HTTPERROR_ALLOWED_CODES": [404, 410],
        "ITEM_PIPELINES": {"__main__.Store": 1},
    }

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for board in BOARDS:
            yield scrapy.Request(f"{BASE}/list/{board}/1", self.listing)

    def listing(self, response: Response) -> Iterator[dict[str, object] | scrapy.Request]:
        for row in response.css("table.threads tr.thread"):
            post = row.attrib["data-post"]
            yield {
                "kind": "posts",
                "id": post,
                "title": row.css("a.title::text").get(),
                "author": row.css("td.author a::text").get(),
                "created": moment(row, "td.created"),
                "replies": row.css("td.replies::text").get(),
                "views": row.css("td.views::text").get(),
                "last": moment(row, "td.last"),
            }
            yield scrapy.Request(f"{BASE}/post/{post}", self.post)
        if following := response.css("nav.pager a.next::attr(href)").get():
            yield response.follow(following, self.listing)

    def post(self, response: Response) -> Iterator[dict[str, object] | scrapy.Request]:
        if response.status != 200:
            return
        article = response.css("article.post")
        post = article.attrib["data-post"]
        yield {
            "kind": "posts",
            "id": post,
            "board": article.attrib["data-board"],
            "title": article.css("h1.title::text").get(),
            "author": article.css("a.author::text").get(),
            "created": moment(article, ".created"),
            "views": article.css(".views::text").get(),
            "replies": article.css(".replies::text").get(),
            "body": " ".join(article.css(TEXT).getall()),
        }
        yield from self.comments(response)
        for page in range(2, int(response.css("nav.pager::attr(data-pages)").get() or 1) + 1):
            yield scrapy.Request(f"{BASE}/comment/{post}/{page}", self.comments)

    def comments(self, response: Response) -> Iterator[dict[str, object]]:
        post = response.url.split("/")[4]
        for position, comment in enumerate(response.css("div.comment")):
            yield {
                "kind": "comments",
                "id": comment.attrib["data-comment"],
                "post": post,
                "parent": comment.attrib.get("data-parent"),
                "depth": comment.attrib.get("data-depth"),
                "state": comment.attrib.get("data-state"),
                "author": comment.css(".author::text").get(),
                "created": moment(comment, ".created"),
                "body": " ".join(comment.css(TEXT).getall()),
                "position": position,
            }


class Store:
    def open_spider(self) -> None:
        self.kept = PeerStore(DATABASE)

    def process_item(self, item: dict[str, object]) -> dict[str, object]:
        self.kept.keep(str(item["kind"]), item)
        return item

    def close_spider(self) -> None:
        self.kept.close()


if __name__ == "__main__":
    process = CrawlerProcess()
    process.crawl(Forum)
    process.start()
    times = os.times()
    print(f"{times.user + times.system:.2f} CPU s")
