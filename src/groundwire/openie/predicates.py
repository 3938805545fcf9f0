"""Synonymous predicates: normal forms, and groups of synonyms as data.

A predicate belongs to every group that lists it: "work in" may refer to a department or a place. Two
predicates can mean the same if they share a group.
"""

from __future__ import annotations

import re
from functools import lru_cache

from groundwire.openie.lexicon import Form, form_of
from groundwire.text.lexicon import forms
from groundwire.text.tokens import is_stop

# group: attribute names, predicates of facts, and verbs with their preposition.
_GROUPS = """
founded: founded, founded in, founded on, established, established in, started in, start in, created in,
    incorporated in, set up in, founding date, founding year, foundation date, year founded, date
    founded, inception, formed in, begin in, established on
founder: founder, founders, founded by, established by, started by, created by, co-founder, cofounder,
    co-founded by, set up by
department: department, dept, division, work in, work for, work at, work on, be in, be on, belong to, be
    part of, from, team, member of, be from, assigned to, be with, sit in, group, unit, business unit,
    employed in, staffed in, based in, in
employer: employer, company, work for, work at, employed by, employed at, be with, from, organisation,
    organization, hired by, be at, at
team: team, squad, work in, work on, be in, be on, belong to, from, member of, department, assigned to,
    be with
location: location, located in, located at, located on, based in, based at, be in, situated in, lie in,
    city, office, headquarters, hq, headquartered in, place, live in, work in, work from, work out of,
    stand in, be at, be located in, address, stationed in, found in, held in, held at, take place in,
    take place at, site, where, from, venue, room, meet in, happen in, operate from, operate out of,
    houses, housed in, headquartered at, relocate to, move to
country: country, nation, located in, be in, lie in, situated in, from, nationality, based in
residence: residence, live in, reside in, home, lives in, address, city
birthplace: birthplace, place of birth, born in, born at, from, come from
birth date: birth date, date of birth, birthday, dob, born, born on, born in, birth year, year of birth
death date: death date, date of death, died, die in, die on, death, die
ceo: ceo, chief executive, chief executive officer, head, boss, led by, run by, headed by, be, managing
    director, title, position, role
cto: cto, chief technology officer, chief technical officer
cfo: cfo, chief financial officer, finance chief
chair: chair, chairman, chairwoman, chairperson, chaired by, board chair
manager: manager, boss, supervisor, line manager, report to, managed by, supervised by, reports to,
    lead, team lead, led by, head, run by, headed by, directed by, leader, director, manages, overseen
    by
title: title, job title, position, role, job, occupation, profession, be, work as, serve as, act as,
    rank, employed as, hired as, post
president: president, head of state
capital: capital, capital city, seat of government
population: population, inhabitants, residents, people, number of inhabitants, be inhabited by
employees: employees, staff, headcount, workforce, number of employees, employ, employ people, people,
    employee count, team size, size, staff of
revenue: revenue, turnover, sales, annual revenue, earn, revenues, yearly revenue, make
price: price, cost, cost per unit, sell for, be priced at, priced at, fee, rate, costs, list price,
    retail for, go for, be sold for, sold for, sell at, charge
budget: budget, funding, budget of, funded with, allocated
area: area, size, surface, cover, floor area, covers
height: height, tall, high, elevation, stand, altitude, rise to
length: length, long, stretch, extend, run for
weight: weight, weigh, mass
width: width, wide
depth: depth, deep
age: age, old
speed: speed, top speed, run at, reach
capacity: capacity, seat, hold, seats, accommodate, house
duration: duration, last, length, run for, take, runtime, lasts
date: date, day, scheduled for, scheduled on, be on, held on, take place on, happen on, set for, due on,
    due, be, when, weekday, meet on, planned for, be in, take place, take place in, held in, fall on,
    occur on, scheduled in, be scheduled for, booked for, book for, start on, begin on, move to, moved
    to, rescheduled to, rescheduled for, postponed to, slated for, happen in, expected on, starts on,
    arrive on
deadline: deadline, due date, due, due on, due by, end date, expire on, closes on, close on, end on, due
    in
start: start, start date, start time, begin, start at, begin at, start on, begin on, starts, begin in,
    start in, be at, time, scheduled for, scheduled at, open at, kick off at, meet at
end: end, end date, end time, end at, end on, finish, finish on, finish at, close at, ends, complete on,
    completed on, completed in, finish in, end in, closed in
launch: launch, launch date, release date, released, released in, released on, launched in, launched on,
    launch in, launch on, come out in, release, published in, published on, publication date, introduced
    in, unveiled in, shipped in, debuted in, ship in, ship on, go live on, available since, debut in,
    premiere in, opened in, open in, opening
joined: joined, join in, join on, joined in, joined on, join date, joining date, date joined, year joined,
    date of joining, hired, hired in, hired on, hire date, hiring date, date hired, start date,
    employee since
acquired: acquired in, acquired on, acquisition date, bought in, purchased in
owner: owner, owned by, parent, parent company, belong to, acquired by, bought by, held by, property of,
    subsidiary of, purchased by
author: author, written by, wrote, writer, authored by, creator
inventor: inventor, invented by, discovered by, discoverer
director: director, directed by
designer: designer, designed by, architect, built by
developer: developer, developed by, made by, maker, manufacturer, manufactured by, produced by,
    producer, built by, vendor, created by
email: email, e-mail, email address, e-mail address, mail, contact email, reach at
phone: phone, telephone, phone number, telephone number, extension, mobile, tel, reach at
website: website, site, url, web site, homepage
status: status, state, be, currently
language: language, languages, speak, written in, spoken language, official language, programming
    language, implemented in, built with, built in
currency: currency, official currency, use
spouse: spouse, wife, husband, married to, partner, marry
parent: parent, father, mother, child of, son of, daughter of
member: member, members, consist of, include
industry: industry, sector, field, operate in, business
product: product, products, sell, make, produce, manufacture
version: version, latest version, current version, release
owner of: own, possess, owns
supplier: supplier, vendor, supplied by, provided by
client: client, customer, customers, clients
warranty: warranty, warranty period, guarantee, covered for, come with a warranty of
color: color, colour
license: license, licence, licensed under
nationality: nationality, citizenship, citizen of
education: education, university, degree from, graduate from, study at, attend, alma mater, studied at,
    educated at
open hours: hours, opening hours, open, be open
salary: salary, pay, wage, earn, compensation, paid
goalkeeper: goalkeeper, keeper
host: host, hosted by, organised by, organized by, organizer, organiser
type: type, kind, category, be, class, genre
religion: religion, faith
river: river, flow through, lie on, stand on
continent: continent, be in, located in
"""

