"""The wheel in a fresh environment: the first examples of --help work in an empty directory, without a clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
PARTS = ("crawl_tasks", "pyproject.toml", "README.md", "LICENSE")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CRAWL_", "PYTHONPATH"))}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=250, check=False)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of a copy, and install it where the project's own packages stand in for its dependencies."""
    if not UV.exists():
        pytest.skip("no uv to build a wheel with; make setup")
    home = tmp_path_factory.mktemp("wheel")
    source, python = home / "source", home / "venv" / "bin" / "python"
    source.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, source / part)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", python.parents[1]], check=True)
    built = run(UV, "build", "--quiet", "--wheel", "--out-dir", home, source, cwd=home)
    assert built.returncode == 0, built.stderr
    [wheel] = home.glob("*.whl")
    installed = run(UV, "pip", "install", "--quiet", "--no-deps", "--offline", "--python", python, wheel, cwd=home)
    assert installed.returncode == 0, installed.stderr
    [packages] = (home / "venv" / "lib").glob("python*/site-packages")
    # A path in a .pth file brings the modules there, and not the .pth files, one of which would bring this clone.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.with_name("crawl-tasks")


def test_the_demo_of_a_wheel_crawls_its_forum_in_an_empty_directory(program: Path, tmp_path: Path) -> None:
    done = run(program, "demo", "--no-flower", "--latency-ms", "0", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "181 expected, 181 stored: equal in every field" in done.stdout
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize("command", [("check",), ("sites", "check"), ("run",)], ids=" ".join)
def test_without_site_files_an_example_of_the_help_says_what_to_do(
    program: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = run(program, *command, cwd=tmp_path)

    assert done.returncode in (1, 2, 3)
    assert "Traceback" not in done.stdout + done.stderr
    assert "config/sites" in done.stdout + done.stderr


def test_a_wheel_has_the_alert_rules_and_the_dashboard(program: Path, tmp_path: Path) -> None:
    done = run(program, "exporter", "--files", "monitoring", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    for name, ours in (("rules.yml", "prometheus/rules.yml"), ("dashboard.json", "grafana/dashboards/crawl.json")):
        assert (tmp_path / "monitoring" / name).read_text("utf-8") == (ROOT / "docker" / ours).read_text("utf-8")
