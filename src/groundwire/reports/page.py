"""A page of its own: no script, no other file, no other host."""

from __future__ import annotations

from importlib.resources import files

from groundwire.reports.marks import safe


def page(title: str, *parts: str) -> str:
    """The parts under a heading, in the one style; `parts` are markup already."""
    style = files("groundwire.reports").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join(filter(None, parts))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{safe(title)}</title>
<style>
{style}</style>
</head>
<body>
<h1>{safe(title)}</h1>
{body}
</body>
</html>
"""
