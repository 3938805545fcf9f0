"""Where a statement and the calls it is about have different values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groundwire.actions.calls import LedgerCall
from groundwire.actions.ledger import Ledger
from groundwire.actions.values import Content, Value, read
from groundwire.actions.words import lemma
from groundwire.text.lexicon import expressions, word_set
from groundwire.text.tokens import is_stop

_OLD_VALUE, _AMOUNT_KEY, _PERSON_KEY, _IDENTIFIER, _SCALED, _LABEL = expressions(
    "actions", "old_value amount_key person_key identifier scaled label"
)
_WEAK = word_set("id number no new time date minute hour day week per code version")
_TOLERANCE = 0.08  # how far "about 2,500" may be from the number


@dataclass(frozen=True, slots=True)
class Comparison:
    """The values of a statement, the calls that it is about (`targets`, by place), and everything else."""

    text: str
    targets: Sequence[int]
    ledger: Ledger
    request: str
    verb: str = ""

    def difference(self) -> str:
        """A value that the calls have otherwise; empty if there is none."""
        for value in read(self.text).values:
            found = self._entity(value) if value.kind in ("id", "email", "name") else self._scalar(value)
            if found:
                return found
        return ""

    @property
    def _calls(self) -> list[LedgerCall]:
        return [self.ledger.calls[place] for place in self.targets]

    def _own(self) -> list[Value]:
        return [value for call in self._calls for value in call.content.values]

    def _linked(self) -> Iterable[Value]:
        return (value for place in self.targets for value in self.ledger.linked(place).values)

    # ---- people, places, identifiers

    def _entity(self, value: Value) -> str:
        if any(names(self.ledger, place, value) for place in self.targets):
            return ""
        known = any(names(self.ledger, place, value) for place in range(len(self.ledger.calls)))
        if value.kind == "name":
            if value.vague and not known:
                return ""  # the first word of a sentence
            rival = self._other_person()
            return f"the call was made for {rival}, not {value.text}" if rival else ""
        if not known and not self._asked(value) and _IDENTIFIER.fullmatch(value.text):
            return f"no call names {value.text}"
        rivals = [other for call in self._calls for other in call.given.values if _alike(value, other)]
        return f"the call names {rivals[0].text}, not {value.text}" if rivals else ""

    def _other_person(self) -> str:
        """Whom the calls were made for, in an argument that names a person."""
        said = self.text.lower()
        for call in self._calls:
            for key, given in call.fields.items():
                texts = given if isinstance(given, list) else [given]
                for one in texts:
                    is_name = isinstance(one, str) and re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][\w.'-]+)*|\S+@\S+", one)
                    if is_name and _PERSON_KEY.search(key) and not any(
                        part in said for part in re.findall(r"[a-z]{3,}", one.lower().split("@")[0])
                    ):
                        return str(one)
        return ""

    def _asked(self, value: Value) -> bool:
        return any((other.kind, other.key) == (value.kind, value.key) for other in read(self.request).values)

    # ---- times, dates, amounts, counts

    def _scalar(self, value: Value) -> str:
        if _OLD_VALUE.search(self.text[: value.start]) and self._in_ledger(value):
            return ""
        own = self._own()
        if value.kind in ("date", "weekday", "time"):
            return self._moment(value, own)
        if value.kind in ("number", "money", "percent"):
            return self._quantity(value, own)
        return ""

    def _in_ledger(self, value: Value) -> bool:
        return (value.kind, value.key) in self.ledger.keys or not value.forms.isdisjoint(self.ledger.numbers)

    def _moment(self, value: Value, own: Sequence[Value]) -> str:
        there = [other for other in own if other.kind == value.kind]
        fits = _fits_time if value.kind == "time" else _is_same
        if any(fits(value, other) for other in there):
            return ""
        if not there and any(fits(value, other) for other in self._linked() if other.kind == value.kind):
            return ""
        if value.kind == "time":
            zoned = any(re.search(r"\d\dZ\b", call.all_text) for call in self._calls)
            if zoned or self._is_end(value, own):
                return ""
        if there:
            return f"the call says {there[0].text}, not {value.text}"
        if value.kind == "weekday" or self._in_ledger(value) or self._asked(value):
            return ""
        if any(kind == value.kind for kind, _ in self.ledger.keys) and self.targets:
            return f"no call says {value.text}"
        return ""

    @staticmethod
    def _is_end(value: Value, own: Sequence[Value]) -> bool:
        """True if a start and a duration of the call make this time."""
        starts = [int(str(other.key)) for other in own if other.kind == "time"]
        return any(
            _fits_time(value, other._replace(kind="time", key=(start + form) % 1440))
            for other in own
            if other.kind == "number"
            for form in other.forms
            if form <= 720
            for start in starts
        )

    def _quantity(self, value: Value, own: Sequence[Value]) -> str:
        near = (value.near | {self.verb}) - _WEAK
        counted = [other for other in own if other.forms]
        alike = [one for one in counted if near & one.near or (value.kind == "money" and _is_amount(one))]
        if any(_fits(value, other) for other in counted) or self._is_hour(value):
            return ""
        label = self._label(value)
        named = [other for other in counted if label in other.near] if label else []
        linked = any(_fits(value, other) for other in self._linked() if other.forms)
        if named and not linked:
            return f"the call names {label} {named[0].text}, not {value.text}"
        if linked and not (value.kind == "money" and alike):
            return ""
        raw = float(str(value.key))
        if alike and not any(raw in call.counts for call in self._calls):
            meant = any(near & other.near and _fits(value, other) for other in self._others())
            return "" if meant and value.kind != "money" else f"the call says {alike[0].text}, not {value.text}"
        if any(_fits(value, other) for other in self._others()) or self._is_counted(value):
            return ""
        if self._asked_number(value) and not counted:
            return ""
        return f"no call says {value.text}"

    def _label(self, value: Value) -> str:
        """The noun of "SKU 8841", "room 12": such a number names a thing."""
        found = _LABEL.search(self.text[: value.start])
        noun = found[1] if found else None
        return lemma(noun) if noun and value.kind == "number" and not is_stop(noun.lower()) else ""

    def _others(self) -> Iterable[Value]:
        others = (call for place, call in enumerate(self.ledger.calls) if place not in self.targets)
        return (value for call in others for value in call.content.values if value.forms)

    def _asked_number(self, value: Value) -> bool:
        return any(not value.forms.isdisjoint(other.forms) for other in read(self.request).values)

    def _is_counted(self, value: Value) -> bool:
        raw = float(str(value.key))
        loose = _TOLERANCE if value.vague else 0.0
        return any(abs(raw - other) <= loose * other for other in self.ledger.counts)

    def _is_hour(self, value: Value) -> bool:
        """ "from two to four", "at six": a number that is a time of the call."""
        raw = float(str(value.key))
        times = {int(str(o.key)) for call in self.ledger.calls for o in call.content.values if o.kind == "time"}
        return raw % 1 == 0 and raw <= 24 and any(t in times for t in (int(raw) * 60, int(raw) * 60 + 720))


def names(ledger: Ledger, place: int, value: Value) -> bool:
    """True if a call, or a record about what it names, has this person, place or identifier."""
    call, linked = ledger.calls[place], ledger.linked(place)
    key = str(value.key)
    if value.kind == "name":
        plain = key.removesuffix("s") if len(key) > 4 else key
        return plain in call.low or any(plain in stem for stem in linked.stems)
    return any(other.key == value.key for other in (*call.content.values, *linked.values)) or key in call.low


def _alike(value: Value, other: Value) -> bool:
    """True for two identifiers of one series, or two addresses."""
    if value.kind != other.kind:
        return False
    shape = [re.sub(r"\d+", "0", str(one.key)) for one in (value, other)]
    return value.kind == "email" or shape[0] == shape[1]


def _is_same(value: Value, other: Value) -> bool:
    return value.key == other.key


def _fits_time(value: Value, other: Value) -> bool:
    one, two = int(str(value.key)), int(float(str(other.key)))
    open_half = not re.search(r"[ap]\.?m", value.text, re.IGNORECASE)
    return one == two or (open_half and abs(one - two) == 720)


def _fits(value: Value, other: Value) -> bool:
    if not value.forms.isdisjoint(other.forms):
        return True
    loose = value.vague or _SCALED.search(value.text)
    return bool(loose) and any(abs(one - two) <= _TOLERANCE * abs(two) for one in value.forms for two in other.forms)


def _is_amount(value: Value) -> bool:
    return value.kind == "money" or bool(value.near and _AMOUNT_KEY.search(" ".join(value.near)))


def related(said: Content, ledger: Ledger, place: int) -> float:
    """How much a call has in common with a statement: its rarer words, and the things it names."""
    call, linked = ledger.calls[place], ledger.linked(place)
    score = 0.0
    for stem in said.stems:
        if call.covers(stem):
            score += ledger.weights.get(stem, 0.5)
        elif stem in linked.stems:
            score += 0.9 * ledger.weights.get(stem, 0.5)
    return score + sum(
        1.5 for value in said.values if value.kind in ("id", "email", "name", "path") and names(ledger, place, value)
    )
