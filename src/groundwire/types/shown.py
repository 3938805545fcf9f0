"""How results show themselves in a notebook: an open function that the reports' layer fills in.

`reports/notebook.py` registers what each kind of result looks like, and the engine loads it, so that every
result somebody can hold has a look; the nouns themselves know nothing of HTML.
"""

from __future__ import annotations

from functools import singledispatch


@singledispatch
def as_html(result: object) -> str | None:  # noqa: ARG001 (what has no look of its own is shown as text)
    """The result as a piece of HTML; None where nobody said how."""
    return None


def repr_html(self: object) -> str | None:
    """What notebooks call, as a result's `_repr_html_`."""
    return as_html(self)
