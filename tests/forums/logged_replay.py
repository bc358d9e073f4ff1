"""Runs the recordings' own replay script, with a line of JSON in a log for every request it answers."""

from __future__ import annotations

import json
import runpy
import sys
import threading
import time
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path


def main() -> None:
    """Take the log file and the script from the command line; what follows is the script's own."""
    log_file, script = Path(sys.argv[1]), sys.argv[2]
    sys.argv = sys.argv[2:]
    lock, noted = threading.Lock(), threading.local()  # a connection is served by one thread
    send_response, send_header = BaseHTTPRequestHandler.send_response, BaseHTTPRequestHandler.send_header
    end_headers = BaseHTTPRequestHandler.end_headers

    def begin(self: BaseHTTPRequestHandler, code: int, message: str | None = None) -> None:
        noted.row = {"path": self.path, "status": code, "is_miss": False}
        send_response(self, code, message)

    def note(self: BaseHTTPRequestHandler, keyword: str, value: str) -> None:
        if keyword == "X-Replay":
            noted.row["is_miss"] = True
        send_header(self, keyword, value)
        if keyword == "Date":  # the recording's moment, which nobody believes of a page that is not said to be as old
            send_header(self, "Age", f"{max(0, int(time.time() - parsedate_to_datetime(value).timestamp()))}")

    def end(self: BaseHTTPRequestHandler) -> None:
        with lock, log_file.open("a", encoding="utf-8") as log:
            log.write(json.dumps(noted.row) + "\n")
        end_headers(self)

    BaseHTTPRequestHandler.send_response = begin  # type: ignore[method-assign]  # the script is not ours to edit
    BaseHTTPRequestHandler.send_header = note  # type: ignore[method-assign]
    BaseHTTPRequestHandler.end_headers = end  # type: ignore[method-assign]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
