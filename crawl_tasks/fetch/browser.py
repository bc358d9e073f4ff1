"""The browser of a process: one headless Chromium without a network, in which pages with scripts are drawn.

Names do not resolve there, and its proxy leads nowhere. Each request of a page comes to the thread of its page instead,
which answers by our own client (rendering.py). One thread drives all pages of the process. Each page has a context of
its own, thrown away after. When the worker dies, the pipe to Chromium breaks, and Chromium ends.
"""

from __future__ import annotations

import asyncio
import os
import queue
import shutil
import threading
from collections.abc import Coroutine
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from crawl_tasks.errors import BrowserFailed, CrawlError, DeadlineExceeded
from crawl_tasks.fetch import browser_process
from crawl_tasks.fetch.browser_page import REFUSALS, BrowserPage, document_of, screenshot_of, settle_future
from crawl_tasks.fetch.browser_process import CLOSE_S, BrowserProcess
from crawl_tasks.fetch.request_pool import Answer, RequestPool

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WATCH_EVERY_S: Final = 0.5
LAUNCH_S = 30.0
"""The time for the start of Chromium, after which the next page tries again: a driver that was killed never answers."""

# The resolver refuses every name and address, and what asks the proxy first cannot find that either.
_NO_NETWORK = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://nowhere.invalid:1",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
)
_ARGUMENTS = (*_NO_NETWORK, "--disable-gpu", "--disable-dev-shm-usage", "--js-flags=--max-old-space-size=512")


def missing() -> str:
    """Return what this process lacks for drawing pages, with the remedy, or nothing."""
    if find_spec("playwright") is None or find_spec("psutil") is None:
        return "`render` needs Playwright and psutil: pip install 'crawl-tasks[render]'"
    if _program() is None:
        return (
            f"`render` needs Chromium, none of {', '.join(PROGRAMS)} is on the PATH; Debian: apt-get install chromium"
        )
    return ""


