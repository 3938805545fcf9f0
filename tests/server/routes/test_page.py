"""The pages as they are sent: complete, small, with a strict policy and nothing from other hosts."""

from __future__ import annotations

import re

import pytest
from tests.serving import Served

from groundwire.server.middleware import CSP
from groundwire.server.routes.page import ASSETS

PAGES = ["/", "/r/anything", "/audit"]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_a_strict_content_security_policy(plain: Served, path: str) -> None:
    answer = plain.client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == CSP
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert plain.client.head(path).status_code == 200


@pytest.mark.parametrize("name", [name for name in ASSETS if name.endswith(".html")])
def test_a_page_has_no_inline_script_or_style_and_no_other_host(name: str) -> None:
    text = ASSETS[name].body.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
    assert all(re.match(r'<script (type="module" )?src="/page/\w+\.js"></script>', tag) for tag in _scripts(text))
    assert "{{" not in text
    assert "http:" not in text
    assert "https:" not in text


def _scripts(text: str) -> list[str]:
    return re.findall(r"<script.*?</script>", text, re.DOTALL)


def test_no_script_parses_or_evaluates_text() -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|DOMParser"
    for name, asset in ASSETS.items():
        if name.endswith(".js"):
            assert not re.search(forbidden, asset.body.decode()), name
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", asset.body.decode()), name


def test_every_file_that_a_page_references_exists(plain: Served) -> None:
    named = set()
    for asset in ASSETS.values():
        text = asset.body.decode()
        named |= set(re.findall(r'(?:href|src)="/page/([\w.]+)"', text))
        named |= set(re.findall(r'from "\./([\w.]+)"', text))
    assert {"page.css", "theme.js", "view.js", "icon.svg"} <= named
    for name in named:
        assert plain.client.get(f"/page/{name}").status_code == 200, name


def test_ids_used_by_scripts_are_in_their_page() -> None:
    shared = ASSETS["check.js"].body.decode() + ASSETS["compose.js"].body.decode()
    page = ASSETS["check.html"].body.decode()
    made_by_script = {"verdict"}
    for identity in set(re.findall(r'\$\("([\w-]+)"\)', shared)) - made_by_script:
        assert f'id="{identity}"' in page, identity


def test_all_assets_together_are_small() -> None:
    assert sum(len(asset.gzipped) for asset in ASSETS.values()) < 60_000


def test_unchanged_files_are_not_sent_again(plain: Served) -> None:
    first = plain.client.get("/page/page.css")
    again = plain.client.get("/page/page.css", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == "no-cache"


def test_clients_without_gzip_get_the_plain_file(plain: Served) -> None:
    packed = plain.client.get("/page/view.js")
    bare = plain.client.get("/page/view.js", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in bare.headers
    assert packed.text == bare.text


@pytest.mark.parametrize("name", ["nothing.js", "shell.html", "check.html", "..%2Fapp.py", "__init__.py"])
def test_no_other_file_is_served(plain: Served, name: str) -> None:
    assert plain.client.get(f"/page/{name}").status_code == 404


def test_the_page_reads_the_settings(plain: Served) -> None:
    told = plain.client.get("/page/settings.json").json()
    assert (told["keep_reports"], told["keep_days"], told["max_source_bytes"]) == (True, 30, 200_000)


def _colours(theme: int) -> dict[str, tuple[float, ...]]:
    """The colours of the light theme (0) or the dark one (1)."""
    pairs = re.findall(r"--([\w-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);", ASSETS["design.css"].body.decode())
    return {name: tuple(int(codes[theme][at : at + 2], 16) / 255 for at in (0, 2, 4)) for name, *codes in pairs}


def _contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The contrast ratio of WCAG 2."""

    def light(colour: tuple[float, ...]) -> float:
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    darker, lighter = sorted((light(one), light(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_text_colours_have_enough_contrast(theme: int) -> None:
    colour = _colours(theme)
    pairs = [(ink, on) for ink in ("ink", "soft", "accent") for on in ("paper", "card", "sunk")]
    for tone in ("good", "bad", "warn", "odd", "none"):
        pairs += [(tone, "paper"), (tone, "card"), (tone, f"{tone}-soft")]
        pairs += [("ink", f"{tone}-soft"), ("ink", f"{tone}-deep")]
    low = {pair: round(found, 2) for pair in pairs if (found := _contrast(colour[pair[0]], colour[pair[1]])) < 4.5}
    assert low == {}
