"""Within a JSON page: from an id in a record to what the page says elsewhere of it, as of a post's user."""

from __future__ import annotations

from collections.abc import Callable

import jmespath

from crawl_tasks.parse.document import Document
from crawl_tasks.parse.linked import Json
from crawl_tasks.sites.rules import Lookup


def compile_lookup(lookup: Lookup) -> Callable[[str, Document], Json]:
    """Return a function that finds an entry by its id; it gives None where there is none."""
    signs = (lookup.entries, lookup.by, lookup.give)
    entries, by, give = map(jmespath.compile, signs)

    def table(document: Document) -> dict[str, Json]:
        found = entries.search(document.json)
        return {str(by.search(one)): give.search(one) for one in found} if isinstance(found, list) else {}

    def find(key: str, document: Document) -> Json:
        # Made once for a page, not for each of its records.
        if signs not in document.tables:
            document.tables[signs] = table(document)
        return document.tables[signs].get(key)

    return find
