# ruff: noqa: E501 (a row of a table is read best in one line)
"""What the made tables are about: captions, names of rows, columns with their ranges and how claims name them."""

from __future__ import annotations

from dataclasses import dataclass

from training.forms_fillers import LISTS, PEOPLE
from training.tables import MONTHS, parts_of


@dataclass(frozen=True, slots=True)
class Column:
    """`better`: 1 when more is better, -1 when less is, 0 when neither; `said` is how a claim writes a value."""

    head: str
    noun: str
    low: float
    high: float
    places: int
    said: str
    better: int


@dataclass(frozen=True, slots=True)
class Theme:
    """`ordered`: the rows are moments, in order."""

    captions: tuple[str, ...]
    label: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    ordered: bool = False
    weight: float = 1


def _columns(text: str) -> tuple[Column, ...]:
    """Per line `head; noun; low; high; places; said; better`."""
    found = []
    for line in text.strip().splitlines():
        head, noun, low, high, places, said, better = (part.strip() for part in line.split(";"))
        found.append(Column(head, noun, float(low), float(high), int(places), said, int(better)))
    return tuple(found)


_BASES = parts_of(
    """
    BERT | RoBERTa | LSTM | BiLSTM | Transformer | CNN | GCN | GAT | XLNet | T5 | BART | GPT-2 | SVM | ELMo | Seq2Seq | CRF
    | Pointer-Gen | Random forest | TextRank | DistilBERT | ALBERT | ELECTRA | HAN | DAN | Logistic regression | FastText
    | Memory network | Tree-LSTM | CapsNet | Electra-XL
    """
)
_ENDINGS = parts_of(
    "| -base | -large | + attention | + CRF | (ours) | w/o pretraining | + copy | -small | (ensemble) | + data aug | + POS"
    " | (2 layers) | (9 layers) | + BERT | w/o gating | + coverage | (single) | + multi-task"
)
_MODELS = tuple(
    f"{base}{ending}" if ending[:1] in ("-", "") else f"{base} {ending}"
    for base in _BASES
    for ending in _ENDINGS
)
_TEAMS = tuple(
    f"{city} {name}" for city in LISTS["city"] for name in ("United", "Rovers", "City", "Athletic", "Wolves")
)
_DEVICES = tuple(f"{brand} {name}" for brand in parts_of("Nova | Orbit | Kestrel | Lumo | Vertex | Pico | Astra | Delta")
                 for name in parts_of("X1 | 200 | Pro | Mini | S4 | Air | Max | 7"))  # fmt: skip

