# ruff: noqa: E501 (a row of a table is read best in one line)
"""Made conversations: chats, interviews, tickets, threads. Who said, promised, refused or corrected what."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from training.forms_fillers import PEOPLE
from training.forms_scheme import Document, Fact, Scheme, fact_of
from training.forms_talks import TALK
from training.forms_words import Value
from training.tables import parts_of

LEADS = (
    *["", "", ""], "{b} says ", "{b} says that ", "according to {b}, ", "{b} explains that ", "as {b} puts it, ", "{b} states that ",
    "{b} mentioned that ", "in {b}'s words, ", "{b} points out that ", "{b} let the others know that ",
)  # fmt: skip
CHAT = parts_of(
    """
    Thanks! | Hi everyone. | How was your weekend? | Great, talk soon. | One more thing. | Let me write that down. | Good
    morning! | Sorry I'm late. | Can you hear me? | That's good to know. | Anything else? | Okay. | Perfect, thank you so
    much. | I have another question. | Have a nice day. | The weather is awful today. | Right. | Let's move on. | I was on
    holiday last week. | Noted. | Could somebody take notes? | Moving to the next point. | Thanks for getting back to me. |
    Hope you are well. | Let me share my screen. | Understood. | My train was crowded again. | See you then. | Fair enough.
    """
)
DODGES = parts_of(
    """
    I'd have to check that. | No idea, sorry. | Let me get back to you on that. | Good question, nobody told me. | I don't
    know yet. | Ask me again tomorrow. | That hasn't been decided. | I'll find out. | Not sure, to be honest. | Can we
    talk about that later? | You would have to ask the office. | Hm, I forgot.
    """
)
Style = Callable[[int, str, str], str]
STYLES: tuple[tuple[str, Style], ...] = (
    ("\n", lambda _, who, said: f"{who}: {said}"),
    ("\n", lambda _, who, said: f"{who}: {said}"),
    ("\n", lambda n, who, said: f"[{9 + n // 20:02d}:{n * 3 % 60:02d}] {who}: {said}"),
    ("\n", lambda n, who, said: f"{9 + n // 20}:{n * 3 % 60:02d} {who}: {said}"),
    ("\n", lambda _, who, said: f"**{who}:** {said}"),
    ("\n\n", lambda _, who, said: f"{who} wrote: {said}"),
    ("\n", lambda _, who, said: f"- {who}: {said}"),
    ("\n", lambda n, who, said: f"{who} (#{n + 1}): {said}"),
    ("\n\n", lambda _, who, said: f"{who}\n{said}"),
    ("\n", lambda _, who, said: f"<{who.lower()}> {said}"),
    (" ", lambda _, who, said: f'{who} said: "{said}"'),
    ("\n\n", lambda _, who, said: f"From: {who}\n\n{said}"),
)  # fmt: skip
HEADS = (
    *["", "", ""], "Minutes of the meeting\n\n", "Transcript\n\n", "Ticket 4{n}: request of a customer\n\n", "Interview, part {d}\n\n",
    "# Chat log\n\n", "Subject: Re: a few questions\n\n", "Present: {who}\n\n",
)  # fmt: skip


def talk_documents(rng: random.Random) -> Document:
    """Two to six facts between small talk, told by two to four people."""
    people = rng.sample(PEOPLE, rng.choice([3, 3, 4]))
    used: set[Value] = set()
    chosen: Sequence[Scheme] = rng.sample(TALK, rng.randint(2, 6))
    facts = [fact_of(scheme, people, used, rng) for scheme in chosen]
    small = {n: (rng.choice(people), rng.choice(CHAT)) for n in range(len(facts) + 1) if rng.random() < 0.6}
    joint, style = rng.choice(STYLES)
    head = rng.choice(HEADS).format(n=rng.randint(100, 999), d=rng.randint(1, 4), who=", ".join(people))
    order = {id(fact): number for number, fact in enumerate(facts)}
    start = rng.randint(0, 30)

    def render(some: Sequence[Fact]) -> str:
        told = [
            line for n, fact in enumerate(some) for line in (*([small[n]] if n in small else []), *fact.lines)
        ]
        told += [small[len(order)]] if len(order) in small else []
        return head + joint.join(style(start + n, who, said) for n, (who, said) in enumerate(told))

    return Document(facts, people, render, LEADS, DODGES)
