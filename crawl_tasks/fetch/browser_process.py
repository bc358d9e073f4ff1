"""The processes of the browser: Chromium with its driver, which both end with the pages that outgrow them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import Playwright
    from psutil import Process

MOST_DRAWN: Final = 500
"""Pages after which a fresh Chromium takes the next ones: what a page leaked goes with the old one."""
MOST_PROCESS_BYTES: Final = 1 << 30
"""The size of the largest process of Chromium. A page that needs more is ended."""
CLOSE_S: Final = 5.0


class BrowserProcess:
    """One Chromium with its driver, in the browser's thread."""

    def __init__(self, playwright: Playwright, chromium: Chromium, drivers: set[Process]) -> None:
        self.playwright = playwright
        self.chromium = chromium
        self.drivers = drivers
        self.drawn = self.open = 0
        self.is_stuck = False

    @property
    def is_worn(self) -> bool:
        """Whether the next page needs a fresh one."""
        return self.is_stuck or self.drawn >= MOST_DRAWN or not self.chromium.is_connected()

    async def end(self) -> None:
        """End the driver, which ends Chromium when its pipe closes, also one that does not answer any more."""
        self.is_stuck = True
        try:
            await asyncio.wait_for(self.playwright.stop(), CLOSE_S)
        finally:
            kill(self.drivers)


def drivers() -> set[Process]:
    """Return the drivers of this process, each of which has a Chromium."""
    import psutil  # noqa: PLC0415 (of the extra `render`, as browser.missing() tells)

    own = set()
    for process in psutil.Process().children():
        with suppress(psutil.Error):
            own |= {process} if "run-driver" in process.cmdline() else set()
    return own


def kill(drivers: set[Process]) -> None:
    """Kill drivers that were asked to end and did not, with what they started."""
    import psutil  # noqa: PLC0415 (as above)

    for driver in drivers:
        with suppress(psutil.Error):
            for process in (*driver.children(recursive=True), driver):
                process.kill()


def end_large_processes() -> None:
    """Kill what of Chromium holds more than a page may."""
    import psutil  # noqa: PLC0415 (as above)

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "chrom" in process.name() and process.memory_info().rss > MOST_PROCESS_BYTES:
                process.kill()
