"""Which product and version a server is: MariaDB and MySQL speak one protocol."""

from __future__ import annotations

import re
from enum import Enum

from kneebench.errors import PlanError

NOT_TRIED = (
    "only MySQL 8.0.31 was tried. Statements and readings follow the reference manual; report what"
    " fails"
)


class Product(Enum):
    """A product by the engine's name, and its oldest version that has all that is used."""

    MARIADB = ("mariadb", "MariaDB", (10, 6))
    MYSQL = ("mysql", "MySQL", (8, 0))

    @property
    def engine(self) -> str:
        """The engine's name in a plan."""
        return self.value[0]


def series(version: str) -> str:
    """Product and version for people.

    >>> series("10.11.19-MariaDB-0+deb12u1"), series("8.0.36")
    ('MariaDB 10.11.19', 'MySQL 8.0.36')
    """
    return f"{_product(version).value[1]} {number(version)}"


def untried(version: str) -> str:
    """What a reader must know of every result on a server of this version; empty for nothing.

    >>> untried("8.0.36"), untried("10.11.19-MariaDB"), untried("8.4.3")[:28]
    ('', '', 'only MySQL 8.0.31 was tried.')
    """
    tried = _product(version) is Product.MARIADB or number(version).startswith("8.0.")
    return "" if tried else NOT_TRIED


def is_from(version: str, product: Product, oldest: tuple[int, int]) -> bool:
    """Whether a server is of this product, and of this version or a later one.

    >>> is_from("10.6.14-9-MariaDB-enterprise", Product.MARIADB, (10, 8))
    False
    """
    numbers = tuple(map(int, number(version).split(".")[:2]))
    return _product(version) is product and numbers >= oldest


def require_product(product: Product, version: str, place: str) -> None:
    """Raises PlanError for a server of the other product, or of a version that is too old."""
    there = _product(version)
    if there is not product:
        raise PlanError(
            f"cannot use the server at {place}",
            seen=f"it is {series(version)}",
            do=f'set database.engine = "{there.engine}"',
        )
    oldest = product.value[2]
    if not is_from(version, product, oldest):
        raise PlanError(
            f"cannot use the server at {place}",
            seen=f"{series(version)} is too old",
            do=f"use version {'.'.join(map(str, oldest))} or later",
        )


def _product(version: str) -> Product:
    return Product.MARIADB if "mariadb" in version.lower() else Product.MYSQL


def number(version: str) -> str:
    """The numbers of a version; MariaDB before 11 says 5.5.5- first, for old replicas."""
    found = re.match(r"(?:5\.5\.5-)?(\d+\.\d+(?:\.\d+)?)", version)
    return found[1] if found else "0.0"
