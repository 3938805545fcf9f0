"""Console sessions in the documents: run them, and compare or rewrite what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSOLE = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.M | re.S)
END_OF_OUTPUT = "\x01"
WIDTH = "110"
DECIMAL = re.compile(r"\d+\.\d+")
TOLERANCE = 0.02


def steps(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with the output shown for it."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            command, output = found[-1]
            found[-1] = (command, f"{output}{line}\n")
    return found


def run(commands: list[str]) -> list[str]:
    """Run them in one shell, as a reader would, and cut the output where each ends."""
    marked = (f"{command}\n__code=$?; printf '{END_OF_OUTPUT}'; (exit $__code)" for command in commands)
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": WIDTH,
            "GROUNDWIRE_STORE__CACHE_PATH": str(Path(folder) / "cache.db"),
            "GROUNDWIRE_STORE__URL": str(Path(folder) / "groundwire.db"),
            "GROUNDWIRE_RAG__PATH": str(Path(folder) / "rag.db"),
        }
        done = subprocess.run(
            ["bash", "-c", "\n".join(marked)],
            cwd=ROOT,
            env=environment,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    shown = done.stdout.replace(folder, ".groundwire")  # where a reader's files are
    return [tidy(output) for output in shown.split(END_OF_OUTPUT)[: len(commands)]]


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def same(shown: str, output: str) -> bool:
    """The same text; figures may differ by what another processor's arithmetic makes of them.

    >>> same("risk 0.9161", "risk 0.9163"), same("risk 0.9161", "risk 0.8161"), same("a 1.0", "b 1.0")
    (True, False, False)
    """
    if DECIMAL.sub("#", shown) != DECIMAL.sub("#", output):
        return False
    pairs = zip(DECIMAL.findall(shown), DECIMAL.findall(output), strict=True)
    return all(abs(float(a) - float(b)) <= TOLERANCE for a, b in pairs)


def refreshed(document: str) -> str:
    """The document with every session's output as it is today."""

    def again(match: re.Match[str]) -> str:
        commands = [command for command, _ in steps(match[1])]
        pairs = zip(commands, run(commands), strict=True)
        return "".join(f"$ {command}\n{output}\n" if output else f"$ {command}\n" for command, output in pairs)

    return CONSOLE.sub(again, document)
