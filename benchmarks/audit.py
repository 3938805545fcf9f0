"""Error rates of the trace audit on hand-written traces: sound steps flagged, unsound steps missed.

python -m benchmarks.audit                       # both sets
python -m benchmarks.audit benchmarks/traces/held_out.txt --show
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.traces.audit import audit_trace

TRACES = Path(__file__).parent / "traces"


@dataclass(frozen=True, slots=True)
class LabelledTrace:
    """`unsound` are the positions of the steps that must be flagged."""

    context: str
    steps: tuple[str, ...]
    unsound: frozenset[int]


@dataclass(frozen=True, slots=True)
class AuditRates:
    """Counts of steps; `errors` lists each misjudged step with what was said about it."""

    sound: int
    flagged: int
    unsound: int
    missed: int
    errors: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.flagged} of {self.sound} sound steps flagged ({self.flagged / self.sound:.1%}), "
            f"{self.unsound - self.missed} of {self.unsound} unsound ones caught "
            f"({1 - self.missed / self.unsound:.1%})"
        )


def read_traces(text: str) -> Iterator[LabelledTrace]:
    """Parse blocks of "context:", "-" for sound and "!" for unsound steps."""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if not lines:
            continue
        context, steps = lines[0].removeprefix("context:").strip(), lines[1:]
        unsound = frozenset(n for n, line in enumerate(steps) if line.startswith("!"))
        yield LabelledTrace(context, tuple(line[1:].strip() for line in steps), unsound)


async def measure(traces: Sequence[LabelledTrace], engine: Groundwire) -> AuditRates:
    """Audit every trace and compare each step's flag with its label."""
    errors: list[str] = []
    sound = flagged = unsound = missed = 0
    for trace in traces:
        audit = await audit_trace(engine, trace.steps, "", [trace.context] if trace.context else [])
        for n, step in enumerate(audit.steps):
            bad, said = n in trace.unsound, step.verdict.is_flagged
            unsound, missed = unsound + bad, missed + (bad and not said)
            sound, flagged = sound + (not bad), flagged + (said and not bad)
            if bad is not said:
                kind = "missed" if bad else "false alarm"
                errors.append(f"{kind}: {step.step.text} [{step.status.name}: {step.verdict.reason}]")
    return AuditRates(sound, flagged, unsound, missed, tuple(errors))


async def _run(files: Sequence[Path], *, show: bool) -> None:
    async with Groundwire(Config(), operation="trace") as engine:
        for file in files:
            traces = list(read_traces(file.read_text()))
            rates = await measure(traces, engine)
            print(f"{file.stem}: {len(traces)} traces, {rates}")
            print(*rates.errors if show else (), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, default=sorted(TRACES.glob("*.txt")))
    parser.add_argument("--show", action="store_true", help="print the misjudged steps")
    args = parser.parse_args()
    asyncio.run(_run(args.files, show=args.show))


if __name__ == "__main__":
    main()
