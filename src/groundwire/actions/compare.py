"""Where a statement and the calls it is about have different values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groundwire.actions.calls import Ledger, LedgerCall
from groundwire.actions.values import LedgerValue, read
from groundwire.actions.words import lemma
from groundwire.text.lexicon import expressions, word_set
from groundwire.text.tokens import is_stop

_OLD_VALUE, _AMOUNT_KEY, _QUANTITY_KEY, _IDENTIFIER, _LABEL = expressions(
    "actions", "old_value amount_key size_key identifier label"
)
_WEAK = word_set("id number no new time date minute hour day week per code version")
_FEW = 20  # so many tests, functions or lines of an edit are hard to count
_TOLERANCE = 0.08  # how far "about 2,500" may be from the number


@dataclass(frozen=True, slots=True)
class StatementComparison:
    """The values of a statement, the calls that it is about (`targets`, by place), and everything else."""

    text: str
    targets: Sequence[int]
    ledger: Ledger
    request: str
    verb: str = ""
    is_report: bool = False

    def difference(self) -> str:
        """A value that the calls have otherwise; empty if there is none."""
        for value in read(self.text).values:
            if value.kind in ("number", "percent") and not value.key:
                continue  # "zero errors": see the outcome of the calls
            found = self._entity(value) if value.kind in ("id", "email", "name") else self._scalar(value)
            if found:
                return found
        return ""

    @property
    def _calls(self) -> list[LedgerCall]:
        return [self.ledger.calls[place] for place in self.targets]

    def _own(self) -> list[LedgerValue]:
        return [value for call in self._calls for value in call.content.values]

    def _linked(self) -> Iterable[LedgerValue]:
        return (value for place in self.targets for value in self.ledger.linked[place].values)

    # ---- people, places, identifiers

    def _entity(self, value: LedgerValue) -> str:
        if any(names(self.ledger, place, value) for place in self.targets):
            return ""
        known = any(names(self.ledger, place, value) for place in range(len(self.ledger.calls)))
        if value.kind == "name":
            if (value.vague and not known) or self.is_report:
                return ""  # the first word of a sentence, or what some call showed
            rival = self._person(known)
            return f"the call was made for {rival}, not {value.text}" if rival else ""
        if not known and not self._asked(value) and _IDENTIFIER.fullmatch(value.text):
            return f"no call names {value.text}"
        rivals = [other for call in self._calls for other in call.given.values if _alike(value, other)]
        return f"the call names {rivals[0].text}, not {value.text}" if rivals else ""

    def _person(self, known: bool) -> str:
        """Whom the calls were made for, if the statement does not name them.

        `known`: another call names the person that the statement names.
        """
        said = set(_parts(self.text))
        for place, call in zip(self.targets, self._calls, strict=True):
            if call.people and not any(part in said for one in call.people for part in _parts(one)):
                return call.people[0]
            shown = [value.text for value in self.ledger.linked[place].values if value.kind == "name"]
            others = [one for one in shown if one.lower() not in said]
            if known and others and not call.people:
                return others[0]
        return ""

    def _asked(self, value: LedgerValue) -> bool:
        return any((other.kind, other.key) == (value.kind, value.key) for other in read(self.request).values)

    # ---- times, dates, amounts, counts

    def _scalar(self, value: LedgerValue) -> str:
        if _OLD_VALUE.search(self.text[: value.start]) and self._in_ledger(value):
            return ""
        own = self._own()
        if value.kind in ("date", "weekday", "time"):
            return self._moment(value, own)
        if value.kind in ("number", "money", "percent"):
            return self._quantity(value, own)
        return ""

    def _in_ledger(self, value: LedgerValue) -> bool:
        return (value.kind, value.key) in self.ledger.keys or not value.forms.isdisjoint(self.ledger.numbers)

    def _moment(self, value: LedgerValue, own: Sequence[LedgerValue]) -> str:
        there = [other for other in own if other.kind == value.kind]
        fits = _fits_time if value.kind == "time" else _is_same
        if any(fits(value, other) for other in there):
            return ""
        if not there and any(fits(value, other) for other in self._linked() if other.kind == value.kind):
            return ""
        if value.kind == "time" and any(re.search(r"\d\dZ\b", call.all_text) for call in self._calls):
            return ""  # in another time zone
        return f"the call says {there[0].text}, not {value.text}" if there else ""

    def _quantity(self, value: LedgerValue, own: Sequence[LedgerValue]) -> str:
        near = (value.near | {self.verb}) - _WEAK
        counted = [other for other in own if other.forms]
        alike = [one for one in counted if near & one.near or (value.kind == "money" and _is_amount(one))]
        if any(_fits(value, other) for other in counted) or self._is_written(value):
            return ""
        label = self._label(value)
        named = [other for other in counted if label in other.near] if label else []
        linked = any(_fits(value, other) for other in self._linked() if other.forms)
        if named and not linked:
            return f"the call names {label} {named[0].text}, not {value.text}"
        if linked and not (value.kind == "money" and alike):
            return ""
        raw = float(str(value.key))
        has_count = any(raw in call.counts for call in self._calls)
        if alike and not has_count:
            meant = any(near & other.near and _fits(value, other) for other in self._others())
            return "" if meant and value.kind != "money" else f"the call says {alike[0].text}, not {value.text}"
        if any(_fits(value, other) for other in self._others()):
            return ""
        if self._is_counted(value):
            sizes = [v for c in self._calls for v in c.given.values if v.forms and _is_quantity(v)]
            is_size = sizes and self._asked_number(value) and not has_count
            return f"the call says {sizes[0].text}, not {value.text}" if is_size else ""
        if (
            (self._asked_number(value) and not counted)
            or (raw <= 3 and self.is_report)
            or (raw <= _FEW and any(c.is_file_tool for c in self._calls))
        ):
            return ""
        return f"no call says {value.text}"

    def _is_written(self, value: LedgerValue) -> bool:
        """True for the number of an address or a path of the calls."""
        digits = re.sub(r"\D", "", value.text)
        return len(digits) > 1 and any(re.search(rf"(?<!\d){digits}(?!\d)", call.low) for call in self._calls)

    def _label(self, value: LedgerValue) -> str:
        """The noun of "SKU 8841", "room 12": such a number names a thing."""
        found = _LABEL.search(self.text[: value.start])
        noun = found[1] if found else None
        return lemma(noun) if noun and value.kind == "number" and not is_stop(noun.lower()) else ""

    def _others(self) -> Iterable[LedgerValue]:
        others = (call for place, call in enumerate(self.ledger.calls) if place not in self.targets)
        return (value for call in others for value in call.content.values if value.forms)

    def _asked_number(self, value: LedgerValue) -> bool:
        return any(not value.forms.isdisjoint(other.forms) for other in read(self.request).values)

    def _is_counted(self, value: LedgerValue) -> bool:
        raw = float(str(value.key))
        loose = _TOLERANCE if value.vague else 0.0
        return any(abs(raw - other) <= loose * other for other in self.ledger.counts)


def names(ledger: Ledger, place: int, value: LedgerValue) -> bool:
    """True if a call, or a record about what it names, has this person, place or identifier."""
    linked = ledger.linked[place]
    if _is_in(ledger.calls[place], value):
        return True
    if value.kind == "name":
        return lemma(str(value.key)) in linked.stems or any(_bare(value) in stem for stem in linked.stems)
    return any(other.key == value.key for other in linked.values)


def _is_in(call: LedgerCall, value: LedgerValue) -> bool:
    if value.kind == "name":
        return _bare(value) in call.low
    found = any(other.key == value.key for other in call.content.values)
    return found or bool(re.search(rf"(?<![\w-]){re.escape(str(value.key))}(?![\w-])", call.low))


def _bare(value: LedgerValue) -> str:
    key = str(value.key)
    return key.removesuffix("s") if len(key) > 4 else key


def _alike(value: LedgerValue, other: LedgerValue) -> bool:
    """True for two identifiers of one series, or two addresses."""
    if value.kind != other.kind:
        return False
    shape = [re.sub(r"\d+", "0", str(one.key)) for one in (value, other)]
    return value.kind == "email" or shape[0] == shape[1] or all(one.startswith("#") for one in shape)


def _parts(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{2,}", re.sub(r"@\S+", "", text.lower()))


def covers(ledger: Ledger, place: int, stem: str) -> bool:
    return ledger.calls[place].covers(stem) or stem in ledger.linked[place].stems


def touches(ledger: Ledger, place: int, stem: str) -> bool:
    """The same, or a word with the same beginning: `search_docs` touches documentation."""
    stems = ledger.calls[place].content.stems
    return covers(ledger, place, stem) or any(
        len(one) > 2 and (stem.startswith(one) or one.startswith(stem[:5])) for one in stems
    )


def _is_same(value: LedgerValue, other: LedgerValue) -> bool:
    return value.key == other.key


def _fits_time(value: LedgerValue, other: LedgerValue) -> bool:
    one, two = int(str(value.key)), int(float(str(other.key)))
    open_half = not re.search(r"[ap]\.?m", value.text, re.IGNORECASE)
    return one == two or (open_half and abs(one - two) == 720)


def _fits(value: LedgerValue, other: LedgerValue) -> bool:
    if not value.forms.isdisjoint(other.forms):
        return True
    loose = value.vague
    return loose and any(abs(one - two) <= _TOLERANCE * abs(two) for one in value.forms for two in other.forms)


def _is_quantity(value: LedgerValue) -> bool:
    return bool(_QUANTITY_KEY.search(" ".join(value.near)))


def _is_amount(value: LedgerValue) -> bool:
    return value.kind == "money" or bool(value.near and _AMOUNT_KEY.search(" ".join(value.near)))


def related(text: str, ledger: Ledger, place: int) -> float:
    """How much a call has in common with a statement: its rarer words, and the things it names."""
    said = read(text)
    call, linked = ledger.calls[place], ledger.linked[place]
    score = 0.0
    for stem in said.stems:
        if call.covers(stem):
            score += ledger.weights.get(stem, 0.5)
        elif stem in linked.stems:
            score += 0.9 * ledger.weights.get(stem, 0.5)
    for value in said.values:
        if value.kind in ("id", "email", "name", "path"):
            score += 1.5 if _is_in(call, value) else 0.9 * names(ledger, place, value)
        elif value.kind == "number" and _LABEL.search(text[: value.start]):
            score += 1.5 * any(not value.forms.isdisjoint(other.forms) for other in call.given.values)
    return score
