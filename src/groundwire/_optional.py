"""Optional parts, imported when first used, with the install line where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from groundwire.errors import MissingExtra


def load(target: str, *, feature: str, extra: str) -> Any:
    """The object at "module:attr" ("module" alone gives the module); a missing package is `MissingExtra`.

    >>> load("math:sqrt", feature="roots", extra="maths")(9)
    3.0
    >>> load("no_such_package:thing", feature="backend 'x'", extra="x")
    Traceback (most recent call last):
    groundwire.errors.MissingExtra: backend 'x' needs the extra 'x': pip install 'groundwire[x]'
    """
    module, _, attribute = target.partition(":")
    try:
        loaded = import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "groundwire":
            raise  # our own module is missing: a mistake here, and no install would help
        raise MissingExtra(feature, extra) from error
    except ImportError as error:
        raise MissingExtra(feature, extra) from error
    return getattr(loaded, attribute) if attribute else loaded
