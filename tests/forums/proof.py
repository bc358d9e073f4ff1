"""`make forums`: every recorded forum crawled with the plain commands, compared with its truth, as a table.

Run it as `python -m tests.forums.proof [NAME ...]`; the recordings lie in FORUM_RECORDINGS or ../shared/forums.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from crawl_tasks.model import Stage
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.presets import load_engine
from tests.forums.compared import Comparison, compare
from tests.forums.recorded import FORUMS, RECORDINGS, ROOT, Answered, Recording, Replay, replayed

PACE = "gate: {window: 16, delay_s: 0}  # a recording does not mind\n"


@dataclass(frozen=True)
class Proof:
    """Two crawls of a forum, one right after the other."""

    forum: Recording
    comparison: Comparison
    first: Counter[str]
    second: Counter[str]
    pages: int
    misses: list[str]
    repeated: list[str]

    @property
    def is_whole(self) -> bool:
        """Return whether all is as it should be."""
        is_quiet = set(self.second) <= {Stage.LIST.value}
        return self.comparison.is_equal and is_quiet and not self.misses and not self.repeated


def news_pages(forum: Recording) -> tuple[str, ...]:
    """Return the pages of all news that the preset names. `new` tries them, and no recording holds all of them."""
    index = load_engine(forum.engine).index
    return index.news if index else ()


def prove(forum: Recording, directory: Path) -> Proof:
    """Crawl a recorded forum twice, compare what is stored, and read the server's log."""
    truth = forum.truth()
    with replayed(forum, directory) as replay:
        site_file = write_site(forum, directory, replay)
        before = len(replay.log())
        crawl(directory, forum.name)
        first = replay.log()[before:]
        crawl(directory, forum.name)
        second = replay.log()[before + len(first) :]
    comparison = compare(forum, truth | {"taken": forum.taken}, directory / "state" / "crawl.db")
    asked = Counter(one.path for one in first if one.status == 200 and one.path != "/robots.txt")
    return Proof(
        forum,
        comparison,
        first=kinds(site_file, first),
        second=kinds(site_file, second),
        pages=pages_there_are(truth),
        misses=[one.path for one in replay.log() if one.is_miss and not one.path.startswith(news_pages(forum))],
        repeated=[f"{path} x {count}" for path, count in asked.items() if count > 1],
    )


def write_site(forum: Recording, directory: Path, replay: Replay) -> Path:
    """Have `crawl-tasks new` write the site file from the address alone; only the pace is set in it."""
    path = directory / "sites" / f"{forum.name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    run(directory, "new", replay.base, "--name", forum.name)
    text = path.read_text("utf-8")
    assert re.search(rf"^engine: {forum.engine}\b", text, re.M), f"another program was found:\n{text}"
    path.write_text(re.sub(r"^gate: .*\n", "", text, flags=re.M) + PACE, "utf-8")
    return path


def crawl(directory: Path, name: str) -> None:
    """Crawl once, until nothing is left to do."""
    run(directory, "run", name, "--until-idle")


def run(directory: Path, *arguments: str) -> None:
    """Run a `crawl-tasks` command in a directory of its own."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CRAWL_")}
    environment |= {"CRAWL_STATE_DIR": str(directory / "state"), "CRAWL_SITES_DIR": str(directory / "sites")}
    command = [sys.executable, "-m", "crawl_tasks", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"


def kinds(site_file: Path, log: list[Answered]) -> Counter[str]:
    """Count requests by the kind of page they asked for, robots.txt aside."""
    addresses = Addresses(load_site(site_file))
    targets = (addresses.read(one.path) for one in log if one.path != "/robots.txt")
    return Counter(target.stage.value if target else "other" for target in targets)


def pages_there_are(truth: dict[str, object]) -> int:
    """Count the list and topic pages of the truth's boards."""
    boards, topics = truth["boards"], truth["topics"]
    per_page = truth["tpp"]
    assert isinstance(boards, list)
    assert isinstance(topics, list)
    assert isinstance(per_page, int)
    real = [board for board in boards if not board["category_only"] and not board["link"]]
    return sum(max(1, -(-board["topic_count"] // per_page)) for board in real) + sum(topic["pages"] for topic in topics)


def table(proofs: list[Proof]) -> str:
    """Write the results as Markdown."""
    rows = [
        "| forum | stored | expected | differences | quirks of the program | requests | pages there are "
        "| requests per stored post | second crawl | misses | asked twice |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for proof in proofs:
        found = proof.comparison
        odd = Counter({"missing": len(found.missing), "surplus": len(found.surplus)}) + found.differing
        asked = proof.first.total()
        cells = (
            proof.forum.name, found.stored, found.expected, _listed(odd), _listed(found.quirks),
            f"{asked} ({_listed(proof.first)})", proof.pages, f"{asked / max(1, found.stored):.3f}",
            _listed(proof.second), len(proof.misses), len(proof.repeated),
        )  # fmt: skip
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def main(names: list[str]) -> int:
    """Prove the named forums, or all that are there; 0 if every one is whole."""
    chosen = [forum for name, forum in FORUMS.items() if (not names or name in names) and forum.is_there]
    if not chosen:
        print(f"skipped: no recorded forums in {RECORDINGS}; set FORUM_RECORDINGS to their directory")
        return 0
    proofs = []
    for forum in chosen:
        with tempfile.TemporaryDirectory(prefix=f"crawl-{forum.name}-") as directory:
            proof = prove(forum, Path(directory))
        proofs.append(proof)
        found = proof.comparison
        lines = [*found.missing[:5], *found.surplus[:5], *found.examples, *proof.misses[:5], *proof.repeated[:5]]
        for line in lines[:25]:
            print(f"{forum.name}: {line}", file=sys.stderr)
    print(table(proofs))
    return 0 if all(proof.is_whole for proof in proofs) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
