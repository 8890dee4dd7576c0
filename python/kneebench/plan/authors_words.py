"""The plan's table `[brief]`: what its author adds to the brief, marked there as their words, and
the figures of others that stand beside kneebench's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kneebench.plan.values import Directory, Name, Note, Number, Part, Sentence, Text, wrong

LOGOS = (".svg", ".png")
MOST_LOGO_BYTES = 1_000_000
MOST_FACTS = 30
_TIME = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_RATE = {"MB/s": 1e6, "GB/s": 1e9}
UNITS: dict[str, dict[str, float]] = {
    "NOPM": {"NOPM": 1.0},
    "TPM": {"TPM": 1.0},
    "users": {"users": 1.0},
    "mean latency": _TIME,
    "P99.9 latency": _TIME,
    "power per NOPM": {"mW/NOPM": 1.0},
    "log write": _TIME,
    "device reads": _RATE,
    "device writes": _RATE,
    "CPU busy": {"%": 0.01},
}
"""The figures of a campaign that a published one can stand beside: its units, each with the factor
to the unit that results have."""
_NAMES = ", ".join(UNITS)
PROFILE_UNITS = {"IOPS": 1.0, **_RATE}
"""The same of a row of a profile."""


class Published(Part):
    """A figure that others published, which the brief shows beside its own, marked as not measured
    here. No computed figure contains it.
    """

    name: Annotated[
        Note,
        Field(
            description=(
                f"Figure: {_NAMES}. With kind = profile: the name of a row of `kneebench profile`"
            )
        ),
    ]
    kind: Annotated[
        Literal["figure", "ratio", "profile"],
        Field(
            description=(
                "Kind. figure: of the storage at its knee or fixed load. ratio: of the storage to"
                " the baseline. profile: of the storage without a database"
            )
        ),
    ] = "figure"
    value: Annotated[
        Number, Field(gt=0, lt=1e15, description="Its value; a decrease by 18% is a ratio of 0.82")
    ]
    unit: Annotated[
        Name,
        Field(
            description=(
                "NOPM, TPM, users, us, ms, s, mW/NOPM, MB/s, GB/s or %, as fits the name. Of a"
                " ratio: x. Of a row of a profile: IOPS, MB/s or GB/s"
            )
        ),
    ]
    storage: Annotated[
        Name, Field(description="Storage of the plan that stands for what was measured there")
    ]
    constraint: Annotated[
        Name, Field(description="Its constraint; empty: none, which is the reference")
    ] = ""
    source: Annotated[Note, Field(description="Where it was published")]

    @model_validator(mode="after")
    def _name_and_unit_are_of_its_kind(self) -> Self:
        if self.kind != "profile" and self.name not in UNITS:
            raise wrong("name", sentence=f"one of: {_NAMES}")
        if self.unit not in self._units:
            raise wrong("unit", sentence=f"one of: {', '.join(self._units)}")
        return self

    @property
    def _units(self) -> dict[str, float]:
        if self.kind == "ratio":
            return {"x": 1.0}
        return PROFILE_UNITS if self.kind == "profile" else UNITS[self.name]

    @property
    def in_results_unit(self) -> float:
        """The value in the unit that results have: seconds, bytes per second, a share."""
        return self.value * self._units[self.unit]


class Price(Part):
    """What a storage costs, such as its drives or a cloud volume. Prices of one plan are in one
    currency and all paid once, by the hour or by the month.
    """

    amount: Annotated[Number, Field(gt=0, lt=1e12, description="Amount")]
    currency: Annotated[
        Name, Field(pattern="^[A-Z]{3}$", description="Currency, by its code, such as EUR")
    ]
    per: Annotated[
        Literal["once", "hour", "month"], Field(description="Time that the amount pays for")
    ] = "once"


class AuthorsWords(Part):
    """What the author adds to the brief, marked as their words; kneebench's own finding stays."""

    title: Annotated[Sentence, Field(description="Title of the publication, above the finding")] = (
        ""
    )
    authors: Annotated[tuple[Name, ...], Field(max_length=20, description="Their names")] = ()
    organisation: Annotated[Name, Field(description="Whom they work for")] = ""
    logo: Annotated[
        Directory | None,
        Field(description="Picture above the finding: an .svg or .png of at most 1 MB"),
    ] = None
    summary: Annotated[
        Text, Field(description="Paragraph below the finding, such as what it means to a buyer")
    ] = ""
    storages: dict[Name, Note] = Field(
        default={}, max_length=100, description="Description of a storage, by its name in the plan"
    )
    machine: dict[Name, Note] = Field(
        default={},
        max_length=MOST_FACTS,
        description=(
            f"Facts that no file of the machine has: up to {MOST_FACTS} texts by name, such as"
            ' `"RAID controller" = "none"`, which the brief shows with the machine'
        ),
    )
    published: Annotated[
        tuple[Published, ...],
        Field(max_length=100, description="Figures of others, to stand beside its own"),
    ] = ()
    prices: dict[Name, Price] = Field(
        default={},
        max_length=100,
        description=(
            "Price of a storage, by its name in the plan: the brief says what its work costs"
        ),
    )
    target: Annotated[
        Number,
        Field(
            ge=0,
            lt=1e12,
            description=(
                "NOPM that is needed: with a sweep, the title says how much memory or how many"
                " cores that takes; 0: none"
            ),
        ),
    ] = 0.0

    def check(self, storages: Collection[str], baseline: str, constraints: Iterable[str]) -> None:
        """Raise the rule's error for a storage or a constraint that the plan has not, and for a
        logo that is no picture.
        """
        if self.logo and self.logo.suffix not in LOGOS:
            raise wrong("brief", "logo", sentence=f"a file that ends in {' or '.join(LOGOS)}")
        known = f"a storage, one of: {', '.join(storages)}"
        if unknown := next((name for name in self.storages if name not in storages), ""):
            raise wrong("brief", "storages", unknown, sentence=known)
        if unknown := next((name for name in self.prices if name not in storages), ""):
            raise wrong("brief", "prices", unknown, sentence=known)
        if len({(one.currency, one.per) for one in self.prices.values()}) > 1:
            raise wrong("brief", "prices", sentence="prices in one currency, all with the same per")
        for number, one in enumerate(self.published):
            key = ("brief", "published", number)
            if one.storage not in storages:
                raise wrong(*key, "storage", sentence=known)
            if one.kind == "ratio" and one.storage == baseline:
                sentence = f"a storage other than the baseline {baseline!r}, which ratios are to"
                raise wrong(*key, "storage", sentence=sentence)
            if one.constraint and one.constraint not in (there := list(constraints)):
                allowed = f"one of: {', '.join(there)}" if there else "no value without constraints"
                raise wrong(*key, "constraint", sentence=allowed)
