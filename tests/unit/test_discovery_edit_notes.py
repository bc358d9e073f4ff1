"""Notes of edits of an unknown forum that are lines of the text, without an element of their own."""

from __future__ import annotations

import re

import pytest

from crawl_tasks.discovery.records.boilerplate import text_note
from crawl_tasks.discovery.records.record_fields import fields_of
from crawl_tasks.model import Fetched
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.values.clock_words import with_clock


@pytest.mark.parametrize(
    ("notes", "moments"),
    [
        (("[Edited on 12-8-2025 by ann]", "[Edited on 1-20-2025 by bob]"), ("12-8-2025", "1-20-2025")),
        (
            (
                "Edited 1 time(s). Last edit at 01/28/2025 11:03AM by ann.",
                "Edited 2 time(s). Last edit at 01/02/2025 9:03PM by bob.",
            ),
            ("01/28/2025 11:03AM", "01/02/2025 9:03PM"),
        ),
        (
            ("Last edited by ann, 2025-01-02 10:05", "Last edited by bob, 2025-01-03"),
            ("2025-01-02 10:05", "2025-01-03"),
        ),
        (
            ("Geändert von ann, 28.01.2025 um 11:03 Uhr", "Geändert von bob, 02.01.2025 um 9:03 Uhr"),
            ("28.01.2025 um 11:03", "02.01.2025 um 9:03"),
        ),
        (
            ("Επεξεργάστηκε: 28/01/2025 στις 11:03 πμ", "Επεξεργάστηκε: 02/01/2025 στις 9:03 μμ"),
            ("28/01/2025 στις 11:03 πμ", "02/01/2025 στις 9:03 μμ"),
        ),
        (
            ("Editado: 28/01/2025 de la tarde 3:03", "Editado: 02/01/2025 9:03 de la noche (ann)"),
            ("28/01/2025 de la tarde 3:03", "02/01/2025 9:03 de la noche"),
        ),
    ],
)  # fmt: skip
def test_a_note_in_the_last_line_is_cut_off_and_read(notes: tuple[str, str], moments: tuple[str, str]) -> None:
    found = text_note([f"First line.\nIt was edited by me.\n{notes[0]}", "Plain.", notes[1]])

    assert found is not None
    body, edited = re.compile(found.body), re.compile(found.edited)
    own = ["Edited to add: it works.", "words\nEdited to add: 2"]
    texts = [f"First line.\nIt was edited by me.\n{notes[0]}", notes[1], *own]
    assert [one[1] for text in texts if (one := body.search(text))] == [
        "First line.\nIt was edited by me.", "", *own
    ]  # fmt: skip
    found_notes = [match for text in texts if (match := edited.search(text))]
    assert [with_clock(match.string, *match.span(1)) for match in found_notes] == [*moments]


@pytest.mark.parametrize(
    "texts",
    [
        ("words\nEdited on 12-8-2025 by ann", "words"),
        ("words\nEdited to add: 2 days ago", "words\nEdited to say: 3 days ago"),
        ("On 12-8-2025 it was edited", "Yesterday 10:02 I edited that"),
    ],
)
def test_one_note_and_notes_of_authors_cut_off_nothing(texts: tuple[str, str]) -> None:
    assert text_note(texts) is None


@pytest.mark.parametrize(("note", "is_line"), [("<em class=note>{}</em>", False), ("{}", True)])
def test_a_note_with_an_element_is_dropped_and_needs_no_regex(note: str, is_line: bool) -> None:
    said = "".join(
        f"<div class=post><b class=author>{who}</b> <time>2025-01-0{at} 10:00</time><div class=body>Words of {who}"
        f" about {at} things that are long enough.<br>{note.format(f'Edited on 1{at}-20-2025 by {who}')}</div></div>"
        for at, who in enumerate(("ann", "bob", "cid"))
    )
    page = Document(Fetched("http://forum.example/t/1", 200, {}, said.encode(), 1_700_000_000.0))

    found = fields_of([("T", node) for node in page.root.css("div.post")])

    assert ("regex" in found.rules["body"], found.edited is None) == (is_line, is_line)
