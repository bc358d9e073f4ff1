"""Settings: every option of the installation in one table, read once by each process.

A setting comes from the environment (`CRAWL_REDIS_URL`), or from the file that a variable names
(`CRAWL_REDIS_URL_FILE`, for the secrets of Swarm and similar systems), else the default holds. Options of one forum
are in its site file instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from crawl_tasks.errors import ConfigError, SettingsError
from crawl_tasks.proxy import read_proxy
from crawl_tasks.redis_url import mistake_in

STATE_REDIS_URL = "redis.url"
"""File in `state_dir` that holds the URL of the embedded Redis of this directory."""

_CELL_NAME = re.compile(r"([a-z][a-z0-9_-]{0,31})=(.*)")

LEAST_PASSWORD = 8
"""Characters of the status page's password at least."""

PREFIX = "CRAWL_"
FOR_TESTS = "CRAWL_TEST_"
IN_FILE = "_file"


class Cell(NamedTuple):
    """One of the installation's Redis servers. The name of the only one is empty, unless it was given one."""

    name: str
    url: str


class Settings(BaseModel):
    """The settings of the installation."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    state_dir: Path = Field(Path(".crawl"), description="Directory for the embedded Redis, the database and logs.")
    redis_url: str = Field(
        "",
        repr=False,
        description="Redis or Valkey to use. Empty: the embedded one of state_dir when it runs, else redis://127.0.0.1:6379/0."
        " Several, as NAME=URL separated by blanks, are cells: each holds a share of the sites.",
    )
    cell: str = Field(
        "",
        description="The cell that a Celery process serves, where CRAWL_REDIS_URL names several. Each has workers and a"
        " beat of its own. All other commands reach all cells.",
    )
    redis_master: str = Field("mymaster", description="Name of the master at the Sentinels of a sentinel:// URL.")
    redis_prefix: str = Field(
        "crawl",
        pattern=r"^[a-z][a-z0-9_-]{0,31}$",
        description="Prefix of all keys of the frontier, and the installation's name where several share a database."
        " Queues have none: two installations on one Redis need a database number each.",
    )
    database_url: str = Field(
        "", repr=False, description="SQLAlchemy URL of the store. Empty: SQLite, crawl.db in state_dir."
    )
    archive_dir: Path = Field(
        Path(), description="Directory of the WARC files of sites with `archive: true`. Empty: archive in state_dir."
    )
    archive_file_bytes: int = Field(
        256 << 20, ge=1 << 20, le=1 << 40, description="Size in bytes from which an archive goes on in a new file."
    )
    archive_file_s: float = Field(
        3600, ge=1, le=604_800, description="Age in seconds from which an archive goes on in a new file."
    )
    archive_free_bytes: int = Field(
        256 << 20, ge=0, description="Room in bytes on the archive's disk below which its sites are not fetched."
    )
    sites_dir: Path = Field(Path("config/sites"), description="Directory of the site files.")
    dump_roots: str = Field(
        "",
        description="Directories, and addresses as s3://BUCKET/PATH, below which this process reads dumps of published"
        " sites (`read_from`), separated by blanks. A site with its file in CRAWL_SITES_DIR needs none of these four.",
    )
    function_modules: str = Field(
        "",
        description="Modules whose functions published sites may name in this process, separated by blanks; with those"
        " below them.",
    )
    forum_secrets: str = Field(
        "",
        pattern=r"^\s*(FORUM_[A-Z0-9_]{1,58}=https?://[^\s/]+\s*)*$",
        description="Secrets that this process sends to published sites, each as FORUM_NAME=https://forum.example,"
        " separated by blanks.",
    )
    private_hosts: str = Field(
        "",
        description="Private addresses and proxies of published sites that this process reaches: HOST:PORT, or HOST for"
        " all its ports, separated by blanks.",
    )
    contact: str | None = Field(
        None, description="Address or page where a forum's operator reaches you; required for public sites."
    )
    http_client: Literal["requests", "curl"] = Field(
        "requests", description="HTTP client: requests, or curl (libcurl, by pycurl)."
    )
    ca_file: str = Field(
        "", description="PEM file of certificates to trust in place of certifi's, as for a forum with one of its own."
    )
    proxy: SecretStr = Field(
        SecretStr(""),
        description="Proxy to fetch through where the site file names none: http://..., socks5://... or socks5h://...;"
        " user and password may stand in it.",
    )
    session_key: SecretStr = Field(
        SecretStr(""),
        description="Seals the sessions of sites behind a login in Redis: 32 random characters or more, the same in all"
        " processes that fetch.",
    )
    render_sandbox: bool = Field(
        True,
        description="Draw pages in Chromium's own sandbox, which root has not. 0 where a container is the sandbox.",
    )
    traces: bool = Field(
        False,
        description="Send a trace of each page by OpenTelemetry, to the collector of OTEL_EXPORTER_OTLP_ENDPOINT"
        " (pip install 'crawl-tasks[otel]').",
    )
    store_batch: int = Field(500, ge=1, le=5000, description="Pages stored in one transaction at most.")
    store_at: int = Field(250, ge=1, le=5000, description="Waiting pages at which the store is called at once.")
    outbox_max: int = Field(
        5000, ge=1, le=1_000_000, description="Pages that may wait for the store; from there on nothing is fetched."
    )
    produce_every_s: float = Field(1.0, ge=0.5, le=3600, description="Seconds between two checks for due boards.")
    recover: Literal["ask", "auto"] = Field(
        "ask",
        description="What follows when Redis was emptied: ask stands still until `crawl-tasks recover`, auto rebuilds.",
    )
    start_key: str = Field(
        "",
        pattern=r"^[^\s\x00-\x1f]*$",
        max_length=200,
        description="Key of others' start entries; may hold {site}. Empty: PREFIX:start, and PREFIX:start:SITE.",
    )
    chain: int = Field(
        32,
        ge=0,
        le=1000,
        description="Pages that a thread takes after its first one without the event loop of its worker; 0: none.",
    )
    start_batch: int = Field(100, ge=1, le=5000, description="Start entries taken at a time.")
    idle_exit_s: float = Field(
        0,
        ge=0,
        le=604_800,
        description="Seconds without a page after which a worker ends, with nothing open; 0: never.",
    )
    items: str = Field(
        "",
        description="Steps that all sites' items pass first: function names, or a JSON list as `items` of a site file.",
    )
    web_password: str = Field(
        "",
        repr=False,
        description="Password, of 8 characters or more, for acting on the exporter's status page and reading stored"
        " texts. Empty: the page only shows, and texts on loopback alone.",
    )
    web_hosts: str = Field(
        "",
        description="Host names of the status page, separated by blanks, as behind a proxy. Addresses and names without"
        " a dot need none.",
    )
    alert_to: SecretStr = Field(
        SecretStr(""),
        description="Receivers of `crawl-tasks alerts`, separated by blanks: https://..., slack+https://...,"
        " dingtalk+https://..., wecom+https://...",
    )
    alert_dingtalk_secret: SecretStr = Field(SecretStr(""), description="Secret that signs messages to DingTalk.")
    alert_every_s: float = Field(30.0, ge=1, le=600, description="Seconds between two checks for alerts.")
    alert_repeat_h: float = Field(6.0, ge=0.1, le=8760, description="Hours after which a lasting alert is sent again.")
    language: Literal["en", "zh"] = Field(
        "en",
        description="Language of the status page, alerts, and the summaries of run, status, check, failed list and"
        " schedule list: en or zh.",
    )
    log_format: Literal["console", "json"] = Field("console", description="Log lines for people or for machines.")

    @field_validator("redis_url")
    @classmethod
    def _redis_url_is_one(cls, value: str) -> str:
        # Checked here, because Celery would bury the mistake under tracebacks.
        cells = read_cells(value)
        for cell in cells:
            if mistake := mistake_in(cell.url):
                raise SettingsError(f"{PREFIX}REDIS_URL: {mistake}")
        # Names, because a host's address may change, and sites must not move for that.
        names, urls = {cell.name for cell in cells} - {""}, {cell.url for cell in cells}
        if len(cells) > 1 and not len(names) == len(urls) == len(cells):
            raise SettingsError(f"{PREFIX}REDIS_URL: give each of several a name and a Redis of its own: a=URL b=URL")
        return value

    @field_validator("proxy")
    @classmethod
    def _proxy_is_one(cls, value: SecretStr) -> SecretStr:
        try:
            read_proxy(value.get_secret_value(), f"{PREFIX}PROXY")
        except ConfigError as error:
            # No ValueError, because pydantic's report of one would show the value with its password.
            raise SettingsError(str(error)) from None
        return value

    @field_validator("web_password")
    @classmethod
    def _web_password_is_long(cls, value: str) -> str:
        if value and len(value) < LEAST_PASSWORD:
            # Not by pydantic, whose message would show the value.
            raise SettingsError(
                f"{PREFIX}WEB_PASSWORD: has fewer than {LEAST_PASSWORD} characters; choose a longer one"
            )
        return value

    @model_validator(mode="after")
    def _fill_in(self) -> Self:
        if not self.redis_url:
            running = self.state_dir / STATE_REDIS_URL
            url = running.read_text("utf-8").strip() if running.is_file() else "redis://127.0.0.1:6379/0"
            # The model is frozen for everybody else.
            object.__setattr__(self, "redis_url", url)
        if self.cell and self.cell not in [cell.name for cell in self.cells]:
            names = ", ".join(cell.name or "none with a name" for cell in self.cells)
            raise SettingsError(f"{PREFIX}CELL: {PREFIX}REDIS_URL names no cell {self.cell!r}; it names {names}")
        if self.archive_dir == Path():
            object.__setattr__(self, "archive_dir", self.state_dir / "archive")
        if not self.database_url:
            object.__setattr__(self, "database_url", f"sqlite:///{self.state_dir / 'crawl.db'}")
        return self

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Return the Redis servers of the installation."""
        return read_cells(self.redis_url)

    def own(self) -> Self:
        """Return the settings of a process that serves one cell: the chosen one, else the first."""
        cells = {cell.name: cell for cell in self.cells}
        return self.in_cell(cells[self.cell] if self.cell else self.cells[0]) if len(cells) > 1 else self

    def in_cell(self, cell: Cell) -> Self:
        """Return the settings with one cell of several."""
        return self.model_copy(update={"redis_url": f"{cell.name}={cell.url}", "cell": cell.name})


