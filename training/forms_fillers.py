# ruff: noqa: E501 (a row of a table is read best in one line)
"""Word tables of the made conversations and lists."""

from __future__ import annotations

from training.tables import parts_of, words_in

PEOPLE = words_in(
    """
    Ana Tom Priya Marcus Lena Omar Grace Felix Nadia Victor Chloe Diego Hannah Kwame Ingrid Samir Julia Peter Mei
    Carlos Olivia Rahul Sofia Daniel Yuki Amara Boris Claire Dmitri Elena Farid Greta Hugo Irene Jonas Keiko Liam
    Mona Nils Oscar Paula Quentin Rosa Stefan Tessa Umar Vera Walter Xenia Yusuf Zara Aidan Bianca Cedric Dalia Emil
    Fiona Gavin Helga Isaac Jasmin Karim Laura Malik Noor Otto Petra Ravi Selma Theo Ursula Vikram Wendy Amir Brenda
    Colin Doris Ethan Freya George Hilda Igor Joyce Kevin Lydia Mario Nina Oleg Pablo Rita Simon Tara Viola Wayne
    Yara Anton Beth Cyrus Diana Edgar Flora Glenn Heidi Ivan Janet Kurt Linda Miguel Naomi Patrick Renata Silvia Tariq
    """
)
DEEDS = """
    book the hall/booked the hall | send the invoice/sent the invoice | call the plumber/called the plumber | order new
    chairs/ordered new chairs | update the website/updated the website | print the flyers/printed the flyers | repair
    the projector/repaired the projector | hire a photographer/hired a photographer | write the report/wrote the report |
    sign the contract/signed the contract | test the new release/tested the new release | pick up the keys/picked up the
    keys | clean the storage room/cleaned the storage room | review the budget/reviewed the budget | pay the
    deposit/paid the deposit | cancel the subscription/cancelled the subscription | reset the server/reset the server |
    translate the manual/translated the manual | paint the fence/painted the fence | water the plants/watered the plants |
    feed the cats/fed the cats | collect the tickets/collected the tickets | renew the licence/renewed the licence |
    ship the samples/shipped the samples | interview the candidates/interviewed the candidates | replace the
    filter/replaced the filter | check the alarm/checked the alarm | upload the photos/uploaded the photos | draft the
    agenda/drafted the agenda | contact the insurer/contacted the insurer | wash the van/washed the van | install the
    software/installed the software | move the meeting/moved the meeting | close the old account/closed the old account |
    bake the cake/baked the cake | drive to the airport/drove to the airport | measure the windows/measured the windows |
    back up the database/backed up the database | rent a van/rented a van | file the complaint/filed the complaint |
    prepare the slides/prepared the slides | unpack the boxes/unpacked the boxes | invite the neighbours/invited the
    neighbours | buy a new printer/bought a new printer | count the stock/counted the stock | change the
    password/changed the password | sell the old laptops/sold the old laptops | choose the menu/chose the menu | find a
    new supplier/found a new supplier | fix the leaking tap/fixed the leaking tap | record the podcast/recorded the
    podcast | label the shelves/labelled the shelves | post the job advert/posted the job advert | proofread the
    brochure/proofread the brochure
    """
