"""An installation with sites that fall ill, and the places that say what is wrong: one judgement of each."""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack, chdir
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from crawl_tasks.cli.main import cli
from crawl_tasks.local.redis_server import RedisServer, free_port
from crawl_tasks.monitor.problems.registry import KINDS
from crawl_tasks.monitor.problems.setup_kinds import SETUP_KINDS
from tests.alerts.receiver import Inbox
from tests.flow.world import CELERY, ROOT, World
from tests.store.conftest import Cluster
from tests.unit.docker_files import read_yaml
from tests.watched.forum import Forum, write_site

PROMETHEUS = shutil.which("prometheus")
FASTER = 15
"""The ranges and hold times of the alert rules are divided by this: a quarter of an hour is a minute here."""
BESIDE = {kind.name for kind in SETUP_KINDS}
"""Kinds that only `check` knows, of the machine on which it runs."""

Row = dict[str, str]
"""A problem as JSON has it: name, severity, subject, text, remedy."""
Judgement = Mapping[str, list[str]]
"""The names of the problems by subject, as a place has them, in its order."""


class Installation:
    """A Redis, a directory of sites, and whatever processes a state needs."""

    def __init__(self, directory: Path, *redis_options: str) -> None:
        self.stack, self.held = ExitStack(), ExitStack()
        """What ends with the installation, and what holds it up for a while."""
        self.server = RedisServer(directory / "redis")
        self.server.start()
        self.scrape_s = 2
        self.other: RedisServer
        self.cluster: Cluster
        self.inbox: Inbox
        self.world = World(directory, self.server)
        self.sites = directory / "config" / "sites"
        self.sites.mkdir(parents=True)
        self.forums: dict[str, Forum] = {}
        self.exporter = f"http://127.0.0.1:{free_port()}"
        self.prometheus = f"http://127.0.0.1:{free_port()}"
        self.world.environment["CRAWL_SITES_DIR"] = str(self.sites)
        self.world.environment |= {"CRAWL_ALERT_EVERY_S": "5", "CRAWL_CONTACT": "https://example.org/crawler"}

    def close(self) -> None:
        """End everything."""
        for forum in self.forums.values():
            forum.close()
        self.held.close()
        self.world.close()
        self.stack.close()
        self.server.stop()

    @property
    def database(self) -> Path:
        """Return the file of the database, where it is SQLite."""
        return self.world.directory / "crawl.db"

    def add(self, name: str, forum: Forum, **site: str) -> None:
        """Add a forum and its site file."""
        self.forums[name] = forum
        forum.open()
        write_site(self.sites, name, forum.port, **site)

    def command(self, *arguments: str) -> tuple[int, str]:
        """Run a command as a person types it, and return its exit code and what it printed."""
        with chdir(self.world.directory):
            result = CliRunner().invoke(cli, list(arguments), env=self.world.environment, input="y\n")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    def restart_worker(self) -> None:
        """End the worker of all queues in order, and start another one in its place."""
        before = self.world.processes.pop("worker")
        before.terminate()
        before.wait()
        self.world.worker("worker", "list,detail,store", "-c", "16")

    def start(self, *, workers: bool = True, beat: bool = True, watchers: bool = True) -> None:
        """Start a worker of all queues, beat, and what watches."""
        if workers:
            self.world.worker("worker", "list,detail,store", "-c", "16")
        if beat:
            self.world.start("beat", *CELERY, "beat")
        if watchers:
            self.world.start("exporter", sys.executable, "-m", "crawl_tasks", "exporter", "--listen", self.exporter[7:])
            if PROMETHEUS is not None:
                self._start_prometheus(PROMETHEUS)

    def _start_prometheus(self, program: str) -> None:
        rules = (ROOT / "docker" / "prometheus" / "rules.yml").read_text("utf-8")
        hasty = self.world.directory / "rules.yml"
        hasty.write_text(re.sub(r"(?<=\[)\d+[mh](?=\])|(?<=for: )\w+|(?<=offset )\w+", _faster, rules), "utf-8")
        scraped = {"job_name": "crawl", "static_configs": [{"targets": [self.exporter[7:]]}]}
        document = {
            "global": {"scrape_interval": f"{self.scrape_s}s", "evaluation_interval": "2s"},
            "rule_files": [str(hasty)],
            "scrape_configs": [scraped],
        }
        configuration = self.world.directory / "prometheus.json"  # JSON is YAML
        configuration.write_text(json.dumps(document))
        options = [f"--config.file={configuration}", f"--storage.tsdb.path={self.world.directory / 'prometheus'}"]
        self.world.start("prometheus", program, *options, f"--web.listen-address={self.prometheus[7:]}")

    def posts_done(self) -> int:
        """Count the posts that were read, in whatever cell."""
        rows = json.loads(get(f"{self.exporter}/api/snapshot"))["sites"]
        return sum(int(row["stages"]["post"]["done"]) for row in rows)

    # -- the places ----------------------------------------------------------------------------------------

    def check(self, *options: str) -> tuple[int, list[Row]]:
        """Return the exit code of `check` and its problems, without those of the machine."""
        code, text = self.command("check", "--json", *options)
        return code, [row for row in json.loads(text)["problems"] if row["name"] not in BESIDE]

    def status(self, *sites: str) -> list[Row]:
        code, text = self.command("status", "--json", *sites)
        return [] if code else _problems(json.loads(text))

    def snapshot(self) -> list[Row]:
        return _problems(json.loads(get(f"{self.exporter}/api/snapshot")))

    def page(self, site: str) -> str:
        """Return the text of the page of a site."""
        return html.unescape(re.sub(r"<[^>]+>", " ", get(f"{self.exporter}/site/{site}")))

    def firing(self) -> dict[str, set[str]]:
        """Return the alerts that fire in Prometheus, by subject, less those that our inhibit rules keep back."""
        found: dict[str, set[str]] = {}
        if PROMETHEUS is None:
            return found
        for alert in json.loads(get(f"{self.prometheus}/api/v1/alerts"))["data"]["alerts"]:
            labels = alert["labels"]
            if alert["state"] == "firing":
                name = labels["alertname"]
                found.setdefault(labels.get(KINDS[name].scope, ""), set()).add(name)
        return {subject: names - _inhibited(names, found) for subject, names in found.items()}


def judgement(rows: list[Row]) -> Judgement:
    """Return the problems of a place by subject."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["subject"], []).append(row["name"])
    return found


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def _inhibited(names: set[str], everywhere: Mapping[str, set[str]]) -> set[str]:
    (document,) = read_yaml((ROOT / "docker" / "prometheus" / "inhibit_rules.yml").read_text("utf-8"))
    implied: set[str] = set()
    for rule in document["inhibit_rules"]:
        sources = names if rule["equal"] else set().union(*everywhere.values())
        cause, *queues = (re.findall(r"\w+", matcher)[1] for matcher in rule["source_matchers"])
        if queues:
            sources = everywhere.get(queues[0], set())
        [targets] = rule["target_matchers"]
        implied |= set(re.findall(r"Crawl\w+", targets)) if cause in sources else set()
    return implied


def _problems(document: dict[str, Any]) -> list[Row]:
    rows: list[Row] = document["problems"]
    return rows


def _faster(match: re.Match[str]) -> str:
    seconds = int(match[0][:-1]) * {"s": 1, "m": 60, "h": 3600}[match[0][-1]]
    return f"{max(2, round(seconds / FASTER))}s"
