# ruff: noqa: E501 (a wording is read best in one line)
"""More themes of made lists: steps, news, questions and answers."""

from __future__ import annotations

NOTICES: dict[str, tuple[str, str]] = {
    "steps": (
        "How to proceed | Instructions | Checklist | Steps | Opening routine | Setup guide",
        """
        {deed}
        {deed2}
        = ~one has to {deed} before the step to {deed2} | ~the step to {deed2} comes after the one to {deed} | ~first {deed}, later {deed2}
        ! deed<>deed2

        {deed}, which takes {span} | {deed} (allow {span}) | {deed} and wait {span}
        = ~the step to {deed} comes with {span} | ~one should reckon with {span} for the step to {deed}
        ! span deed/n

        Do not {deed} until {day} | Never {deed} before {day}
        = ~one must wait until {day} to {deed} | ~before {day} nobody should {deed}
        ! day deed/n
        """,
    ),
    "news": (
        "Changelog | What's new | Release notes | Company facts | Key figures | In brief",
        """
        Version {version} ({date}): adds {feature} | {version}, {date}: {feature} added | {version}: new: {feature} ({date})
        = ~version {version} added {feature} | ~{feature} came with version {version} | ~version {version} was released on {date}
        ! version feature/n date

        Version {version} removes {feature} | {version}: {feature} removed | {version}: no more {feature}
        = ~{feature} was removed in version {version} | ~since version {version} {feature} is gone
        ! version feature/n

        {group}: {big} | Number of {group}: {big} | {big} {group}
        = ~the company counts {big} {group} | ~there are {big} {group} | ~the number of {group} is {big}
        ! big group/n

        Sales of the {item} {move} by {pct} | {item} sales {move} {pct} | {item}: sales {move} by {pct}
        = ~sales of the {item} {move} by {pct} | ~{item} sales {move} by {pct}
        ! move pct item/n

        {pct} of the {group} are {state} ({org}) | {pct} of the {group} {state}, says {org} | {pct} of the {group} are {state}
        = ~{pct} of the {group} are {state} | ~{org} reports that {pct} of the {group} are {state} | ~according to {org}, {pct} of the {group} are {state}
        ! pct org/x group/n state/n

        Office in {city} since {year} | {city} office opened: {year} | {year}: office in {city} opens
        = ~the office in {city} opened in {year} | ~since {year} there has been an office in {city}
        ! year city/n

        {event} cancelled: {reason} | No {event}: {reason} | {event} off because {reason}
        = ~the {event} was cancelled because {reason} | ~the {event} does not take place as {reason}
        ! reason/x event/n

        {item} (was {money2}, now {money}) | {item}: {money}, before {money2} | {item} raised from {money2} to {money}
        = ~the {item} now costs {money} | ~the {item} used to cost {money2} | ~today's price of the {item} is {money}
        ! money<money2 money2<money item/n
        """,
    ),
    "faq": (
        "FAQ | Frequently asked questions | Questions and answers | Help | Ask us",
        """
        How much is the {trade}?
        {money}. | It costs {money}. | We charge {money}.
        = ~the {trade} costs {money} | ~the price of the {trade} is {money}
        ! money trade/n

        When does the {place} open?
        At {time}. | From {time} on. | Daily at {time}.
        = ~the {place} opens at {time} | ~one can use the {place} from {time}
        ! time place/n

        Can I {perk}?
        Yes, {condition}. | {condition}.
        = ~it is possible to {perk} {condition} | ~people can {perk} {condition}
        ! condition/x perk/n

        Do you have {things}?
        {has}
        = ~the shop {has} {things} | ~the place {has} {things}
        ! has things/n

        How long does the {session} take?
        {span}. | About {span}. | It lasts {span}.
        = ~the {session} takes {span} | ~the {session} lasts {span}
        ! span session/n

        How long is delivery of the {item}?
        {days} days. | Within {days} days. | Please allow {days} days.
        = ~the {item} is delivered within {days} days | ~delivery of the {item} takes {days} days
        ! days item/n
        """,
    ),
}
