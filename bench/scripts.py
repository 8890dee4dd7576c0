"""pgbench scripts that call the five functions: with constant arguments for the cost of a call,
with random ones for a load.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
MIX = {"new_order": 10, "payment": 10, "order_status": 1, "delivery": 1, "stock_level": 1}
"""The cards of the `hammerdb` profile."""
VARIANTS = {"new_order": 4, "payment": 4, "order_status": 1, "delivery": 1, "stock_level": 1}
"""Constant scripts of each: few, for each client of pgbench prepares each once."""
HOME = (
    "(SELECT (c + {w}) % {warehouses} + 1 AS w, (c / {warehouses} + {d}) % 10 + 1 AS d FROM (SELECT"
    " :client_id::int4 AS c) AS client) AS home"
)
"""A warehouse and a district for each client, in each script others: were they the same for all
clients, these would queue for a few rows. Everybody orders and pays at home."""
LINES = range(5, 16)
"""Of an order."""
LAST_NAME = " || ".join(
    f"('{{{','.join(SYLLABLES)}}}'::text[])[:n{digit} + 1]" for digit in (3, 2, 1)
)
PICKS = """\\set w random(1, {warehouses})
\\set d random(1, 10)
\\set c random(1, 3000)
\\set n (((random(0, 255) | random(0, 999)) + 123) % 1000)
\\set n1 :n % 10
\\set n2 :n / 10 % 10
\\set n3 :n / 100
"""


def constant_scripts(folder: Path, warehouses: int, seed: int) -> list[str]:
    """pgbench's options for scripts of one call each, drawn beforehand; all that a call is sent is
    the client's number.
    """
    random, options, most = Random(seed), [], max(VARIANTS.values())
    for kind, count in VARIANTS.items():
        options += [
            _kept(
                folder,
                f"{kind}_{n}",
                _constant(random, kind, warehouses),
                MIX[kind] * most // count,
            )
            for n in range(count)
        ]
    return [word for option in options for word in option]


def _constant(random: Random, kind: str, warehouses: int) -> str:
    home = HOME.format(
        w=random.randint(1, warehouses), d=random.randint(1, 10), warehouses=warehouses
    )
    name = "".join(SYLLABLES[random.randint(0, 9)] for _ in range(3))
    customer = f"0, '{name}'" if random.random() < 0.6 else f"{random.randint(1, 3000)}, ''"
    if kind == "order_status":
        return f"SELECT answer.* FROM {home}, kneebench.order_status(w, d, {customer}) AS answer;"
    items = random.sample(range(1, 100_001), random.randint(5, 15))
    calls = {
        "new_order": (
            f"new_order(w, d, {random.randint(1, 3000)}, '{_array(items)}', array_fill(w,"
            f" '{{{len(items)}}}'), '{_array(random.randint(1, 10) for _ in items)}')"
        ),
        "payment": f"payment(w, d, w, d, {customer}, {random.randint(100, 500_000)})",
        "delivery": f"delivery(w, {random.randint(1, 10)})",
        "stock_level": f"stock_level(w, d, {random.randint(10, 20)})",
    }
    return f"SELECT kneebench.{calls[kind]} FROM {home};"


def _array(values: Iterable[int]) -> str:
    return f"{{{','.join(map(str, values))}}}"


def random_scripts(folder: Path, warehouses: int) -> list[str]:
    """pgbench's options for scripts that pick their arguments as the `hammerdb` profile does, but
    for the 1% of orders that are rolled back: pgbench gives a client up at its first error. An
    order's lines are a script of their own number.
    """
    customers = {"name": (60, f"0, {LAST_NAME}"), "number": (40, ":c, ''")}
    scripts = [(f"new_order_{lines}", _random_order(warehouses, lines), 100) for lines in LINES]
    for how, (percent, customer) in customers.items():
        paid = (
            "\\set far random(1, 100) > 85\n\\set cw case when :far then random(1, {0}) else :w"
            " end\n\\set cd case when :far then random(1, 10) else :d end\n"
        )
        payment = (
            f"{paid.format(warehouses)}\\set a random(100, 500000)\nSELECT kneebench.payment(:w,"
            f" :d, :cw, :cd, {customer}, :a);"
        )
        scripts.append((f"payment_{how}", payment, 11 * percent))
        scripts.append(
            (
                f"order_status_{how}",
                f"SELECT * FROM kneebench.order_status(:w, :d, {customer});",
                11 * percent // 10,
            )
        )
    scripts.append(("delivery", "\\set a random(1, 10)\nSELECT kneebench.delivery(:w, :a);", 110))
    scripts.append(
        ("stock_level", "\\set a random(10, 20)\nSELECT kneebench.stock_level(:w, :d, :a);", 110)
    )
    picks = PICKS.format(warehouses=warehouses)
    return [
        word for name, text, weight in scripts for word in _kept(folder, name, picks + text, weight)
    ]


def _random_order(warehouses: int, lines: int) -> str:
    numbers = range(1, lines + 1)
    drawn = [
        f"\\set i{n} random(1, 100000)\n\\set s{n} case when random(1, 100) = 1 then random(1,"
        f" {warehouses}) else :w end\n\\set q{n} random(1, 10)"
        for n in numbers
    ]
    arrays = (f"ARRAY[{', '.join(f':{what}{n}' for n in numbers)}]::int4[]" for what in "isq")
    return "\n".join([*drawn, _new_order(":w", ":d", ":c", *arrays)])


def _new_order(*arguments: object) -> str:
    return f"SELECT kneebench.new_order({', '.join(map(str, arguments))});"


def _kept(folder: Path, name: str, text: str, weight: int) -> Sequence[str]:
    """pgbench's option for a script, which is written to the folder."""
    file = folder / f"{name}.sql"
    file.write_text(text + "\n")
    return ("-f", f"{file}@{weight}")