LISTS: dict[str, list[str]] = {
    "person": PEOPLE,
    "deed": parts_of(DEEDS),
    "place": parts_of(
        """
        kitchen | library | front desk | gift shop | swimming pool | bakery | museum | garage | pharmacy | sauna | box
        office | canteen | warehouse | clinic | workshop | rooftop bar | fitness room | post room | visitor centre |
        help desk | cloakroom | showroom | car wash | beer garden | climbing wall | ice rink | print shop | market hall |
        ticket office | laundry | playground | tea room | archive | laboratory | butcher's counter | recycling centre
        """
    ),
    "item": parts_of(
        """
        standing desk | coffee machine | winter jacket | mountain bike | sound system | dishwasher | camera bag |
        sofa bed | washing machine | tablet | garden table | microphone | electric kettle | bookshelf |
        office chair | rain cover | tent | water filter | mattress | wall clock | yoga mat | desk lamp | sewing machine |
        toolbox | vacuum cleaner | air conditioner | snowboard | guitar | baby seat | whiteboard | rice cooker | freezer |
        hiking pack | monitor | keyboard | router | blender | lawn mower | trampoline | scooter | ladder | heater |
        carpet | telescope | drone | printer | canoe | grill | photo frame
        """
    ),
    "things": parts_of(
        """
        chairs | tickets | parcels | badges | laptops | volunteers | parking permits | towels | name tags | bottles of
        water | tables | copies of the form | pairs of gloves | blankets | extension cords | projectors | seats | lunch
        boxes | training slots | rooms | candles | helmets | boxes of tiles | crates of apples | folders | spare keys |
        umbrellas | microphones | life jackets | flower pots | sandwiches | posters | batteries | buses | invitations
        """
    ),
    "event": parts_of(
        """
        board meeting | summer party | staff training | product launch | book fair | charity run | quarterly review |
        wedding reception | job interview | yoga class | film night | fire drill | site visit | garden show | concert |
        parents' evening | budget workshop | farewell lunch | science fair | open day | chess tournament | wine tasting |
        safety briefing | dance lesson | design sprint | auction | rehearsal | webinar | flea market | poetry reading
        """
    ),
    "room": parts_of(
        """
        Room 12 | Room 204 | the main hall | the blue room | the basement | the annex | the garden pavilion | the second
        floor lounge | Building C | the old chapel | the west wing | the conference centre | the town hall | the gym |
        the roof terrace | the reading room | Studio 5 | the north lobby | the seminar room | the boathouse | the school
        canteen | the theatre | Hall B | the courtyard
        """
    ),
    "reason": parts_of(
        """
        the boiler broke down | too few people signed up | the speaker is ill | the road is flooded | the permit was not
        granted | the supplier went bankrupt | the budget was cut | a pipe burst | the software update failed | the
        train drivers are on strike | the roof is being repaired | the courier lost the parcel | demand was low | the
        trainer resigned | there was a power cut | the data were incomplete | the bridge is closed | the client asked
        for changes | customs held the shipment | the key was lost | a storm is forecast | the wrong part was delivered
        | the lease ran out | an inspection is due
        """
    ),
    "trait": parts_of(
        """
        noisy | expensive | slow | complicated | heavy | small | outdated | fragile | bright | cold | crowded | bulky |
        boring | salty | tight | unreliable | dark | dusty | formal | short
        """
    ),
    "role": parts_of(
        """
        treasurer | project manager | head chef | site supervisor | press officer | team leader | accountant | caretaker |
        head of sales | safety officer | lead designer | receptionist | coach | librarian | data analyst | legal adviser |
        editor | night porter | chief engineer | secretary | trainer | HR manager | gardener | head nurse
        """
    ),
    "condition": parts_of(
        """
        only on weekdays | only with a receipt | only for members | only in the summer months | only after 6 pm | only
        with a manager's approval | only for orders placed online | only at weekends | only for children under 12 | only
        for first-time customers | only with two weeks' notice | only in the main branch | only when paying by card |
        only during school holidays | only for groups of ten or more | for everyone, without exception | at any time |
        for everyone, without exception | at any time | at any time
        """
    ),
    "perk": parts_of(
        """
        get a refund | bring a dog | use the pool | park for free | take photos | borrow a bike | change the booking |
        store luggage | use the printer | reserve a table | work from home | join the tour | get a discount | hire the
        hall | use the lift | enter through the back door | exchange an item | order a packed lunch | use the sauna |
        cancel free of charge | pick up parcels | get the free shuttle
        """
    ),
    "dish": parts_of(
        """
        tomato soup | grilled salmon | mushroom risotto | Caesar salad | lentil curry | beef burger | margherita pizza |
        fish tacos | apple pie | chocolate mousse | iced tea | flat white | lemonade | garlic bread | chicken wings |
        pumpkin ravioli | onion tart | lamb stew | cheese board | pad thai | vegetable lasagne | miso ramen | club
        sandwich | cheesecake | fruit salad | french fries | falafel plate | prawn dumplings | rice pudding | omelette |
        goulash | carrot cake | ginger beer | hot chocolate | duck breast | spinach quiche | crab cakes | bean chili
        """
    ),
    "ingredient": parts_of(
        """
        flour | sugar | butter | milk | olive oil | rice | lentils | honey | cream | oats | cocoa | grated cheese |
        breadcrumbs | coconut milk | chickpeas | ground almonds | yoghurt | cornstarch | soy sauce | raisins | tomato
        paste | walnuts | mustard | lemon juice | maple syrup | semolina | peanut butter | vinegar
        """
    ),
    "extra": parts_of(
        """
        breakfast | airport transfer | travel insurance | bed linen | parking | final cleaning | a guided tour | Wi-Fi |
        towels | lunch | ski pass | entry fees | a welcome drink | laundry service | bike hire | dinner | a power
        adapter | a carrying case | batteries | a wall mount | installation | setup by a technician | a spare blade |
        a charging cable | visa fees | tips | museum tickets | a rain cover | gift wrapping | snacks
        """
    ),
    "session": parts_of(
        """
        opening speech | pottery workshop | panel on housing | lunch break | keynote | robotics demo | coding lab | poster
        session | first aid course | city tour | prize giving | choir rehearsal | science quiz | careers talk | tax
        clinic | cooking class | closing remarks | debate | yoga for beginners | film screening | coffee break | Q&A
        round | sculpture walk | jazz set | story hour | networking hour
        """
    ),
    "feature": parts_of(
        """
        dark mode | offline maps | two-factor login | PDF export | voice search | a calendar view | automatic backups |
        shared folders | a Spanish translation | keyboard shortcuts | a spell checker | single sign-on | push
        notifications | bulk editing | a new search bar | file encryption | video calls | usage charts
        """
    ),
    "trade": parts_of(
        """
        membership | day pass | group ticket | locker rental | room service | late checkout | express delivery | haircut |
        oil change | eye test | boat trip | audio guide | personal training | tyre change | dog grooming | piano lesson |
        window cleaning | deep tissue massage | passport photo | key copy | guided hike | car rental | tennis court |
        storage unit | language course | dental check
        """
    ),
    "org": parts_of(
        """
        the Health Institute | the city council | a study from Oslo | the annual report | the trade union | the Ministry of
        Labour | the Harvard survey | the supplier | the auditors | the local newspaper | the consumer association | the
        safety board | a survey by the university | the fire department | the insurance company | the works council | the
        parents' association | the statistics office | the maintenance log | an internal memo
        """
    ),
    "plan": parts_of("Basic | Silver | Gold | Platinum | Starter | Premium | Family | Student | Business | Solo | Team | Plus"),
    "city": parts_of(
        """
        Lisbon | Oslo | Leeds | Vienna | Boston | Toronto | Lyon | Krakow | Dublin | Turin | Denver | Ghent | Malmo |
        Porto | Seattle | Utrecht | Bergen | Graz | Austin | Cork | Nantes | Basel | Tampere | Bristol
        """
    ),
    "material": parts_of(
        "oak | stainless steel | recycled plastic | cotton | aluminium | glass | bamboo | wool | leather | ceramic | nylon"
    ),
    "colour": parts_of("black | navy blue | red | white | forest green | grey | yellow | orange | purple | silver"),
    "group": parts_of(
        """
        trainees | rooms | delegates | invoices | lockers | guests | drivers | samples | classrooms | bikes | applicants
        | sensors | shops | teams | orders | windows | buses | residents
        """
    ),
    "state": parts_of(
        "ready | registered | insured | checked | paid | labelled | occupied | damaged | confirmed | cleaned | on site | sold"
    ),
}  # fmt: skip
