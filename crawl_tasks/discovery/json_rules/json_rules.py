"""JSON rules: rules for the JSON API of a forum as YAML, from answers and the rows in them. Pure."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.probe.json_document import lists, rule, scalars, top
from crawl_tasks.discovery.text.yaml_rules import fields_text, scalar
from crawl_tasks.model import Comment, Post
from crawl_tasks.parse.json_ld import Json
from crawl_tasks.parse.values.dates import read_date

Row = Post | Comment
Pairs = Sequence[tuple[Row, Json]]
_UTC = ZoneInfo("UTC")
_PAGE = re.compile(
    r"(?<=[?&])((?:page|p|pg|page_?(?:num(?:ber)?|no)|offset|start|skip|from)=)(\d+)(?=&|$)", re.IGNORECASE
)
_SIZE = re.compile(r"[?&](?:limit|size|count|take|per_?page|page_?size)=(\d+)", re.IGNORECASE)
_PARENT = re.compile(r"parent|reply_?to|in_?reply|(?:^|[._])pid$", re.IGNORECASE)
_COUNT = re.compile(r"repl|comment|answer", re.IGNORECASE)
_LATEST = re.compile(r"last|latest|bump|updated|activ", re.IGNORECASE)
_ONE_PAGE = "  pages: {json: '`1`'}"
_NEXT = re.compile(r"next|more", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """Values in the answers to one kind of request, each with the row that is shown of it.

    `address` has a placeholder for the id of the board or thread. `path` is the JMESPath of a list of records, `fields`
    the YAML rules of their fields. `second` are addresses of second pages, `following` is the rule of a next page that
    no address tells. `embedded` is the YAML rule of the place of JSON in a page.
    """

    address: str
    path: str
    answers: Sequence[Json]
    pairs: Pairs
    fields: Mapping[str, str] = field(default_factory=dict)
    second: Sequence[str] = ()
    following: str = ""
    embedded: str = ""

    @property
    def format(self) -> list[str]:
        """Return the lines that say how an answer is read."""
        return ["  format: json", *([f"  embedded: {self.embedded}"] if self.embedded else [])]


def flat(pairs: Pairs) -> list[tuple[Row, dict[str, str]]]:
    """Return rows, each with the scalars of its record by JMESPath."""
    return [(row, dict(scalars(record))) for row, record in pairs]


def paths_in(records: Sequence[tuple[Row, dict[str, str]]]) -> dict[str, None]:
    """Return the JMESPaths of all scalars, in order."""
    return dict.fromkeys(path for _, values in records for path in values)


def list_lines(rows: FoundRecords, id_path: str, replies: Mapping[str, int]) -> list[str]:
    """Return the lines of the list stage. `replies` are the comments that the pages of some threads show."""
    records = flat(rows.pairs)
    fields = dict(rows.fields)
    for path in paths_in(records):
        numbers = [
            (values[path], replies[row.post_id]) for row, values in records if row.post_id in replies and path in values
        ]
        if _COUNT.search(path) and all(text.isdigit() and int(text) >= least for text, least in numbers) and any(
            least and int(text) == least for text, least in numbers
        ):  # fmt: skip
            fields.setdefault("reply_count", rule(path))
        if _LATEST.search(path) and all(read_date(values.get(path, ""), time.time(), _UTC) for _, values in records):
            fields.setdefault("last_reply_at", rule(path))
    address, pager = _pages(rows)
    signs = [name for name in ("reply_count", "last_reply_at") if name in fields]
    lines = ["list:", *rows.format, *address, f"  record: {rule(rows.path)}", f"  empty: {rule(f'type({rows.path})')}"]
    lines += fields_text({"post_id": rule(id_path)} | fields, 2)
    return [*lines, *([f"  revision: [{', '.join(signs)}]"] if signs else []), pager]


def thread_lines(post: FoundRecords, comments: FoundRecords | None, id_path: str | None) -> list[str]:
    """Return the lines of the post and the comment stage. `id_path` is the JMESPath of a comment's id."""
    lines = ["post:", *post.format, f"  address: {scalar(post.address)}", *fields_text(post.fields, 2)]
    if comments is None:
        return [*lines, "# No comments were found: add `comment`, if there are any."]
    if comments.address != post.address:
        return [*lines, *comment_lines(comments, id_path)]
    every = comments.path.removesuffix("[1:]")
    address, pager = _pages(replace(comments, path=every))
    fields = _reply_fields(comments, id_path)
    own = [f"  record: {rule(comments.path)}", *fields]
    lines += ["  comments:", *(f"  {line}" for line in own), pager, "comment:", "  first_page: 2", *comments.format]
    if pager == _ONE_PAGE:
        # Never asked for: the answer of the post holds all comments.
        mark = "&" if "?" in post.address else "?"
        return [*lines, "  max_pages: 1", f"  address: {scalar(f'{post.address}{mark}page={{page}}')}", *own]
    # The post is before the comments of only the first page.
    return [*lines, *address, f"  empty: {rule(f'type({top(every)})')}", f"  record: {rule(every)}", *fields, pager]


