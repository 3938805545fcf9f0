"""Wordings of claims about tables: {r}, {s} rows, {c}, {d} columns, {v}, {w} values, {m} what is compared."""

from __future__ import annotations

HIGHER = ("higher", "higher", "larger", "greater")
LOWER = ("lower", "lower", "smaller")
AHEAD = ("outperforms", "beats", "does better than", "is ahead of", "surpasses")
BEHIND = ("underperforms", "loses to", "does worse than", "is behind", "trails")
HIGHEST = ("highest", "largest", "greatest")
LOWEST = ("lowest", "smallest")
ROSE = ("rose", "increased", "went up", "grew", "climbed")
FELL = ("fell", "decreased", "went down", "declined", "dropped")
SCORED = (
    "{r} achieves a {c} of {v}",
    "{r} reaches {v} in terms of {c}",
    "{r} obtains {v} ({c})",
    "for {r}, we observe a {c} of {v}",
)
SHAPES = {
    "lookup": (
        "the {c} of {r} is {v}",
        "{r} has a {c} of {v}",
        "{r}'s {c} is {v}",
        "with {r}, the {c} is {v}",
        "a {c} of {v} is reported for {r}",
        "for {r} the table gives {v} as {c}",
    ),
    "both": (
        "for {r}, the {c} is {v} and the {d} is {w}",
        "{r}: {c} {v}, {d} {w}",
        "with {v} as {c}, {r} has {w} as {d}",
        "the table lists {v} as {c} and {w} as {d} for {r}",
        "looking at {r}, we find {v} for {c} and {w} for {d}",
    ),
    "compare": (
        "the {c} of {r} is {m} than that of {s}",
        "{r} has a {m} {c} than {s}",
        "compared with {s}, {r} has the {m} {c}",
        "of {r} and {s}, the former has the {m} {c}",
        "{r}'s {c} is {m} than {s}'s",
    ),
    "beats": (
        "{r} {m} {s} in terms of {c}",
        "in {c}, {r} {m} {s}",
        "{r} {m} {s} on {c}",
        "judged by {c}, {r} {m} {s}",
        "we see that {r} {m} {s} with respect to {c}",
    ),
    "beats_both": (
        "{r} {m} {s} in both {c} and {d}",
        "in terms of {c} as well as {d}, {r} {m} {s}",
        "on both counts, {c} and {d}, {r} {m} {s}",
    ),
    "beats_all": (
        "{r} {m} all the other {k} in terms of {c}",
        "in {c}, {r} {m} every other entry",
        "{r} {m} all the rest on {c}",
    ),
    "ahead_by": (
        "{r} {m} {s} by {v} in {c}",
        "in {c}, {r} {m} {s} by {v}",
        "by a margin of {v} in {c}, {r} {m} {s}",
    ),
    "times": (
        "the {c} of {r} is {m} that of {s}",
        "compared with {s}, {r} has {m} the {c}",
        "{r} comes to {m} the {c} of {s}",
    ),
    "plainly": ("{r} is {m} than {s}", "compared with {s}, {r} is {m}", "of {r} and {s}, the first is {m}"),
    "most": ("{r} is the {m} of all", "the {m} in the table is {r}", "of all the {k}, {r} is the {m}"),
    "extreme": (
        "{r} has the {m} {c}",
        "the {m} {c} is that of {r}",
        "the {m} {c} belongs to {r}",
        "{r} shows the {m} {c} of all",
        "no other entry has such a {c}: that of {r} is the {m}",
        "among all entries, {r} comes with the {m} {c}",
        "{r} reaches the {m} {c} in the table",
    ),
    "gap": (
        "the {c} of {r} is {v} {m} than that of {s}",
        "{r}'s {c} is {m} than that of {s} by {v}",
        "in {c}, {r} is {v} {m} than {s}",
        "compared to {s}, the {c} of {r} is {m} by {v}",
        "{r} and {s} differ by {v} in {c}, with {r} being {m}",
    ),
    "counted": (
        "{n} of the {t} {k} come with a {c} {m} {v}",
        "{c} is {m} {v} for {n} of the {t} {k}",
        "a {c} {m} {v} is found for {n} of the {k}",
        "the number of {k} with a {c} {m} {v} is {n}",
    ),
    "every": (
        "{q} {k} have a {c} {m} {v}",
        "{q} {k} are {m} {v} in {c}",
        "when it comes to {c}, {q} {k} are {m} {v}",
    ),
    "ranked": (
        "{r} has the {o} {m} {c}",
        "the {o} {m} {c} is that of {r}",
        "ranked by {c}, {r} has the {o} {m} value",
        "{r} shows the {o} {m} {c} of all",
    ),
    "total": (
        "summed over all {t} {k}, the {c} comes to {v}",
        "taken together, the {t} {k} have a {c} of {v}",
        "the total {c} of the {k} is {v}",
        "adding up the {c} of all {k} gives {v}",
    ),
    "mean": (
        "on average, the {c} is {v}",
        "the mean {c} of the {t} {k} is {v}",
        "averaged over the {k}, the {c} is {v}",
        "the {k} have a mean {c} of {v}",
    ),
}
TIMED = {
    "lookup": (
        "in {r}, the {c} came to {v}",
        "the {c} stood at {v} in {r}",
        "in {r} the {c} amounted to {v}",
        "for {r} a figure of {v} is given for the {c}",
        "the {c} reached {v} in {r}",
    ),
    "compare": (
        "the {c} came out {m} in {r} than in {s}",
        "in {r}, the {c} turned out {m} than in {s}",
        "compared with {s}, {r} saw a {m} {c}",
        "{r} brought a {m} {c} than {s}",
    ),
    "extreme": (
        "{r} had the {m} {c}",
        "the {c} reached the {m} value in {r}",
        "the {m} {c} was recorded in {r}",
        "{r} was the period with the {m} {c}",
    ),
    "gap": (
        "the {c} came out {v} {m} in {r} than in {s}",
        "in {r}, the {c} turned out {m} than in {s} by {v}",
        "compared with {s}, the {c} in {r} came out {m} by {v}",
    ),
    "trend": (
        "the {c} {m} between {r} and {s}",
        "from {r} to {s}, the {c} {m}",
        "between {r} and {s} the {c} {m}",
        "looking at {r} and {s}, we see that the {c} {m}",
    ),
    "fromto": (
        "the {c} {m} from {v} in {r} to {w} in {s}",
        "between {r} and {s}, the {c} {m} from {v} to {w}",
        "from {v} in {r}, the {c} {m} to {w} in {s}",
    ),
}

