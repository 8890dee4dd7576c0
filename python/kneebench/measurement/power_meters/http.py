"""Power or energy of anything that answers HTTP with JSON: a socket with a meter, a lab meter, a
collector.
"""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from kneebench.measurement.power_meters.certificates import Web
from kneebench.measurement.power_meters.credentials import log_in, only_encrypted, password
from kneebench.measurement.power_meters.json_document import document, number_at
from kneebench.measurement.power_meters.power_source import (
    EnergySince,
    PlainSource,
    PowerReading,
    PowerSource,
    believed,
)
from kneebench.plan.power import PUBLIC, MeterLogIn, Pinned, PowerMeter
from kneebench.plan.values import Sentence

UNITS = {"W": 1.0, "mW": 1e-3, "kW": 1e3, "J": 1.0, "kJ": 1e3, "Wh": 3600.0, "kWh": 3.6e6}
ENERGIES = ("J", "kJ", "Wh", "kWh")
Unit = Literal["W", "mW", "kW", "J", "kJ", "Wh", "kWh"]


class HttpMeter(PowerMeter, MeterLogIn, Pinned):
    """A number in a JSON document by HTTP or HTTPS."""

    url: Annotated[
        Sentence,
        PUBLIC,  # but for its host and user, which are found by their form
        Field(description="URL of the document, without user and password"),
    ]
    pointer: Annotated[
        Sentence,
        PUBLIC,
        Field(pattern="^/", description="JSON pointer to the number, such as `/apower`"),
    ]
    unit: Annotated[
        Unit, Field(description="Its unit; one of energy is a counter, and better than power")
    ] = "W"


class Http(PlainSource):
    """The number of a document."""

    def __init__(self, web: Web, table: HttpMeter) -> None:
        parts = urlsplit(table.url)
        self._web, self._table, self._counted = web, table, EnergySince()
        self._path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        self.counts_energy = table.unit in ENERGIES
        self.described = f"{parts.hostname}{parts.path}#{table.pointer}"

    def read(self) -> PowerReading:
        """The number as it is now."""
        table = self._table
        found = document(self._web.get(self._path), "the document")
        number = number_at(found, table.pointer, "the document")
        if self.counts_energy:
            joules = self._counted.since_first(number, UNITS[table.unit], table.most)
            return PowerReading(joules=joules)
        return PowerReading(watts=believed(number, UNITS[table.unit], table.most))

    def close(self) -> None:
        self._web.close()


def open_source(table: PowerMeter) -> PowerSource:
    """The document. Raises PlanError for a URL that holds a password, or would send one by HTTP."""
    assert isinstance(table, HttpMeter)
    secret = password(table, table.name)
    web = Web(table.url, table, log_in(table, secret), table.name)
    only_encrypted(table.url, secret, table.name)
    return Http(web, table)


TABLE = HttpMeter
