"""The bench forum crawled by crawlee, to compare CPU side by side: the same pages, fields and links, into SQLite.

In an environment of its own (`pip install 'crawlee[parsel]'`):
    python -m crawl_tasks.demo --prerender --size bench --port 8766 &
    python tests/bench/crawlee_peer.py http://127.0.0.1:8766 /tmp/peer.db
Its queue is in memory. Prints the rows stored and the CPU seconds of the process, imports included.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta

from crawlee import ConcurrencySettings, Request, service_locator
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from parsel import Selector
from peer_store import TEXT, PeerStore, moment

BASE, DATABASE = sys.argv[1:3]
BOARDS = range(1, 11)


def read_list(page: Selector, store: PeerStore) -> list[str]:
    links = []
    for row in page.css("table.threads tr.thread"):
        post = row.attrib["data-post"]
        item = {
            "id": post,
            "title": row.css("a.title::text").get(),
            "author": row.css("td.author a::text").get(),
            "created": moment(row, "td.created"),
            "replies": row.css("td.replies::text").get(),
            "views": row.css("td.views::text").get(),
            "last": moment(row, "td.last"),
        }
        store.keep("posts", item)
        links.append(f"{BASE}/post/{post}")
    following = page.css("nav.pager a.next::attr(href)").get()
    return [*links, BASE + following] if following else links


def read_post(page: Selector, store: PeerStore) -> list[str]:
    article = page.css("article.post")
    post = article.attrib["data-post"]
    item = {
        "id": post,
        "board": article.attrib["data-board"],
        "title": article.css("h1.title::text").get(),
        "author": article.css("a.author::text").get(),
        "created": moment(article, ".created"),
        "views": article.css(".views::text").get(),
        "replies": article.css(".replies::text").get(),
        "body": " ".join(article.css(TEXT).getall()),
    }
    store.keep("posts", item)
    pages = int(page.css("nav.pager::attr(data-pages)").get() or 1)
    return [f"{BASE}/comment/{post}/{number}" for number in range(2, pages + 1)]


def read_comments(post: str, page: Selector, store: PeerStore) -> None:
    for position, comment in enumerate(page.css("div.comment")):
        item = {
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
        store.keep("comments", item)


async def crawl() -> None:
    store = PeerStore(DATABASE)
    crawler = ParselCrawler(
        concurrency_settings=ConcurrencySettings(desired_concurrency=32, max_concurrency=32, min_concurrency=32),
        respect_robots_txt_file=True,
        use_session_pool=False,
        ignore_http_error_status_codes=[404, 410],
        statistics_log_format="inline",
        configure_logging=False,
        request_handler_timeout=timedelta(seconds=60),
    )

    @crawler.router.default_handler
    async def read(context: ParselCrawlingContext) -> None:
        _, kind, key, *_ = context.request.url.removeprefix(BASE).split("/")
        links: list[str] = []
        if kind == "list":
            links = read_list(context.selector, store)
        elif context.http_response.status_code == 200:
            if kind == "post":
                links = read_post(context.selector, store)
            read_comments(key, context.selector, store)
        if links:
            await context.add_requests([Request.from_url(link) for link in links])

    await crawler.run([f"{BASE}/list/{board}/1" for board in BOARDS])
    store.close()


if __name__ == "__main__":
    service_locator.set_configuration(Configuration(purge_on_start=False))
    service_locator.set_storage_client(MemoryStorageClient())
    asyncio.run(crawl())
    times = os.times()
    print(f"{times.user + times.system:.2f} CPU s")
