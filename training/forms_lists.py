# ruff: noqa: E501 (a wording is read best in one line)
"""What the made lists are about: per theme its titles and the schemes of its items."""

from __future__ import annotations

from training.forms_notices import NOTICES

# Per theme: titles, then its schemes. Each scheme may occur several times in one list.
THEMES: dict[str, tuple[str, str]] = {
    "menu": (
        "Menu | Lunch menu | Today's specials | Our kitchen | Food and drinks | Evening card | Bistro menu",
        """
        {dish}: {small} | {dish} {small} | {dish} ({small}) | {dish} - {small} | {dish}, {small}
        = ~the {dish} costs {small} | ~the {dish} is {small} | ~guests pay {small} for the {dish} | ~{small} is the price of the {dish}
        ! small dish/n

        {dish} with {ingredient}: {small} | {dish} ({ingredient}), {small} | {dish}: {small}
        = ~the {dish} comes with {ingredient} and costs {small} | ~for {small} there is {dish} with {ingredient} | ~the {dish} contains {ingredient} | ~the {dish} costs {small}
        ! small ingredient/n dish/n
        """,
    ),
    "prices": (
        "Price list | Rates | Our services | What it costs | Fees | Tariffs 2025",
        """
        {trade}: {money} | {trade} - {money} | {trade} ({money}) | {trade}, {money}
        = ~the {trade} costs {money} | ~the price for the {trade} is {money} | ~customers are charged {money} for the {trade}
        ! money trade/n

        {trade}: {money} (members {money2}) | {trade}: {money}, for members {money2}
        = ~members pay {money2} for the {trade} | ~without membership the {trade} costs {money}
        ! money<money2 money2<money money trade/n

        {trade}: {condition} | {trade} available {condition}
        = ~the {trade} is offered {condition} | ~the {trade} can be had {condition}
        ! condition/x trade/n

        {plan}: {money} per month, {count} users | {plan} plan: {count} users, {money} a month
        = ~the {plan} plan costs {money} a month | ~the {plan} plan covers {count} users | ~with the {plan} plan {count} people can use it for {money} monthly
        ! money count plan/x
        """,
    ),
    "policy": (
        "Policies | House rules | Terms | Good to know | Conditions of use | Guest information | Shop policy",
        """
        Returns of the {item}: within {days} days | {item} returns: {days} days | Return period ({item}): {days} days
        = ~the {item} can be sent back within {days} days | ~customers have {days} days to return the {item} | ~the return period for the {item} is {days} days
        ! days item/n

        Who may {perk}: {condition} | To {perk}: {condition}
        = ~people may {perk} {condition} | ~it is possible to {perk} {condition}
        ! condition/x perk/n

        {things}: {allowed} | {things} in the building: {allowed}
        = ~{things} are {allowed} | ~in the building {things} are {allowed}
        ! allowed things/n

        Minimum age ({session}): {age} | {session}: from age {age} | {session} (ages {age} and over)
        = ~one must be at least {age} for the {session} | ~the {session} is for people aged {age} or older | ~the minimum age for the {session} is {age}
        ! age session/n

        Cancelling the {session}: free until {period} before | {session}: cancel up to {period} before
        = ~the {session} can be cancelled up to {period} before | ~one has to cancel the {session} at least {period} ahead
        ! period session/n

        Deposit for the {item}: {money} | {item}: deposit {money}
        = ~the deposit for the {item} is {money} | ~one leaves a deposit of {money} for the {item}
        ! money item/n

        Free delivery: orders over {money} | Delivery is free from {money} | Shipping: free above {money}
        = ~delivery is free for orders over {money} | ~orders above {money} are shipped free of charge | ~one pays no delivery from {money} on
        ! money
        """,
    ),
    "recipe": (
        "Ingredients | Shopping list | You need | For four people | Grandma's cake: ingredients | For the dough",
        """
        {amount} {ingredient} | {amount} of {ingredient} | {ingredient}: {amount} | {ingredient} ({amount})
        = ~the recipe needs {amount} of {ingredient} | ~{amount} of {ingredient} go into it | ~it takes {amount} of {ingredient} | ~the amount of {ingredient} is {amount}
        ! amount ingredient/n

        {count} eggs | Eggs: {count}
        = ~{count} eggs are needed | ~the number of eggs is {count} | ~it takes {count} eggs
        ! count

        Baking time: {span} | In the oven for {span} | Bake for {span}
        = ~it has to bake for {span} | ~the baking time is {span} | ~it stays in the oven for {span}
        ! span
        """,
    ),
    "spec": (
        "Specifications | Technical data | Product details | Data sheet | Features | About this product",
        """
        Weight: {mass} | Net weight: {mass} | Weighs {mass}
        = ~it weighs {mass} | ~its weight is {mass} | ~the weight is given as {mass}
        ! mass

        Height: {length} | {length} high | Height {length}
        = ~it is {length} high | ~its height is {length} | ~it stands {length} tall
        ! length

        Capacity: {volume} | Holds {volume} | Volume: {volume}
        = ~it holds {volume} | ~its capacity is {volume} | ~one can fill in {volume}
        ! volume

        Power: {power} | Power consumption: {power} | Uses {power}
        = ~it uses {power} | ~its power is {power} | ~it needs {power}
        ! power

        Material: {material} | Made of: {material} | Body: {material}
        = ~it is made of {material} | ~the material used is {material} | ~{material} is what it is built from
        ! material

        Colour: {colour} | Available in: {colour} | Finish: {colour}
        = ~its colour is {colour} | ~it comes in {colour}
        ! colour

        Warranty: {period} | Guarantee: {period} | Covered by warranty for {period}
        = ~the warranty lasts {period} | ~it has a guarantee of {period} | ~the product is covered for {period}
        ! period

        Price: {money} | Recommended price: {money} | RRP: {money}
        = ~it costs {money} | ~the price is {money} | ~buyers have to pay {money}
        ! money

        Released: {year} | Year of launch: {year} | On the market since {year}
        = ~it came out in {year} | ~it was launched in {year} | ~it has been sold since {year}
        ! year

        Included: {extra}, {extra2} | In the box: {extra}, {extra2} | Comes with: {extra} and {extra2}
        = ~the package includes {extra} | ~the package comes with {extra2} | ~both {extra} and {extra2} are part of the package
        ! extra/n extra2/n

        Not included: {extra}, {extra2} | Sold separately: {extra} and {extra2} | Without: {extra}, {extra2}
        = ~the package does not include {extra} | ~the package comes without {extra2} | ~neither {extra} nor {extra2} is part of the package
        ! extra/n extra2/n

        Made in: {city} | Manufactured in {city} | Assembled in: {city}
        = ~it is produced in {city} | ~the factory is in {city} | ~it is put together in {city}
        ! city
        """,
    ),
    "schedule": (
        "Programme | Schedule | Timetable | Saturday | Conference day {d} | Agenda | Course plan",
        """
        {time}: {session} | {time} - {session} | {session}: {time} | {time} {session}
        = ~the {session} starts at {time} | ~at {time} there is the {session} | ~the {session} is planned for {time}
        ! time session/n

        {time}: {session} in {room} | {session} ({room}, {time}) | {time} {session}, {room}
        = ~the {session} takes place in {room} | ~at {time} the {session} begins in {room} | ~{room} hosts the {session} at {time}
        ! time room session/n

        {day}: {session} with {c} | {session} ({c}), {day} | {day} - {session}, led by {c}
        = ~{c} runs the {session} on {day} | ~the {session} on {day} is given by {c} | ~on {day} {c} is in charge of the {session}
        ! day c/x session/n

        {date}: {event} | {event}: {date} | {event} ({date}) | {event} on {date}
        = ~the {event} is on {date} | ~the {event} takes place on {date} | ~{date} is the day of the {event}
        ! date event/n

        {place}: {time} to {time2} | {place}: open {time} until {time2} | {place} ({time}-{time2})
        = ~the {place} opens at {time} | ~the {place} closes at {time2} | ~the {place} is open from {time} until {time2}
        ! time time2 place/n

        {place}: closed on {day} | Closed on {day}: {place} | No {place} on {day}
        = ~the {place} is closed on {day} | ~on {day} the {place} does not open | ~{day} is the day when the {place} stays shut
        ! day/n place/n
        """,
    ),
    "people": (
        "Contacts | Team | Who does what | Staff | Committee | Duty roster | Action items",
        """
        {role}: {c} | {c}, {role} | {c} ({role}) | {c} - {role}
        = ~{c} is the {role} | ~the {role} is {c} | ~{c} works as {role}
        ! c role/n

        {deed}: {c}, by {date} | {c} to {deed} by {date} | {deed} ({c}, due {date})
        = ~{c} has to {deed} by {date} | ~the task to {deed} belongs to {c} | ~{date} is the deadline to {deed}
        ! c date deed/n

        {things}: {count} | {count} {things} | {things} ({count}) | {things} x {count}
        = ~there are {count} {things} | ~the list has {count} {things} | ~the number of {things} is {count}
        ! count things/n

        {share} {group} are {state} | Status: {share} {group} are {state}
        = ~{share} {group} are {state} | ~it holds for {share} {group} that they are {state}
        ! share group/n state/n
        """,
    ),
    **NOTICES,
}
