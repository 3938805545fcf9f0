"""Word tables of the made data."""

from __future__ import annotations


def words_in(text: str) -> list[str]:
    return text.split()


def parts_of(text: str) -> list[str]:
    """Phrases between bars; line breaks are spaces."""
    return [" ".join(part.split()) for part in text.split("|")]


def pairs_of(text: str) -> dict[str, str]:
    """`this: that | …`."""
    return {key.strip(): value.strip() for key, _, value in (part.partition(":") for part in parts_of(text))}


OPPOSITE = pairs_of(
    """
    more: less | fewer: more | higher: lower | increase: decrease | increased: decreased | increases:
    decreases | increasing: decreasing | rise: fall | rose: fell | rising: falling | above: below | before:
    after | early: late | earlier: later | first: last | largest: smallest | biggest: smallest | highest:
    lowest | best: worst | most: least | always: never | all: none | every: no | many: few | win: lose |
    won: lost | winning: losing | success: failure | successful: unsuccessful | open: closed | opened:
    closed | start: end | started: ended | begin: finish | began: finished | north: south | east: west |
    northern: southern | eastern: western | left: right | male: female | man: woman | men: women | boy: girl
    | husband: wife | father: mother | son: daughter | brother: sister | young: old | younger: older | new:
    old | good: bad | better: worse | positive: negative | strong: weak | stronger: weaker | fast: slow |
    faster: slower | long: short | longer: shorter | large: small | larger: smaller | big: small | high: low
    | hot: cold | warm: cool | rich: poor | cheap: expensive | public: private | domestic: foreign | legal:
    illegal | guilty: innocent | alive: dead | accept: reject | accepted: rejected | allow: forbid |
    allowed: banned | support: oppose | supported: opposed | agree: disagree | agreed: refused | approve:
    reject | approved: rejected | safe: dangerous | friendly: rude | clean: dirty | happy: sad | love: hate
    | loved: hated | liked: disliked | common: rare | major: minor | include: exclude | includes: excludes |
    including: excluding | with: without | inside: outside | indoor: outdoor | up: down | top: bottom |
    over: under | maximum: minimum | arrive: leave | arrived: left | buy: sell | bought: sold | gain: loss |
    gained: lost | profit: loss | true: false | possible: impossible | likely: unlikely | able: unable |
    day: night | morning: evening | summer: winter | spring: autumn | today: yesterday | free: paid | full:
    empty | easy: difficult | same: different | praised: criticized | effective: ineffective | known:
    unknown | current: former | only: also | both: neither | live: recorded | less: more | lower: higher |
    decrease: increase | decreased: increased | decreases: increases | decreasing: increasing | fall: rise |
    fell: rose | falling: rising | below: above | after: before | late: early | later: earlier | last: first
    | smallest: biggest | lowest: highest | worst: best | least: most | never: always | none: all | no:
    every | few: many | lose: win | lost: gained | losing: winning | failure: success | unsuccessful:
    successful | closed: opened | end: start | ended: started | finish: begin | finished: began | south:
    north | west: east | southern: northern | western: eastern | right: left | female: male | woman: man |
    women: men | girl: boy | wife: husband | mother: father | daughter: son | sister: brother | old: new |
    older: younger | bad: good | worse: better | negative: positive | weak: strong | weaker: stronger |
    slow: fast | slower: faster | short: long | shorter: longer | small: big | smaller: larger | low: high |
    cold: hot | cool: warm | poor: rich | expensive: cheap | private: public | foreign: domestic | illegal:
    legal | innocent: guilty | dead: alive | reject: approve | rejected: approved | forbid: allow | banned:
    allowed | oppose: support | opposed: supported | disagree: agree | refused: agreed | dangerous: safe |
    rude: friendly | dirty: clean | sad: happy | hate: love | hated: loved | disliked: liked | rare: common
    | minor: major | exclude: include | excludes: includes | excluding: including | without: with | outside:
    inside | outdoor: indoor | down: up | bottom: top | under: over | minimum: maximum | leave: arrive |
    sell: buy | sold: bought | loss: profit | false: true | impossible: possible | unlikely: likely |
    unable: able | night: day | evening: morning | winter: summer | autumn: spring | yesterday: today |
    paid: free | empty: full | difficult: easy | different: same | criticized: praised | ineffective:
    effective | unknown: known | former: current | also: only | neither: both | recorded: live
    """
)
SYNONYM = pairs_of(
    """
    large: big | big: large | buy: purchase | bought: purchased | begin: start | began: started | started:
    began | start: begin | help: assist | helped: assisted | show: indicate | showed: indicated | shows:
    indicates | shown: demonstrated | said: stated | says: states | told: informed | many: numerous |
    several: multiple | near: close to | about: approximately | around: roughly | approximately: about |
    however: but | because: since | while: whereas | also: additionally | use: utilize | used: utilized |
    uses: utilizes | make: create | made: created | makes: creates | got: received | get: receive | give:
    provide | gave: provided | gives: provides | important: significant | children: kids | people:
    individuals | man: gentleman | movie: film | film: movie | house: home | quickly: rapidly | often:
    frequently | died: passed away | killed: left dead | doctor: physician | car: vehicle | company: firm |
    firm: company | job: position | ended: concluded | end: conclude | located: situated | restaurant:
    eatery | tasty: delicious | nice: pleasant | difficult: hard | hard: difficult | happy: glad
    """
)
MONTHS = words_in(
    """
    January February March April May June July August September October November December
    """
)
DAYS = words_in(
    """
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday
    """
)
SMALL = words_in(
    """
    zero one two three four five six seven eight nine ten eleven twelve
    """
)
ORDINALS = words_in(
    """
    first second third fourth fifth sixth seventh eighth ninth tenth
    """
)
UNITS = words_in(
    """
    miles kilometers meters feet inches pounds kilograms grams tons hours minutes seconds days weeks months
    years dollars euros percent million billion thousand cups tablespoons teaspoons degrees ounces liters
    """
)
FILLERS = parts_of(
    """
    in the heart of the city | for the first time in history | according to local officials | which was
    widely praised by critics | with a focus on high quality ingredients | making it a popular choice for
    families | at no additional cost | based on three reviews | after a long legal battle | to raise
    awareness of the issue | with the help of volunteers | in a statement on Tuesday | and is expected to
    last several weeks | despite strong opposition | as part of a larger project | with over 30 years of
    experience | and has won several awards | to the surprise of many | from all over the world | on social
    media | during the winter months | in the early 1990s | under the supervision of experts | because of
    rising costs | and offers a wide selection of drinks | which is located near the station | as well as
    vegetarian options | in front of thousands of fans | who was born in London | with plans to expand next
    year | for several hours | due to bad weather | including a full bar | and is known for its friendly
    staff | near the river | on a daily basis | for medical reasons | in most cases | which can be harmful
    to health | and should be avoided by children
    """
)
FIRST = words_in(
    """
    Blue Golden Silver Green Old Little Royal Happy Sunny Lucky Red Twin River Corner Urban Rustic Casa
    Bella
    """
)
SECOND = words_in(
    """
    Fork Spoon Dragon Garden Kitchen Lantern Anchor Oak Rose Bean Crown Harbor Star Barrel Olive Palm Fox
    """
)
LAST = words_in(
    """
    Cafe Grill Bistro Diner Bar Bakery Spa Salon Hotel Deli Tavern Pizzeria Market Brewery House Gym Garage
    """
)
AMBIENCE = words_in(
    """
    romantic intimate touristy hipster divey classy trendy upscale casual
    """
)
PARKING = words_in(
    """
    garage street validated lot valet
    """
)
CITIES = pairs_of(
    """
    Santa Barbara: CA | Goleta: CA | Portland: OR | Austin: TX | Denver: CO | Tampa: FL | Nashville: TN |
    Boise: ID | Tucson: AZ | Reno: NV
    """
)
STREETS = parts_of(
    """
    State St | Main St | Oak Ave | Haley St | Hollister Ave | 5th Ave | Park Blvd | Canon Perdido St |
    Chapala St | Milpas St
    """
)
CATEGORIES = parts_of(
    """
    Restaurants | Mexican | Italian | Seafood | Breakfast & Brunch | Coffee & Tea | Bars | Nightlife |
    Sandwiches | Burgers | Pizza | Sushi Bars | Japanese | Thai | Vegan | Bakeries | Desserts | Day Spas |
    Massage | Hair Salons | Hotels | Event Planning | Delis | Wine Bars | Breweries | Steakhouses | American
    (New) | American (Traditional) | Chinese | Indian | Food Trucks | Juice Bars | Auto Repair | Shopping |
    Gyms | Yoga
    """
)
REVIEWS = parts_of(
    """
    The {f} was {g} and the staff was {h}. | We waited {n} minutes for our {f}. | I loved the {f}, it was
    {g}. | Service was {h} but the {f} was {g}. | The {f} is the best in town. | Not impressed, the {f} was
    {b}. | Our waiter was {h} and forgot the {f}. | Prices are {p} for what you get. | I come here every {d}
    for the {f}. | They only take cash. | My {k} and I had a great time. | The place was {c} when we
    visited.
    """
)
SLOTS = {
    "f": parts_of(
        "tacos | pizza | salmon | burger | coffee | pancakes | soup | steak | salad | clam chowder"
        " | massage | ice cream | sushi | fries"
    ),
    "g": parts_of("delicious | amazing | fresh | tasty | perfect | excellent"),
    "b": parts_of("cold | bland | overpriced | burnt | dry"),
    "h": parts_of("friendly | rude | attentive | slow | helpful | polite"),
    "n": parts_of("10 | 15 | 20 | 30 | 45 | 60"),
    "p": parts_of("reasonable | too high | fair"),
    "d": parts_of("Sunday | Friday | morning | week"),
    "k": parts_of("wife | husband | friends | kids | mother"),
    "c": parts_of("packed | empty | clean | dirty | loud"),
}
