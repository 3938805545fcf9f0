"""A made-up company as a knowledge base: what the labelled sentences are right or wrong about."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from groundwire.types import Attribute, Entity, Fact, Role, Value, ValueKind

NOW = datetime(2026, 6, 15)

PEOPLE = """
Ingrid Vos|Management|chief executive officer|Rotterdam|i.vos@helion.example|
Tomas Lindqvist|Engineering|engineering manager|Rotterdam|t.lindqvist@helion.example|Ingrid Vos
Amara Okafor|Analytics|data analyst|Lisbon|a.okafor@helion.example|Tomas Lindqvist
Yuki Tanaka|Research|principal scientist|Rotterdam|y.tanaka@helion.example|Ingrid Vos
Leila Haddad|Sales|account manager|Dubai|l.haddad@helion.example|Ingrid Vos
Marcus Webb|Finance|accountant|Rotterdam|m.webb@helion.example|Ingrid Vos
Priya Raman|Support|support engineer|Mumbai|p.raman@helion.example|Tomas Lindqvist
Olga Petrova|Legal|lawyer|Rotterdam|o.petrova@helion.example|Ingrid Vos
Diego Alvarez|Logistics|warehouse manager|Utrecht|d.alvarez@helion.example|Marcus Webb
Hannah Keller|Marketing|brand manager|Lisbon|h.keller@helion.example|Leila Haddad
Samuel Osei|Engineering|firmware developer|Utrecht|s.osei@helion.example|Tomas Lindqvist
"""
PRODUCTS = """
Orion Spectrometer|14500|6.2|2019|3
Lyra Sensor|320|0.4|2022|2
Vega Microscope|27900|18|2015|5
"""
PROJECTS = """
Project Tern|Yuki Tanaka|2025-02-03|2026-09-30|1200000|active
Project Heron|Samuel Osei|2024-11-12|2026-07-15|300000|cancelled
"""
EVENTS = """
the board meeting|scheduled for|Thursday
the sales training|start at|14:30
the safety audit|scheduled for|9 July 2026
the product launch|held in|Vienna
the supplier review|scheduled for|Monday
the summer party|held in|Utrecht
"""


def entities() -> list[Entity]:
    return [*_company(), *_people(), *_products(), *_projects(), *_events()]


def facts() -> list[Fact]:
    """What is held as facts: appointments, one acquisition with its roles, languages spoken."""
    found = []
    for row in _rows(EVENTS):
        subject = Role("subject", Value(row[0], ValueKind.REFERENCE, entity=_id(row[0])))
        found.append(Fact("", row[1], (subject, Role("object", Value(row[2])))))
    helion = Role("subject", Value("Helion Instruments", ValueKind.REFERENCE, entity="helion-instruments"))
    bought = (helion, Role("object", Value("Brandt Optik")), Role("year", Value("2021")))
    found.append(Fact("", "acquire", bought))
    for language in ("Portuguese", "English"):
        amara = Role("subject", Value("Amara Okafor", ValueKind.REFERENCE, entity="amara-okafor"))
        found.append(Fact("", "speaks", (amara, Role("object", Value(language))), many=True))
    return found


def _company() -> Iterator[Entity]:
    given = {
        "industry": Value("optics"),
        "headquarters": Value("Rotterdam"),
        "ceo": Value("Ingrid Vos", ValueKind.REFERENCE, entity="ingrid-vos"),
        "founded": Value("1998"),
        "founder": Value("Pieter de Graaf"),
        "employees": _number("420"),
        "revenue": _number("96000000", "EUR"),
        "website": Value("www.helion.example"),
    }
    yield Entity("helion-instruments", "Helion Instruments", "company", ("Helion",), _attributes(given))
    yield Entity("brandt-optik", "Brandt Optik", "company")


def _people() -> Iterator[Entity]:
    for name, department, title, city, email, manager in _rows(PEOPLE):
        given = {
            "department": Value(department),
            "title": Value(title),
            "location": Value(city),
            "email": Value(email),
        }
        if manager:
            given["manager"] = Value(manager, ValueKind.REFERENCE, entity=_id(manager))
        yield Entity(_id(name), name, "person", (), _attributes(given))


def _products() -> Iterator[Entity]:
    for name, price, weight, launch, warranty in _rows(PRODUCTS):
        given = {
            "price": _number(price, "EUR"),
            "weight": _number(weight, "kg"),
            "launch": Value(launch),
            "warranty": _number(warranty, "years"),
        }
        yield Entity(_id(name), name, "product", (name.split()[0],), _attributes(given))


def _projects() -> Iterator[Entity]:
    for name, manager, start, deadline, budget, status in _rows(PROJECTS):
        given = {
            "manager": Value(manager, ValueKind.REFERENCE, entity=_id(manager)),
            "start date": _day(start),
            "deadline": _day(deadline),
            "budget": _number(budget, "EUR"),
            "status": Value(status),
        }
        short = name.removeprefix("Project ")
        yield Entity(
            _id(name), name, "project", (f"the {short} project", f"{short} project"), _attributes(given)
        )


def _events() -> Iterator[Entity]:
    for name, *_ in _rows(EVENTS):
        yield Entity(_id(name), name, "event", (name.removeprefix("the "),))


def _rows(table: str) -> list[list[str]]:
    return [row.split("|") for row in table.strip().splitlines()]


def _id(name: str) -> str:
    return name.lower().replace(" ", "-")


def _attributes(given: dict[str, Value]) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, value) for name, value in given.items())


def _number(text: str, unit: str = "") -> Value:
    return Value(text, ValueKind.NUMBER, float(text), unit)


def _day(text: str) -> Value:
    return Value(text, ValueKind.DATE, day=datetime.fromisoformat(text).date())
