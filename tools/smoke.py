"""`make wheel`: build the wheel, install it into an empty environment, and use it as a stranger would."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "transformers", "tensorflow", "scikit-learn", "openai", "anthropic")
MAX_WHEEL_BYTES = 60_000_000


def run(*command: str | Path, cwd: Path, expect: int = 0) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != expect:
        raise SystemExit(f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path) -> Path:
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, cwd=ROOT)
    wheel = next(folder.glob("*.whl"))
    if wheel.stat().st_size > MAX_WHEEL_BYTES:
        raise SystemExit(f"the wheel has {wheel.stat().st_size:,} bytes")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "reports/templates/design.css",
        "reports/templates/report.html",
        "server/page/page.css",
        "server/page/shell.html",
    ):
        if f"groundwire/{needed}" not in names:
            raise SystemExit(f"the wheel lacks {needed}")
    return wheel


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="groundwire-smoke-"))
    try:
        wheel = build(folder)
        venv.create(folder / "env", with_pip=True)
        binaries = folder / "env" / "bin"
        run(binaries / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
        installed = {row["name"].lower() for row in json.loads(_list(binaries, folder))}
        if heavy := installed.intersection(HEAVY):
            raise SystemExit(f"the core install pulls {sorted(heavy)}")
        source = "The population of France is 67 million."
        run(binaries / "groundwire", "check", source, "-s", source, cwd=folder)
        wrong = "The population of France is 999 million."
        report = json.loads(run(binaries / "groundwire", "check", wrong, "-s", source, "--json", cwd=folder, expect=1))
        if report["claims"][0]["status"] != "CONTRADICTED":
            raise SystemExit(f"unexpected verdict: {report}")
        run(binaries / "groundwire", "doctor", cwd=folder)
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, installs {len(installed)} packages, works")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _list(binaries: Path, folder: Path) -> str:
    return run(binaries / "python", "-m", "pip", "list", "--format=json", cwd=folder)


if __name__ == "__main__":
    main()
