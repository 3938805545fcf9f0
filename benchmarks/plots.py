"""The two pictures of the quality figures, as SVG drawn by hand: the same figures give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from groundwire.bench import measures
from groundwire.bench.measures import HEADLINE, OURS, Answers, Judged

WIDTH, HEIGHT = 640, 420
LEFT, TOP, SIDE = 64, 36, 330
COLOURS = ("#0b5fa5", "#c2410c", "#4d7c0f", "#7e22ce", "#6b7280")
"""Told apart by their lightness too."""


@dataclass(frozen=True, slots=True)
class Series:
    """A named line through the unit square; `sizes` draws dots on it, `mark` is one point that stands out."""

    name: str
    points: Sequence[tuple[float, float]]
    sizes: Sequence[float] = ()
    mark: tuple[float, float] | None = None


def reliability_plot(sets: Sequence[Judged]) -> str:
    """Stated risk against the share that was really unsupported; the diagonal is honesty."""
    chosen = [s for s in sets if s.name == HEADLINE], [s for s in sets if s.name != HEADLINE]
    series = []
    for group, name in zip(chosen, ("RAGTruth", "other sets" if chosen[0] else "all sets"), strict=True):
        bad, risk = _ours(group)
        if len(bad):
            bins = measures.reliability(bad, risk)
            error = measures.calibration_error(bad, risk)
            sizes = [2 + 8 * float(np.sqrt(b.rows / len(bad))) for b in bins]
            label = f"{name} ({len(bad):,} rows, error {error:.3f})"
            series.append(Series(label, [(b.stated, b.true) for b in bins], sizes))
    return chart("Does the risk mean what it says?", "stated risk", "share unsupported", series, diagonal=True)


def precision_recall(bad: measures.Flags, score: measures.Scores) -> tuple[measures.Scores, measures.Scores]:
    """Recall and precision for each threshold, from the highest score down."""
    values, place = np.unique(-score, return_inverse=True)
    flagged = np.cumsum(np.bincount(place, minlength=len(values))).astype(np.float64)
    hits = np.cumsum(np.bincount(place, weights=bad.astype(np.float64), minlength=len(values)))
    return hits / max(1, int(bad.sum())), hits / np.maximum(flagged, 1)


def precision_recall_plot(sets: Sequence[Judged]) -> str:
    """Every threshold of each system that scores; the dot is the operating point that ships."""
    headline = [s for s in sets if s.name == HEADLINE] or list(sets)
    systems = list(dict.fromkeys(name for s in headline for name in s.answers if name != "flag all"))
    series = []
    for system in sorted(systems, key=lambda name: name != OURS):
        bad, risk, flagged = _answers(headline, system)
        if bad.any():
            found, exact = precision_recall(bad, risk)
            mark = None
            if flagged is not None and flagged.any():
                mark = (measures.recall(bad, flagged), measures.precision(bad, flagged))
            label = f"{system} (AUROC {measures.auroc(bad, risk):.2f})"
            series.append(Series(label, _thinned(found, exact), mark=mark))
    title = f"Unsupported answers found, {'RAGTruth' if headline[0].name == HEADLINE else 'all sets'}"
    return chart(title, "recall", "precision", series)


def _ours(sets: Sequence[Judged]) -> tuple[measures.Flags, measures.Scores]:
    bad, risk, _ = _answers(sets, OURS)
    return bad, risk


def _answers(sets: Sequence[Judged], system: str) -> tuple[measures.Flags, measures.Scores, measures.Flags | None]:
    none: Answers = ()
    told = [
        (row.bad, said)
        for s in sets
        for row, said in zip(s.rows, s.answers.get(system, none), strict=False)
        if said is not None
    ]
    flags = [said.flagged for _, said in told]
    return (
        np.array([bad for bad, _ in told], bool),
        np.array([said.risk for _, said in told], np.float64),
        np.array(flags, bool) if flags and None not in flags else None,
    )


def _thinned(
    found: measures.Scores, exact: measures.Scores, start: float = 0.02, most: int = 150
) -> list[tuple[float, float]]:
    """Enough points for a line, without the first few rows, whose precision says nothing."""
    kept = np.flatnonzero(found >= start)
    chosen = kept[np.unique(np.linspace(0, len(kept) - 1, min(most, len(kept))).round().astype(int))]
    return [(float(found[n]), float(exact[n])) for n in chosen]


def chart(title: str, across: str, up: str, series: Sequence[Series], *, diagonal: bool = False) -> str:
    """Lines in the unit square, with a legend to the right."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="#1f2937">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 22, title, size=15, weight=600),
        *_axes(across, up),
    ]
    if diagonal:
        parts.append(_line([(0.0, 0.0), (1.0, 1.0)], "#9ca3af", dash="4 4"))
    for number, one in reversed(list(enumerate(series))):  # the first lies on top
        parts += _drawn(one, COLOURS[number % len(COLOURS)], number)
    if any(one.mark for one in series):
        parts.append(_text(LEFT + SIDE + 22, TOP + 14 + 40 * len(series), "● flagged as shipped", size=11))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axes(across: str, up: str) -> list[str]:
    parts = []
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        x, y = _place((tick, tick))
        parts.append(_line([(tick, 0.0), (tick, 1.0)], "#e5e7eb"))
        parts.append(_line([(0.0, tick), (1.0, tick)], "#e5e7eb"))
        parts.append(_text(x, TOP + SIDE + 16, f"{tick:.1f}", anchor="middle"))
        parts.append(_text(LEFT - 8, y + 4, f"{tick:.1f}", anchor="end"))
    parts.append(_text(LEFT + SIDE / 2, TOP + SIDE + 36, across, anchor="middle"))
    middle = TOP + SIDE / 2
    turned = f'text-anchor="middle" transform="rotate(-90 18 {middle})"'
    return [*parts, f'<text x="18" y="{middle}" {turned}>{escape(up)}</text>']


def _drawn(one: Series, colour: str, number: int) -> list[str]:
    dots = zip(one.points, one.sizes, strict=True) if one.sizes else ()
    parts = [_line(one.points, colour, width=2.0 if number == 0 else 1.4)]
    parts += [_dot(point, size, colour, opacity=0.75) for point, size in dots]
    if one.mark:
        parts.append(_dot(one.mark, 5.5, colour))
    y = TOP + 14 + 40 * number
    name, _, rest = one.name.partition(" (")
    x = LEFT + SIDE + 22
    parts.append(f'<rect x="{x}" y="{y - 9}" width="16" height="4" rx="2" fill="{colour}"/>')
    parts.append(_text(x + 24, y - 2, name, weight=600))
    parts.append(_text(x + 24, y + 13, rest.removesuffix(")"), size=11))
    return parts


def _place(point: tuple[float, float]) -> tuple[float, float]:
    return round(LEFT + SIDE * point[0], 1), round(TOP + SIDE * (1 - point[1]), 1)


def _line(points: Sequence[tuple[float, float]], colour: str, *, width: float = 1.0, dash: str = "") -> str:
    path = " ".join(f"{x},{y}" for x, y in map(_place, points))
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>'


def _dot(point: tuple[float, float], radius: float, colour: str, *, opacity: float = 1.0) -> str:
    x, y = _place(point)
    look = f'fill="{colour}" fill-opacity="{opacity}" stroke="#ffffff" stroke-width="1.5"'
    return f'<circle cx="{x}" cy="{y}" r="{radius:.1f}" {look}/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, weight: int = 400) -> str:
    look = f'text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x}" y="{y}" {look}>{escape(text)}</text>'
