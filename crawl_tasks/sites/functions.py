"""Python functions that a site file names: found by name, and taken only if they ask for what we offer."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence

from crawl_tasks.errors import SiteError


def find_function(name: str, where: str, offered: Sequence[str]) -> tuple[Callable[..., object], tuple[str, ...]]:
    """Import `package.module:function` and give it with its parameters' names; `where` begins complaints.

    Raises:
        SiteError: there is no such function, or it asks for something that is not offered, or for nothing.
    """
    module_name, _, function_name = name.partition(":")
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise SiteError(f"{where}: {name!r} cannot be imported: {error}; put it on the Python path") from None
    if not inspect.isfunction(function):
        raise SiteError(f"{where}: {name!r} is not a function; name a plain function")
    wanted = tuple(inspect.signature(function).parameters)
    odd = [one for one in wanted if one not in offered]
    if odd or not wanted:
        raise SiteError(f"{where}: {name!r} asks for {', '.join(odd) or 'nothing'}; offered: {', '.join(offered)}")
    return function, wanted
