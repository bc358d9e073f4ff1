"""The list of saved pages, and their bytes out of clones of the repositories that hold them."""

from __future__ import annotations

import csv
import gzip
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LIST = Path(__file__).with_name("pages.tsv")


@dataclass(frozen=True)
class SavedPage:
    """One saved page: where its bytes are, the address that it was saved from, and what is known of it.

    `program` names the program and version that made the page. `order` is the order of day and month in its dates in
    figures, as a person read it, empty where no date needs it.
    """

    project: str
    commit: str
    path: str
    address: str
    program: str
    language: str
    order: str

    @property
    def forum(self) -> str:
        """The host of the forum."""
        return self.address.partition("://")[2].partition("/")[0]

    def body(self, clones: Path) -> bytes | None:
        """Return the page as it was saved, None where no clone in the directory `clones` has it."""
        for name in (self.project, self.project.replace("/", "+")):
            for git in (clones / name, clones / name / "repo", clones / name / "repo" / ".git"):
                shown = subprocess.run(
                    ["git", "-C", str(git), "cat-file", "blob", f"{self.commit}:{self.path}"],
                    capture_output=True, check=False,
                ) if git.is_dir() else None  # fmt: skip
                if shown is not None and shown.returncode == 0:
                    return gzip.decompress(shown.stdout) if self.path.endswith(".gz") else shown.stdout
        return None


def saved_pages() -> Iterator[SavedPage]:
    """Yield the pages of the list."""
    with _LIST.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            yield SavedPage(**row)
