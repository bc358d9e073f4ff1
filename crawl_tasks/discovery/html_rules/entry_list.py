"""Guest books: rules for a page of dated entries, newest first, that have no pages of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.address_shape import path_of
from crawl_tasks.discovery.links.links import PageLink, links_of
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.proof.file_score import score_of
from crawl_tasks.discovery.proof.findings import Findings, site_file
from crawl_tasks.discovery.records.next_page import next_of
from crawl_tasks.discovery.records.record_fields import FoundFields, fields_of
from crawl_tasks.discovery.records.thread_page import FetchedThread, ThreadRecords, comment_hypotheses
from crawl_tasks.discovery.text.timestamps import moment_of
from crawl_tasks.discovery.text.yaml_rules import CHECK, fields_text, scalar
from crawl_tasks.errors import PageError
from crawl_tasks.parse.board_index import FoundBoard
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.pagination_links import is_in

FEWEST = 10
_REMARK = "no list of threads was found: dated entries are posts without pages of their own, as in a guest book"


@dataclass(frozen=True, slots=True)
class _Entries:
    """Records that are one entry each, and their fields."""

    records: ThreadRecords
    found: FoundFields


def propose_entries(probe: HttpProbe, front: Document, known: Findings) -> Findings | None:
    """Return rules for the entries of a page, None unless ten with an id and a moment stand there, newest first.

    The posts of a thread stand on a page like this, but with the oldest first.
    """
    inside: set[int] = set()
    step = next_of(front, "", inside)
    documents = [front]
    if step is not None:
        try:
            documents.append(Document(probe.page(step.url)))
        except PageError:
            step = None
    made = []
    for one in _hypotheses(documents):
        inside = {node.mem_id for node in one.records.parts(front)}
        following = next_of(front, "", inside)
        fields = {"post_id": one.records.key, **one.found.rules}
        lines = [
            "list:", f"  record: {scalar(one.records.css)}{CHECK}", *(["  siblings: true"] * one.records.siblings),
            *fields_text(fields, 2),
            *([f"  {following.next}"] if following and following.next else []),
            "post:", "  fields: {title: h1}",
        ]  # fmt: skip
        board = FoundBoard("entries", None, path_of(front.page.url))
        found = replace(
            known, boards=(board,), has_board_addresses=True, rules="\n".join(lines), remarks=(*known.remarks, _REMARK)
        )
        made.append((score_of(probe, site_file(found)), found))
    return max(made, key=lambda one: one[0], default=(None, None))[1]


def _hypotheses(documents: list[Document]) -> list[_Entries]:
    samples = [FetchedThread(PageLink(one.root, one.page.url, "", (), ""), at, one) for at, one in enumerate(documents)]
    kept = []
    for records in comment_hypotheses(samples):
        nodes = [node for one in documents for node in records.nodes(one)]
        first = len(records.nodes(documents[0]))
        found = fields_of([("", node) for node in nodes])
        times = [found.at.get(at) for at in range(first)]
        there = [at for at in times if at is not None]
        is_newest_first = all(newer >= older for newer, older in pairwise(there))
        if any(_lead_to_pages(one, records.nodes(one)) for one in documents):
            # What has a page of its own is the row of a thread.
            continue
        if records.key and len(there) >= FEWEST and is_newest_first and len(set(there)) > 1 and "body" in found.rules:
            kept.append(_Entries(records, found))
    return kept


def _lead_to_pages(document: Document, nodes: Sequence[LexborNode]) -> bool:
    """Return whether most records have links of one kind, with words, to a page of each."""
    for links in links_of(document).values():
        worded = [one for one in links if re.search(r"[^\W\d_]", one.text) and moment_of(one.text) is None]
        if links[0].is_stranger:
            continue
        firsts = [next((link.key for link in worded if is_in(link.node, {node.mem_id})), None) for node in nodes]
        keys = [key for key in firsts if key is not None]
        if len(keys) >= FEWEST // 2 and 5 * len(keys) >= 4 * len(nodes) and len(set(keys)) == len(keys):
            return True
    return False
