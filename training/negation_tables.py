"""Words of the negation pool: states that exclude each other, opposites, participles, asides."""

from __future__ import annotations

from training.tables import pairs_of, parts_of

# Said beside the point, with a negation word.
ASIDES = parts_of(
    """
    and nobody is watching | without any help | although it is not raining | but there is no music | and
    there is no
    one else around | without a hat | while nobody pays attention | although there is not much light |
    without a
    word | but not for long
    """
)
# Two states of which one always holds: what can be in them.
STATES = {
    tuple(states.split("/")): parts_of(things.replace(",", " | "))
    for states, things in pairs_of(
        """
        open/closed: door, window, shop, museum, gate, bank | alive/dead: king, bird, tree, prisoner, fish |
        present/absent: teacher, witness, student, guest | asleep/awake: baby, guard, driver, dog, patient |
        locked/unlocked: door, car, drawer, safe | switched on/switched off: radio, lamp, phone, engine |
        true/false: story, answer, statement, report | visible/invisible: moon, mountain, tower, star |
        finished/unfinished: house, bridge, painting, novel | occupied/vacant: seat, room, table, house |
        legal/illegal: contract, sale, plan | safe/dangerous: road, bridge, toy, animal | indoors/outdoors:
        party, wedding, concert, game | wet/dry: floor, towel, grass, shirt | married/single: doctor, actor,
        singer
        """
    ).items()
}
# Within a caption only one of the two can be meant.
SCENE_OPPOSITES = pairs_of(
    """
    up: down | down: up | inside: outside | outside: inside | indoors: outdoors | outdoors: indoors |
    happily: sadly | sitting: standing | standing: sitting | laughing: crying | crying: laughing | smiling:
    frowning | asleep: awake | empty: crowded | crowded: empty | alone: together |
    slowly: quickly | quickly: slowly | awake: asleep | open: closed | closed: open |
    clean: dirty | dirty: clean | over: under | under: over | entering: leaving | leaving: entering |
    pushing: pulling | pulling: pushing
    """
)
PARTICIPLES = pairs_of(
    """
    playing: played | cutting: cut | riding: ridden | holding: held | eating: eaten | carrying: carried |
    throwing: thrown | chasing: chased | reading: read | washing: washed | watching: watched | kicking:
    kicked | slicing: sliced | drawing: drawn | cleaning: cleaned | cooking: cooked | painting: painted |
    pushing: pushed | pulling: pulled | drinking: drunk | driving: driven | using: used | catching: caught |
    climbing: climbed | wearing: worn | making: made | hitting: hit | feeding: fed | fixing: fixed |
    building: built | selling: sold | buying: bought | lifting: lifted | petting: petted | preparing:
    prepared | singing: sung | writing: written | opening: opened
    """
)