def _program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """Draws pages. Thread-safe. One per process, made after any fork, started by the first page."""

    def __init__(self, *, is_sandboxed: bool = True) -> None:
        # Chromium refuses its sandbox to root.
        self._is_sandboxed = is_sandboxed and os.geteuid() != 0
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread()
        self._launched: asyncio.Task[BrowserProcess] | None = None
        self._pages: set[BrowserPage] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def draw(self, page: BrowserPage, answer: Answer) -> bytes:
        """Return a page's document, as UTF-8, when its scripts are done or its time is nearly over, or its picture.

        `answer` is asked for the page first, and then for the page's requests. Its errors end the page.

        Raises:
            BrowserFailed: Chromium ended, or ended this page.
            DeadlineExceeded: the page did not end in time.
            TooLarge: the document is over the limit.
        """
        loop = self._running()
        document = asyncio.run_coroutine_threadsafe(self._draw(page), loop)
        document.add_done_callback(lambda _: page.events.put(None))
        pool = RequestPool(page, answer, lambda *settled: loop.call_soon_threadsafe(settle_future, *settled))
        try:
            pool.run()
            return document.result()
        except queue.Empty:
            raise DeadlineExceeded(f"{page.url} was not drawn in time: its scripts do not end") from None
        finally:
            document.cancel()

    def close(self) -> None:
        """End Chromium."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            with suppress(Exception):
                asyncio.run_coroutine_threadsafe(self._end(), loop).result(CLOSE_S)
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join(CLOSE_S)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="browser", daemon=True)
                self._thread.start()
                self._loop.call_soon_threadsafe(self._spawn, self._watch_memory())
            return self._loop

    # -- in the browser's thread -------------------------------------------------------------------------

    async def _draw(self, page: BrowserPage) -> bytes:
        process = context = None
        self._pages.add(page)
        try:
            process = await self._ready()
            process.drawn, process.open = process.drawn + 1, process.open + 1
            context = await process.chromium.new_context(
                user_agent=page.user_agent,
                timezone_id=page.policy.timezone,
                service_workers="block",
                accept_downloads=False,
                java_script_enabled=not page.is_picture,
            )
            return await self._drawn(page, context)
        except CrawlError:
            raise
        except Exception as error:  # noqa: BLE001 (the driver's: a lost connection, a closed page)
            raise BrowserFailed(f"{page.url}: {_reason(error)}") from None
        finally:
            page.end()
            self._pages.discard(page)
            # Not in this task, which may be cancelled at its deadline already.
            if process is not None:
                self._spawn(self._dispose(process, context))

    async def _drawn(self, page: BrowserPage, context: BrowserContext) -> bytes:
        await context.add_init_script(REFUSALS)
        tab, crashed = await context.new_page(), asyncio.Event()
        tab.on("crash", lambda _: crashed.set())
        context.on("page", lambda other: self._spawn(other.close()))
        await context.route("**/*", lambda route: page.reply(route, tab))
        session = await context.new_cdp_session(tab)
        work = screenshot_of(page, tab) if page.is_picture else document_of(page, tab, session)
        document = asyncio.ensure_future(work)
        crash = asyncio.ensure_future(crashed.wait())
        try:
            await asyncio.wait((document, crash), return_when=asyncio.FIRST_COMPLETED)
            if not document.done():
                most = browser_process.MOST_PROCESS_BYTES >> 20
                raise BrowserFailed(f"{page.url}: the process of the page ended; at more than {most} MB it is killed")
            return document.result()
        finally:
            document.cancel()
            crash.cancel()

    async def _ready(self) -> BrowserProcess:
        """Return the Chromium for the next page, a fresh one after many pages or a crash."""
        task = self._launched
        if task is not None and task.done():
            if task.cancelled() or task.exception() is not None:
                task = None
            elif (process := task.result()).is_worn:
                task = None
                if not process.open:
                    self._spawn(process.end())
        if task is None:
            task = self._launched = asyncio.ensure_future(asyncio.wait_for(self._launch(), LAUNCH_S))
        # Shielded: the page that came first may be over before Chromium is there for the others.
        return await asyncio.shield(task)

    async def _launch(self) -> BrowserProcess:
        from playwright.async_api import async_playwright  # noqa: PLC0415 (0.2 s, and only where pages are drawn)

        before = browser_process.drivers()
        try:
            playwright = await async_playwright().start()
            chromium = await playwright.chromium.launch(
                executable_path=_program(),
                args=list(_ARGUMENTS),
                chromium_sandbox=self._is_sandboxed,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
        except BaseException:
            browser_process.kill(browser_process.drivers() - before)
            raise
        return BrowserProcess(playwright, chromium, browser_process.drivers() - before)

    async def _dispose(self, process: BrowserProcess, context: BrowserContext | None) -> None:
        try:
            # A page without a context, perhaps cancelled at its deadline, says nothing of the driver. A new one does.
            if context is None:
                context = await asyncio.wait_for(process.chromium.new_context(), CLOSE_S)
            await asyncio.wait_for(context.close(), CLOSE_S)
        except Exception:  # noqa: BLE001 (whatever keeps a page from closing, its Chromium goes with it)
            process.is_stuck = True
        process.open -= 1
        if process.is_stuck or (process.is_worn and not process.open):
            await process.end()

    async def _end(self) -> None:
        if self._launched is not None:
            await (await self._launched).end()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch_memory(self) -> None:
        """End each process of Chromium that grows over the limit, and its page with it."""
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            if self._pages:
                await asyncio.get_running_loop().run_in_executor(None, browser_process.end_large_processes)

    def _spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Do work beside the pages. What fails there has no page to tell."""

        async def run() -> None:
            with suppress(Exception):
                await work

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def _reason(error: Exception) -> str:
    if "No usable sandbox" in str(error):
        return "Chromium finds no sandbox here; CRAWL_RENDER_SANDBOX=0 where a container is the sandbox"
    return f"the browser ended the page: {str(error).partition(chr(10))[0][:200]}"
