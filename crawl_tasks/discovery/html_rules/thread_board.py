"""The board of a thread: the link on the thread's own page that names it, as a breadcrumb has."""

from __future__ import annotations

from collections.abc import Sequence, Set

from crawl_tasks.discovery.links.links import PageLink, links_of
from crawl_tasks.discovery.records.record_queries import selector_in
from crawl_tasks.discovery.records.thread_page import FetchedThread
from crawl_tasks.discovery.text.yaml_rules import scalar


def board_rule(samples: Sequence[FetchedThread], example: PageLink | None, inside: Set[int]) -> str:
    """Return the YAML rule of the board that a thread's page names, empty without one.

    A moved thread is on two lists, and its own page tells where it is. Threads of two boards must agree with their
    lists, or a menu may be all that is found. `example` is a board's link, and `inside` are the parts of posts.
    """
    if example is None:
        return ""
    known: list[tuple[FetchedThread, list[PageLink]]] = []
    for sample in samples:
        links = links_of(sample.document, example.shape).get(example.shape, [])
        own = [
            link for link in links if link.keys[example.place] == sample.link.board and link.node.mem_id not in inside
        ]
        if own:
            known.append((sample, own))
    if len({sample.link.board for sample, _ in known}) < 2:
        return ""
    roots = [sample.document.root for sample, _ in known]
    for place in (0, -1):
        # A menu's first board is that of most threads.
        css = selector_in(roots, [own[place].node for _, own in known], misses=0)
        if css is not None:
            return f"{{css: {scalar(css)}, attr: href, regex: {scalar(known[0][1][place].id_regex(example.place))}}}"
    return ""
