"""Words of the logical pools: kinds and members, verbs, details, and what each operator does to them."""

from __future__ import annotations

from training.tables import pairs_of, parts_of, words_in

UP, DOWN, NON = 1, -1, 0

# Kind: members; a kind may be a member of another. Every member is one in its commonest sense.
KINDS = {
    kind: parts_of(members.replace(",", " | "))
    for kind, members in pairs_of(
        """
        animal: dog, cat, horse, cow, sheep, goat, pig, elephant, lion, tiger, bear, monkey, rabbit, fox,
        wolf, camel, panda, zebra, squirrel, donkey | dog: poodle, puppy, beagle, bulldog, terrier,
        greyhound | bird: duck, eagle, parrot, pigeon, swan, owl, penguin, seagull, goose, crow | insect:
        bee, ant, butterfly, mosquito, beetle, wasp | vehicle: car, truck, bus, van, tractor, motorcycle,
        ambulance, bicycle, scooter | car: taxi, limousine, jeep, convertible | boat: canoe, ferry, yacht,
        sailboat, kayak | instrument: guitar, piano, violin, drum, trumpet, flute, saxophone, cello, banjo,
        harp | weapon: gun, sword, rifle, spear | tool: hammer, saw, screwdriver, drill, wrench, shovel |
        vegetable: carrot, onion, potato, cucumber, cabbage, pepper, mushroom | fruit: apple, banana,
        orange, pear, melon, peach, mango | garment: shirt, jacket, coat, dress, skirt, sweater, sock, glove
        | hat: cap, sombrero, beret, bonnet | flower: rose, tulip, daisy, lily, orchid | tree: oak, pine,
        palm, maple, willow | building: house, church, hospital, school, factory, tower, castle, museum,
        hotel | person: man, woman, child, boy, girl, adult, teacher, doctor, artist, worker, athlete,
        musician, soldier, tourist, farmer, nurse, chef, student | child: boy, girl, toddler, baby | adult:
        man, woman | athlete: swimmer, runner, gymnast, skier, boxer, wrestler, surfer, skateboarder,
        cyclist, snowboarder | musician: guitarist, drummer, pianist, violinist | worker: plumber,
        carpenter, welder, miner, electrician | scientist: chemist, biologist, physicist | relative: cousin,
        aunt, uncle, sister, brother, grandmother | artist: painter, sculptor, potter | ball: football,
        basketball, baseball, tennis ball, golf ball | publication: book, magazine, newspaper, brochure |
        book: novel, dictionary, cookbook, textbook, biography | device: phone, laptop, camera, radio,
        printer | container: bottle, box, basket, bucket, jar, suitcase | seat: chair, bench,
        sofa, stool | toy: doll, puzzle, kite, teddy bear, toy car | dessert: cake, pie, pudding, cupcake |
        gem: diamond, ruby, emerald, sapphire | song: ballad, lullaby, hymn, anthem | fish: shark, trout,
        goldfish | picture: photograph, painting, drawing, portrait | document: letter, contract, report,
        map
        """
    ).items()
}
MASS_KINDS = {
    kind: parts_of(members.replace(",", " | "))
    for kind, members in pairs_of(
        """
        meat: pork, beef, lamb, ham, bacon | food: bread, rice, cheese, pasta, pizza, soup, seafood, meat |
        alcohol: beer, wine, whiskey, vodka | clothing: underwear, sportswear, knitwear | furniture: antique
        furniture, garden furniture | jewelry: gold jewelry, silver jewelry | metal: gold, silver, iron,
        copper | music: jazz, rock music, classical music, folk music
        """
    ).items()
}
PLURALS = pairs_of(
    """
    man: men | woman: women | child: children | person: people | mouse: mice | sheep: sheep | fish: fish |
    goose: geese | trout: trout | goldfish: goldfish | knife: knives | wolf: wolves | gentleman: gentlemen |
    lady: ladies | baby: babies | puppy: puppies | fisherman: fishermen | policeman: policemen | fruit:
    fruits
    """
)
# past, -ing and what is done to what.
VERBS = {
    base: tuple(parts_of(rest.replace(",", " | ")))
    for base, rest in pairs_of(
        """
        eat: ate, eating, vegetable, fruit, dessert, meat, food | buy: bought, buying, vehicle, instrument,
        garment, publication, tool, toy, device, flower, seat, boat, jewelry, furniture | sell: sold,
        selling, vehicle, fruit, garment, publication, gem, picture, metal | see: saw, seeing, animal, bird,
        insect, boat, building, musician, vehicle | find: found, finding, tool, gem, toy, publication,
        container, weapon, hat | draw: drew, drawing, animal, flower, building, tree, bird, vehicle, fish |
        paint: painted, painting, flower, boat, tree, person, seat, dog | carry: carried, carrying,
        instrument, container, weapon, ball, device, seat, tool | break: broke, breaking, toy, device, seat,
        instrument, tool | steal: stole, stealing, car, device, gem, fruit, weapon, picture, alcohol |
        repair: repaired, repairing, vehicle, device, boat, instrument, seat | throw: threw, throwing, ball,
        toy, fruit, hat, container | read: read, reading, publication, book, document | write: wrote,
        writing, book, song, document | play: played, playing, instrument, song, music | feed: fed, feeding,
        animal, bird, dog, fish | chase: chased, chasing, animal, bird, child, insect, athlete | wear: wore,
        wearing, garment, hat, clothing | drink: drank, drinking, alcohol | plant: planted, planting,
        flower, tree, vegetable | photograph: photographed, photographing, bird, building, athlete, animal,
        child | wash: washed, washing, vehicle, garment, vegetable, dog | meet: met, meeting, artist,
        athlete, scientist, relative, musician | hire: hired, hiring, worker, musician, artist, scientist |
        lose: lost, losing, ball, hat, garment, document, gem | hide: hid, hiding, toy, weapon, document,
        jewelry, dessert | visit: visited, visiting, building, relative, scientist | own: owned, owning,
        boat, vehicle, animal, instrument, furniture
        """
    ).items()
}
SUBJECTS = words_in(
    """
    student teacher doctor farmer tourist child neighbor player singer driver nurse robot soldier guest
    pirate visitor lawyer writer customer boy girl man woman scientist dancer king actor dentist engineer
    cook hunter giant wizard prisoner manager patient waiter barber thief sailor monk pilot baker
    """
)
NAMES = words_in("John Mary Peter Susan Ahmed Yuki Carlos Emma Olga Tom Nina Bob Lucy David Priya Kofi")
BEING = words_in("young old tall tired hungry friendly rich famous lonely angry clever nervous shy foreign")
THING = words_in(
    "old new small large red blue green yellow black white expensive cheap broken heavy dirty lovely strange"
)
GENERIC = words_in("new big old small special strange nice foreign")
STUFF = words_in("cheap expensive old foreign good local fresh")
BEING_PP = parts_of(
    """
    in the garden | from the village | from Canada | near the gate | in a red hat | with a map | in the
    front row | on the bus | with long hair | from the next town | who came late | who spoke first | who
    lived in the city | who went home early | who sat near the window | with two sons | from the north
    """
)
THING_PP = parts_of(
    """
    from Japan | from the market | with a scratch | that cost a fortune | that belonged to a friend | from
    the last century | made in Italy | that nobody wanted | with red spots | in the window | next to the
    door | that looked strange | from a catalogue | in the corner
    """
)
VP_MORE = parts_of(
    """
    in the morning | on Sunday | in the park | at home | with a friend | at midnight | after lunch | quickly
    | carefully | in the kitchen | at the station | in silence | on Monday evening | during the break | for
    a bet | twice a week | in front of the church | in the rain | without any help | in the summer
    """
)
EXTRA_VP = parts_of(
    """
    sing:sang:singing | dance:danced:dancing | sleep:slept:sleeping | leave early:left early:leaving early |
    go swimming:went swimming:going swimming | smile:smiled:smiling | cry:cried:crying | call a taxi:called
    a taxi:calling a taxi | stay at home:stayed at home:staying at home | get lost:got lost:getting lost
    """
)
ELSE = parts_of(
    """
    the shop closed early | the price went up | everybody was surprised | the mayor was pleased | the
    children laughed | there will be trouble | the party ended | the police came
    """
)
ELSE_NOW = parts_of(
    "there will be trouble | everybody is happy | the neighbors complain | it is worth a look"
)
# Determiner, number (s, p), what it does to its noun, what it does to the rest.
UNCLEAR = 9
QUANTIFIERS = tuple(
    (det, number, restrictor, scope)
    for det, number, restrictor, scope in (
        ("a", "s", UP, UP), ("some", "p", UP, UP), ("several", "p", UP, UP), ("the", "s", UNCLEAR, UP),
        ("every", "s", DOWN, UP), ("each", "s", DOWN, UP), ("all", "p", DOWN, UP),
        ("no", "s", DOWN, DOWN), ("no", "p", DOWN, DOWN), ("not a single", "s", DOWN, DOWN),
        ("hardly any", "p", DOWN, DOWN), ("few", "p", UNCLEAR, DOWN), ("very few", "p", UNCLEAR, DOWN),
        ("a few", "p", UP, UP), ("at most {n}", "p", DOWN, DOWN), ("no more than {n}", "p", DOWN, DOWN),
        ("fewer than {n}", "p", DOWN, DOWN), ("less than {n}", "p", DOWN, DOWN),
        ("at least {n}", "p", UP, UP),
        ("more than {n}", "p", UP, UP), ("no less than {n}", "p", UP, UP), ("no fewer than {n}", "p", UP, UP),
        ("{n}", "p", UP, UP), ("exactly {n}", "p", NON, NON), ("only {n}", "p", NON, NON),
        ("just {n}", "p", NON, NON), ("most", "p", NON, UP), ("many", "p", UNCLEAR, UP),
        ("not many", "p", UNCLEAR, DOWN), ("not all", "p", UP, DOWN), ("not every", "s", UP, DOWN),
        ("both", "p", UNCLEAR, UP), ("none of the", "p", DOWN, DOWN), ("all of the", "p", DOWN, UP),
        ("one of the", "p", UP, UP), ("neither of the", "p", UNCLEAR, DOWN),
        ("more than half of the", "p", NON, UP),
        ("most of the", "p", NON, UP), ("an odd number of", "p", NON, NON), ("only a few", "p", NON, NON),
    )
)  # fmt: skip
WHO = {
    "somebody": UP, "someone": UP, "everybody": UP, "everyone": UP, "nobody": DOWN, "no one": DOWN,
    "hardly anyone": DOWN, "hardly anybody": DOWN, "almost everyone": UP, "not everyone": DOWN,
}  # fmt: skip
# What stands before the verb, the verb's form, what it does to the rest.
ACTS = (
    ("", "past", UP), ("", "past", UP), ("managed to ", "base", UP), ("decided to ", "base", UP),
    ("started ", "ing", UP), ("will ", "base", UP), ("can ", "base", UP), ("often ", "past", UP),
    ("did not ", "base", DOWN), ("didn't ", "base", DOWN), ("never ", "past", DOWN),
    ("will not ", "base", DOWN),
    ("cannot ", "base", DOWN), ("refused to ", "base", DOWN), ("failed to ", "base", DOWN),
    ("forgot to ", "base", DOWN), ("hardly ever ", "past", DOWN), ("rarely ", "past", DOWN),
    ("went home without ", "ing", DOWN), ("avoided ", "ing", DOWN), ("denied ", "ing", DOWN),
    ("is never ", "ing", DOWN), ("is ", "ing", UP), ("was too tired to ", "base", DOWN),
)  # fmt: skip
SAFE_UNDER_EVERY = words_in("managed decided started refused failed forgot went avoided denied often")
# Round a whole sentence.
ROUND = (
    ("it is not true that {s}", DOWN), ("I doubt that {s}", DOWN), ("it is false that {s}", DOWN),
    ("I know that {s}", UP), ("it is clear that {s}", UP), ("we heard that {s}", UP),
    ("I am sure that {s}", UP),
    ("if {s}, {z}", DOWN), ("whenever {s}, {z}", DOWN), ("{z} if {s}", DOWN), ("{z}, and {s}", UP),
    ("nobody believes that {s}", DOWN), ("it is unlikely that {s}", DOWN),
    ("it is impossible that {s}", DOWN),
    ("it is likely that {s}", UP), ("I don't think that {s}", DOWN),
)  # fmt: skip
# Clauses about those who did something.
RELATIVE = (
    ("everyone who {v} was happy", DOWN), ("no one who {v} was happy", DOWN),
    ("someone who {v} was happy", UP),
    ("most people who {v} were happy", NON), ("every {x} who {v} was late", DOWN),
    ("a {x} who {v} was late", UP),
    ("no {x} who {v} got a prize", DOWN), ("exactly two people who {v} got a prize", NON),
    ("I have met a {x} who {v}", UP), ("I have never met a {x} who {v}", DOWN),
    ("{z} before anyone {v}", DOWN), ("there was hardly a {x} who {v}", DOWN),
    ("at least one {x} who {v} fell asleep", UP),
)  # fmt: skip
# Adjectives that do not simply narrow their noun, or that a noun does not read well without.
NO_ADJECTIVE = frozenset(
    words_in(
        """
        other same former fake first last next only own few many several more most such certain different
        second third main whole half total little single possible alleged various past future like due able
        full very enough good much early late least less likely unlikely public private human common real
        fine best baby
        """
    )
)
# Nouns that take no adjective well.
LIGHT = frozenset(
    words_in(
        "difference lot way kind sort bit time thing number rest front back side top part sense doubt need"
    )
)
SOFT_PREPOSITIONS = frozenset(
    words_in("in on at near outside inside behind during with under beside by along through next across")
)
PLACES = parts_of(
    """
    in the rain | in the morning | near a church | with a friend | at night | in front of a shop | during a
    festival | under a bridge | next to a river | on a sunny day | with great care | for the first time
    """
)
