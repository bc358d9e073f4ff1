"""Beside the flow: how Flower shows the workers. `celery -A crawl_tasks flower` reads it; no module imports it.

Flower reads FLOWER_... variables first, then this file, then the command line once more; what the variables and the
command line said stands in `options` already. Without authentication Flower lets everybody stop workers, and answers
other pages' scripts: so this file refuses any address but loopback until FLOWER_BASIC_AUTH is set.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from celery.events.state import Task
from tornado.options import options

SHOWN_CHARS = 300
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def format_task(task: Task) -> Task:
    """Shorten what a task was given and what it said, so that 20,000 tasks stay small on the page."""
    for name in ("args", "kwargs", "result"):
        text = getattr(task, name)
        if text is not None and len(str(text)) > SHOWN_CHARS:
            setattr(task, name, f"{str(text)[:SHOWN_CHARS]}...")
    return task


# An empty variable is a list of one empty credential to Flower, and would let in whoever sends none.
basic_auth = [credential for credential in options.basic_auth or [] if credential]
# Swarm and Kubernetes hand out secrets as files.
if secret := os.environ.get("FLOWER_BASIC_AUTH_FILE"):
    basic_auth.append(Path(secret).read_text("utf-8").strip())
# No address is every address to Flower.
address = options.address or "127.0.0.1"

for credential in basic_auth:
    user, _, password = credential.partition(":")
    if not user or not password:
        sys.exit("flower: FLOWER_BASIC_AUTH is not user:password; set it so, or leave it out on loopback")
if address not in LOOPBACK and not basic_auth and not options.auth:
    sys.exit(
        f"flower: {address} is not loopback and nobody is asked for a password; set FLOWER_BASIC_AUTH=user:password"
    )

# The site and the address of a page stand in args: without that column nobody sees which page failed.
tasks_columns = "name,args,state,received,runtime,worker"
natural_time = False
# Tasks weigh 5 KB each in Flower: 20,000 are 100 MB; its own default would be half a gigabyte.
max_tasks = 20_000
max_workers = 500
purge_offline_workers = 3600
# History outlives a restart where FLOWER_DB names a file for it.
persistent = "FLOWER_DB" in os.environ
state_save_interval = 60_000
# Looking is for everybody with the password; `--read_only=False` brings back the buttons that stop and change workers.
read_only = True
