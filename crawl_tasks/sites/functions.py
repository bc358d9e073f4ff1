"""Python functions named in a site file: imported by name, and accepted only with parameters on offer."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from crawl_tasks.errors import SiteError


def find_function(name: str, where: str, offered: Sequence[str]) -> tuple[Callable[..., object], tuple[str, ...]]:
    """Return the function `package.module:function`, and the names of its parameters. `where` begins error messages.

    Raises:
        SiteError: There is no such function, or its parameters are not all on offer, or there are none.
    """
    module_name, _, function_name = name.partition(":")
    # `python -m` and `celery` look for modules in the working directory. Last, so that no file there hides a package.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        # A module of ours that is not there has moved: only crawl_tasks.api is promised to stay.
        is_ours = isinstance(error, ImportError) and (error.name or "").startswith("crawl_tasks.")
        remedy = "import our names from crawl_tasks.api" if is_ours else "put it here or into PYTHONPATH"
        raise SiteError(f"{where}: {name!r} cannot be imported: {error}; {remedy}") from None
    # Some builtins have no signature to check.
    if not inspect.isfunction(function):
        raise SiteError(f"{where}: {name!r} is not a function; name a plain function")
    wanted = tuple(inspect.signature(function).parameters)
    odd = [parameter for parameter in wanted if parameter not in offered]
    # Parameters of these names show that a function was written for us. Nothing else may be run by a site file.
    if odd or not wanted:
        raise SiteError(f"{where}: {name!r} asks for {', '.join(odd) or 'nothing'}; offered: {', '.join(offered)}")
    return function, wanted


def place_of(error: BaseException, function: Callable[..., object]) -> str:
    """Return where in the package of a site's own function an exception came from, as "in read, line 7 of forum.py".

    That is the innermost line of the function's package: what it called in a library says less about its mistake.
    """
    package = function.__module__.partition(".")[0]
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package:
            place = f"in {frame.f_code.co_qualname}, line {line} of {frame.f_code.co_filename}"
    return place or f"in {function.__qualname__} of {function.__code__.co_filename}"


def failure_text(error: BaseException, function: Callable[..., object]) -> str:
    """Return an exception of a site's own function with its place, in one line."""
    return f"{type(error).__name__}: {error} ({place_of(error, function)})"
