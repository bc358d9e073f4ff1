"""The configuration of Celery as this application sets it, whatever the environment of other projects says.

Celery reads some settings from the environment before those of the application: another broker than the ledger's would
get no messages, or send them where nobody looks, and another project's configuration cannot be imported here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from celery.app.utils import Settings
from celery.loaders.app import AppLoader

SET_HERE: Final = {
    "CELERY_BROKER_URL": "CRAWL_REDIS_URL",
    "CELERY_BROKER_READ_URL": "CRAWL_REDIS_URL",
    "CELERY_BROKER_WRITE_URL": "CRAWL_REDIS_URL",
    "CELERY_RESULT_BACKEND": "",
    "CELERY_CONFIG_MODULE": "",
    "CELERY_LOADER": "",
}
"""Variables of Celery that are not used, and ours in their place. Its options -b, --result-backend, --config and
--loader set them too."""


def unused(environ: Mapping[str, str]) -> list[str]:
    """Return a line for each variable of Celery that is set and not used. Values may hold passwords: none is told."""
    return [
        f"{name} (or celery's option for it) is not used here" + (f": {own} names the Redis" if own else "")
        for name, own in SET_HERE.items()
        if environ.get(name)
    ]


class OwnLoader(AppLoader):
    """A loader that imports no configuration of another project."""

    def read_configuration(self, env: str = "") -> dict[str, object]:
        """Return no settings: the application has them all."""
        return {}


class OwnSettings(Settings):
    """Celery's settings, read from the application only."""

    @property
    def broker_url(self) -> str:
        """The address of the broker."""
        return str(self.get("broker_url"))

    @property
    def broker_read_url(self) -> str:
        """The address from which messages are read."""
        return self.broker_url

    @property
    def broker_write_url(self) -> str:
        """The address to which messages are written."""
        return self.broker_url

    @property
    def result_backend(self) -> str:
        """The address of results, of which there are none."""
        return str(self.get("result_backend") or "disabled")
