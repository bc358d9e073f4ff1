"""The configuration file of Flower: `celery -A crawl_tasks flower` reads this file, and no module imports it.

Flower reads the FLOWER_... variables first, then this file, then the command line once more. So `options` holds the
values of the variables and of the command line already. Without authentication Flower lets everybody stop workers, and
answers the scripts of other pages (cross-site requests). Therefore this file refuses any address but loopback until
FLOWER_BASIC_AUTH is set.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from celery.events.state import Task
from tornado.options import options

from crawl_tasks.permissions import keep_private

SHOWN_CHARS = 300
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def format_task(task: Task) -> Task:
    """Shorten the arguments and the result of a task, so that the page of 20,000 tasks stays small."""
    for name in ("args", "kwargs", "result"):
        text = getattr(task, name)
        if text is not None and len(str(text)) > SHOWN_CHARS:
            setattr(task, name, f"{str(text)[:SHOWN_CHARS]}...")
    return task


# FLOWER_DB holds the arguments of tasks.
keep_private()
# Flower reads an empty variable as a list of one empty credential, and would admit a visitor who sends none.
basic_auth = [credential for credential in options.basic_auth or [] if credential]
# Swarm and Kubernetes hand out secrets as files.
if secret := os.environ.get("FLOWER_BASIC_AUTH_FILE"):
    basic_auth.append(Path(secret).read_text("utf-8").strip())
# Flower takes no address for every address.
address = options.address or "127.0.0.1"

for credential in basic_auth:
    user, _, password = credential.partition(":")
    if not user or not password:
        sys.exit("flower: FLOWER_BASIC_AUTH is not user:password; set it so, or leave it out on loopback")
if address not in LOOPBACK and not basic_auth and not options.auth:
    sys.exit(
        f"flower: {address} is not loopback and nobody is asked for a password; set FLOWER_BASIC_AUTH=user:password"
    )

# The site and the address of a page are in args. Without that column nobody sees which page failed.
tasks_columns = "name,args,state,received,runtime,worker"
natural_time = False
# A task takes 5 KB in Flower: 20,000 take 100 MB, and the default of 100,000 would take half a gigabyte.
max_tasks = 20_000
max_workers = 500
purge_offline_workers = 3600
# History outlives a restart where FLOWER_DB names a file for it.
persistent = "FLOWER_DB" in os.environ
state_save_interval = 60_000
# Looking is for everybody with the password; `--read_only=False` brings back the buttons that stop and change workers.
read_only = True
