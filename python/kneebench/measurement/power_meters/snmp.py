"""Power of outlets of a PDU, by SNMP v2c or v3 (package pysnmp, `kneebench[power]`).

The objects of common PDUs are in pdus.toml; any other object is named by its number. Several
outlets, such as those of two power supplies, add up.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from kneebench.errors import PlanError
from kneebench.extras import require_extra
from kneebench.measurement.power_meters.credentials import password
from kneebench.measurement.power_meters.power_source import (
    NoAnswer,
    PlainSource,
    PowerReading,
    PowerSource,
    believed,
)
from kneebench.plan.power import PUBLIC, MeterLogIn, PowerMeter, Private
from kneebench.plan.values import Name, Whole, wrong
from kneebench.records import Scope

ANSWER_S = 1.0
RETRIES = 2
_OID = r"^\.?\d+(\.\d+)+$"
_AUTH = {
    "SHA-256": "USM_AUTH_HMAC192_SHA256",
    "SHA-512": "USM_AUTH_HMAC384_SHA512",
    "SHA": "USM_AUTH_HMAC96_SHA",
    "MD5": "USM_AUTH_HMAC96_MD5",
}


@cache
def pdus() -> dict[str, dict[str, Any]]:
    """The objects of the PDUs that are known, by name."""
    return tomllib.loads(Path(__file__).with_name("pdus.toml").read_text())


class SnmpMeter(PowerMeter, MeterLogIn):
    """Outlets of a PDU by SNMP: v3, encrypted, with a user, else v2c, with the password as its
    community ("public" without one).
    """

    of_scope: ClassVar[Scope | None] = "wall"
    address: Annotated[Name, Private("host"), Field(description="Address of the PDU")]
    port: Annotated[Whole, Field(ge=1, le=65_535, description="Its port; SNMP has 161")] = 161
    pdu: Annotated[
        Name,
        PUBLIC,
        Field(
            description="Kind of PDU: apc-outlet, apc-device, apc-rpdu, raritan-outlet,"
            " raritan-inlet, servertech-outlet or eaton-outlet"
        ),
    ] = ""
    outlet: Annotated[
        tuple[Annotated[Whole, Field(ge=1, le=1000)], ...],
        Field(max_length=100, description="Numbers of its outlets, which add up"),
    ] = ()
    oid: Annotated[
        tuple[Annotated[str, Field(pattern=_OID)], ...],
        PUBLIC,
        Field(max_length=100, description="Numbers of any other objects, which add up"),
    ] = ()
    factor: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="Watts of 1 in the objects of `oid`")
    ] = 1.0
    authentication: Annotated[
        Literal["SHA-256", "SHA-512", "SHA", "MD5"], Field(description="Authentication of v3")
    ] = "SHA-256"
    privacy_variable: Annotated[
        Name,
        PUBLIC,
        Field(
            description="Environment variable with the password of v3's encryption (AES); empty:"
            " the same password"
        ),
    ] = ""

    @model_validator(mode="after")
    def _names_objects(self) -> Self:
        if bool(self.pdu) == bool(self.oid):
            raise wrong("pdu", sentence=f"one of pdu and oid; pdu is one of: {', '.join(pdus())}")
        if self.pdu and self.pdu not in pdus():
            raise wrong("pdu", sentence=f"one of: {', '.join(pdus())}; or oid with its numbers")
        by_outlet = bool(self.pdu) and "{outlet}" in pdus()[self.pdu]["power"]
        if by_outlet and not self.outlet:
            raise wrong("outlet", sentence="the numbers of its outlets, as in [3, 4]")
        if self.outlet and not by_outlet:
            raise wrong("outlet", sentence="none: these objects are not of an outlet")
        return self


class Snmp(PlainSource):
    """Objects of a device, which add up. Its event loop is its own."""

    def __init__(self, table: SnmpMeter, secret: str, privacy: str) -> None:
        from pysnmp.hlapi.v3arch import asyncio as hlapi

        self._hlapi: Any = hlapi
        self._table = table
        known = pdus().get(table.pdu, {})
        numbers = [known["power"].format(outlet=n) for n in table.outlet or (0,)] if known else []
        self._oids = numbers or [one.lstrip(".") for one in table.oid]
        self._digits = (
            [known["digits"].format(outlet=n) for n in table.outlet or (0,)]
            if "digits" in known
            else []
        )
        self._unit: float = known.get("unit", table.factor)
        self.described = ", ".join(self._oids)
        self._loop = asyncio.new_event_loop()
        self._engine = hlapi.SnmpEngine()
        self._who = self._identity(secret, privacy)
        self._scales: list[float] = []

    def _identity(self, secret: str, privacy: str) -> Any:
        if not self._table.user:
            return self._hlapi.CommunityData(secret or "public", mpModel=1)
        return self._hlapi.UsmUserData(
            self._table.user,
            authKey=secret,
            privKey=privacy or secret,
            authProtocol=getattr(self._hlapi, _AUTH[self._table.authentication]),
            privProtocol=self._hlapi.USM_PRIV_CFB128_AES,
        )

    def read(self) -> PowerReading:
        """The sum of all objects, asked for in one request."""
        if self._digits and not self._scales:
            self._scales = [10.0**-digits for digits in self._get(self._digits)]
        scales = self._scales or [1.0] * len(self._oids)
        numbers = self._get(self._oids)
        each = zip(numbers, scales, strict=True)
        watts = (believed(n, self._unit * scale, self._table.most) for n, scale in each)
        return PowerReading(watts=sum(watts))

    def _get(self, oids: Sequence[str]) -> list[float]:
        return self._loop.run_until_complete(self._got(oids))

    async def _got(self, oids: Sequence[str]) -> list[float]:
        hlapi, table = self._hlapi, self._table
        try:
            target = await hlapi.UdpTransportTarget.create(
                (table.address, table.port), timeout=ANSWER_S, retries=RETRIES
            )
            asked = (hlapi.ObjectType(hlapi.ObjectIdentity(oid)) for oid in oids)
            failed, status, _, found = await hlapi.get_cmd(
                self._engine, self._who, target, hlapi.ContextData(), *asked
            )
        except Exception as error:  # pysnmp raises its own errors, and those of the system
            raise NoAnswer(f"{error}"[:200].strip() or type(error).__name__) from None
        if failed or status:
            raise NoAnswer(_why(table, f"{failed or status.prettyPrint()}"))
        return [_number(oid, value) for oid, (_, value) in zip(oids, found, strict=True)]

    def close(self) -> None:
        """Close the engine and its loop."""
        self._engine.close_dispatcher()
        self._loop.run_until_complete(asyncio.sleep(0))  # its timer ends there
        self._loop.close()


def _why(table: SnmpMeter, said: str) -> str:
    """What a failed request means: a device does not answer a wrong community at all."""
    if "digest" in said:
        return f"wrong password for its user {table.user} ({said})"
    if "USM user" in said:
        return f"it has no user {table.user} ({said})"
    if "No SNMP response" not in said:
        return said
    secret = "privacy password" if table.user else "community, which is its password"
    return f"{said}: its address, or a wrong {secret}"


def _number(oid: str, value: Any) -> float:
    try:
        return float(int(value))
    except (TypeError, ValueError):
        raise NoAnswer(f"{oid} has no number: {value.prettyPrint()[:60] or 'nothing'}") from None


def open_source(table: PowerMeter) -> PowerSource:
    """The device. Raises PlanError without the package."""
    assert isinstance(table, SnmpMeter)
    what = f"power meter {table.name}"
    secret = password(table, table.name)
    privacy = MeterLogIn(password_variable=table.privacy_variable)
    if table.user and len(secret) < 8:
        seen = "SNMP v3 needs a password of 8 characters or more"
        raise PlanError(what, seen=seen, do="name password_variable or password_file")
    require_extra("power", what)
    return Snmp(table, secret, password(privacy, table.name))


TABLE = SnmpMeter