def read_cells(text: str) -> tuple[Cell, ...]:
    """Return the cells that a value of CRAWL_REDIS_URL names. Their order means nothing."""
    named = [(part, _CELL_NAME.fullmatch(part)) for part in text.split()]
    return tuple(Cell(match[1], match[2]) if match else Cell("", part) for part, match in named)


def load_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of an environment.

    Raises:
        SettingsError: A value is not in its range, or there is no such setting. The message names the variable.
    """
    given = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and not name.startswith(FOR_TESTS) and value
    }
    for name in [name for name in given if name not in Settings.model_fields and name.endswith(IN_FILE)]:
        if name.removesuffix(IN_FILE) in Settings.model_fields:
            _read_file(given, name)
    unknown = given.keys() - Settings.model_fields.keys()
    if unknown:
        raise SettingsError(_unknown(sorted(unknown)[0]))
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = PREFIX + "_".join(str(part) for part in first["loc"]).upper()
        raise SettingsError(f"{name}: {first['msg']}; it is {first.get('input')!r}") from error


def _read_file(given: dict[str, str], name: str) -> None:
    """Put a file's content in place of the variable that names the file. The file outranks a plain variable."""
    path = given.pop(name)
    try:
        given[name.removesuffix(IN_FILE)] = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{PREFIX}{name.upper()}: {path} cannot be read: {error}") from error


def _unknown(name: str) -> str:
    near = get_close_matches(name, Settings.model_fields, n=1)
    remedy = f"did you mean {PREFIX}{near[0].upper()}?" if near else "see docs/settings.md"
    return f"{PREFIX}{name.upper()}: there is no such setting; {remedy}"
