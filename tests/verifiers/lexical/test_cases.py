"""Pairs of evidence and claim over several domains, with supported controls beside the false ones.

yes: carried by the evidence · no: the evidence says otherwise · new: the evidence does not say it.
"""

from __future__ import annotations

import pytest

from groundwire.budget import budget
from groundwire.types import Query
from groundwire.verifiers.lexical import LexicalVerifier

FRANCE = (
    "France is a country in Western Europe. The population of France is about 67 million people. "
    "Its capital is Paris, and the Eiffel Tower was completed in 1889."
)
COMPANY = (
    "Acme Corp reported revenue of $12.4 million in the third quarter of 2023, up 8% from a year earlier. "
    "The company hired 45 engineers. Chief executive Dana Levy said that margins rose. "
    "The board did not approve the merger with Globex."
)
HISTORY = (
    "Marie Curie was born in Warsaw on 7 November 1867. She won the Nobel Prize in Physics in 1903 and the Nobel "
    "Prize in Chemistry in 1911. She died in 1934."
)
MEDICINE = (
    "The trial enrolled 1,204 patients at 18 hospitals. Patients who took the drug had lower blood pressure than "
    "those who took placebo. No serious side effects were reported. The recommended dose is 20 mg twice a day."
)
PEOPLE = "Alice hired Bob in 2019. Later Marie Dupont sued John Smith over a patent. Tom is taller than Jerry."
RESTAURANT = (
    '{"name": "Finch & Fork", "city": "Santa Barbara", "state": "CA", "hours": {"Monday": "17:30-23:0", '
    '"Tuesday": "17:0-21:0", "Sunday": "9:0-14:0"}, "attributes": {"OutdoorSeating": false, "WiFi": "free", '
    '"RestaurantsTakeOut": true, "Music": false}, "business_stars": 4.0}'
)
TABLE = "Country | Capital | Population (millions)\nFrance | Paris | 67.4\nItaly | Rome | 59.0\nSpain | Madrid | 47.4"
PROFILE = (
    "title: Ada Lovelace\nBorn: 10 December 1815, London\nDied: 27 November 1852 (aged 36)\nOccupation: mathematician"
)
TRAVEL = (
    "The museum opens at 10 am and closes at 6 pm from Tuesday to Sunday. Admission costs 15 euros for adults and is "
    "free for children under 12. The guided tour lasts 90 minutes. Photography is not allowed inside."
)
SCIENCE = (
    "Water boils at 100 degrees Celsius at sea level. Sound travels faster in water than in air. "
    "All mammals have hair, but only some mammals lay eggs. The Nile is 6,650 km long."
)
SOFTWARE = (
    "Version 2.4 added support for PostgreSQL and removed the old XML parser. The server listens on port 8080 by "
    "default. Passwords are never stored in plain text. Builds take less than 5 minutes."
)
SPORT = "Brazil beat Germany 2-0 in the final on 30 June 2002 in Yokohama. Ronaldo scored both goals."
LAW = (
    "The court rejected the appeal and ordered the defendant to pay $250,000 in damages. The judgment was given on "
    "15.03.2023 by Judge Carmen Ortiz."
)
HE_APPRAISAL = (
    'השמאי המכריע קבע פיצוי של 50,000 ש"ח לבעלי הדירה בשל ירידת ערך. ההחלטה ניתנה ביום 15.03.2023. '
    "הוועדה המקומית לא ערערה על ההחלטה."
)
HE_FRANCE = "אוכלוסיית צרפת מונה כ-67 מיליון תושבים. בירת צרפת היא פריז. מגדל אייפל הושלם בשנת 1889."
HE_PEOPLE = "דנה העסיקה את יוסי בשנת 2019. החברה קנתה את המפעל בחיפה. המחירים עלו בשנה שעברה."

