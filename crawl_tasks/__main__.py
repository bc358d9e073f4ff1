"""The door for people: `crawl-tasks` and `python -m crawl_tasks`."""

from __future__ import annotations

from crawl_tasks.cli.main import main

if __name__ == "__main__":
    main()