# Where the column counts things, people say "more wins" rather than "a higher number of wins".
THINGS = {
    "lookup": ("{r} has {v} {c}", "there are {v} {c} for {r}", "{v} {c} are listed for {r}"),
    "compare": (
        "{r} has {m} {c} than {s}",
        "there are {m} {c} for {r} than for {s}",
        "compared to {s}, {r} has {m} {c}",
    ),
    "extreme": (
        "{r} has the {m} {c}",
        "the {m} {c} are those of {r}",
        "with the {m} {c} of all, {r} stands out",
    ),
    "gap": (
        "{r} has {v} {m} {c} than {s}",
        "there are {v} {m} {c} for {r} than for {s}",
        "with {v} {m} {c}, {r} differs from {s}",
    ),
}
ADJECTIVES = {
    "price": ("more expensive", "cheaper", "most expensive", "cheapest"),
    "weight": ("heavier", "lighter", "heaviest", "lightest"),
    "age": ("older", "younger", "oldest", "youngest"),
    "time": ("slower", "faster", "slowest", "fastest"),
    "area": ("larger in area", "smaller in area", "largest in area", "smallest in area"),
    "average rent": (
        "more expensive to rent in",
        "cheaper to rent in",
        "most expensive to rent in",
        "cheapest to rent in",
    ),
    "cost": ("more costly", "cheaper", "most costly", "cheapest"),
    "salary": ("better paid", "worse paid", "best paid", "worst paid"),
    "calorie count": (
        "richer in calories",
        "poorer in calories",
        "richest in calories",
        "poorest in calories",
    ),
}
