"""The patterns, as a table: what each catches and misses, its risk, and how sure it is."""

from __future__ import annotations

from groundwire.streaming import patterns_contradiction as contradiction
from groundwire.streaming import patterns_references as references
from groundwire.streaming import patterns_values as values
from groundwire.streaming.pattern import Pattern
from groundwire.types.taxonomy import Risk

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "rising_specificity",
        "more and more names, dates and numbers from sentence to sentence that no source holds",
        "inventions spread evenly over the answer, and ones made of the sources' own words",
        Risk.MEDIUM,
        values.rising,
        values.sure_of_rise,
    ),
    Pattern(
        "unsourced_statistic",
        "percentages, odds and multiples that no source gives, in a sentence that cites none",
        "a statistic with a number that stands in a source for something else",
        Risk.MEDIUM,
        values.statistics,
        values.sure_of_statistic,
    ),
    Pattern(
        "fake_precision",
        "numbers of four digits and more, or with two decimals, that no source writes",
        "exact numbers that follow from others (sums, conversions) are reported as well",
        Risk.MEDIUM,
        values.exact_numbers,
        values.sure_of_exactness,
        needs_sources=True,
    ),
    Pattern(
        "invented_date",
        "dates whose year, month or day no source holds",
        "a date put together from a year, a month and a day that stand apart in the sources",
        Risk.MEDIUM,
        values.dates,
        values.sure_of_date,
        needs_sources=True,
    ),
    Pattern(
        "invented_name",
        "names of two words and more with a word that no source knows, except names everybody knows",
        "single names, names in scripts without capitals, names mixed from the sources' own",
        Risk.LOW,
        values.names,
        values.sure_of_name,
        needs_sources=True,
    ),
    Pattern(
        "invented_citation",
        "marks such as [S9] that name no source there is; (Smith et al., 2021) that no source speaks of",
        "a citation of the wrong source that exists; one author with a year and no more",
        Risk.HIGH,
        references.citations,
        references.sure_of_citation,
    ),
    Pattern(
        "invented_url",
        "addresses that stand neither in a source nor in the request",
        "a page that exists but does not say what it is cited for",
        Risk.HIGH,
        references.urls,
        references.sure_of_url,
        in_code=True,
    ),
    Pattern(
        "invented_doi",
        "DOIs, arXiv numbers, PMIDs and ISBNs that stand in no source",
        "identifiers of other kinds (patents, case numbers)",
        Risk.HIGH,
        references.handles,
        references.sure_of_handle,
    ),
    Pattern(
        "invented_api",
        "calls, attributes and options that no source has, where the sources speak of code",
        "a call that exists with parameters that do not; names the answer defines itself",
        Risk.MEDIUM,
        references.interfaces,
        references.sure_of_interface,
        needs_sources=True,
        in_code=True,
    ),
    Pattern(
        "self_contradiction",
        "the same statement with another value, denied, or with the opposite word",
        "contradictions in other words, and ones that take reasoning to see",
        Risk.HIGH,
        contradiction.contradictions,
        contradiction.sure_of_contradiction,
    ),
    Pattern(
        "studies_show",
        '"studies show", "experts agree", "it is well known", with nobody named and no source cited',
        "authorities invented by name",
        Risk.LOW,
        references.studies,
        references.sure_of_studies,
    ),
    Pattern(
        "fabricated_references",
        "three different citations, addresses or identifiers in one answer that no source holds",
        "a single one",
        Risk.CRITICAL,
        references.fabricated,
        references.sure_of_fabrication,
        needs_sources=True,
        in_code=True,
    ),
)
"""In the order in which they look; the last ones build on what the ones before noted."""
