"""Parameters of the 22 queries: those with known answers, and those that a stream draws.

TPC-H 3.0.1 has the rules (2.4) and the names (4.2.2.13, 4.2.3).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import date, timedelta

Parameters = Mapping[str, str]
NATIONS = {
    **dict.fromkeys(("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"), "AFRICA"),
    **dict.fromkeys(("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"), "AMERICA"),
    **dict.fromkeys(("INDIA", "INDONESIA", "JAPAN", "CHINA", "VIETNAM"), "ASIA"),
    **dict.fromkeys(("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"), "EUROPE"),
    **dict.fromkeys(("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"), "MIDDLE EAST"),
}
"""Each nation's region."""
REGIONS = tuple(dict.fromkeys(NATIONS.values()))
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
SHIP_MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
SIZES = ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
FINISHES = ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
METALS = ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
CONTAINERS = (
    ("SM", "LG", "MED", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
)
COMPLAINTS = (
    ("special", "pending", "unusual", "express"),
    ("packages", "requests", "accounts", "deposits"),
)
_COLORS = """
    almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood
    burnished chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim
    dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew
    hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium
    metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach peru
    pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky
    slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow
"""
COLORS = tuple(_COLORS.split())
FIRST_YEAR, LAST_YEAR = 1993, 1997
LAST_SHIPPED = date(1998, 12, 1)


def _day(of: date) -> str:
    return f"DATE '{of}'"


def _from(begin: date, *, months: int) -> dict[str, str]:
    """A time from a first day of a month on."""
    years, month = divmod(begin.month - 1 + months, 12)
    return {"date": _day(begin), "end": _day(date(begin.year + years, month + 1, 1))}


def _year(begin: int) -> dict[str, str]:
    return _from(date(begin, 1, 1), months=12)


def _listed(texts: list[str]) -> str:
    return ", ".join(f"'{one}'" for one in texts)


def validation(number: int, scale: float) -> Parameters:
    """Those whose answers are known (2.4, query validation)."""
    return {
        1: {"date": _day(LAST_SHIPPED - timedelta(90))},
        2: {"size": "15", "type": "BRASS", "region": "EUROPE"},
        3: {"segment": "BUILDING", "date": _day(date(1995, 3, 15))},
        4: _from(date(1993, 7, 1), months=3),
        5: {"region": "ASIA", **_year(1994)},
        6: {"discount": "0.06", "quantity": "24", **_year(1994)},
        7: {"nation1": "FRANCE", "nation2": "GERMANY"},
        8: {"nation": "BRAZIL", "region": "AMERICA", "type": "ECONOMY ANODIZED STEEL"},
        9: {"color": "green"},
        10: _from(date(1993, 10, 1), months=3),
        11: {"nation": "GERMANY", "fraction": _fraction(scale)},
        12: {"mode1": "MAIL", "mode2": "SHIP", **_year(1994)},
        13: {"word1": "special", "word2": "requests"},
        14: _from(date(1995, 9, 1), months=1),
        15: _from(date(1996, 1, 1), months=3),
        16: {
            "brand": "Brand#45",
            "type": "MEDIUM POLISHED",
            "sizes": "49, 14, 23, 45, 19, 3, 36, 9",
        },
        17: {"brand": "Brand#23", "container": "MED BOX"},
        18: {"quantity": "300"},
        19: {
            **{"brand1": "Brand#12", "brand2": "Brand#23", "brand3": "Brand#34"},
            **{"quantity1": "1", "quantity2": "10", "quantity3": "20"},
        },
        20: {"color": "forest", "nation": "CANADA", **_year(1994)},
        21: {"nation": "SAUDI ARABIA"},
        22: {"codes": _listed(["13", "31", "23", "29", "30", "18", "17"])},
    }[number]


def drawn(number: int, draw: random.Random, scale: float) -> Parameters:
    """Those of one run of a query in a stream."""
    own = _DRAWN[number](draw)
    return {**own, "fraction": _fraction(scale)} if number == 11 else own


def _fraction(scale: float) -> str:
    return f"{0.0001 / scale:.10f}"


def _any_year(draw: random.Random) -> dict[str, str]:
    return _year(draw.randint(FIRST_YEAR, LAST_YEAR))


def _months(draw: random.Random, first: date, last: date, *, months: int) -> dict[str, str]:
    """A time of so many months that begins within these months."""
    of = draw.randint(first.year * 12 + first.month - 1, last.year * 12 + last.month - 1)
    return _from(date(of // 12, of % 12 + 1, 1), months=months)


def _brand(draw: random.Random) -> str:
    return f"Brand#{draw.randint(1, 5)}{draw.randint(1, 5)}"


def _nation_of_region(draw: random.Random) -> dict[str, str]:
    nation = draw.choice([*NATIONS])
    kind = " ".join(map(draw.choice, (SIZES, FINISHES, METALS)))
    return {"nation": nation, "region": NATIONS[nation], "type": kind}


def _parts_in_the_air(draw: random.Random) -> dict[str, str]:
    brands = {f"brand{one}": _brand(draw) for one in (1, 2, 3)}
    least = {f"quantity{one}": str(draw.randint(*of)) for one, of in _QUANTITIES.items()}
    return {**brands, **least}


def _named(draw: random.Random, name: str, count: int, of: tuple[str, ...]) -> dict[str, str]:
    chosen = draw.sample(of, count)
    return {f"{name}{place}": one for place, one in enumerate(chosen, 1)}


_QUANTITIES = {1: (1, 10), 2: (10, 20), 3: (20, 30)}
_DRAWN: dict[int, Callable[[random.Random], dict[str, str]]] = {
    1: lambda draw: {"date": _day(LAST_SHIPPED - timedelta(draw.randint(60, 120)))},
    2: lambda draw: {
        "size": str(draw.randint(1, 50)),
        "type": draw.choice(METALS),
        "region": draw.choice(REGIONS),
    },
    3: lambda draw: {
        "segment": draw.choice(SEGMENTS),
        "date": _day(date(1995, 3, draw.randint(1, 31))),
    },
    4: lambda draw: _months(draw, date(1993, 1, 1), date(1997, 10, 1), months=3),
    5: lambda draw: {"region": draw.choice(REGIONS), **_any_year(draw)},
    6: lambda draw: {
        "discount": f"0.0{draw.randint(2, 9)}",
        "quantity": str(draw.randint(24, 25)),
        **_any_year(draw),
    },
    7: lambda draw: _named(draw, "nation", 2, tuple(NATIONS)),
    8: _nation_of_region,
    9: lambda draw: {"color": draw.choice(COLORS)},
    10: lambda draw: _months(draw, date(1993, 2, 1), date(1995, 1, 1), months=3),
    11: lambda draw: {"nation": draw.choice([*NATIONS])},
    12: lambda draw: {**_named(draw, "mode", 2, SHIP_MODES), **_any_year(draw)},
    13: lambda draw: {
        "word1": draw.choice(COMPLAINTS[0]),
        "word2": draw.choice(COMPLAINTS[1]),
    },
    14: lambda draw: _months(draw, date(1993, 1, 1), date(1997, 12, 1), months=1),
    15: lambda draw: _months(draw, date(1993, 1, 1), date(1997, 10, 1), months=3),
    16: lambda draw: {
        "brand": _brand(draw),
        "type": f"{draw.choice(SIZES)} {draw.choice(FINISHES)}",
        "sizes": ", ".join(map(str, draw.sample(range(1, 51), 8))),
    },
    17: lambda draw: {"brand": _brand(draw), "container": " ".join(map(draw.choice, CONTAINERS))},
    18: lambda draw: {"quantity": str(draw.randint(312, 315))},
    19: _parts_in_the_air,
    20: lambda draw: {
        "color": draw.choice(COLORS),
        "nation": draw.choice([*NATIONS]),
        **_any_year(draw),
    },
    21: lambda draw: {"nation": draw.choice([*NATIONS])},
    22: lambda draw: {"codes": _listed([str(one) for one in draw.sample(range(10, 35), 7)])},
}
