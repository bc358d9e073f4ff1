"""Lists without rows: whether the element that says so holds threads all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from selectolax.lexbor import LexborNode

from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import Stage
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.field_rules import Rule


def linked_threads(empty: Rule, addresses: Addresses, document: Document) -> int:
    """Return the number of threads that are linked within the elements that an `empty` rule finds.

    A rule may find the frame of the list, which is there with rows too. The whole page is no frame: the newest
    threads of all boards may be beside an empty one.
    """
    if not empty.css or empty.css == "body":
        return 0
    keys: set[str] = set()
    for frame in find_all(document.root, empty.css):
        keys.update(_threads_in(frame, addresses, document))
    return len(keys)


def _threads_in(frame: LexborNode, addresses: Addresses, document: Document) -> Iterator[str]:
    for node in frame.css("a[href]"):
        url = document.absolute(node.attributes.get("href") or "")
        with suppress(RefusedAddress):
            target = addresses.read(url) if url is not None and addresses.is_ours(url) else None
            if target is not None and target.stage is Stage.POST:
                yield target.key
