"""Well-known places, companies, products and people.

A company's knowledge base does not list them, so their absence from it is no evidence.
"""

from __future__ import annotations

from groundwire.text.lexicon import word_set


def _lines(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.replace("\n", ",").split(",") if name.strip())


COUNTRIES = _lines(
    """
    afghanistan, albania, algeria, argentina, armenia, australia, austria, bangladesh, belgium, bolivia
    brazil, bulgaria, cambodia, cameroon, canada, chile, china, colombia, costa rica, croatia, cuba
    cyprus, czech republic, denmark, ecuador, egypt, england, estonia, ethiopia, europe, finland, france
    georgia, germany, ghana, great britain, greece, guatemala, haiti, hungary, iceland, india, indonesia
    iran, iraq, ireland, israel, italy, jamaica, japan, jordan, kazakhstan, kenya, kuwait, latvia
    lebanon, libya, lithuania, luxembourg, malaysia, malta, mexico, moldova, mongolia, montenegro
    morocco, myanmar, nepal, netherlands, new zealand, nigeria, north korea, north macedonia
    northern ireland, norway, oman, pakistan, panama, paraguay, peru, philippines, poland, portugal, qatar
    romania, russia, rwanda, saudi arabia, scotland, senegal, serbia, singapore, slovakia, slovenia
    somalia, south africa, south korea, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan
    tanzania, thailand, tunisia, turkey, uganda, ukraine, united arab emirates, united kingdom
    united states, united states of america, usa, us, uk, eu, european union, uruguay, venezuela, vietnam
    wales, yemen, zambia, zimbabwe, africa, asia, america, north america, south america, latin america
    antarctica, oceania, california, texas, florida, bavaria, ontario, quebec, victoria, emea, apac, dach
    """
)
CITIES = _lines(
    """
    amsterdam, ankara, athens, atlanta, auckland, austin, baghdad, bangalore, bangkok, barcelona, basel
    beijing, belgrade, berlin, bern, birmingham, bogota, boston, bratislava, brisbane, brussels
    bucharest, budapest, buenos aires, cairo, cambridge, cape town, casablanca, chicago, cologne
    copenhagen, dallas, delhi, denver, detroit, dresden, dubai, dublin, edinburgh, frankfurt, geneva
    glasgow, hamburg, hanoi, helsinki, hong kong, houston, istanbul, jakarta, jerusalem, johannesburg
    kyiv, kyoto, lagos, leeds, leipzig, lima, lisbon, liverpool, ljubljana, london, los angeles, lyon
    madrid, manchester, manila, marseille, melbourne, mexico city, miami, milan, minneapolis, montreal
    moscow, mumbai, munich, nairobi, naples, new delhi, new york, new york city, nice, osaka, oslo
    ottawa, oxford, paris, philadelphia, phoenix, porto, portland, prague, reykjavik, riga
    rio de janeiro, rome, rotterdam, san diego, san francisco, santiago, sao paulo, sarajevo, seattle, seoul
    shanghai, singapore, sofia, stockholm, stuttgart, sydney, tallinn, tehran, tel aviv, tokyo, toronto
    turin, utrecht, valencia, vancouver, venice, vienna, vilnius, warsaw, washington, washington dc
    wellington, zagreb, zurich
    """
)
OTHERS = _lines(
    """
    google, microsoft, apple, amazon, facebook, meta, netflix, twitter, youtube, linkedin, instagram
    whatsapp, tiktok, openai, anthropic, ibm, intel, nvidia, samsung, sony, oracle, sap, adobe, cisco
    tesla, toyota, bmw, volkswagen, ford, boeing, airbus, coca-cola, pepsi, walmart, ikea, nike, adidas
    paypal, visa, mastercard, uber, airbnb, spotify, slack, zoom, github, gitlab, wikipedia, reuters, bbc
    cnn, nasa, nato, un, who, unesco, unicef, fbi, cia, united nations, world bank, imf, excel, word
    outlook, windows, linux, macos, android, ios, iphone, ipad, java, python, javascript, typescript
    rust, sql, html, css, json, xml, http, https, api, apis, aws, azure, docker, kubernetes, postgresql
    postgres, mysql, sqlite, redis, kafka, spark, hadoop, git, jira, confluence, salesforce, teams
    microsoft teams, sharepoint, chrome, firefox, safari, bluetooth, wifi, wi-fi, usb, gps, gdpr, iso
    pdf, csv, ai, ml, llm, it, hr, ceo, cto, cfo, coo, vp, pr, qa, r&d, kpi, kpis, roi, b2b, saas, faq
    id, ok, tv, pc, dna, rna, covid, covid-19, internet, web, english, german, french, spanish, italian
    portuguese, dutch, russian, chinese, mandarin, japanese, korean, arabic, hebrew, hindi, turkish
    polish, swedish, danish, norwegian, finnish, greek, american, british, european, african, asian
    canadian, australian, indian, mexican, brazilian, irish, scottish, christmas, easter, thanksgiving
    hanukkah, ramadan, new year, halloween, black friday, earth, moon, sun, mars, god, bible
    internet of things, artificial intelligence, machine learning, atlantic, pacific, mediterranean
    world war i
    world war ii, albert einstein, einstein, isaac newton, newton, shakespeare, marie curie, darwin
    leonardo da vinci, mozart, beethoven, napoleon, gandhi, nelson mandela, abraham lincoln, barack obama
    eiffel tower, mount everest, nile, amazon river, danube, rhine, thames, alps, himalayas, nobel prize
    olympics, utc, gmt, cet, est, pst, usd, eur, gbp, celsius, fahrenheit, q1, q2, q3, q4, fy, h1, h2
    monday, tuesday
    """
)
PLACES = COUNTRIES | CITIES
COMMON_NAMES = PLACES | OTHERS
COMPANY_NOUNS = word_set("company organisation organization firm business corporation enterprise startup")
PLACE_TYPES = word_set("place city country region location town state continent office building site")
PERSON_TYPES = word_set(
    "person people human employee user customer client contact author member staff player actor artist"
    " colleague manager engineer developer scientist politician singer writer student teacher"
)


def is_common_name(name: str) -> bool:
    """True for a well-known name, with or without its article.

    >>> is_common_name("the United States"), is_common_name("Acme")
    (True, False)
    """
    low = name.casefold().removeprefix("the ").strip(" .,'")
    return low in COMMON_NAMES


def is_place(name: str) -> bool:
    return name.casefold().removeprefix("the ").strip(" .,'") in PLACES
