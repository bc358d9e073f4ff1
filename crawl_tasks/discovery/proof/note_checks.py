"""Note checks: what refutes a site file by one look at each page: notes that name what was lost, and footers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck
from crawl_tasks.model import Stage
from crawl_tasks.parse.comment_reader import MOVING_ID
from crawl_tasks.parse.lost_records import lost_records
from crawl_tasks.parse.pagination import LEADS_BACK
from crawl_tasks.parse.text_lines import tail_of
from crawl_tasks.parse.values.charset import LOST


def note_checks(pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield the checks by notes on the pages that were tried."""
    yield from _of_ids(pages)
    yield from _of_lost_records(pages)
    yield from _of_texts(pages)
    yield from _of_walks(pages)
    yield from _of_tails(pages)


def _of_ids(pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield the refutation of an id that most records of a page share."""
    for one in pages:
        for note in one.parsed.notes if one.parsed is not None else ():
            lost = re.match(r"(\d+) of (\d+) records were left out: their ", note)
            if lost and int(lost[1]) >= FEW and 2 * int(lost[1]) > int(lost[2]):
                yield SiteCheck("records have ids of their own", False, f"{note} on {one.request.address}")
                return
            if MOVING_ID in note:
                yield SiteCheck("ids of comments stand still", False, f"{note} on {one.request.address}")
                return


def _of_lost_records(pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield the refutation of rules that leave out more records than there are advertisements."""
    found = [(*lost_records(one.parsed.notes), one.request.address) for one in pages if one.parsed is not None]
    lost, note, address = max(found, default=(0, "", ""))
    # One of few is no evidence, unless it is so on a second page.
    if lost > 1 or sum(count for count, *_ in found) > 1:
        yield SiteCheck("every record is read", False, f"{note} on {address}")


def _of_walks(pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield whether the pages of a thread or a board lead on, and not back to earlier ones."""
    walked = [one for one in pages if one.parsed is not None and one.request.page > 2]
    back = next((note for one in walked if one.parsed for note in one.parsed.notes if LEADS_BACK in note), "")
    if walked:
        yield SiteCheck("further pages lead on", not back, back)


def _of_texts(pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield whether the texts can be read in the charset. Few that cannot are damaged on the forum itself."""
    notes = [note for one in pages for note in (one.parsed.notes if one.parsed is not None else ()) if LOST in note]
    if notes:
        lost = sum(int(note.partition(" ")[0]) for note in notes)
        texts = sum(len(one.rows) + len(one.comments()) for one in pages)
        yield SiteCheck("texts are in the charset of their pages", lost * 20 < texts, max(notes, key=len))


def _of_tails(pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield what refutes the last texts of threads: the footer of their pages stands in them."""
    threads: dict[str, set[str]] = {}
    others: set[str] = set()
    for one in pages:
        if one.parsed is not None and one.request.stage is not Stage.LIST:
            tail, lines = tail_of(one.parsed)
            threads.setdefault(one.request.key, set()).add(tail)
            others |= lines
    # What people say elsewhere too is no footer.
    often = Counter(tail for tails in threads.values() for tail in tails if tail and tail not in others)
    tail, count = often.most_common(1)[0] if often else ("", 0)
    if count >= FEW and 2 * count >= len(threads):
        text = f"those of {count} of {len(threads)} threads end with {tail[:60]!r}, as a footer does"
        yield SiteCheck("last texts of pages end on their own", False, text)
