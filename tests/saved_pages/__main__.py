"""`python -m tests.saved_pages CLONES`: saved pages of real forums read by presets, as a table by program.

CLONES is a directory with a git clone of each repository that pages.tsv names, as OWNER/NAME or OWNER+NAME. The pages
themselves are not part of this project. `--each` shows a line a page, `--only TEXT` reads those whose address has TEXT.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.saved_pages.reading import Reading, Said, read_page
from tests.saved_pages.sources import SavedPage, saved_pages
from tests.saved_pages.truth import truth_of


@dataclass(frozen=True)
class Verdict:
    """A page as it was read. `wrong` names each difference that no error, remark or missing field tells of."""

    page: SavedPage
    reading: Reading
    posts: int
    wrong: tuple[str, ...]

    @property
    def word(self) -> str:
        """`right`, `wrong`, `refused`, or `unjudged` where BeautifulSoup's rules know nothing of the page."""
        if self.reading.refused:
            return "refused"
        return "unjudged" if not self.posts else "wrong" if self.wrong else "right"


def judge(page: SavedPage, body: bytes) -> Verdict:
    """Return how a page was read."""
    reading = read_page(page, body)
    if reading.refused:
        return Verdict(page, reading, 0, ())
    truth = truth_of(page.address, body, order=page.order)
    return Verdict(page, reading, len(truth), tuple(_differences(reading, truth)))


def _differences(reading: Reading, truth: tuple[Said, ...]) -> list[str]:
    if reading.stage == "list":
        if [_letters(row.text) for row in reading.records] == [_letters(row.text) for row in truth]:
            return [line for pair in zip(reading.records, truth, strict=True) for line in _apart(*pair, "row")]
        rows = {_letters(row.text): row for row in reading.records}
        lacking = [row.text for row in truth if _letters(row.text) not in rows]
        found = [f"title {title[:60]!r} is not among the rows" for title in lacking]
        return found + [
            line for row in truth if (mine := rows.get(_letters(row.text))) for line in _apart(mine, row, "row")
        ]
    if len(reading.records) != len(truth):
        return [f"{len(reading.records)} posts, not {len(truth)}"]
    found = []
    for number, (ours, theirs) in enumerate(zip(reading.records, truth, strict=True), 1):
        found += _apart(ours, theirs, f"post {number}")
        if _letters(ours.text) != _letters(theirs.text):
            found.append(f"post {number}: text {_texts_apart(ours.text, theirs.text)}")
    return found


def _apart(ours: Said, theirs: Said, where: str) -> list[str]:
    found = []
    if theirs.author and _letters(ours.author or "") != _letters(theirs.author):
        found.append(f"{where}: author {ours.author!r}, not {theirs.author!r}")
    if theirs.moment is not None and ours.moment is not None and ours.moment != theirs.moment:
        found.append(f"{where}: time {ours.moment}, not {theirs.moment}")
    return found


def _letters(text: str) -> str:
    return "".join(re.findall(r"\w", text)).casefold()


def _texts_apart(ours: str, theirs: str) -> str:
    one, other = _letters(ours), _letters(theirs)
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"of {len(one)} letters, not {len(other)}: {one[same : same + 40]!r}, not {other[same : same + 40]!r}"


def main() -> int:
    """Read the pages and print the table. Return 0 where no page was read wrongly, and all were there."""
    parser = argparse.ArgumentParser(prog="python -m tests.saved_pages")
    parser.add_argument("clones", type=Path)
    parser.add_argument("--each", action="store_true", help="show a line for each page")
    parser.add_argument("--only", default="", metavar="TEXT", help="read the pages whose address has TEXT")
    options = parser.parse_args()
    verdicts, absent = [], Counter[str]()
    for page in saved_pages():
        if options.only not in page.address:
            continue
        body = page.body(options.clones)
        if body is None:
            absent[page.project] += 1
            continue
        verdict = judge(page, body)
        verdicts.append(verdict)
        if options.each or verdict.word == "wrong":
            reason = verdict.reading.refused or "; ".join(verdict.wrong[:3])
            print(f"{verdict.word:9}{verdict.reading.engine:12}{verdict.posts:4}  {page.address[:90]}  {reason[:300]}")
    show(verdicts)
    for project, count in absent.items():
        print(f"not there: {count} pages of {project}; clone it into {options.clones}")
    return int(bool(absent) or any(verdict.word == "wrong" for verdict in verdicts))


def show(verdicts: list[Verdict]) -> None:
    """Print the table by program, and why pages were refused."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    reasons = Counter[str]()
    for verdict in verdicts:
        row = rows[verdict.page.program]
        row.update({"pages": 1, verdict.word: 1})
        if verdict.word in ("right", "wrong"):
            row["posts"] += verdict.posts
        if verdict.reading.refused:
            reasons[re.sub(r"^\S+: |\d+ of \d+", "", verdict.reading.refused)[:70]] += 1
    columns = ("pages", "posts", "right", "refused", "unjudged", "wrong")
    print(f"\n| program | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for program in sorted(rows, key=lambda name: -rows[name]["pages"]):
        print(f"| {program} | {' | '.join(str(rows[program][column]) for column in columns)} |")
    whole = sum(rows.values(), Counter[str]())
    forums = len({verdict.page.forum for verdict in verdicts})
    print(f"| all, {forums} forums | {' | '.join(str(whole[column]) for column in columns)} |\n")
    for reason, count in reasons.most_common(20):
        print(f"refused {count:3}  {reason}")


if __name__ == "__main__":
    sys.exit(main())
