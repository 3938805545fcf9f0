"""Units of measure: what each is in its base unit.

`offset` is for temperatures: base = value × scale + offset.
"""

from __future__ import annotations

from typing import NamedTuple

from groundwire.text.lexicon import forms


class UnitOf(NamedTuple):
    base: str
    scale: float
    offset: float = 0.0


def _table(rows: str) -> dict[str, UnitOf]:
    """`base: name=scale name=scale …` a line; a name may use _ for a space."""
    found: dict[str, UnitOf] = {}
    for row in rows.strip().splitlines():
        base, _, names = row.partition(":")
        for entry in names.split():
            name, _, scale = entry.rpartition("=")
            found[name.replace("_", " ")] = UnitOf(base.strip(), float(scale))
    return found


UNITS: dict[str, UnitOf] = _table(
    """
    m: m=1 meter=1 meters=1 metre=1 metres=1 km=1e3 kms=1e3 kilometer=1e3 kilometers=1e3
    m: kilometre=1e3 kilometres=1e3
    m: cm=.01 centimeter=.01 centimeters=.01 centimetre=.01 centimetres=.01 mm=.001 millimeters=.001
    m: millimetres=.001
    m: mile=1609.344 miles=1609.344 mi=1609.344 ft=.3048 foot=.3048 feet=.3048 inch=.0254
    m: inches=.0254 yard=.9144 yards=.9144
    m: מטר=1 מטרים=1 מ'=1 ק"מ=1e3 קילומטר=1e3 קילומטרים=1e3 ס"מ=.01 מ"מ=.001
    g: g=1 gram=1 grams=1 kg=1e3 kgs=1e3 kilo=1e3 kilos=1e3 kilogram=1e3 kilograms=1e3 mg=.001
    g: milligrams=.001 milligram=.001 mcg=1e-6
    g: ton=1e6 tons=1e6 tonne=1e6 tonnes=1e6 lb=453.592 lbs=453.592 pound_weight=453.592 oz=28.3495
    g: ounce=28.3495 ounces=28.3495
    g: גרם=1 ק"ג=1e3 קילוגרם=1e3 קילו=1e3 טון=1e6 מ"ג=.001
    s: second=1 seconds=1 sec=1 secs=1 ms=.001 millisecond=.001 milliseconds=.001 minute=60
    s: minutes=60 min=60 mins=60
    s: hour=3600 hours=3600 hr=3600 hrs=3600 day=86400 days=86400 week=604800 weeks=604800
    s: שנייה=1 שניות=1 דקה=60 דקות=60 שעה=3600 שעות=3600 יום=86400 ימים=86400 שבוע=604800 שבועות=604800
    month: month=1 months=1 year=12 years=12 yr=12 yrs=12 decade=120 decades=120 century=1200
    month: centuries=1200
    month: חודש=1 חודשים=1 שנה=12 שנים=12 עשור=120
    m2: sqm=1 m²=1 square_meters=1 square_metres=1 square_meter=1 km²=1e6 square_kilometers=1e6
    m2: square_kilometres=1e6
    m2: hectare=1e4 hectares=1e4 ha=1e4 acre=4046.86 acres=4046.86 square_miles=2589988
    m2: square_feet=.092903 sq_ft=.092903
    m2: מ"ר=1 דונם=1000 דונמים=1000 קמ"ר=1e6
    l: l=1 liter=1 liters=1 litre=1 litres=1 ml=.001 milliliters=.001 millilitres=.001 gallon=3.78541
    l: gallons=3.78541
    l: ליטר=1 ליטרים=1 מ"ל=.001
    B: byte=1 bytes=1 KB=1e3 kB=1e3 MB=1e6 GB=1e9 TB=1e12 kilobytes=1e3 megabytes=1e6 gigabytes=1e9
    B: terabytes=1e12 gigabyte=1e9
    W: W=1 watt=1 watts=1 kW=1e3 kilowatts=1e3 MW=1e6 megawatts=1e6 GW=1e9 gigawatts=1e9
    Wh: Wh=1 kWh=1e3 MWh=1e6 GWh=1e9
    Hz: Hz=1 kHz=1e3 MHz=1e6 GHz=1e9
    m/s: m/s=1 km/h=.277778 kph=.277778 mph=.44704 קמ"ש=.277778
    V: volt=1 volts=1 V=1
    mAh: mAh=1 Ah=1e3
    px: megapixels=1e6 megapixel=1e6 MP=1e6 pixels=1
    K: °C=1 celsius=1 degrees_celsius=1 degrees_Celsius=1 Celsius=1
    deg: °=1 degrees=1 degree=1 מעלות=1
    %: %=1 percent=1 per_cent=1 pct=1 אחוז=1 אחוזים=1 אחוזי=1 ٪=1 percentage_points=1
    USD: $=1 US$=1 dollar=1 dollars=1 USD=1 usd=1 bucks=1 דולר=1 דולרים=1 cents=.01 cent=.01 ¢=.01
    EUR: €=1 euro=1 euros=1 EUR=1 יורו=1 אירו=1
    GBP: £=1 GBP=1 pounds=1 pound=1 quid=1
    ILS: ₪=1 ש"ח=1 ש״ח=1 שקל=1 שקלים=1 NIS=1 ILS=1 shekel=1 shekels=1 אגורות=.01
    JPY: ¥=1 yen=1 JPY=1
    INR: ₹=1 rupee=1 rupees=1 INR=1
    RUB: ₽=1 rubles=1 roubles=1
    CNY: yuan=1 RMB=1 CNY=1
    CHF: CHF=1 francs=1
    BTC: bitcoin=1 bitcoins=1 BTC=1
    """
) | {
    "°F": UnitOf("K", 5 / 9, -32 * 5 / 9),
    "fahrenheit": UnitOf("K", 5 / 9, -32 * 5 / 9),
    "degrees Fahrenheit": UnitOf("K", 5 / 9, -32 * 5 / 9),
    "degrees fahrenheit": UnitOf("K", 5 / 9, -32 * 5 / 9),
}  # fmt: skip

CURRENCIES = frozenset({"USD", "EUR", "GBP", "ILS", "JPY", "INR", "RUB", "CNY", "CHF", "BTC"})
CURRENCY_SIGNS = "$€£₪¥₹₽"

SCALES: dict[str, float] = {
    name: float(scale)
    for name, scale in forms(
        """
    100: hundred מאות; 1000: thousand thousands k K אלף אלפים אלפי ألف; 1e+06: million millions mn
    mln mil M m מיליון מליון מיליוני مليون; 1e+09: billion billions bn B b מיליארד מיליארדי مليار;
    1e+12: trillion trillions tn T طريليون; 12: dozen; 10000: 万; 1e+08: 亿 億
        """
    ).items()
}

# One-letter scales need a currency sign or no space before them: "5 m" is not five million.
TIGHT_SCALES = frozenset({"k", "K", "M", "m", "B", "b", "T", "mil"})
