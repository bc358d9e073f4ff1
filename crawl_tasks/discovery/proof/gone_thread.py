"""The page of a gone thread: an unknown forum may say with status 200 that a thread does not exist (a soft 404)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.proof.dry_run import DryRun, attempt
from crawl_tasks.discovery.records.record_queries import names_of
from crawl_tasks.discovery.records.repeated_records import upwards
from crawl_tasks.discovery.text.vocabulary import MISSING, SENTENCE
from crawl_tasks.discovery.text.yaml_rules import literal, scalar
from crawl_tasks.model import Request, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.values.text import letters
from crawl_tasks.registry.site_registry import CompiledSite
from crawl_tasks.sites.stages import Format

_BEYOND: Final = 1_000_003
"""The distance from the highest known number of a thread to one that no thread has."""
_WORDS: Final = 6
_LONGEST: Final = 120
_NUMBER: Final = re.compile(r"^\d{1,18}(?![\d,])|(?<!\d)\d{1,18}$")
_HAN: Final = re.compile("[一-龥]")
_WITHOUT_TEXT: Final = frozenset(("script", "style", "noscript", "template", "option", "textarea"))


def with_gone_rules(probe: HttpProbe, opened: CompiledSite, trials: Sequence[DryRun], rules: str) -> tuple[str, str]:
    """Return proposed rules with `gone_when`, and a remark about the page of a gone thread, empty without need of one.

    Two threads are asked for that do not exist. Where their pages say so with status 200, in words that no other page
    has, these words become the rule. A forum that answers with an error status needs none.
    """
    pages = _gone_pages(probe, opened, trials)
    if not pages:
        return rules, ""
    known = [trial for trial in trials if trial.parsed is not None]
    letters_seen = "\n".join(letters(document.root.text()) for document in _documents(known))
    threads = _documents([trial for trial in known if trial.request.stage is not Stage.LIST])
    body = opened.site.post.post_fields.get("body")
    # A page without names for its parts is known by having no post.
    no_post = f"body:not(:has({body.css}))" if body is not None and body.css else ""
    rule = _rule(_documents(pages), letters_seen, threads, no_post)
    if rule is None:
        # Such pages are stored, or cannot be read.
        then = "pass for threads" if any(page.parsed is not None for page in pages) else "count as failed"
        reason = f"{pages[0].request.address}, a thread that does not exist, has status 200 and no words that say so"
        return rules, f"{reason}: write post.gone_when, or deleted threads {then}"
    lines = rules.split("\n")
    for stage in (Stage.POST, Stage.COMMENT):
        if f"{stage}:" in lines:
            lines.insert(lines.index(f"{stage}:") + 1, f"  gone_when: {rule}")
    return "\n".join(lines), ""


def _gone_pages(probe: HttpProbe, opened: CompiledSite, trials: Sequence[DryRun]) -> list[DryRun]:
    """Return the answers for two threads that do not exist, none unless both come with status 200."""
    threads = [trial.request for trial in trials if trial.request.stage is Stage.POST and trial.parsed is not None]
    highest = max(threads, key=_number_of, default=None)
    if highest is None or opened.site.post.format is not Format.HTML:
        return []
    base, number = opened.site.base, _number_of(highest)
    # The last one in the address: a board may have the same number.
    place = re.fullmatch(rf"(.*)(?<!\d){number}(?!\d)(.*)", highest.address.removeprefix(base))
    if not number or place is None:
        return []
    answers = []
    for other in (number + _BEYOND, number + 2 * _BEYOND):
        asked = highest._replace(key=_NUMBER.sub(str(other), highest.key), address=f"{base}{place[1]}{other}{place[2]}")
        answers.append(attempt(probe, opened, asked))
        page = answers[-1].page
        # A redirect to a board says it too.
        target = opened.addresses.read(page.url) if page is not None and page.url != asked.address else None
        if page is None or (target is not None and target.stage is Stage.LIST):
            return []
    return answers


def _number_of(request: Request) -> int:
    """Return the number in a thread's key: `12`, that of `12-lamps` or of `board,12`; 0 without one."""
    match = _NUMBER.search(request.key)
    return int(match[0]) if match else 0


def _documents(trials: Sequence[DryRun]) -> list[Document]:
    return [Document(trial.page) for trial in trials if trial.page is not None]


def _rule(gone: Sequence[Document], letters_seen: str, threads: Sequence[Document], no_post: str) -> str | None:
    """Return the rule that finds words of the pages of gone threads and nothing on those of others, None without one.

    `letters_seen` are the letters of all known pages, `no_post` is the selector of a page's body without a post.
    """
    for node, words in _messages(gone[0].root):
        if letters(words) in letters_seen:
            continue
        for css in filter(None, (*_selectors(node), no_post)):
            is_elsewhere = any(thread.root.css_first(css) for thread in threads)
            if not is_elsewhere and all(_says(page, css, words) for page in gone):
                return f"{{css: {scalar(css)}, regex: {scalar(_regex(words, is_message=css != no_post))}}}"
    return None


def _regex(words: str, *, is_message: bool) -> str:
    """Return the regex of a message. Chinese says `不存在或已被删除` of one thread and `已被删除` of another."""
    sentences = dict.fromkeys(match[0] for match in MISSING.finditer(words))
    return "|".join(map(literal, sentences)) if is_message and _HAN.search(words) else literal(words)


def _says(page: Document, css: str, words: str) -> bool:
    node = page.root.css_first(css)
    return node is not None and letters(words) in letters(node.text())


def _messages(root: LexborNode) -> Iterator[tuple[LexborNode, str]]:
    """Yield sentences, or beginnings of them, that say that there is no such thread, with their elements."""
    for node in root.css("body, body *"):
        if node.tag in _WITHOUT_TEXT:
            continue
        for child in node.iter(include_text=True):
            # A rule reads one blank between two words.
            text = " ".join(child.text().split()) if child.tag == "-text" else ""
            for sentence in SENTENCE.findall(text):
                if match := MISSING.search(sentence):
                    yield node, _around(match)


def _around(match: re.Match[str]) -> str:
    """Return the words that match, with a few on both sides, and without numbers: these may be the thread's."""
    text = match.string
    before = takewhile(_has_no_digit, reversed(text[: match.start()].split(" ")[-_WORDS:]))
    after = takewhile(_has_no_digit, text[match.end() :].split(" ")[:_WORDS])
    words = f"{' '.join(reversed([*before]))}{match[0]}{' '.join(after)}"
    return " ".join(words.split())[-_LONGEST:]


def _has_no_digit(word: str) -> bool:
    return not any(map(str.isdigit, word))


def _selectors(node: LexborNode) -> Iterator[str]:
    """Yield selectors by names of the element with the message, and of those around it."""
    for above in upwards(node):
        if above.tag != "body":
            yield from names_of(above)
