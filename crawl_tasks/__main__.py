"""The door for people: `crawl-tasks` and `python -m crawl_tasks`."""

from __future__ import annotations

import sys

from crawl_tasks.cli.exits import Exit


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends it as quietly as later."""
    try:
        from crawl_tasks.cli.main import main as run  # noqa: PLC0415  # Ctrl-C may come before it is there

        run()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


if __name__ == "__main__":
    main()