def comment_lines(comments: FoundRecords, id_path: str | None) -> list[str]:
    """Return the lines of the comment stage, for comments with an address of their own."""
    address, pager = _pages(comments)
    lines = ["comment:", *comments.format, *address, f"  empty: {rule(f'type({top(comments.path)})')}"]
    return [*lines, f"  record: {rule(comments.path)}", *_reply_fields(comments, id_path), pager]


def _reply_fields(comments: FoundRecords, id_path: str | None) -> list[str]:
    records = flat(comments.pairs)
    reply = {"comment_id": rule(id_path)} if id_path else {}
    known = {values[id_path] for _, values in records if id_path in values} if id_path else set()
    for path in (path for path in paths_in(records) if "[" not in path and _PARENT.search(path)):
        named = [(values[path], values.get(id_path or "")) for _, values in records if path in values]
        # What each record says of itself is no parent.
        if {parent for parent, _ in named} <= known and not any(parent == own for parent, own in named):
            reply.setdefault("parent_id", rule(path))
    return fields_text({**reply, **comments.fields}, 2)


def _pages(records: FoundRecords) -> tuple[list[str], str]:
    """Return the lines of addresses, and the rule of the next page, by the address that a second page asked for."""
    if records.following:
        return [f"  address: {scalar(records.address)}"], f"  next: {records.following}"
    whole = top(records.path)
    size = max(len(dict(lists(answer)).get(whole, ())) for answer in records.answers)
    answers = [dict(scalars(answer)) for answer in records.answers]
    named = [path for path in dict.fromkeys(chain(*answers)) if _NEXT.search(path) and "[" not in path]
    start = records.address.partition("?")[0]
    every = next(filter(None, (paged(values, size, 2) for values in records.second if values.startswith(start))), None)
    every = every or paged(records.address, size, 1)
    lines = [f"  address: {scalar(every or records.address)}"]
    if every is None:
        links = [path for path in named if any(re.match("/|http", values.get(path, "")) for values in answers)]
        return lines, f"  next: {{json: {scalar(links[0])}, as: url}}" if links else _ONE_PAGE
    if re.sub(r"\{(page|offset:\d+)\}", lambda mark: "1" if mark[1] == "page" else "0", every) != records.address:
        lines.append(f"  first_address: {scalar(records.address)}")
    flags = [path for path in named if all(values.get(path) in ("true", "false") for values in answers)]
    return lines, f"  next: {rule(flags[0] if flags else f'length({whole}) >= `{max(size, 1)}`')}"


def paged(address: str, size: int, page: int) -> str | None:
    """Return the template of all pages by the address of one, None without a number of pages or records in it."""
    asked, numbered = _SIZE.search(address), _PAGE.search(address)
    if numbered is None:
        return None
    value, is_offset = int(numbered[2]), not numbered[1].lower().startswith("p")
    step = value if is_offset and page > 1 else int(asked[1]) if asked else size
    mark = f"{{offset:{step}}}" if is_offset else "{page}" if value == page else "{offset:1}"
    return f"{address[: numbered.start(2)]}{mark}{address[numbered.end(2) :]}"
