"""Note checks: what refutes a site file by one look at each page: notes that name what was lost, and footers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.read_pages import ReadPages
from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck
from crawl_tasks.model import Stage
from crawl_tasks.parse.comment_reader import MOVING_ID
from crawl_tasks.parse.lost_records import lost_records
from crawl_tasks.parse.pagination import LEADS_BACK
from crawl_tasks.parse.text_lines import tail_of
from crawl_tasks.parse.values.charset import LOST


def notes_on(trials: Sequence[DryRun]) -> Iterator[tuple[str, str]]:
    """Yield the notes on pages, each with the address of its page."""
    for trial in trials:
        if trial.parsed is not None:
            yield from ((note, trial.request.address) for note in trial.parsed.notes)


def ids_are_own(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of an id that most records of a page share, or that changes between two readings."""
    for note, address in notes_on(pages.read):
        lost = re.match(r"(\d+) of (\d+) records were left out: their ", note)
        if lost and int(lost[1]) >= FEW and 2 * int(lost[1]) > int(lost[2]):
            return SiteCheck("records have ids of their own", False, f"{note} on {address}")
        if MOVING_ID in note:
            return SiteCheck("ids of comments stand still", False, f"{note} on {address}")
    return None


def no_record_is_lost(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of rules that leave out more records than there are advertisements."""
    counts = [(*lost_records(trial.parsed.notes), trial.request.address) for trial in pages.read if trial.parsed]
    lost, note, address = max(counts, default=(0, "", ""))
    # One of few is no evidence, unless it is so on a second page.
    if lost < 2 and sum(count for count, *_ in counts) < 2:
        return None
    return SiteCheck("every record is read", False, f"{note} on {address}")


def texts_fit_charset(pages: ReadPages) -> SiteCheck | None:
    """Return whether the texts can be read in the charset. Few that cannot are damaged on the forum itself."""
    notes = [note for note, _ in notes_on(pages.read) if LOST in note]
    if not notes:
        return None
    lost = sum(int(note.partition(" ")[0]) for note in notes)
    texts = sum(len(trial.rows) + len(trial.comments()) for trial in pages.read)
    return SiteCheck("texts are in the charset of their pages", lost * 20 < texts, max(notes, key=len))


def further_pages_lead_on(pages: ReadPages) -> SiteCheck | None:
    """Return whether the pages of a thread or a board lead on, and not back to earlier ones."""
    further = [trial for trial in pages.read if trial.request.page > 2]
    back = next((note for note, _ in notes_on(further) if LEADS_BACK in note), "")
    return SiteCheck("further pages lead on", not back, back) if further else None


def last_texts_are_no_footers(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of the last texts of threads: the footer of their pages is in them."""
    threads = defaultdict[str, set[str]](set)
    others: set[str] = set()
    for trial in pages.read:
        if trial.parsed is not None and trial.request.stage is not Stage.LIST:
            tail, lines = tail_of(trial.parsed)
            threads[trial.request.key].add(tail)
            others |= lines
    # What people say elsewhere too is no footer.
    often = Counter(tail for tails in threads.values() for tail in tails if tail and tail not in others)
    tail, count = often.most_common(1)[0] if often else ("", 0)
    if count < FEW or 2 * count < len(threads):
        return None
    evidence = f"those of {count} of {len(threads)} threads end with {tail[:60]!r}, as a footer does"
    return SiteCheck("last texts of pages end on their own", False, evidence)