CASES = [
    (FRANCE, "The population of France is about 67 million people.", "yes"),
    (FRANCE, "France has a population of 67,000,000 people.", "yes"),
    (FRANCE, "Paris is the capital of France.", "yes"),
    (FRANCE, "The Eiffel Tower was completed in 1889.", "yes"),
    (FRANCE, "The population of France is 999 million.", "no"),
    (FRANCE, "The Eiffel Tower was completed in 1925.", "no"),
    (FRANCE, "The population of France is about 82 million people.", "no"),
    (FRANCE, "The Eiffel Tower was designed by engineers from Basel using recycled railway steel.", "new"),
    (FRANCE, "The French national football team plays its home games at Stade de France.", "new"),
    (COMPANY, "Acme Corp reported revenue of $12.4 million in the third quarter of 2023.", "yes"),
    (COMPANY, "Acme's third-quarter revenue was $12.4M.", "yes"),
    (COMPANY, "Revenue was up 8 percent from a year earlier.", "yes"),
    (COMPANY, "The company hired 45 engineers.", "yes"),
    (COMPANY, "The board did not approve the merger with Globex.", "yes"),
    (COMPANY, "Acme Corp reported revenue of $21.4 million in the third quarter of 2023.", "no"),
    (COMPANY, "The company hired 54 engineers.", "no"),
    (COMPANY, "The board approved the merger with Globex.", "no"),
    (COMPANY, "Revenue was up 18% from a year earlier.", "no"),
    (COMPANY, "Chief executive Dana Levy said that margins fell.", "no"),
    (COMPANY, "Acme plans to open a new factory in Vietnam next spring.", "new"),
    (COMPANY, "Competitors lost market share because customers preferred cheaper subscriptions.", "new"),
    (HISTORY, "Marie Curie was born in Warsaw in 1867.", "yes"),
    (HISTORY, "Curie won the Nobel Prize in Physics in 1903.", "yes"),
    (HISTORY, "She died in 1934.", "yes"),
    (HISTORY, "Marie Curie was born on November 7, 1867.", "yes"),
    (HISTORY, "Marie Curie was born on 7 November 1876.", "no"),
    (HISTORY, "She died in 1943.", "no"),
    (HISTORY, "Marie Curie was not born in Warsaw.", "no"),
    (HISTORY, "Her daughter later taught chemistry at a school in Lyon.", "new"),
    (MEDICINE, "The trial enrolled 1,204 patients at 18 hospitals.", "yes"),
    (MEDICINE, "About 1,200 patients were enrolled in the trial.", "yes"),
    (MEDICINE, "The recommended dose is 20 mg twice a day.", "yes"),
    (MEDICINE, "Patients taking the drug had lower blood pressure than those taking placebo.", "yes"),
    (MEDICINE, "The trial enrolled 1,402 patients at 18 hospitals.", "no"),
    (MEDICINE, "The recommended dose is 200 mg twice a day.", "no"),
    (MEDICINE, "Patients who took the drug had higher blood pressure than those who took placebo.", "no"),
    (MEDICINE, "Serious side effects were reported.", "no"),
    (MEDICINE, "The drug was developed by a start-up and will reach pharmacies in Canada first.", "new"),
    (PEOPLE, "Alice hired Bob in 2019.", "yes"),
    (PEOPLE, "Bob was hired by Alice.", "yes"),
    (PEOPLE, "Marie Dupont sued John Smith.", "yes"),
    (PEOPLE, "Tom is taller than Jerry.", "yes"),
    (PEOPLE, "Bob hired Alice in 2019.", "no"),
    (PEOPLE, "Alice was hired by Bob.", "no"),
    (PEOPLE, "John Smith sued Marie Dupont over a patent.", "no"),
    (PEOPLE, "Jerry is taller than Tom.", "no"),
    (RESTAURANT, "Finch & Fork is located in Santa Barbara, CA.", "yes"),
    (RESTAURANT, "The restaurant offers takeout.", "yes"),
    (RESTAURANT, "It is open until 11 PM on Monday.", "yes"),
    (RESTAURANT, "Finch & Fork has a rating of 4.0 stars.", "yes"),
    (RESTAURANT, "The restaurant does not offer outdoor seating.", "yes"),
    (RESTAURANT, "The restaurant offers outdoor seating.", "no"),
    (RESTAURANT, "It is open until 9 PM on Monday.", "no"),
    (RESTAURANT, "Finch & Fork has a rating of 4.5 stars.", "no"),
    (RESTAURANT, "Guests praise the sommelier and the lavender crème brûlée.", "new"),
    (TABLE, "Italy has a population of 59 million.", "yes"),
    (TABLE, "The capital of Spain is Madrid.", "yes"),
    (TABLE, "The population of Spain is 61.2 million.", "no"),
    (PROFILE, "Ada Lovelace was born in London on 10 December 1815.", "yes"),
    (PROFILE, "Ada Lovelace died in 1852.", "yes"),
    (PROFILE, "Ada Lovelace was born in 1825.", "no"),
    (TRAVEL, "Admission costs 15 euros for adults.", "yes"),
    (TRAVEL, "The guided tour lasts an hour and a half, 90 minutes.", "yes"),
    (TRAVEL, "The museum closes at 18:00.", "yes"),
    (TRAVEL, "Photography is not allowed inside.", "yes"),
    (TRAVEL, "Admission costs 25 euros for adults.", "no"),
    (TRAVEL, "The museum closes at 8 pm.", "no"),
    (TRAVEL, "Photography is allowed inside.", "no"),
    (TRAVEL, "The gift shop sells handmade ceramics by local artists.", "new"),
    (SCIENCE, "The Nile is 6,650 kilometres long.", "yes"),
    (SCIENCE, "Water boils at 100 °C at sea level.", "yes"),
    (SCIENCE, "Sound travels faster in water than in air.", "yes"),
    (SCIENCE, "The Nile is 5,650 km long.", "no"),
    (SCIENCE, "Water boils at 90 degrees Celsius at sea level.", "no"),
    (SCIENCE, "Sound travels slower in water than in air.", "no"),
    (SCIENCE, "All mammals lay eggs.", "no"),
    (SOFTWARE, "Version 2.4 added support for PostgreSQL.", "yes"),
    (SOFTWARE, "By default the server listens on port 8080.", "yes"),
    (SOFTWARE, "Passwords are never stored in plain text.", "yes"),
    (SOFTWARE, "The server listens on port 9090 by default.", "no"),
    (SOFTWARE, "Version 2.4 removed support for PostgreSQL.", "no"),
    (SOFTWARE, "Passwords are always stored in plain text.", "no"),
    (SOFTWARE, "Telemetry is sent to a dashboard hosted in Frankfurt.", "new"),
    (SPORT, "Brazil beat Germany 2-0 in the final.", "yes"),
    (SPORT, "Ronaldo scored both goals.", "yes"),
    (SPORT, "The final took place on June 30, 2002.", "yes"),
    (SPORT, "Germany beat Brazil 2-0 in the final.", "no"),
    (SPORT, "The final took place on June 13, 2002.", "no"),
    (LAW, "The court rejected the appeal.", "yes"),
    (LAW, "The defendant was ordered to pay $250,000 in damages.", "yes"),
    (LAW, "The judgment was given on March 15, 2023.", "yes"),
    (LAW, "The court accepted the appeal.", "no"),
    (LAW, "The court ordered the defendant to pay $350,000 in damages.", "no"),
    (LAW, "The judgment was given on 15.04.2023.", "no"),
    (HE_APPRAISAL, 'השמאי קבע פיצוי של 50,000 ש"ח', "yes"),
    (HE_APPRAISAL, "השמאי קבע לבעלי הדירה פיצויים של 50 אלף שקלים.", "yes"),
    (HE_APPRAISAL, "ההחלטה ניתנה ב-15 במרץ 2023.", "yes"),
    (HE_APPRAISAL, "הוועדה המקומית לא ערערה על ההחלטה.", "yes"),
    (HE_APPRAISAL, 'השמאי קבע פיצוי של 90,000 ש"ח', "no"),
    (HE_APPRAISAL, "ההחלטה ניתנה ביום 15.03.2021.", "no"),
    (HE_APPRAISAL, "הוועדה המקומית ערערה על ההחלטה.", "no"),
    (HE_APPRAISAL, "זה נפוץ במקרים דומים", "new"),
    (HE_APPRAISAL, "בית המשפט העליון ביטל את תוכנית הבנייה בתל אביב.", "new"),
    (HE_FRANCE, "בצרפת כ-67,000,000 תושבים.", "yes"),
    (HE_FRANCE, "מגדל אייפל הושלם ב-1889.", "yes"),
    (HE_FRANCE, "פריז היא בירת צרפת.", "yes"),
    (HE_FRANCE, "אוכלוסיית צרפת מונה 999 מיליון תושבים.", "no"),
    (HE_FRANCE, "מגדל אייפל הושלם בשנת 1925.", "no"),
    (HE_FRANCE, "פריז אינה בירת צרפת.", "no"),
    (HE_FRANCE, "הנבחרת הלאומית זכתה באליפות אירופה פעמיים.", "new"),
    (HE_PEOPLE, "דנה העסיקה את יוסי.", "yes"),
    (HE_PEOPLE, "יוסי העסיק את דנה.", "no"),
    (HE_PEOPLE, "החברה מכרה את המפעל בחיפה.", "no"),
    (HE_PEOPLE, "המחירים עלו בשנה שעברה.", "yes"),
    (HE_PEOPLE, "המחירים ירדו בשנה שעברה.", "no"),
]  # fmt: skip

VERIFIER = LexicalVerifier()


def gap_bits(context: str, claim: str) -> float:
    with_it = VERIFIER.judge(Query(claim, f"[S0] {context}"))
    without = VERIFIER.judge(Query(claim, "[S0] [EVIDENCE REMOVED]"))
    return budget(with_it.p_yes, without.p_yes).gap_bits


@pytest.mark.spec("SPEC-08.03", "SPEC-08.05")
@pytest.mark.parametrize(("context", "claim", "expected"), CASES)
def test_claim_against_evidence(context: str, claim: str, expected: str) -> None:
    estimate = VERIFIER.judge(Query(claim, f"[S0] {context}"))
    flagged = gap_bits(context, claim) > VERIFIER.threshold_bits()
    if expected == "yes":
        assert estimate.p_yes > 0.6
        assert not flagged
    elif expected == "no":
        assert estimate.p_no > max(estimate.p_yes, estimate.p_unsure)
        assert flagged
    else:
        assert estimate.p_yes < 0.4
        assert flagged
