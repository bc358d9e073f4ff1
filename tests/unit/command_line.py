"""The command line in this process: what it printed, and its exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner, Result

from crawl_tasks.cli.main import cli

Command = Callable[..., Result]

TINY = """\
name: {name}
base: {base}
{private}
boards: [1, {{id: b2, interval_s: 60}}]
gate: {{delay_s: 0, window: 4, max_backlog: 5}}
list:
  address: /list/{{board}}/{{page}}
  record: {{css: tr}}
  fields: {{post_id: {{css: a, attr: href}}}}
  revision: {{css: i}}
post:
  address: /post/{{post}}
  fields: {{title: h1}}
"""


def site_text(name: str = "tiny", base: str = "http://127.0.0.1:8765", private: str = "127.0.0.1:8765") -> str:
    return TINY.format(name=name, base=base, private=f'private_hosts: ["{private}"]' if private else "")


def run(
    *arguments: str, home: Path, redis_url: str = "redis://127.0.0.1:1/0", answer: str = "", **settings: str
) -> Result:
    """Run a command with a state directory and site files of `home`; `answer` is typed when it asks."""
    env = {
        "CRAWL_STATE_DIR": str(home / "state"),
        "CRAWL_SITES_DIR": str(home / "sites"),
        "CRAWL_REDIS_URL": redis_url,
        "CRAWL_REDIS_PREFIX": "test",
        "CRAWL_CONTACT": None,
        "CRAWL_DATABASE_URL": None,
    } | {f"CRAWL_{name.upper()}": value for name, value in settings.items()}
    return CliRunner().invoke(cli, list(arguments), env=env, input=answer)


def write_site(home: Path, text: str, name: str = "tiny") -> Path:
    path = home / "sites" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path