_INVERSES = forms(
    """
    founded by: found establish start co-found; created by: create; led by: lead; headed by: head;
    run by: run; managed by: manage; directed by: direct; supervised by: supervise; chaired by: chair;
    owned by: own;
    acquired by: acquire; bought by: buy; written by: write; invented by: invent; discovered by: discover;
    designed by: design; developed by: develop; employed by: employ; made by: make; produced by: produce;
    built by: build; manufactured by: manufacture; hosted by: host; organised by: organise organize;
    purchased by: purchase; overseen by: oversee; supplied by: supply; married to: marry
    """
)
_SPLIT = re.compile(r"[\s_\-/]+")


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """Normal form of a predicate: lower case, words separated by spaces, the verb in its base form.

    >>> normal("works_in"), normal("Founded By"), normal("reports to")
    ('work in', 'founded by', 'report to')
    """
    words = [word for word in _SPLIT.split(name.strip().casefold()) if word]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip())
    if spaced != name.strip() and not words[1:]:
        words = spaced.casefold().split()
    while len(words) > 1 and words[0] in ("is", "was", "has", "are", "the", "were"):
        words = words[1:]
    if words and len(words) > 1:
        past = "" if form_of(words[0], Form.PARTICIPLE) else form_of(words[0], Form.PAST)
        words[0] = form_of(words[0], Form.THIRD) or past or words[0]
    return " ".join(words)


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for row in re.split(r"\n(?=\S)", _GROUPS.strip()):
        group, _, names = row.partition(":")
        for name in names.split(","):
            table.setdefault(normal(name), set()).add(group.strip())
    return {name: frozenset(groups) for name, groups in table.items()}


@lru_cache(maxsize=4096)
def groups(predicate: str) -> frozenset[str]:
    """The synonym groups of a predicate; an unlisted predicate forms its own group."""
    form = normal(predicate)
    found = _table().get(form) or _table().get(form.removesuffix("s")) or _table().get(form + "s")
    return found or frozenset({_bare(form)})


def _bare(form: str) -> str:
    """The form without function words and plural ending."""
    words = [word for word in form.split() if not is_stop(word)] or form.split()
    return " ".join([*words[:-1], words[-1].removesuffix("s")]) if words else form


def same(left: str, right: str) -> bool:
    """True if two predicates can mean the same.

    >>> same("works in", "department"), same("founded in", "founder")
    (True, False)
    """
    return normal(left) == normal(right) or bool(groups(left) & groups(right))


def is_known(predicate: str) -> bool:
    """True if the predicate is listed, so that its synonyms are known."""
    form = normal(predicate)
    return form in _table() or form.removesuffix("s") in _table()


def inverse(predicate: str) -> str:
    """The inverse predicate ("found": "founded by"), or ''."""
    return _INVERSES.get(normal(predicate), "")
