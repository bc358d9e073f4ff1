"""The pictures of the documents: `make pictures` crawls the recorded forums and takes the status page and Flower.

Each page is taken in light and in dark, by Chromium, while the crawl runs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from crawl_tasks.fetch.browser import PROGRAMS
from crawl_tasks.local.redis_server import free_port
from tests.docs.session import ROOT
from tests.forums.recorded import FORUMS, RECORDINGS, replayed
from tests.waiting import PATIENCE_S, eventually

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT, SCALE = 1400, 700, 1.2
THEMES = ("light", "dark")
DELAY_S = {"phpbb": 0.2, "mybb": 0.5, "discuz": 1.0, "nodebb": 2.0}
"""The forums are asked at different paces, so that the rows of the page differ."""
SHOWN_FLOWER = re.compile(r"Flower: (http://\S+)")


def command(directory: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return a `crawl-tasks` command with the environment of an installation of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAWL_")}
    environment |= {"CRAWL_STATE_DIR": str(directory / "state"), "CRAWL_SITES_DIR": str(directory / "sites")}
    return [sys.executable, "-m", "crawl_tasks", *arguments], environment


def write_site(directory: Path, name: str, base: str) -> None:
    """Have `crawl-tasks new` write the site file, and set its pace."""
    argv, environment = command(directory, "new", base, "--name", name)
    subprocess.run(argv, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    path = directory / "sites" / f"{name}.yaml"
    text = re.sub(r"^gate: .*\n", "", path.read_text("utf-8"), flags=re.M)
    path.write_text(f"{text}gate: {{window: 4, delay_s: {DELAY_S[name]}}}\n", "utf-8")


@contextmanager
def running(log: Path, argv: list[str], environment: dict[str, str]) -> Iterator[None]:
    """Run a command with its output in a file, and end it with TERM."""
    with log.open("wb") as out:
        process = subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def take(browser: Browser, name: str, address: str) -> None:
    """Write the picture of a page in each theme."""
    for theme in THEMES:
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT},
            device_scale_factor=SCALE,
            color_scheme="dark" if theme == "dark" else "light",
        )
        page = context.new_page()
        page.goto(address)
        page.wait_for_timeout(3000)  # Flower fills its tables by scripts
        page.screenshot(path=IMAGES / f"{name}-{theme}.png")
        context.close()


def take_all(directory: Path, seconds: float) -> None:
    """Crawl the forums, wait, and take the pictures."""
    with ExitStack() as stack:
        for name in DELAY_S:
            home = directory / name
            home.mkdir()
            write_site(directory, name, stack.enter_context(replayed(FORUMS[name], home)).base)
        log = directory / "run.txt"
        stack.enter_context(running(log, *command(directory, "run", "--flower")))
        eventually(lambda: SHOWN_FLOWER.search(log.read_text("utf-8")))
        [flower] = SHOWN_FLOWER.findall(log.read_text("utf-8"))
        port = free_port()
        argv, environment = command(directory, "exporter", "--listen", str(port), "--flower", flower)
        stack.enter_context(running(directory / "exporter.txt", argv, environment))
        time.sleep(seconds)  # the pages show a crawl that has got somewhere
        playwright = stack.enter_context(sync_playwright())
        chromium = next(filter(None, map(shutil.which, PROGRAMS)))
        browser = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=False)
        take(browser, "status-page", f"http://127.0.0.1:{port}/")
        take(browser, "flower", f"{flower}/tasks")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.docs.pictures", description=__doc__)
    parser.add_argument("--seconds", type=float, default=240, help="how long the crawl has run in the pictures")
    options = parser.parse_args()
    if lacking := [name for name in DELAY_S if not FORUMS[name].is_there]:
        sys.exit(f"no recordings of {', '.join(lacking)} in {RECORDINGS}; set FORUM_RECORDINGS to their directory")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        take_all(Path(directory), options.seconds)


if __name__ == "__main__":
    main()
