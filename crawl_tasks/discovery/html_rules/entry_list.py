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
    """Return rules for the entries of a page, None unless ten with an id and a moment are there, newest first.

    The posts of a thread are on a page like this, but with the oldest first.
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
    for hypothesis in _hypotheses(documents):
        inside = {node.mem_id for node in hypothesis.records.parts(front)}
        following = next_of(front, "", inside)
        fields = {"post_id": hypothesis.records.key, **hypothesis.found.rules}
        lines = [
            "list:",
            f"  record: {scalar(hypothesis.records.css)}{CHECK}",
            *(["  siblings: true"] * hypothesis.records.siblings),
            *fields_text(fields, 2),
            *([f"  {following.next}"] if following and following.next else []),
            "post:", "  fields: {title: h1}",
        ]  # fmt: skip
        board = FoundBoard("entries", None, path_of(front.page.url))
        findings = replace(
            known, boards=(board,), has_board_addresses=True, rules="\n".join(lines), remarks=(*known.remarks, _REMARK)
        )
        made.append((score_of(probe, site_file(findings)), findings))
    return max(made, key=lambda hypothesis: hypothesis[0], default=(None, None))[1]


def _hypotheses(documents: list[Document]) -> list[_Entries]:
    samples = [
        FetchedThread(PageLink(document.root, document.page.url, "", (), ""), at, document)
        for at, document in enumerate(documents)
    ]
    kept = []
    for records in comment_hypotheses(samples):
        nodes = [node for document in documents for node in records.nodes(document)]
        first = len(records.nodes(documents[0]))
        fields = fields_of([("", node) for node in nodes])
        times = [fields.at.get(at) for at in range(first)]
        known = [at for at in times if at is not None]
        is_newest_first = all(newer >= older for newer, older in pairwise(known))
        if any(_lead_to_pages(document, records.nodes(document)) for document in documents):
            # What has a page of its own is the row of a thread.
            continue
        if records.key and len(known) >= FEWEST and is_newest_first and len(set(known)) > 1 and "body" in fields.rules:
            kept.append(_Entries(records, fields))
    return kept


def _lead_to_pages(document: Document, nodes: Sequence[LexborNode]) -> bool:
    """Return whether most records have links of one kind, with words, to a page of each."""
    for links in links_of(document).values():
        worded = [link for link in links if re.search(r"[^\W\d_]", link.text) and moment_of(link.text) is None]
        if links[0].is_stranger:
            continue
        keys: list[str] = []
        for node in nodes:
            keys += [link.key for link in worded if is_in(link.node, {node.mem_id})][:1]
        if len(keys) >= FEWEST // 2 and 5 * len(keys) >= 4 * len(nodes) and len(set(keys)) == len(keys):
            return True
    return False
