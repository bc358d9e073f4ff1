"""`python -m tests.mutants [ROOM ...]`: draw mutants of each room, run the tests near them, and print what survives.

A room is a directory of crawl_tasks, such as `store` or `frontier/lua`; `root` are the modules beside them. Each mutant
stands in a copy of the crawler. The command ends with 1 when one survives.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.flow.world import ROOT
from tests.mutants.choice import tests_of
from tests.mutants.operators import Mutant, mutants

KILLED, SURVIVES, TIMED_OUT = "killed", "survives", "timed out"


def rooms() -> dict[str, list[str]]:
    """Return the files of each room."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "crawl_tasks").rglob("*.*")):
        if path.suffix in (".py", ".lua"):
            name, parts = str(path.relative_to(ROOT)), path.relative_to(ROOT / "crawl_tasks").parts
            room = "root" if len(parts) == 1 else "frontier/lua" if path.suffix == ".lua" else parts[0]
            found.setdefault(room, []).append(name)
    return found


def drawn(files: list[str], each: int, seed: int) -> list[Mutant]:
    """Draw mutants of a room: files by their number of mutants, no line twice."""
    chance = random.Random(seed)
    places: dict[tuple[str, int], list[Mutant]] = {}
    for file in files:
        for mutant in mutants(file, (ROOT / file).read_text("utf-8")):
            places.setdefault((file, mutant.line), []).append(mutant)
    return [chance.choice(places[place]) for place in chance.sample(sorted(places), min(each, len(places)))]


def try_out(mutant: Mutant, root: Path, tests: list[str], limit_s: float) -> tuple[str, str]:
    """Run tests beside a mutant. Return what became of it, and which test noticed."""
    (root / mutant.file).write_text(mutant.text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not long and not flow"]
    process = subprocess.Popen(
        [*command, *tests], cwd=root, env=os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return TIMED_OUT, f"after {limit_s:.0f} s"
    finally:
        shutil.copy(ROOT / mutant.file, root / mutant.file)
    if process.returncode in (0, 5):
        return SURVIVES, f"{len(tests)} test files"
    noticed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return KILLED, (noticed or output.splitlines()[-1:] or [""])[0][:120]


def _copies(number: int, directory: str) -> SimpleQueue[Path]:
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in range(number):
        root = Path(directory) / str(copy)
        # Whole, as tests read docs and examples too: one that misses its file would notice every mutant.
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        free.put(root)
    return free


def main() -> int:
    """Try the mutants of the rooms that were named, or of all."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(rooms())}")
    parser.add_argument("--each", type=int, default=10, help="mutants of a room (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--files", type=int, default=12, help="test files of a mutant (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=300, help="seconds of a mutant (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (default: %(default)s)")
    chosen = parser.parse_args()
    if unknown := set(chosen.rooms) - set(rooms()):
        parser.error(f"no such room: {', '.join(sorted(unknown))}; there are {', '.join(rooms())}")
    became: Counter[tuple[str, str]] = Counter()
    with TemporaryDirectory(prefix="crawl-mutants-") as directory, ThreadPoolExecutor(chosen.jobs) as pool:
        free = _copies(chosen.jobs, directory)

        def run(room: str, mutant: Mutant) -> None:
            root, began = free.get(), time.monotonic()
            try:
                verdict, by = try_out(mutant, root, tests_of(mutant.file, chosen.files), chosen.limit)
            finally:
                free.put(root)
            became[room, verdict] += 1
            took = f"{time.monotonic() - began:.0f} s"
            sys.stdout.write(f"{room} {verdict} {mutant.file}:{mutant.line} {mutant.change} ({by}; {took})\n")
            sys.stdout.flush()

        named = {room: rooms()[room] for room in chosen.rooms or rooms()}
        all_drawn = [(room, mutant) for room in named for mutant in drawn(named[room], chosen.each, chosen.seed)]
        list(pool.map(run, *zip(*all_drawn, strict=True)))
    sys.stdout.write("\n| room | killed | survives | timed out |\n|---|---|---|---|\n")
    for room in named:
        figures = (became[room, verdict] for verdict in (KILLED, SURVIVES, TIMED_OUT))
        sys.stdout.write(f"| {room} | {' | '.join(map(str, figures))} |\n")
    return int(any(verdict == SURVIVES for _, verdict in became))


if __name__ == "__main__":
    sys.exit(main())
