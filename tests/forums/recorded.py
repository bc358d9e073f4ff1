"""A recorded forum: where it lies, the truth about it, and a server that replays it on loopback."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_S, eventually

ROOT = Path(__file__).parents[2]
RECORDINGS = Path(os.environ.get("FORUM_RECORDINGS") or ROOT.parent / "shared" / "forums")


@dataclass(frozen=True)
class Recording:
    """What to know of a forum to compare it.

    Attributes:
        name: of its directory among the recordings.
        engine: of the preset.
        quirk: what the program itself does to a text, by the recordings' own account.
        exact_s: within how many seconds its pages tell a time.
        words_s: within how many seconds they tell it in words such as "2 hours ago", for what is younger than a day.
        shown_remarks: how many remarks below a post, the newest, stand on its page; robots.txt disallows the others.
    """

    name: str
    engine: str
    quirk: Callable[[str], str] = str
    exact_s: int = 0
    words_s: int = 0
    shown_remarks: int = 0

    @property
    def directory(self) -> Path:
        return RECORDINGS / self.name

    @property
    def is_there(self) -> bool:
        return (self.directory / "snapshot.tar.gz").exists()

    @property
    def taken(self) -> int:
        """The moment of the recording, which its Date headers show, in seconds since the epoch."""
        with tarfile.open(self.directory / "snapshot.tar.gz") as archive:
            member = archive.extractfile("snapshot/urlmap.jsonl")
            assert member is not None
            return int(json.loads(member.readline())["taken"])

    def truth(self) -> dict[str, Any]:
        with gzip.open(self.directory / "truth.json.gz", "rt", encoding="utf-8") as file:
            return dict(json.load(file))


def _with_signs(text: str) -> str:
    for written, sign in (("(tm)", "™"), ("(r)", "®"), ("(c)", "©")):
        text = text.replace(written, sign)
    return text


def _without_slashes(text: str) -> str:
    return text.replace('\\"', '"')


FORUMS = {
    forum.name: forum
    for forum in (
        Recording("phpbb", "phpbb"),
        Recording("mybb", "mybb", _with_signs, exact_s=59),
        Recording("discuz", "discuz", _without_slashes, shown_remarks=5),
        Recording("nodebb", "nodebb"),
    )
}


@dataclass(frozen=True)
class Answered:
    """One request as the server saw it."""

    path: str
    status: int
    is_miss: bool


@dataclass(frozen=True)
class Replay:
    """A forum that is being served."""

    base: str
    log_file: Path

    def log(self) -> list[Answered]:
        lines = self.log_file.read_text("utf-8").splitlines() if self.log_file.exists() else []
        return [Answered(**json.loads(line)) for line in lines]


@contextmanager
def replayed(forum: Recording, directory: Path) -> Iterator[Replay]:
    """Serve a recording on a free port; its log lies in `directory`."""
    log, said = directory / "requests.log", directory / "replay.txt"
    command = [sys.executable, "-m", "tests.forums.logged_replay", str(log), str(RECORDINGS / "replay.py")]
    command += [str(forum.directory / "snapshot.tar.gz"), "--truth", str(forum.directory / "truth.json.gz")]
    with said.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)
    try:
        found = re.compile(r"http://127\.0\.0\.1:\d+(?=/\s)").findall
        eventually(lambda: bool(found(said.read_text())))
        yield Replay(found(said.read_text())[-1], log)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)
