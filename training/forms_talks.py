# ruff: noqa: E501 (a wording is read best in one line)
"""The schemes of what is said in made conversations."""

from __future__ import annotations

from training.forms_scheme import schemes

TALK = schemes(
    """
    a: When does the {place} open on {day}? | What time does the {place} start on {day}? | {day}, from when is the {place} open?
    b: At {time}. | From {time}. | It opens at {time}. | We start at {time} that day.
    = ~the {place} opens at {time} on {day} | ~on {day} the {place} is open from {time} | ~people can use the {place} from {time} on {day}
    ! place/n day/n time

    a: And when does the {place} close? | Until when is the {place} open?
    b: {time}. | We shut at {time}. | Doors close at {time}.
    = ~the {place} closes at {time} | ~the {place} stays open until {time} | ~it is {time} when the {place} shuts
    ! place/n time

    a: How much is the {item}? | What does the {item} cost? | What do you want for the {item}?
    b: {money}. | It's {money}. | That one is {money}. | We sell it for {money}.
    = ~the {item} costs {money} | ~the price of the {item} is {money} | ~one has to pay {money} for the {item}
    ! item/n money

    b: The {item} used to be {money2}, now it's {money}. | We raised the {item} to {money}; it was {money2} before. | The {item} is {money} this year, last year it was {money2}.
    = ~the {item} now costs {money} | ~the current price of the {item} is {money} | ~the {item} is sold for {money} at present
    ! item/n money<money2

    a: When will the {item} arrive? | When do I get my {item}? | Is there a delivery date for the {item}?
    b: On {date}. | It should be there on {date}. | The courier brings it on {date}.
    = ~the {item} will be delivered on {date} | ~the {item} arrives on {date} | ~delivery of the {item} is set for {date}
    ! item/n date

    b: I'll {deed} by {day}. | Leave it to me, I'll {deed} before {day}. | You have my word, I will {deed} by {day}.
    = {b} promised to {deed} by {day} | {b} will {deed} by {day} | it is {b} who is going to {deed}, at the latest on {day}
    ! deed/n day

    a: {b}, could you {deed}? | Can you {deed}, {b}? | {b}, would you mind helping us to {deed}?
    b: {verdict}
    = {b} {verdict} {deed} | asked by {a}, {b} {verdict} {deed}
    ! verdict deed/n

    a: I suggest we {deed}. | Why don't we {deed}? | We should {deed}, don't you think?
    b: {reply}
    = {b} {reply} {a}'s proposal to {deed} | {b} {reply} the idea to {deed} | when {a} proposed to {deed}, {b} {reply} it
    ! reply deed/n

    a: Why was the {event} called off? | Why is there no {event} this week? | What happened to the {event}?
    b: Because {reason}. | It's off because {reason}. | {reason}, so we had to cancel.
    = ~the {event} was cancelled because {reason} | ~{reason}, which is why the {event} was cancelled | ~the {event} does not take place, as {reason}
    ! event/n reason/x

    b: First I {deed.past}, then I {deed2.past}. | I {deed.past}, and after that I {deed2.past}. | Before I {deed2.past}, I {deed.past}.
    = {b} {deed.past} before they {deed2.past} | {b} {deed2.past} after they {deed.past} | first {b} {deed.past} and then {b} {deed2.past}
    ! deed<>deed2 deed/n deed2/n

    a: How many {things} do we need? | How many {things} should I order? | {things}, how many?
    b: {count}. | We need {count}. | {count} should do. | Get {count} of them.
    = ~they need {count} {things} | ~{count} {things} are needed | ~the number of {things} required is {count}
    ! things/n count

    a: Where is the {event}? | Where does the {event} take place? | Which room is the {event} in?
    b: In {room}. | It's in {room}. | They put it in {room}.
    = ~the {event} takes place in {room} | ~{room} is where the {event} will be | ~the venue of the {event} is {room}
    ! event/n room

    a: What day is the {event}? | When is the {event}? | Which day did we pick for the {event}?
    b: {day} at {time}. | It's on {day}, {time}. | {day}, and it starts at {time}.
    = ~the {event} is on {day} at {time} | ~the {event} starts at {time} on {day} | ~at {time} on {day} the {event} begins
    ! event/n day time

    a: Who will {deed}? | Who is going to {deed}? | Any volunteers to {deed}?
    b: {c} will. | {c} said yes to that. | That's {c}'s job. | {c} has taken that on.
    = {c} is going to {deed} | {c} is the one who will {deed} | the task to {deed} falls to {c}
    ! c deed/n

    b: I find the {item} too {trait}. | For me the {item} is just too {trait}. | Honestly, the {item} is far too {trait}.
    = {b} thinks the {item} is too {trait} | {b} complains that the {item} is too {trait} | in {b}'s opinion the {item} is too {trait}
    ! item/n trait/n

    b: I prefer the {item} to the {item2}. | I'd take the {item} over the {item2} any day. | The {item} suits me better than the {item2}.
    = {b} prefers the {item} to the {item2} | {b} likes the {item} better than the {item2} | {b}'s preference is the {item}, not the {item2}
    ! item<>item2

    b: The {item} is {dear} than the {item2}. | Compared with the {item2}, the {item} is {dear}.
    = ~the {item} is {dear} than the {item2} | ~compared to the {item2}, the {item} is {dear}
    ! dear item<>item2

    a: How often does the {item} break down? | Does the {item} fail often? | Is the {item} reliable, or does it fail?
    b: {often}. | {often}, I'd say. | Well, {often}.
    = ~the {item} {often} fails | ~the {item} {often} breaks down
    ! often item/n

    b: The {event} {modal} move to {day}. | The {event} {modal} be held on {day} instead.
    = ~the {event} {modal} take place on {day} | ~the {event} {modal} be moved to {day}
    ! modal/x day/n event/n

    a: Can people {perk}? | Is it possible to {perk}? | Who can {perk}?
    b: Yes, {condition}. | {condition}. | You can, {condition}.
    = ~people can {perk} {condition} | ~it is possible to {perk} {condition}
    ! condition/x perk/n

    c: Action: {b} to {deed} by {date}. | Decided: {b} will {deed}, deadline {date}. | To do for {b}: {deed} before {date}.
    = {b} has to {deed} by {date} | it was decided that {b} will {deed} by {date} | the deadline for {b} to {deed} is {date}
    ! deed/n date

    c: Vote on the {event}: {count} in favour, {count2} against. | {count} voted for the {event} and {count2} against it.
    = {count} people voted for the {event} | {count2} people voted against the {event} | the {event} got {count} votes in favour and {count2} against
    ! count<count2 count2<count

    b: The deadline for the {event} was {date2} but has moved to {date}. | We shifted the {event} from {date2} to {date}. | The {event} is now on {date}, not {date2} as planned.
    = ~the {event} is now set for {date} | ~the new date of the {event} is {date} | ~the {event} has been rescheduled to {date}
    ! date<date2 event/n

    a: How heavy is the {item}? | What does the {item} weigh? | Is the {item} heavy?
    b: {mass}. | It weighs {mass}. | {mass} according to the label.
    = ~the {item} weighs {mass} | ~the weight of the {item} is {mass} | ~the {item} has a weight of {mass}
    ! mass item/n

    a: How far is it to {room}? | What's the distance to {room}?
    b: {distance}. | It's {distance} from here. | Roughly {distance}.
    = ~{room} is {distance} away | ~it is {distance} to {room} | ~the distance to {room} is {distance}
    ! distance room/n

    a: The {event} is on {day2}, right? | So the {event} is on {day2}? | I have the {event} down for {day2}.
    b: No, {day}. | No, it was moved to {day}. | Not any more, it's {day} now.
    = ~the {event} is on {day} | {a} wrongly believed that the {event} was on {day2} | {b} corrected {a}: the {event} is on {day}
    ! day<day2 day2<day event/n

    a: Would you take {money2} for the {item}? | I can offer {money2} for the {item}.
    b: Not enough, {money} is my final price. | I need at least {money}. | Make it {money} and it's yours.
    = {b} wants {money} for the {item} | {a} offered {money2} for the {item} | {b} would sell the {item} for {money}
    ! money<money2 money2<money item/n

    a: Should we {deed}? | Shall we {deed}? | Do we want to {deed}?
    b: {outcome}
    = in the end they {outcome} {deed} | the outcome was that they {outcome} {deed}
    ! outcome deed/n

    a: Can you come on {day2}, {b}? | Does {day2} work for you, {b}? | {b}, are you free on {day2}?
    b: I can't, but {day} is fine. | No, {day} would be better. | Sorry, only {day} works for me.
    = {b} is available on {day} | {b} can come on {day} | {b} cannot make it on {day2} | {b} could not accept {day2} and named {day} instead
    ! day<day2 day2<day

    a: Do you have {things}? | Any {things} left? | Are there {things} in stock?
    b: {has}
    = ~the place {has} {things} | ~the shop {has} {things} in stock
    ! has things/n

    b: {share} {group} are {state}. | So far {share} {group} are {state}. | I checked: {share} {group} are {state}.
    = ~{share} {group} are {state} | ~{share} {group} are {state} by now
    ! share group/n state/n

    a: How long does the {event} last? | How long will the {event} take? | What's the length of the {event}?
    b: {span}. | About {span}. | It takes {span}.
    = ~the {event} lasts {span} | ~the {event} takes {span} | ~the length of the {event} is {span}
    ! span event/n

    b: I'm {mood} the {item}. | Just so you know, I'm {mood} the {item}.
    = {b} is {mood} the {item} | {b} says they are {mood} the {item}
    ! mood item/n

    a: Did you {deed}, {b}? | Have you managed to {deed}, {b}? | {b}, is it true that you wanted to {deed}? Is that done?
    b: {done}
    = {b} {done} managed to {deed} | {b} {done} done what was asked, namely to {deed}
    ! done deed/n

    b: Sales of the {item} {move} by {pct} in {month}. | In {month} the price of the {item} {move} by {pct}.
    = ~figures for the {item} {move} by {pct} in {month} | ~in {month} figures for the {item} {move} by {pct}
    ! move pct month item/n

    b: Please pay {money} for the {item} by {date}. | The {item} invoice of {money} is due on {date}.
    = ~{money} has to be paid for the {item} by {date} | ~payment of {money} for the {item} is due by {date}
    ! money date item/n

    b: We moved the {event} to {room} because {reason}. | The {event} is now in {room}, because {reason}. | We moved the {event} to {room}.
    = ~the {event} was moved to {room} | ~the {event} was moved to {room} because {reason} | ~as {reason}, the {event} was moved to {room}
    ! room reason/x event/n

    b: {c} bought the {item} for {money}. | {c} got the {item} for {money}. | {c} bought the {item}.
    = {c} bought the {item} for {money} | {c} paid {money} for the {item} | the {item} was bought by {c}
    ! c money item/n

    b: According to {org}, {pct} of the {group} are {state}. | {pct} of the {group} are {state}, says {org}. | {pct} of the {group} are {state}.
    = {b} says that {pct} of the {group} are {state} | according to {org}, {pct} of the {group} are {state} | {b} cites {org} for the figure of {pct} of the {group} being {state}
    ! pct org/x group/n state/n

    b: I {deed.past} together with {c}. | {c} and I {deed.past}. | I {deed.past}.
    = {b} {deed.past} | {b} and {c} {deed.past} | {b} {deed.past} with the help of {c}
    ! deed/n c/x

    b: The {place} is closed on {day} for repairs. | {day} is a repair day, so the {place} is closed. | The {place} is closed on {day}.
    = ~the {place} is closed on {day} | ~on {day} the {place} does not open
    ! day place/n

    b: {c} told me that the {event} costs {money}. | I heard from {c} that tickets for the {event} are {money}.
    = according to what {c} told {b}, the {event} costs {money} | {b} heard from {c} that the {event} costs {money} | {c} is the source of the claim that the {event} costs {money}
    ! c/x money event/n b<>c/x
    """
)
