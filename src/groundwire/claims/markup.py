"""Strip Markdown, HTML and citation marks from prose and keep the original offset of each character."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from groundwire._loop import check_cancelled
from groundwire.claims.assertiveness import reads_as_prose
from groundwire.text.dates import dates
from groundwire.text.lexicon import expressions
from groundwire.text.names import plain_name
from groundwire.types import Span

# Find citation marks in a text and resolve them to sources.
#
# `[S0]`, `[1]`, `[1, 3]`, `[1-3]`, `[S1][S2]`, `(S1)`, `(Source: S1)`, `[doc 2]`, `[^1]`, `【1†source】`,
# `Paris²`; with known sources also their very ids, and before a line `S0:` or `S0 -` if there is a source S0;
# any file name and any author with a year: `[report.md]`, `[Smith2020]`, `(Smith et al., 2020)`; what differs
# from an id of the sources only in its numbers: `[chunk_44]` where there is a source `chunk_1`; any name behind
# "source:"; and behind a statement the name of a document, `[wiki]`, or a word like those that sources are called.
# A page or section behind a name does not count: `[handbook, p. 3]`.
# A year, a month, `(2)`, `a[1]`, `m²` and an interval are not citations.
#
# `resolve` maps a label to the source of exactly that id; else to the same id in another case or with other
# separators (`Staff Handbook` and `staff-handbook.md`); else, for a bare
# number n, to the n-th source, which is `Sn` if ids begin with S1 and `S(n-1)` if they begin with S0, unless
# the answer itself cites [0]; else, for `Sn`, to the source `n`. Any other label is returned as written and
# is reported as a phantom citation.

_BRACKETS = re.compile(
    r"\[(?P<square>[^\[\]\n]{1,120})\]"
    r"|【(?P<lens>[^【】\n]{1,120})】"
    r"|\((?P<round>[^()\[\]\n]{1,120})\)"
    r"|(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}(?:[,˒⁻⋅·][⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}){0,20})"
    r"|^(?:[Ss]ource )?(?P<leading>S\d{1,3})(?::(?=[ \t]+[^\sa-z])|[ \t]+[-–—](?=[ \t]+[^\W\d_a-z]))"
    r"(?=(?:[ \t]+\S+){3}|[ \t][^\n]{1,40}[.!?](?:\s|\Z))",  # "S1 - Standard" is what something is called
    re.MULTILINE,
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹˒⁻⋅·", "0123456789,-,,")
_PREFIX, _FILE, _BARE_NOUN, _SAYS = expressions("claims", "prefix file bare_noun says")
_NAMES_SOURCE, _DOCUMENT, _NO_SOURCE = expressions("claims", "names_source document no_source")
_SEPARATOR = re.compile(r"\s*(?:[,;&،、]|\band\b|\]\s*\[)\s*")
_LABEL = re.compile(r"\^?(?:[A-Za-z]{1,3}[-_ ]?)?\d{1,3}|\^[^\s\]]{1,40}")
_AUTHOR = re.compile(  # [Smith2020], [@smith2020], [Smith et al., 2020], but not [Q3 2023]
    r"@?[a-z][a-z'’]{2,30}[-_:]?(?:1[89]|20)\d\d[a-z]?"
    r"|@?(?!(?:Q[1-4]|H[12]|FY|Spring|Summer|Autumn|Fall|Winter)[ ,]{0,2}\d)"
    r"[A-Z][\w'’-]{1,30}(?: et al\.?| (?:and|&) [A-Z][\w'’-]{1,30})?,? ?(?:1[89]|20)\d\d[a-z]?"
)
_NAMED = re.compile(r"\.[A-Za-z]|\d{4}")
_REFERS = re.compile(r"\b(?:see|refer to|according to)\s*\Z", re.IGNORECASE)
_OPERATED = re.compile(r"\b(?:press|click|select|choose|tap|hit|type|enter|run|open|on|button|key)\s*\Z", re.IGNORECASE)
_LEADS_ON = re.compile(  # the bracket is a word of the sentence
    r"\b(?:is|are|was|were|be|been|the|an?|of|to|at|in|by|for|with|and|or|as|from|than|called|named)\s*\Z",
    re.IGNORECASE,
)
_LOCATOR = re.compile(
    r"[,:]?\s+(?:pp?\.?|pages?|§+|sec(?:tion|\.)?|ch(?:apter|\.)?|para(?:graph|\.)?|lines?)\s?\d[\d.–-]*\Z",
    re.IGNORECASE,
)
_SEE = re.compile(r"(?:see|cf\.)\s+(?:the\s+)?", re.IGNORECASE)
_NO_ARTICLE = re.compile(r"(?:the|our|your|this)\s+", re.IGNORECASE)
_WORD_NAME = re.compile(r"[^\W\d_][\w-]{2,30}")
_A_WORD = re.compile(r"[^\W\d_](?:[^\W\d]|-){2,30}")
_MAX_NAME_WORDS = 6  # more words behind "source:" are a remark
_CLAUSE_END = re.compile(r"\s*(?:(?:and|&)\s*\[|[.,;:!?)\[]|\Z)|[ \t]*\n")
_SOURCE_LABEL = re.compile(r"S\d{1,3}")
_RANGE = re.compile(r"\^?([A-Za-z]{0,3})(\d{1,3})\s*[-–—]\s*([A-Za-z]{0,3})(\d{1,3})")
_MAX_RANGE = 50  # sources that one citation such as [1-50] may name; a longer range is more likely years or pages

_WORD_BEFORE = re.compile(r"(?:\w[\w.]*)?\Z")
_INDEXED = frozenset(
    ("arr", "array", "list", "args", "argv", "data", "row", "rows", "vec", "matrix", "items", "nums", "dict", "tuple")
)
_UNITS = frozenset(("meters", "metres", "feet", "miles", "inches", "yards", "kilometers", "kilometres", "units"))
_INTERVAL = re.compile(r"(?:∈|\b(?:in|range|interval|between|from|values?))\s*\Z", re.IGNORECASE)


class SourceNames(dict[str, None]):
    """The names of the sources, prepared once to be looked up in any case."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(names))
        self.has_files = any(_FILE.fullmatch(name) for name in self)
        self.folded = {name.casefold(): name for name in self}
        self._plain: dict[str, str] = {}
        for name in self:
            self._plain.setdefault(plain_name(name), name)
        self.titles = {name for name in self if " " in name}
        self.word_names = [name for name in self if _WORD_NAME.fullmatch(name) and not _SOURCE_LABEL.fullmatch(name)]
        self.shapes = {_shape(name) for name in self.folded if re.search(r"\d", name) and re.search(r"[^\W\d]", name)}

    @classmethod
    def of(cls, names: Collection[str]) -> SourceNames:
        return names if isinstance(names, SourceNames) else cls(names)

    def find(self, label: str) -> str | None:
        """The name that a label is, in another case or with other separators; None if it is none of them."""
        return self.folded.get(label.casefold()) or (self._plain.get(plain_name(label)) if len(label) > 3 else None)


