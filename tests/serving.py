"""A server on loopback that answers while a block lasts, over TLS if it has a certificate."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import TCPServer
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from crawl_tasks.web.http_server import WebServer

NO_DATABASE = "sqlite:////nowhere/crawl.db"
"""The database of a status page on a machine without one."""


@contextmanager
def serving(server: TCPServer | WebServer, certificate: Path | None = None) -> Iterator[str]:
    """Let a server answer on a thread; give its address, and end it with the block."""
    if certificate is not None and isinstance(server, TCPServer):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http{'s' * (certificate is not None)}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def signed_for(days: int, directory: Path, *names: str) -> Path:
    """Make a certificate for names that holds for so many days, fewer than none: it has expired."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    path, ask, listed = directory / "forum.pem", directory / "forum.csr", directory / "names"
    listed.write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names or ("forum.example",)))
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path]
    for command in (
        ["req", *new_key, "-subj", "/CN=forum.example", "-out", ask],
        ["x509", "-req", "-in", ask, "-signkey", path, "-days", str(days), "-extfile", listed,
         "-out", path.with_suffix(".crt")],
    ):  # fmt: skip
        subprocess.run([openssl, *command], check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path
