"""Input power of a server as its BMC reports it, by Redfish (DSP2046): documents by HTTPS.

Where a chassis says its power in several places, they differ (other moments, other filters). The
order is that of the schemas: the input of its power supplies (PowerSubsystem), then its environment
metrics, then the older Power. The path that is read is printed, and the plan may name another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import Field

from kneebench.errors import PlanError
from kneebench.measurement.power_meters.certificates import Web, WrongCertificate
from kneebench.measurement.power_meters.credentials import log_in, only_encrypted, password
from kneebench.measurement.power_meters.json_document import document, number_at, value_at
from kneebench.measurement.power_meters.power_source import (
    NoAnswer,
    NoDocument,
    PlainSource,
    PowerReading,
    PowerSource,
    believed,
)
from kneebench.plan.power import PUBLIC, MeterLogIn, Pinned, PowerMeter, Private
from kneebench.plan.values import Name, Sentence
from kneebench.records import Scope

ROOT = "/redfish/v1/Chassis"
MOST_CHASSIS = 16


class RedfishMeter(PowerMeter, MeterLogIn, Pinned):
    """A server's BMC by Redfish (HTTPS)."""

    of_scope: ClassVar[Scope | None] = "wall"
    means: ClassVar[str] = "input power as the BMC reports it"
    address: Annotated[
        Name, Private("host"), Field(description="Address of the BMC, such as `https://bmc1`")
    ]
    chassis: Annotated[
        Name,
        PUBLIC,
        Field(description="Its chassis with the power supplies; empty: the first that has"),
    ] = ""
    path: Annotated[
        Sentence,
        Private("path"),
        Field(
            description="Document and pointer of one number in watts, in place of those found, such"
            " as `/redfish/v1/Chassis/1/Power#/PowerControl/0/PowerConsumedWatts`"
        ),
    ] = ""


class Place:
    """Where a number is: a document, and a pointer in it."""

    def __init__(self, written: str) -> None:
        self.document, _, self.pointer = written.partition("#")
        self.written = written


class Redfish(PlainSource):
    """A BMC: the sum of one number, or of one for each power supply."""

    def __init__(self, web: Web, places: list[Place], most_w: float) -> None:
        self._web, self._places, self._most_w = web, places, most_w
        self.described = ", ".join(one.written for one in places)

    def read(self) -> PowerReading:
        """The sum; none where a part of it is missing."""
        kept: dict[str, Any] = {}
        watts = 0.0
        for one in self._places:
            if one.document not in kept:
                kept[one.document] = document(self._web.get(one.document), one.document)
            number = number_at(kept[one.document], one.pointer, one.document)
            watts += believed(number, 1.0, self._most_w)
        return PowerReading(watts=watts)

    def close(self) -> None:
        self._web.close()


def _links(found: Any, pointer: str = "/Members") -> Iterator[str]:
    for one in value_at(found, pointer) or ():
        if isinstance(link := value_at(one, "/@odata.id"), str):
            yield link


class Finder:
    """Looks for the power of a BMC's chassis."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def _get(self, path: str) -> Any:
        return document(self._web.get(path), path)

    def _optional(self, path: object) -> Any:
        """A document; None for one that the BMC does not have. Raises NoAnswer otherwise: another
        document would have another power.
        """
        try:
            return self._get(path) if isinstance(path, str) else None
        except NoDocument:
            return None

    def places(self, chassis: str) -> list[Place]:
        """Where the power is of this chassis, or of the first that has any."""
        named = [f"{ROOT}/{chassis}"] if chassis else [*_links(self._get(ROOT))][:MOST_CHASSIS]
        for link in named:
            body = self._get(link)
            for look in (self._supplies, self._environment, self._older):
                if found := look(body):
                    return found
        raise NoAnswer(f"no power of {', '.join(named) or 'any chassis'} was found")

    def _supplies(self, body: Any) -> list[Place]:
        """The input power of each power supply; none if one of them does not say it."""
        subsystem = self._optional(value_at(body, "/PowerSubsystem/@odata.id"))
        supplies = self._optional(value_at(subsystem, "/PowerSupplies/@odata.id"))
        found = []
        for link in _links(supplies):
            metrics = value_at(self._optional(link), "/Metrics/@odata.id")
            pointer = "/InputPowerWatts/Reading"
            if value_at(self._optional(metrics), pointer) is None:
                return []
            found.append(Place(f"{metrics}#{pointer}"))
        return found

    def _environment(self, body: Any) -> list[Place]:
        link = value_at(body, "/EnvironmentMetrics/@odata.id")
        return self._number(link, "/PowerWatts/Reading")

    def _older(self, body: Any) -> list[Place]:
        link = value_at(body, "/Power/@odata.id")
        return self._number(link, "/PowerControl/0/PowerConsumedWatts")

    def _number(self, link: Any, pointer: str) -> list[Place]:
        has = value_at(self._optional(link), pointer) is not None
        return [Place(f"{link}#{pointer}")] if has else []


def open_source(table: PowerMeter) -> PowerSource:
    """The BMC. Raises PlanError where it cannot be reached, or has no power."""
    assert isinstance(table, RedfishMeter)
    what, secret = f"power meter {table.name}", password(table, table.name)
    headers = {"Accept": "application/json"}
    web = Web(table.address, table, headers | log_in(table, secret), table.name)
    only_encrypted(table.address, secret, table.name)
    try:
        places = [Place(table.path)] if table.path else Finder(web).places(table.chassis)
    except NoAnswer as error:
        web.close()
        do = "see whether it is reachable, and its user and password right"
        raise PlanError(f"{what}: {table.address}", seen=str(error), do=do) from None
    except WrongCertificate:
        web.close()
        raise
    return Redfish(web, places, table.most)


TABLE = RedfishMeter