THEMES = (
    Theme(
        tuple(parts_of(
            """
            Table {n}: Results on the test set. | Table {n}: Comparison of our model with the baselines. | Table {n}:
            Ablation study. | Table {n}: Performance on the development set, mean of five runs. | Table {n}: Main results. |
            Table {n}: Scores by system. | Table {n}: Effect of each component.
            """
        )),
        "Model", _MODELS,
        _columns(
            """
            BLEU; BLEU score; 8; 45; 1; {}; 1
            F1; F1 score; 40; 95; 1; {}; 1
            Acc; accuracy; 45; 98; 1; {}%; 1
            P; precision; 40; 95; 1; {}; 1
            R; recall; 40; 95; 1; {}; 1
            ROUGE-L; ROUGE-L score; 20; 45; 2; {}; 1
            METEOR; METEOR score; 15; 40; 1; {}; 1
            PPL; perplexity; 12; 140; 1; {}; -1
            WER; word error rate; 3; 40; 1; {}%; -1
            Params (M); number of parameters; 5; 400; 0; {} million; 0
            MAP; MAP; 0.2; 0.9; 3; {}; 1
            MSE; mean squared error; 0.05; 3; 2; {}; -1
            """
        ),
        weight=2,
    ),
    Theme(
        tuple(parts_of("Table {n}: Accuracy by data set. | Table {n}: Results on six benchmarks. | Table {n}: Transfer results (%).")),
        "System", _MODELS,
        _columns(
            """
            MNLI; accuracy on MNLI; 50; 92; 1; {}%; 1
            SST-2; accuracy on SST-2; 60; 97; 1; {}; 1
            SQuAD; F1 score on SQuAD; 55; 94; 1; {}; 1
            CoLA; score on CoLA; 10; 70; 1; {}; 1
            Dev; score on the development set; 40; 95; 2; {}; 1
            Test; score on the test set; 40; 95; 2; {}; 1
            In-domain; in-domain accuracy; 50; 98; 1; {}%; 1
            Out-of-domain; out-of-domain accuracy; 30; 90; 1; {}%; 1
            """
        ),
        weight=1.5,
    ),
    Theme(
        tuple(parts_of("Table {n}: BLEU by language. | Table {n}: Translation quality into English. | Table {n}: Per-language scores.")),
        "Language",
        tuple(parts_of("German | French | Czech | Finnish | Turkish | Hindi | Swahili | Korean | Arabic | Polish | Dutch | Greek | Thai | Urdu")),
        _columns(
            """
            Baseline; baseline score; 8; 40; 1; {}; 1
            Ours; score of our model; 8; 45; 1; {}; 1
            + BT; score with back-translation; 8; 45; 1; {}; 1
            Ensemble; score of the ensemble; 8; 45; 1; {} BLEU; 1
            Sentences (k); number of sentences; 10; 990; 0; {} thousand; 0
            """
        ),
    ),
    Theme(
        tuple(parts_of("League table after round {n} | Final standings | Season {n} results | Premier division | Group {n}")),
        "Team", _TEAMS,
        _columns(
            """
            W; number of wins; 2; 28; 0; {}; 1
            L; number of defeats; 1; 20; 0; {}; -1
            Pts; points total; 10; 90; 0; {}; 1
            GF; number of goals scored; 15; 95; 0; {}; 1
            GA; number of goals conceded; 15; 90; 0; {}; -1
            """
        ),
    ),
    Theme(
        tuple(parts_of("Income statement | Annual figures | Key figures of the group | Financial summary | Five-year review")),
        "Year", tuple(str(year) for year in range(2009, 2026)),
        _columns(
            """
            Revenue ($m); revenue; 20; 900; 1; ${} million; 0
            Operating costs ($m); operating costs; 10; 700; 1; ${} million; 0
            Net profit ($m); net profit; 1; 120; 1; ${} million; 0
            Employees; number of employees; 100; 9000; 0; {}; 0
            Margin (%); margin; 2; 40; 1; {}%; 0
            Dividend; dividend; 0.1; 4; 2; ${}; 0
            """
        ),
        True,
    ),
    Theme(
        tuple(parts_of("Quarterly report | Results by quarter | Sales by quarter, thousand units | Management accounts")),
        "Quarter", tuple(f"Q{q} {year}" for year in range(2017, 2026) for q in range(1, 5)),
        _columns(
            """
            Sales; sales; 20; 990; 0; {}; 0
            Orders; number of orders; 100; 5000; 0; {}; 0
            Churn (%); churn; 1; 15; 1; {}%; 0
            New customers; number of new customers; 10; 900; 0; {}; 0
            EBIT (€m); EBIT; 1; 80; 1; €{} million; 0
            """
        ),
        True,
    ),
    Theme(
        tuple(parts_of("Climate data | Weather by month | Visitors and weather | Monthly statistics | Station {n}")),
        "Month", tuple(MONTHS),
        _columns(
            """
            Rainfall (mm); rainfall; 5; 240; 0; {} mm; 0
            Temperature (C); temperature; 1; 34; 1; {} degrees; 0
            Visitors; number of visitors; 100; 9900; 0; {}; 0
            Sun (h); amount of sunshine; 30; 340; 0; {} hours; 0
            """
        ),
        True,
    ),
    Theme(
        tuple(parts_of("Product comparison | Which phone to buy | Models in our range | Test results | Price comparison")),
        "Product", _DEVICES,
        _columns(
            """
            Price ($); price; 49; 1900; 0; ${}; 0
            Weight (g); weight; 90; 1800; 0; {} grams; 0
            Battery (h); battery life; 4; 60; 0; {} hours; 1
            Rating; rating; 1.5; 5; 1; {}; 1
            Screen (in); screen size; 4; 17; 1; {} inches; 0
            """
        ),
    ),
    Theme(
        tuple(parts_of("Cities compared | Branches | Population and area | City data | Our offices | Hotel statistics by city")),
        "City", tuple(LISTS["city"]),
        _columns(
            """
            Population (k); population; 40; 2900; 0; {} thousand; 0
            Area (km2); area; 30; 900; 0; {} square kilometres; 0
            Rent (€); average rent; 500; 2400; 0; €{}; 0
            Unemployment (%); unemployment rate; 1; 14; 1; {}%; 0
            Hotels; number of hotels; 5; 400; 0; {}; 0
            """
        ),
    ),
    Theme(
        tuple(parts_of("Staff | Exam results | Election results | Race results | Sales team | Fitness test")),
        "Name", tuple(PEOPLE),
        _columns(
            """
            Age; age; 19; 67; 0; {}; 0
            Score; score; 20; 100; 0; {}; 1
            Votes; number of votes; 100; 9900; 0; {}; 0
            Time (s); time; 40; 240; 1; {} seconds; -1
            Salary ($k); salary; 28; 180; 0; ${} thousand; 0
            Absences; number of absences; 1; 30; 0; {}; 0
            """
        ),
    ),
    Theme(
        tuple(parts_of("Nutrition per 100 g | Canteen sales | Food values | Menu statistics")),
        "Dish", tuple(LISTS["dish"]),
        _columns(
            """
            Calories; calorie count; 40; 690; 0; {}; 0
            Protein (g); protein content; 1; 40; 1; {} g; 0
            Fat (g); fat content; 1; 45; 1; {} g; 0
            Portions sold; number of portions sold; 10; 600; 0; {}; 0
            Cost ($); cost; 1; 20; 2; ${}; 0
            """
        ),
    ),
)  # fmt: skip
