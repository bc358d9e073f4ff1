"""The schema of the site file: `Site`, frozen, every key with a range and a sentence. Filled by the loader.

A `Site` is the whole knowledge of a forum. Sites travel between processes as JSON (site_json.py). Each is identified by
its `version`, a hash of that JSON.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from crawl_tasks.model import Stage
from crawl_tasks.model.reply_counts import CountRules
from crawl_tasks.sites.board import LISTS, TELLS_ALL, Board, BoardKind, Line, from_id
from crawl_tasks.sites.board_index_spec import FrontSpec
from crawl_tasks.sites.board_pack import boards_of, own_places, size_of, unpack
from crawl_tasks.sites.crawl_policy import (
    Breaker,
    Flag,
    Freshness,
    Gate,
    GuardMode,
    Guards,
    Interval,
    Order,
    Orders,
    Priorities,
    Schedule,
    Seconds,
    Whole,
    one_word_for_all,
)
from crawl_tasks.sites.event_hooks import Hooks
from crawl_tasks.sites.field_rules import Part, optional, require
from crawl_tasks.sites.item_steps import Step
from crawl_tasks.sites.render import Render, RenderRules
from crawl_tasks.sites.request_headers import Headers, SecretHeaders
from crawl_tasks.sites.site_login import SiteLogin
from crawl_tasks.sites.site_terms import (
    BaseAddress,
    Charset,
    DateOrder,
    Hosts,
    Languages,
    Name,
    PageSource,
    Parameter,
    PrivateHosts,
    ProxyName,
    SiteName,
    Timezone,
    place_of_site,
)
from crawl_tasks.sites.stages import (
    NO_LISTS,
    CommentSpec,
    FunctionName,
    ListSpec,
    PostSpec,
    StageSpec,
    check_comments,
)
from crawl_tasks.sites.template import check_addresses


class Site(Part):
    """A forum: identity, crawl policy, and the rules that read its pages."""

    name: SiteName = Field(description="Short name, in keys and queues: small letters, digits, - and _.")
    title: Line | None = optional("The forum's own name.")
    base: BaseAddress = Field(
        description="Where it is: scheme, host and port, and the path it lies below, as https://example.org/forum."
    )
    hosts: Hosts = Field(default=(), max_length=50, description="Further hosts of the forum, as NAME or NAME:PORT.")
    private_hosts: PrivateHosts = Field(
        default=(),
        max_length=50,
        description="host:port of private or loopback addresses that may be fetched; no others are.",
    )
    timezone: Timezone = Field(default="UTC", description="IANA zone of dates on its pages that name none.")
    date_order: DateOrder | None = optional(
        "Order of day, month and year in dates of figures: dmy, mdy, ymd or ydm; by default the pages' dates tell it."
    )
    languages: Languages = Field(
        default=("zh", "zh-Hant", "en", "ja"),
        description="Languages of dates in words that `dateparser` is asked for; most need none.",
    )
    encoding: Charset | None = optional(
        "Charset of its pages, if they lie about it or name none; a word here outranks all but a BOM."
    )
    drop_params: tuple[Parameter, ...] = Field(
        default=(), max_length=50, description="Parameters left out of its addresses: session ids, utm_*."
    )
    robots: Flag = Field(default=True, description="Obey its robots.txt.")
    revalidate: Flag = Field(
        default=True,
        description="Ask by ETag and Last-Modified whether a board's first page changed since its last scan.",
    )
    archive: Flag = Field(default=False, description="Keep what came as WARC files; see docs/archive.md.")
    user_agent: Line | None = optional("In place of the project's user agent.")
    headers: Headers = Field(default={}, max_length=50, description="Further request headers; nothing secret.")
    secret_headers: SecretHeaders = Field(
        default={},
        max_length=10,
        description="Request headers whose value is in a variable FORUM_... of the processes that fetch.",
    )
    cookies: Flag = Field(
        default=False, description="Keep its cookies for the life of a process, and send them to their origin."
    )
    login: SiteLogin | None = optional("Fetch as a member, as docs/access.md tells.")
    render: RenderRules = optional("Draw the pages of each stage that says nothing else.")
    prepare_request: FunctionName | None = optional(
        "package.module:function that changes each request before it is sent."
    )
    on_response: FunctionName | None = optional(
        "package.module:function that sees each answer first, changes or refuses it."
    )
    read_from: PageSource | None = Field(
        default=None,
        max_length=1000,
        description="Read its pages from a dump, file:///DIRECTORY or as s3://BUCKET/PATH (fsspec), or by a"
        " package.module:function.",
    )
    proxy: ProxyName | None = optional(
        "In place of CRAWL_PROXY: direct, an address without password, or a variable FORUM_... with one."
    )
    engine: Name | None = optional("Preset of the forum's program; what this file says stands above it.")
    gate: Gate = Field(default=Gate(), description="How hard it may be asked.")
    breaker: Breaker = Field(default=Breaker(), description="When the circuit breaker of a stage opens.")
    freshness: Freshness | None = optional("How soon replies are to be found, and what that may cost.")
    schedule: Schedule | None = optional(
        "fixed, adaptive (the simple form: after news half the interval) or priced (by each board's rate "
        "of news). Without it: priced where `freshness` is given, else adaptive."
    )
    interval: Interval = Field(default=Interval(), description="Bounds of the time between two scans of a board.")
    order: Annotated[Orders, BeforeValidator(one_word_for_all)] = Field(
        default=Orders(), description="fifo or lifo, by stage; one word sets all three."
    )
    priority: Annotated[Priorities, BeforeValidator(one_word_for_all)] = Field(
        default=Priorities(), description="0 to 9, by stage; one number sets all three."
    )
    guard: Annotated[Guards, BeforeValidator(one_word_for_all)] = Field(
        default=Guards(), description="exact, rolling, bloom, database or off, by stage; one word sets all three."
    )
    guard_window_s: Whole = Field(
        default=86_400, ge=60, le=31_536_000, description="Seconds a rolling guard remembers."
    )
    guard_length: Whole = Field(
        default=0,
        ge=0,
        le=100_000_000,
        description="Addresses of a stage that a rolling guard remembers, whatever their age; 0: by time.",
    )
    guard_hits: Whole = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Unchanged listings of a page after which an exact or rolling guard lets it pass again; 0: never.",
    )
    guard_capacity: Whole = Field(
        default=1_000_000,
        ge=1000,
        le=100_000_000,
        description="Addresses each filter of a bloom guard holds, at 3 bytes each.",
    )
    named_boards: tuple[Annotated[Board, BeforeValidator(from_id)], ...] = Field(
        default=(),
        alias="boards",
        description="Boards to watch, or `{file: boards.csv}` for a list of boards beside this file.",
    )
    board_list: str = Field(default="", description="The boards of such lists, packed by the loader.", repr=False)
    list: ListSpec = Field(
        default=NO_LISTS,
        description="How to read list pages; may be left out where boards are hubs, feeds or sitemaps.",
    )
    post: PostSpec = Field(description="How to read post pages.")
    comment: CommentSpec | None = optional("How to read comment pages; left out, there are none.")
    front: FrontSpec | None = optional(
        "How to read the counts of boards of kind front. Without it, which boards it links."
    )
    min_items_per_minute: Seconds = Field(
        default=0.0, ge=0, le=1_000_000, description="Fewer items a minute, over 15 minutes, raise an alert; 0: none."
    )
    priority_of: FunctionName | None = optional(
        "package.module:function that gives each request found on a page its priority."
    )
    hooks: Hooks = Field(default=Hooks(), description="Functions that are told of events; see docs/hooks.md.")
    start_request: FunctionName | None = optional(
        "package.module:function that makes start entries of what others push for this site."
    )
    items: tuple[Step, ...] = Field(
        default=(), max_length=50, description="Steps that see each post and comment before it is stored."
    )

    @cached_property
    def version(self) -> str:
        """Return the version of this content: 16 hex digits, equal for equal files."""
        return hashlib.blake2b(self.model_dump_json(by_alias=True).encode(), digest_size=8).hexdigest()

    @property
    def boards(self) -> Sequence[Board]:
        """Return all boards: those that the file names, then those of its lists."""
        return (*self.named_boards, *self._listed) if self.board_list else self.named_boards

    @cached_property
    def _listed(self) -> tuple[Board, ...]:
        columns = unpack(self.board_list)
        return tuple(boards_of(columns, range(size_of(columns))))

    @cached_property
    def _own_and_count(self) -> tuple[tuple[Board, ...], int]:
        # Kept in place of the columns, which are megabytes in each worker.
        columns = unpack(self.board_list)
        return tuple(boards_of(columns, own_places(columns))), size_of(columns)

    @property
    def board_count(self) -> int:
        """Return the number of boards."""
        return len(self.named_boards) + self._own_and_count[1]

    @property
    def own_boards(self) -> Sequence[Board]:
        """Return the boards with an address or a kind of their own, which the reader of a page must know."""
        named = [board for board in self.named_boards if board.address or board.kind is not BoardKind.LIST]
        return (*named, *self._own_and_count[0])

    def first_boards(self, most: int) -> Sequence[Board]:
        """Return the first boards that the file names, and the first of its lists."""
        columns = unpack(self.board_list)
        return (*self.named_boards[:most], *boards_of(columns, range(min(most, size_of(columns)))))

    @property
    def revisits_by(self) -> Schedule:
        """Return the schedule that holds: priced where the file names a freshness, else the simple form."""
        return self.schedule or (Schedule.PRICED if self.freshness else Schedule.ADAPTIVE)

    @cached_property
    def allowed_hosts(self) -> frozenset[str]:
        """Return every host of this forum, in lower case and without port."""
        return frozenset({urlsplit(self.base).hostname or "", *(host.partition(":")[0] for host in self.hosts)})

    @property
    def count_rules(self) -> CountRules:
        """Return what it says of the reply counts of its lists."""
        return CountRules(self.comment.max_pages if self.comment else None, self.list.counts_hidden)

    @property
    def stages(self) -> dict[Stage, StageSpec]:
        """Return the specification of each stage that the site has."""
        specs: dict[Stage, StageSpec | None] = {
            Stage.LIST: self.list, Stage.POST: self.post, Stage.COMMENT: self.comment
        }  # fmt: skip
        return {stage: spec for stage, spec in specs.items() if spec is not None}

    @property
    def rendered(self) -> dict[Stage, Render]:
        """Return the stages whose pages a browser draws, and how."""
        rules = {stage: spec.render or self.render for stage, spec in self.stages.items()}
        return {stage: render for stage, render in rules.items() if render is not None}

    def relocated(self, base: str) -> Self:
        """Return the same site at another origin, private or not, for tests and benchmarks."""
        where = urlsplit(place_of_site(base))
        port = where.port or (443 if where.scheme == "https" else 80)
        changed = self.model_dump(by_alias=True, exclude_defaults=True) | {
            "base": f"{where.scheme}://{where.netloc}{urlsplit(self.base).path}",
            "private_hosts": (f"{where.hostname}:{port}",),
        }
        return type(self).model_validate(changed)

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        counts = Counter(board.id for board in self.named_boards)
        twice = sorted(name for name, times in counts.items() if times > 1)
        require(not twice, f"boards names {', '.join(twice)} more than once; ids are unique")
        check_comments(self.post, self.comment)
        listed = any(board.kind in LISTS for board in self.named_boards)
        has_none = self.list == NO_LISTS and (listed or not self.named_boards)
        require(not has_none, "list is missing: it says how to read boards that are no hubs, feeds or sitemaps")
        check_addresses(self.stages, self.base)
        if self.login:
            self.login.check_origin(self.base)
        # The records would hold secrets, or not what the page is read from.
        beside = [name for name in ("login", "prepare_request", "on_response", "read_from") if getattr(self, name)]
        beside += [f"{stage.value}.body" for stage, pages in self.stages.items() if pages.body is not None]
        drawn = [f"{stage.value}.render" for stage in self.rendered]
        beside += drawn
        require(not (self.archive and beside), f"archive does not go with {', '.join(beside)}; leave one out")
        require(not (self.read_from and drawn), f"read_from does not go with {', '.join(drawn)}; leave one out")
        return self


__all__ = ["LISTS", "TELLS_ALL", "Board", "BoardKind", "GuardMode", "Order", "Site"]
