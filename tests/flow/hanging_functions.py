"""Parser functions that hang on two posts, in a light module: each process of a pool imports it for its first page."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from crawl_tasks.api import Items, Parsed, Request

HANGING = ("100001", "100002")
GO_ON = "functions-go-on"
"""The file in the state directory that lets `hangs` return."""


def hangs(request: Request) -> Parsed:
    """Read nothing, and of two posts return only when told."""
    while request.key in HANGING and not (Path(os.environ["CRAWL_STATE_DIR"]) / GO_ON).exists():
        time.sleep(0.1)
    return Parsed(Items(request.site))


def backtracks(request: Request) -> Parsed:
    """Read nothing, and of two posts hold the lock of the interpreter for longer than anybody waits."""
    if request.key in HANGING:
        re.match(r"(a+)+$", "a" * 60 + "b")
    return Parsed(Items(request.site))
