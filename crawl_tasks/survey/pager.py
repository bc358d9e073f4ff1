"""Before step 1, survey: the link to the next page on a page of an unknown program."""

from __future__ import annotations

import json

from crawl_tasks.parse.document import Document
from crawl_tasks.survey.ruletext import scalar

_NEXT = (
    "a[rel~=next]",
    "link[rel=next]",
    "a.next",
    "a.nxt",
    "li.next a",
    "a[class*=next]",
    "a[aria-label*=Next]",
    "[class*=pag] a:has([class*=right])",
)
_NEXT_WORDS = ("Next", "next", "下一页", "下一頁", "Next »", "Next ›", "›", "»", ">", "More")
# On the last page the link is often still there, and leads nowhere: href="#" or "".
_LEADS = "attr: href, regex: '^[^#]+', as: url"


# Where no page that was looked at had a next one.
GUESS = f"{{css: {scalar(', '.join(_NEXT))}, {_LEADS}}}"


def next_of(document: Document) -> tuple[str, str] | None:
    """Return a rule that finds the link to the next page, and the address it leads to."""
    for css in _NEXT:
        node = document.root.css_first(css)
        url = document.absolute(node.attributes.get("href") or "") if node is not None else None
        if url is not None and _leads(document, url):
            return f"{{css: {scalar(css)}, {_LEADS}}}", url
    for node in document.root.css("a[href]"):
        word = " ".join(node.text().split())
        url = document.absolute(node.attributes.get("href") or "")
        if word in _NEXT_WORDS and url is not None and _leads(document, url):
            path = f"//a[normalize-space()={json.dumps(word, ensure_ascii=False)}]"
            return f"{{xpath: {scalar(path)}, {_LEADS}}}", url
    return None


def _leads(document: Document, url: str) -> bool:
    return url.partition("#")[0] != document.page.url