def _shape(name: str) -> str:
    """A name whatever its numbers: the same for `chunk_1` and `chunk_44`."""
    return re.sub(r"\d+", "0", name.casefold())


@dataclass(frozen=True, slots=True)
class CitationMark:
    """A citation mark: its position and its labels as written."""

    start: int
    end: int
    labels: tuple[str, ...]


def marks(text: str, known: Collection[str] = (), protected: Sequence[tuple[int, int]] = ()) -> list[CitationMark]:
    """Find the citation marks of a text, in order; `protected` ranges (code) are skipped.

    >>> [m.labels for m in marks("It is so [1, 3]. And so (S2); in 2020 (2) a[1] was 5 m².")]
    [('1', '3'), ('S2',)]
    """
    names = SourceNames.of(known)
    found = []
    brackets = [match for match in _BRACKETS.finditer(text) if not _touches(protected, *match.span())]
    by_title = bool(names.titles) and any(names.find(match["square"] or "") in names.titles for match in brackets)
    for match in brackets:
        labels = _read(match, names) or (_unknown_name(match, names, by_title=by_title) if match["square"] else ())
        if labels:
            found.append(CitationMark(match.start(), match.end(), labels))
    return found


def _touches(ranges: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """True if [start, end) overlaps one of the ranges, which are in order and apart."""
    at = bisect_right(ranges, start, key=lambda place: place[1])
    return at < len(ranges) and ranges[at][0] < end


def resolve(label: str, known: Collection[str], *, zero_based: bool = False) -> str:
    """The id of the source that a label refers to, or the label as written.

    >>> [resolve(label, ["S0", "S1"]) for label in ("S1", "s1", "1", "2", "3")]
    ['S1', 'S1', 'S0', 'S1', '3']
    """
    label = label.lstrip("^@") or label
    if label in known:
        return label
    names = SourceNames.of(known)
    if found := names.find(label):
        return found
    folded = names.folded
    candidates = [label.casefold()]
    if label.isdecimal():
        shift = 1 if "s0" in folded and not zero_based else 0
        candidates.append(f"s{int(label) - shift}")
    elif label[:1] in "sS" and label[1:].isdecimal():
        candidates.append(label[1:])
    return next((folded[candidate] for candidate in candidates if candidate in folded), label)


def named_in(text: str, known: Collection[str]) -> str | None:
    """The only known source that the text of a footnote mentions, by id or by a mark; else None."""
    check_cancelled()
    named = {known_id for known_id in known if _stands_in(known_id, text)}
    cited = (resolve(label, known) for mark in marks(text, known) for label in mark.labels)
    named.update(name for name in cited if name in known)
    return named.pop() if len(named) == 1 else None


def _stands_in(known_id: str, text: str) -> bool:
    if not known_id or known_id.isdigit():
        return False
    at = text.find(known_id)
    return at >= 0 and not (text[at - 1 : at].isalnum() or text[at + len(known_id) :][:1].isalnum())


def _read(match: re.Match[str], names: SourceNames) -> tuple[str, ...]:
    if match["leading"]:  # without brackets it is a mark only if there is such a source
        return (match["leading"],) if match["leading"].casefold() in names.folded else ()
    before = match.string[max(0, match.start() - 40) : match.start()]
    if match["raised"]:
        return _labels(match["raised"].translate(_RAISED), names) if _raised_cites(before) else ()
    if match["lens"]:
        return _lens(match["lens"], names)
    if match["round"]:
        return _round(match["round"], before, names)
    if _is_index(match, before):
        return ()
    inside = match["square"].strip()
    prefix = _PREFIX.match(inside)
    labels = (_labels(inside[prefix.end() :], names) if prefix else ()) or _labels(inside, names)
    labels = labels or _named_sources(inside, names)
    foreign = any(_NAMED.search(x) and not names.find(x) for x in labels)
    cites = _CLAUSE_END.match(match.string, match.end()) or _REFERS.search(before)
    if foreign and not names.has_files and not cites:
        return ()  # "Edit [other.pdf] first." names a file; "It is so [other.pdf]." and "See [other.pdf]" cite one
    interval = len(labels) == 2 and labels[0].isdigit() and _INTERVAL.search(before)
    return (
        () if interval and not all(label in names.folded or f"s{label}" in names.folded for label in labels) else labels
    )


def _labels(inside: str, names: SourceNames) -> tuple[str, ...]:
    """The labels in a bracket; empty if any part of it is not a label."""
    if names.find(inside):
        return (inside,)
    whole = _LOCATOR.sub("", inside)
    if whole != inside and (names.find(whole) or _SOURCE_LABEL.fullmatch(whole)):
        return (whole,)
    found: list[str] = []
    listed = [part.strip() for part in inside.split(";")]  # a name may contain a comma
    if all(_is_name(part, names) for part in listed):
        return tuple(dict.fromkeys(listed))
    for part in _SEPARATOR.split(inside.strip()):
        if names.find(part) or _LABEL.fullmatch(part) or _is_name(part, names):
            found.append(part)
        else:
            spread = _spread(part)
            if not spread:
                return ()
            found.extend(spread)
    return tuple(dict.fromkeys(found))


def _is_name(part: str, names: SourceNames) -> bool:
    """Where there are sources, a file name or an author with a year is a citation, possibly a phantom."""
    if not names:
        return False
    # Not "[May 2020]".
    author = _AUTHOR.fullmatch(part) and not any(d.month and d.start == 0 for d in dates(_spaced(part)))
    return bool(author or _FILE.fullmatch(part) or _shape(part) in names.shapes)


def _spaced(key: str) -> str:
    """A key as words, in which a date can be found: `may2020` and `may-2020` are one, `smith2020` is none."""
    return re.sub(r"(?<=[a-z])[-_:]?(?=\d)", " ", key.lstrip("@"))


def _named_sources(inside: str, names: SourceNames) -> tuple[str, ...]:
    """The names behind "source:", known or not; empty if it is a remark ("source: own calculation")."""
    prefix = _NAMES_SOURCE.match(inside)
    if not prefix or not names:
        return ()
    parts = [_NO_ARTICLE.sub("", part.strip()) for part in re.split(r"[,;&]", inside[prefix.end() :])]
    if not all(_may_be_name(part) for part in parts):
        return ()
    return tuple(dict.fromkeys(_name_within(part, names) or part for part in parts))


def _may_be_name(part: str) -> bool:
    return bool(re.search(r"[^\W\d_]", part)) and len(part.split()) <= _MAX_NAME_WORDS and not _NO_SOURCE.match(part)


def _name_within(part: str, names: SourceNames) -> str | None:
    """The source that "the staff handbook" means where one is called `handbook`; None if that is not clear."""
    own = plain_name(part).split()
    runs = (" ".join(own[i:j]) for i in range(len(own)) for j in range(i + 1, len(own) + 1))
    found = {name for run in runs if (name := names.find(run))}
    return names.find(part) or (found.pop() if len(found) == 1 else None)


def _unknown_name(match: re.Match[str], names: SourceNames, *, by_title: bool) -> tuple[str, ...]:
    """A name behind a statement, or behind "see", that can only be meant as a citation, of no source there is.

    Args:
        by_title: the text cites other sources by titles of several words.
    """
    before, inside = match.string[max(0, match.start() - 40) : match.start()], match["square"].strip()
    behind = _CLAUSE_END.match(match.string, match.end()) and before.strip() and not _LEADS_ON.search(before)
    if not names or not (behind or _REFERS.search(before)) or _is_index(match, before):
        return ()
    if not inside or _OPERATED.search(before) or _NO_SOURCE.match(inside):
        return ()
    alike = _A_WORD.fullmatch(inside) and any(name[0].islower() == inside[0].islower() for name in names.word_names)
    titled = by_title and inside[0].isupper() and 2 <= len(inside.split()) <= _MAX_NAME_WORDS
    return (inside,) if _DOCUMENT.fullmatch(inside) or alike or titled else ()


def _spread(part: str) -> list[str]:
    """`S1-S3` → S1, S2, S3."""
    match = _RANGE.fullmatch(part)
    if not match or match[3] not in ("", match[1]):
        return []
    low, high = int(match[2]), int(match[4])
    return [f"{match[1]}{n}" for n in range(low, high + 1)] if low <= high < low + _MAX_RANGE else []


def _lens(inside: str, names: SourceNames) -> tuple[str, ...]:
    """`1†source`, `4:0†report.pdf`: the name if it is a known source, else the number."""
    label, _, name = inside.partition("†")
    if names.find(name.strip()):
        return (name.strip(),)
    labels = _labels(label, names)
    return labels or ((label.strip(),) if re.fullmatch(r"\s*\d{1,3}:\d{1,3}\s*", label) else ())


def _round(inside: str, before: str, names: SourceNames) -> tuple[str, ...]:
    """Round brackets are a citation only with `S1`, an id like the known ones, "source …" or "… et al."."""
    if before[-1:].isalnum() or before[-1:] == "_":
        return ()  # a call: f(S1)
    prefix = _PREFIX.match(inside)
    if prefix:
        return _labels(inside[prefix.end() :], names) or _named_sources(inside, names)
    labels = _labels(_SEE.sub("", inside), names)
    named = (_SOURCE_LABEL.fullmatch(x) or _shape(x) in names.shapes or _is_cited_alone(x, names) for x in labels)
    return labels if all(named) else ()


def _is_cited_alone(label: str, names: SourceNames) -> bool:
    return (names.find(label) is not None and not label.isdigit()) or " et al" in label


def _is_index(match: re.Match[str], before: str) -> bool:
    """`a[1]`, `rows[2]`, `get(x)[0]`, `x[1] = 2`, but not `Paris[1]`."""
    after = match.string[match.end() : match.end() + 3]
    if after.startswith((" = ", " ==", "=")) or before[-1:] in ("_", "$"):
        return True
    word = (_WORD_BEFORE.search(before) or [""])[0]
    if not word:
        return bool(re.search(r"\w\([^()]*\)\Z", before))
    identifier = "_" in word or re.search(r"[a-z][A-Z]|[a-zA-Z]\d\Z|\w\.\w+\Z", word)
    return len(word) == 1 or bool(identifier) or word.lower() in _INDEXED


def _raised_cites(before: str) -> bool:
    """A superscript after punctuation or a word is a citation; after a digit, unit or symbol it is a
    power.
    """
    if before[-1:] in tuple(".,;:!?)]\"'”’»"):
        return True
    word = (_WORD_BEFORE.search(before) or [""])[0]
    return len(word) > 3 and word.isalpha() and word.lower() not in _UNITS


_INLINE = re.compile(
    r"(?P<ticks>`+)"
    r"|(?P<image>!(?=\[))?\[(?P<label>\[[^\[\]\n]{1,40}\]|[^\[\]\n]{0,300})\]"
    r"(?P<target>\((?:[^()\s]|\([^()\s]{0,100}\)){0,800}(?:[ \t]+\"[^\"\n]{0,200}\")?\))"
    r"|(?P<comment><!--)"
    r"|(?P<raised><sup>\[?(?P<number>\d{1,3}(?:,[ ]?\d{1,3}){0,20})\]?</sup>)"
    r"|(?P<tag></?[A-Za-z][^<>]{0,300}>)"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<stars>\*+|~~+|_+)"
    r"|(?P<hidden>[\x00-\x08\x0e-\x1f\x7f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+)",
    re.IGNORECASE,
)
_ALT = re.compile(r"<img\b[^<>]*?\balt\s*=\s*(?P<quote>[\"'])(?P<label>[^<>\"']*)(?P=quote)", re.IGNORECASE)
_LINK_WORDS = re.compile(r"[^*`]+")
_NUMBERED = re.compile(r"\[?\^?(?:[A-Za-z]{1,3})?\d{1,3}\]?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class PlainText:
    """Plain text: `text[i]` is at `at[i]` in the answer; the `start` of a mark refers to `text`."""

    text: str
    at: Sequence[int]
    marks: tuple[CitationMark, ...] = ()

    def span(self, start: int, end: int) -> Span:
        """The range in the answer of `text[start:end]`."""
        return Span(self.at[start], self.at[end - 1] + 1)


def readable(text: str) -> str:
    """Normalise to one line with single spaces, and replace surrogates that cannot be encoded."""
    return _SURROGATE.sub("\ufffd", " ".join(text.split()))


def strip_markup(answer: str, lines: Sequence[Span], known: Collection[str] = ()) -> PlainText:
    """Strip emphasis, link targets, tags and citation marks from some lines of an answer."""
    raw, at = _joined(answer, lines)
    code = _code_spans(raw)
    pieces = _unmarked(raw, code)
    text = "".join(piece for _, piece in pieces)
    where = [at[start + i] for start, piece in pieces for i in range(len(piece))]
    ends = accumulate(len(piece) for _, piece in pieces)
    placed = ((start, end - len(piece), end) for (start, piece), end in zip(pieces, ends, strict=True))
    protected = [(first, last) for start, first, last in placed if _touches(code, start, start + 1)]
    return _uncited(text, where, marks(text, known, protected))


def _joined(answer: str, lines: Sequence[Span]) -> tuple[str, list[int]]:
    text: list[str] = []
    at: list[int] = []
    for line in lines:
        if text:
            text.append("\n")
            at.append(min(lines[0].end if not at else at[-1] + 1, len(answer) - 1))
        text.append(answer[line.start : line.end])
        at.extend(range(line.start, line.end))
    return "".join(text), at


def _unmarked(raw: str, code: Sequence[tuple[int, int]]) -> list[tuple[int, str]]:
    """The remaining text as (offset, piece) pairs; in code only backticks and invisible characters are markup."""
    pieces: list[tuple[int, str]] = []
    done = 0
    comments = raw.rfind("-->")
    for match in _INLINE.finditer(raw):
        plain = not match["ticks"] and not match["hidden"] and _touches(code, match.start(), match.start() + 1)
        if match.start() < done or plain:
            continue
        for start, piece, end in _kept(raw, match, comments):
            pieces.append((done, raw[done : match.start()]))
            pieces.append((start, piece))
            done = end
    pieces.append((done, raw[done:]))
    return [piece for piece in pieces if piece[1]]


def _kept(raw: str, match: re.Match[str], comments: int) -> Iterator[tuple[int, str, int]]:
    """The replacement of a markup match as (offset, text, end); empty if it is not markup."""
    kind, start, end = match.lastgroup, match.start(), match.end()
    if kind == "comment":
        if comments > start:
            yield start, "", raw.index("-->", start) + 3
    elif match["target"] is not None:
        yield from _link(match)
    elif match["raised"]:
        yield match.start("number") - 1, f"[{match['number']}]", end
    elif match["tag"] and (alt := _ALT.match(raw, start, end)):
        yield from _image_text(alt, end)
    elif match["tag"]:
        yield start, "\n" if match["tag"].lower().startswith(("<br", "</p", "</li", "</div")) else "", end
    elif match["escape"]:
        yield start + 1, raw[start + 1], end
    elif match["stars"]:
        if _is_emphasis(raw, start, end):
            yield start, "", end
    else:
        yield start, "", end


def _link(match: re.Match[str]) -> Iterator[tuple[int, str, int]]:
    """A link is replaced by its text; a link whose text is a number is a citation mark."""
    label, at, end = match["label"], match.start("label"), match.end()
    if match["image"]:
        yield from _image_text(match, end)
    elif label.startswith("["):
        yield at, label, end
    elif _NUMBERED.fullmatch(label):
        yield at - 1, f"[{label}]", end
    else:
        yield at, "", end
        for words in _LINK_WORDS.finditer(label):
            yield at + words.start(), words[0], end


def _image_text(match: re.Match[str], end: int) -> Iterator[tuple[int, str, int]]:
    """What an image shows is no part of the answer, unless its text says something."""
    yield match.start("label"), match["label"] if reads_as_prose(match["label"]) else "", end


def _is_emphasis(raw: str, start: int, end: int) -> bool:
    before, after = raw[start - 1 : start], raw[end : end + 1]
    if raw[start] == "_" or end - start == 1:  # snake_case, 5*3, 4 * 5
        return before.isalnum() != after.isalnum() or not (before.isalnum() or before.isspace() or not before)
    return not (before.isspace() and after.isspace())


def _code_spans(raw: str) -> list[tuple[int, int]]:
    """Backtick runs paired with the next run of the same length."""
    runs = [(match.start(), match.end()) for match in re.finditer(r"`+", raw)]
    waiting: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        waiting.setdefault(runs[index][1] - runs[index][0], []).append(index)
    spans, index = [], 0
    while index < len(runs):
        same = waiting[runs[index][1] - runs[index][0]]
        while same and same[-1] <= index:
            same.pop()
        if same:
            spans.append((runs[index][0], runs[same[-1]][1]))
            index = same[-1]
        index += 1
    return spans


def _uncited(text: str, at: Sequence[int], found: Sequence[CitationMark]) -> PlainText:
    """Remove the marks; one that is part of the sentence ("according to [1]") only loses its brackets."""
    pieces: list[str] = []
    where: list[int] = []
    moved: list[CitationMark] = []
    done, inline = 0, False
    for mark in found:
        inline = _is_word(text, mark) or (inline and text[done : mark.start] in (" and ", ", ", " & "))
        start = mark.start if inline else _before_space(text, done, mark)
        pieces.append(text[done:start])
        where.extend(at[done:start])
        moved.append(CitationMark(len(where), len(where), mark.labels))
        done = mark.end
        if inline:
            pieces.append(text[mark.start + 1 : mark.end - 1])
            where.extend(at[mark.start + 1 : mark.end - 1])
    pieces.append(text[done:])
    where.extend(at[done:])
    return PlainText("".join(pieces), where, tuple(moved))


def _before_space(text: str, done: int, mark: CitationMark) -> int:
    """Start of the removal: includes the space before a mark if punctuation or the end follows."""
    after = text[mark.end : mark.end + 1]
    start = mark.start
    if not after or after in ".,;:!?…。，；：！？)\n[(【" or after.isspace():
        while start > done and text[start - 1] in " \t":
            start -= 1
    return start


def _is_word(text: str, mark: CitationMark) -> bool:
    if text[mark.start] not in "[【":
        return False
    before = text[max(0, mark.start - 40) : mark.start]
    if _BARE_NOUN.search(before):
        return True
    opens = not before.strip() or before.rstrip()[-1] in ".,!?:"
    return opens and bool(_SAYS.match(text, mark.end))
