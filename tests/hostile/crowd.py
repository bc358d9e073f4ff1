"""A crowd at the status page, while operators work and a probe looks: python -m tests.hostile.crowd [--requests N].

Visitors hang, drip, and send huge and malformed requests to every page. Ends with 1 where an operator or the probe got
another answer than without the crowd.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from crawl_tasks.local.redis_server import RedisServer, free_port
from tests.flow.world import World
from tests.waiting import eventually

PASSWORD = "correct-horse-battery"
PATHS = ("/", "/metrics", "/healthz", "/login", "/posts", "/site/demo", "/site/demo/failed", "/api/snapshot", "/none")
HANGS_S = 5.0


def visit(port: int, chance: random.Random) -> None:
    """Make one hostile visit."""
    path, host = chance.choice(PATHS), "Host: localhost\r\n"
    head = f"GET {path} HTTP/1.1\r\n{host}"
    kind = chance.randrange(8)
    with socket.create_connection(("127.0.0.1", port), timeout=HANGS_S) as visitor:
        try:
            if kind == 0:  # hang with nothing, or half a head
                visitor.sendall(head.encode()[: chance.randrange(len(head))])
                visitor.recv(1)
            elif kind == 1:  # drip
                for byte in f"{head}X: {'y' * 40}".encode():
                    visitor.sendall(bytes([byte]))
                    threading.Event().wait(0.05)
            elif kind == 2:  # huge head
                visitor.sendall(head.encode() + b"X: " + b"x" * 200_000 + b"\r\n\r\n")
                visitor.recv(100)
            elif kind == 3:  # huge body
                visitor.sendall(
                    f"POST /login HTTP/1.1\r\n{host}Content-Length: 900000000\r\n\r\n".encode() + b"x" * 100_000
                )
                visitor.recv(100)
            elif kind == 4:  # a body that does not come
                visitor.sendall(f"POST /login HTTP/1.1\r\n{host}Content-Length: 30\r\n\r\npass".encode())
                visitor.recv(100)
            elif kind == 5:  # malformed
                visitor.sendall(chance.randbytes(200) + b"\r\n\r\n")
                visitor.recv(100)
            elif kind == 6:  # a wrong password, hung up
                visitor.sendall(f"POST /login HTTP/1.1\r\n{host}Content-Length: 10\r\n\r\npassword=x".encode())
            else:  # an answer that nobody reads
                visitor.sendall(f"{head}\r\n".encode())
                threading.Event().wait(1)
        except OSError:  # closed by the server
            return


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Shows the answer to the login itself."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


def ask(port: int, path: str, cookie: str) -> int:
    """Return the status of a page for an operator."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Cookie": cookie})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return len(answer.read()) and int(answer.status)
    except OSError as error:
        return int(getattr(error, "code", 0))


def log_in(port: int) -> str:
    """Return an operator's cookie."""
    form = urllib.parse.urlencode({"password": PASSWORD}).encode()
    try:
        urllib.request.build_opener(NoRedirect).open(f"http://127.0.0.1:{port}/login", form, timeout=60)
    except urllib.error.HTTPError as answer:
        return str(answer.headers["Set-Cookie"]).partition(";")[0]
    return ""


def main() -> int:
    """Run the crowd beside the operators, and print what they got."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.crowd")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--operators", type=int, default=50)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, RedisServer(Path(name) / "redis") as server:
        world = World(Path(name), server)
        world.environment |= {"CRAWL_WEB_PASSWORD": PASSWORD}
        port = free_port()
        world.forum()
        command = (sys.executable, "-m", "crawl_tasks", "exporter", "--listen", f"127.0.0.1:{port}")
        process: subprocess.Popen[bytes] = world.start("exporter", *command)
        try:
            eventually(lambda: ask(port, "/healthz", "") == 200)
            cookies = [log_in(port) for _ in range(chosen.operators)]
            is_over, probes, answers = threading.Event(), [], []

            def probe() -> None:
                while not is_over.wait(0.2):
                    began = time.monotonic()
                    probes.append((ask(port, "/metrics", ""), time.monotonic() - began))

            def operate(cookie: str) -> None:
                while not is_over.wait(0.5):
                    answers.append(ask(port, "/site/demo", cookie))

            threads = [threading.Thread(target=operate, args=(cookie,)) for cookie in cookies]
            threads.append(threading.Thread(target=probe))
            for thread in threads:
                thread.start()
            began = time.monotonic()
            with ThreadPoolExecutor(400) as pool:
                list(pool.map(lambda seed: visit(port, random.Random(seed)), range(chosen.requests)))
            lasted = time.monotonic() - began
            is_over.set()
            for thread in threads:
                thread.join()
            files = len(os.listdir(f"/proc/{process.pid}/fd"))
        finally:
            world.close()
    slowest = max(took for _, took in probes)
    print(f"{chosen.requests} visits in {lasted:.0f} s; {len(probes)} probes, the slowest took {slowest:.2f} s")
    print(f"{len(answers)} pages for {chosen.operators} operators; exporter: {files} files open at the end")
    odd = ({status for status, _ in probes} | set(answers)) - {200}
    print(f"other answers: {odd or 'none'}")
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main())
