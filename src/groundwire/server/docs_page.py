"""The page that tells of the HTTP interface: made from the OpenAPI document, plain HTML and no script."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from groundwire.server.openapi import operations
from groundwire.server.problems import KINDS

_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")

STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent);
        --soft: color-mix(in srgb, currentColor 6%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; }
nav ul { columns: 18rem; list-style: none; padding: 0; }
article { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
h3 code { font-size: 1rem; }
.method { font-weight: 700; margin-inline-end: .5rem; }
pre, .fields { overflow-x: auto; }
pre { background: var(--soft); padding: .75rem; border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: start; vertical-align: top; padding: .3rem .6rem .3rem 0; }
td { border-top: 1px solid var(--line); }
code { font-family: ui-monospace, monospace; font-size: .92em; }
caption { text-align: start; font-weight: 600; padding-top: .6rem; }
dt { font-weight: 600; margin-top: .5rem; }
"""


def docs_page(document: Mapping[str, Any], at: str) -> str:
    """The whole page; `at` is the address it was asked for at."""
    tags = _tags(document)
    links = "".join(
        f'<li><a href="#{escape(op["operationId"])}"><b>{escape(method.upper())}</b> {escape(path)}</a></li>'
        for tag in tags
        for path, method, op in _tagged(tag["name"], document)
    )
    described = [_tag(tag, document, at) for tag in tags]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>groundwire: HTTP</title><link rel="stylesheet" href="/docs/style.css">
<link rel="icon" href="data:,"></head>
<body><h1>groundwire {escape(document["info"]["version"])}</h1>
<p>{escape(document["info"].get("summary", ""))}
The same for programs: <a href="/openapi.json">openapi.json</a>.</p>
{_prose(document["info"].get("description", ""))}
<nav aria-label="operations"><ul>{links}</ul></nav>
<main>{"".join(described)}
<h2 id="types">Types</h2>
{"".join(_defined(name, schema) for name, schema in document["components"]["schemas"].items())}
<h2 id="problems">Problems</h2>
<p>Every error is <code>application/problem+json</code>; its <code>type</code> leads here.</p>
<dl>{"".join(_kind(name) for name in KINDS)}</dl></main></body></html>
"""


def _tags(document: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """Those that are described, then whatever else an operation carries first."""
    known = list(document.get("tags", ()))
    used = (op["tags"][0] for _, _, op in operations(dict(document)) if op.get("tags"))
    names = dict.fromkeys([*(tag["name"] for tag in known), *used])
    about = {tag["name"]: tag for tag in known}
    return [about.get(name, {"name": name}) for name in names]


def _kind(name: str) -> str:
    kind = KINDS[name]
    return f'<dt id="problem-{name}">{kind.status} <code>{name}</code></dt><dd>{escape(kind.title)}.</dd>'


def _tagged(tag: str, document: Mapping[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [found for found in operations(dict(document)) if found[2].get("tags", [""])[0] == tag]


def _defined(name: str, schema: Mapping[str, Any]) -> str:
    about = _prose(schema.get("description", ""))
    kinds = "" if "properties" in schema else f"<p>{_type(schema)}</p>"
    parts = f"<h3>{escape(name)}</h3>{about}{kinds}{_fields('', schema)}"
    return f'<article id="type-{escape(name)}">{parts}</article>'


def _tag(tag: Mapping[str, str], document: Mapping[str, Any], at: str) -> str:
    own = _tagged(tag["name"], document)
    articles = "".join(_operation(*found, document, at) for found in own)
    return (
        f"<h2>{escape(tag['name'])}</h2><p>{escape(tag.get('description', ''))}</p>{articles}" if own else ""
    )


def _operation(
    path: str, method: str, operation: Mapping[str, Any], document: Mapping[str, Any], at: str
) -> str:
    asked = _resolved(_body_schema(operation), document)
    answer = _resolved(_answer_schema(operation), document)
    parts = [_prose(operation.get("description", "")), _parameters(operation)]
    if asked:
        parts += [_example(at + path, asked), _fields("Takes", asked)]
    if answer:
        parts.append(_fields("Answers", answer))
    statuses = ", ".join(status for status in operation["responses"] if not status.startswith("2"))
    if statuses:
        parts.append(f'<p>Problems: <a href="#problems">{statuses}</a>.</p>')
    head = f'<span class="method">{escape(method.upper())}</span><code>{escape(path)}</code>'
    title = f"<p><b>{escape(operation.get('summary', ''))}</b></p>"
    return (
        f'<article id="{escape(operation["operationId"])}"><h3>{head}</h3>{title}{"".join(parts)}</article>'
    )


def _body_schema(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (
        operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    )
    return found


def _answer_schema(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    for status in ("200", "201"):
        content = operation["responses"].get(status, {}).get("content", {}).get("application/json", {})
        if content.get("schema"):
            found: Mapping[str, Any] = content["schema"]
            return found
    return {}


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found: Mapping[str, Any] = document["components"]["schemas"].get(name, schema) if name else schema
    return found


def _example(address: str, schema: Mapping[str, Any]) -> str:
    examples = schema.get("examples")
    if not examples:
        return ""
    body = json.dumps(examples[0], ensure_ascii=False, indent=1)
    call = f"curl {address} -H 'content-type: application/json' -d '{body}'"
    return f"<pre><code>{escape(call)}</code></pre>"


def _parameters(operation: Mapping[str, Any]) -> str:
    rows = [
        (one["name"], _type(one.get("schema", {})), one.get("description", "") or one["in"])
        for one in operation.get("parameters", ())
    ]
    return _table("Parameters", rows)


def _fields(title: str, schema: Mapping[str, Any]) -> str:
    rows = [
        (name, _type(field), str(field.get("description", "")))
        for name, field in schema.get("properties", {}).items()
    ]
    return _table(title, rows)


def _table(title: str, rows: list[tuple[str, str, str]]) -> str:
    if not rows:
        return ""
    cells = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{kind}</td><td>{_marked(about)}</td></tr>"
        for name, kind, about in rows
    )
    caption = f"<caption>{title}</caption>" if title else ""
    return f'<div class="fields"><table>{caption}<tbody>{cells}</tbody></table></div>'


def _type(schema: Mapping[str, Any]) -> str:
    """A schema in a word or two, as HTML; that a value may be left out goes without saying."""
    return " or ".join(dict.fromkeys(kind for kind in _kinds(schema) if kind != "null"))


def _kinds(schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        name = escape(str(schema["$ref"]).rpartition("/")[2])
        yield f'<a href="#type-{name}">{name}</a>'
    elif "anyOf" in schema:
        for part in schema["anyOf"]:
            yield from _kinds(part)
    elif "enum" in schema:
        yield " | ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    elif schema.get("type") == "array":
        yield f"list of {_type(schema.get('items', {})) or 'anything'}"
    else:
        yield escape(str(schema.get("type", "anything")))


def _prose(text: str) -> str:
    paragraphs = (part for part in text.split("\n\n") if part.strip())
    return "".join(f"<p>{_marked(part)}</p>" for part in paragraphs)


def _marked(text: str) -> str:
    return _STRONG.sub(r"<b>\1</b>", _CODE.sub(r"<code>\1</code>", escape(text)))
