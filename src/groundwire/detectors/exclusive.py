"""What cannot be at once: categories, contents, things, attributes with one value. Data, not code."""

from __future__ import annotations

from groundwire.text.lexicon import word_set
from groundwire.text.tokens import normalise

# One axis a row; a thing is on one side of it at most. Only pairs without a middle or a mixture.
_CATEGORIES = """
alive living / dead deceased extinct
open / closed shut
even / odd
married / single unmarried divorced bachelor
true correct accurate / false incorrect untrue
on online running active / off offline inactive stopped
enabled / disabled
present / absent
full / empty
legal lawful / illegal unlawful
mandatory compulsory obligatory required / optional voluntary
vacant unoccupied / occupied
guilty / innocent
pregnant / unpregnant
finite / infinite
reversible / irreversible
visible / invisible
possible / impossible
safe / unsafe
locked / unlocked
edible / inedible
identical / different
public / private
permanent / temporary
solid / liquid / gaseous
male / female
vegetarian vegan / carnivorous
refundable / nonrefundable non-refundable
waterproof / permeable
prime / composite
available / unavailable sold-out
"""


def _axes(table: str) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for axis, row in enumerate(table.strip().splitlines()):
        for side, words in enumerate(row.split("/")):
            found |= dict.fromkeys(words.split(), (axis, side))
    return found


CATEGORIES = _axes(_CATEGORIES)
"""Word → (axis, side)."""

_MEAT = (
    "meat chicken beef pork lamb bacon ham turkey veal sausage duck fish tuna salmon shrimp anchovies gelatin"
)
_DAIRY = "milk cheese butter cream yogurt yoghurt whey dairy"
CONTENTS: dict[str, frozenset[str]] = {
    "vegetarian": word_set(_MEAT),
    "vegan": word_set(f"{_MEAT} {_DAIRY} egg eggs honey"),
    "gluten-free": word_set("wheat barley rye gluten"),
    "dairy-free": word_set(_DAIRY),
    "lactose-free": word_set("lactose"),
    "nut-free": word_set("nuts peanuts almonds cashews hazelnuts walnuts pecans"),
    "sugar-free": word_set("sugar"),
    "alcohol-free": word_set("alcohol vodka rum wine gin whisky whiskey"),
    "non-alcoholic": word_set("alcohol vodka rum wine gin whisky whiskey"),
    "caffeine-free": word_set("caffeine"),
}
HOLDS = word_set("contain include have feature use")
SUBSTITUTE = word_set(
    "vegan vegetarian plant-based mock imitation substitute free non-dairy soy oat almond coconut peanut"
)

# Adjective and noun that exclude each other, said of one thing.
IMPOSSIBLE: tuple[tuple[str, str], ...] = (
    (r"square|rectangular|triangular", r"circles?|spheres?"),
    (r"round|circular", r"squares?|triangles?|rectangles?|cubes?"),
    (r"married", r"bachelors?"),
    (r"four-sided|five-sided|two-sided|4-sided|5-sided", r"triangles?"),
    (r"three-sided|five-sided|3-sided|5-sided", r"squares?|rectangles?|quadrilaterals?"),
    (r"female|male", r"(?:grandmother|grandfather|mother|father)s? who is (?:a )?(?:man|woman)"),
    (r"dry", r"(?:liquid )?water"),
    (r"living|alive", r"corpses?"),
    (r"childless", r"(?:mothers?|fathers?|parents?) of"),
    (r"odd", r"multiples? of (?:two|2|four|4|six|6|eight|8|ten|10)"),
)
SIDES: dict[str, int] = {
    "triangle": 3, "square": 4, "rectangle": 4, "quadrilateral": 4, "pentagon": 5, "hexagon": 6, "octagon": 8,
}  # fmt: skip

# Predicates (as `claims.triples` names them) that hold with one object at a time.
SINGLE = word_set(
    """
    capital height length width depth age weight population birthday birthplace spouse headquarters founder
    price cost area diameter radius speed temperature duration distance size salary revenue
    """
) | frozenset(
    {
        "founded in", "founded on", "established in", "born in", "born on", "die in", "die on", "died in",
        "died on", "built in", "launched in", "released in", "released on", "incorporated in", "be born in",
        "headquartered in", "completed in", "cost", "weigh", "be on", "scheduled for", "start at", "end at",
        "open at", "close at", "begin at", "located in", "be in",
    }
)  # fmt: skip
IN_MONTHS = frozenset({"open in", "close in", "start in", "begin in", "end in", "take place in", "held in"})
"""What happens in one month: of years and places it may have several."""
AT_HOURS = frozenset({"be at", "take place at", "depart at"})
"""What happens at one time of the day, where a time is what stands behind it."""
RECURRING = frozenset(
    map(
        normalise,
        word_set(
            """
            course semester term class intake market fair session season sale exam training programme program
            workshop lesson tour train bus ferry flight show screening service
            """
        ),
    )
)
"""What comes again, in another month or at another hour."""
CALLED = frozenset({"called", "named", "name"})
PLACES = frozenset({"located in", "be in", "headquartered in", "born in", "be born in", "die in"})

OPPOSED_VERBS: dict[str, frozenset[str]] = {
    normalise(verb): frozenset(normalise(other) for other in others.split())
    for verb, others in (
        ("passed", "failed"), ("failed", "passed succeeded"), ("succeeded", "failed"), ("survived", "died"),
        ("died", "survived lived"), ("attended", "missed"), ("won", "lost"), ("lost", "won"),
        ("accepted", "rejected"),
        ("approved", "rejected"), ("arrived", "missing"), ("agreed", "disagreed refused"), ("stayed", "left"),
        ("voted", "abstained"), ("opened", "closed"), ("worked", "failed"),
    )
}  # fmt: skip
