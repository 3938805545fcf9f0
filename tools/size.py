"""`make size`: print files, lines, repeated class names and the number of files that a check touches."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "groundwire"

# Profiles every thread of one `groundwire check` and counts the package's files with a call at run time.
_TRACE = """
import sys, threading
files = set()
def profile(frame, event, arg):
    if event == "call" and "groundwire" in frame.f_code.co_filename and frame.f_code.co_name != "<module>":
        files.add(frame.f_code.co_filename)
from groundwire.cli.main import main
threading.setprofile(profile)
sys.setprofile(profile)
sys.argv = ["groundwire", "check", "examples/answer.md", "-s", "examples/sources/"]
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print(len(files), file=sys.stderr)
"""


def repeated_class_names() -> list[str]:
    """Class names that are defined in more than one place."""
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, count in names.items() if count > 1)


def main() -> None:
    paths = list(PACKAGE.rglob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    repeated = repeated_class_names()
    traced = subprocess.run([sys.executable, "-c", _TRACE], cwd=ROOT, capture_output=True, text=True, check=True)
    print(f"files                       {len(paths)}")
    print(f"lines                       {lines:,}")
    print(f"class names defined twice   {len(repeated)} {' '.join(repeated[:12])}")
    print(f"files touched by a check    {traced.stderr.split()[-1]}")


if __name__ == "__main__":
    main()
