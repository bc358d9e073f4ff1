"""Step 8, read side: what commit.lua left in the outbox."""

from __future__ import annotations

import orjson

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.entry import read_trail
from crawl_tasks.model import Items


def read_items(text: bytes) -> Items:
    """Read a page's items back from the outbox; fields that a newer version added are left out.

    Raises:
        BackendError: the text is not what a commit writes.
    """
    try:
        row = orjson.loads(text)
        # The trail is the one part that begins with a text; an older version wrote none.
        trail = row.pop() if len(row) > 4 and row[-1] and isinstance(row[-1][0], str) else ()
        return Items.from_json(row)._replace(visits=read_trail(row[0], trail))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise BackendError(f"the outbox holds an entry that is not items: {text[:80]!r}: {error}") from error
