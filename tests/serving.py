"""A server on loopback that answers while a block lasts, over TLS if it has a certificate."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socketserver import TCPServer
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

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
    """Make a certificate for names that signs itself and holds for so many days, fewer than none: it has expired."""
    path, key, now = directory / "forum.pem", ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "forum.example")])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=30))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(map(x509.DNSName, names or ("forum.example",))), critical=False)
        .sign(key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(secret + certificate.public_bytes(Encoding.PEM))
    return path
