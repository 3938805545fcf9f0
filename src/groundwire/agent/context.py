"""How code looks into the context files. The same text runs in a plain REPL and inside the sandbox.

It must stay what the sandbox understands (plain functions, `re`), and inside it a pattern that never ends
runs into the sandbox's time limit instead of the host's patience.
"""

import re


def read(files: dict[str, str], name: str, start: int = 0, end: int | None = None) -> str:
    """A file's text, or the characters from `start` to `end` of it."""
    if name not in files:
        raise KeyError(f"no file is called {name}; there are: {', '.join(sorted(files)) or 'none'}")
    return files[name][start:end]


def search(files: dict[str, str], pattern: str, limit: int = 20) -> list[str]:
    """The lines that match a regular expression, upper and lower case alike, as "file:line: text"."""
    wanted = re.compile(pattern, re.IGNORECASE)
    found: list[str] = []
    for name, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if len(found) == limit:
                return found
            if wanted.search(line):
                found.append(f"{name}:{number}: {line.strip()[:400]}")
    return found
