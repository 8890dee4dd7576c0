"""Records that flow between the rooms: frozen, in SI units, with a field's unit in its name.

Every record is written to JSON by ``model_dump_json`` and read by ``model_validate_json``.
"""

from __future__ import annotations

from kneebench.records.campaign import Campaign, Results, label_of
from kneebench.records.climb import (
    Climb,
    Limits,
    NoiseFloor,
    RawStorage,
    StopResult,
    caveats_of,
)
from kneebench.records.configuration import Configuration, IoAllowance, configuration_name
from kneebench.records.drive_loads import DriveLoad, LoadInterval, Preconditioned
from kneebench.records.drives import (
    DeviceIdentity,
    DriveFill,
    DriveHealth,
    Holder,
    LoopFile,
    Obstacle,
    RawProfile,
    RawRow,
    Signature,
    WholeDrive,
    WriteCount,
)
from kneebench.records.estimate import Estimate, InNopm, InSeconds, InTimes, InTpm, InUsers
from kneebench.records.events import Event, Finding, Watch, unwatched
from kneebench.records.findings import (
    Bottleneck,
    Comparison,
    ExceededLoad,
    Knee,
    Proof,
    QuotedLoad,
    Relieved,
    ResourceEvidence,
    TimeShare,
)
from kneebench.records.link import Link
from kneebench.records.load_hosts import HostTally
from kneebench.records.machine import (
    CountedDevice,
    Drive,
    Host,
    MemoryModule,
    Setting,
    SystemDrive,
    Whereabouts,
)
from kneebench.records.power import (
    LOAD_NOT_SEEN,
    SYSTEM_POWER,
    CampaignPower,
    MeasuredPower,
    MeterLag,
    PowerMeterFacts,
    PowerWindow,
    at_rest_on,
)
from kneebench.records.record import FEW, TRANSACTIONS, Phase, Record, Role, Scope, Verdict, named
from kneebench.records.remark import Remark, Severity, noted
from kneebench.records.resolved_plan import PlannedDatabase, PlannedStorage, ResolvedPlan
from kneebench.records.rung import Check, Counted, LogHistogram, Moved, Order, Rung, Summary
from kneebench.records.seconds import LiveSecond, Second, Series, Tick
from kneebench.records.tally import Counts, Latency, SeenError, Tally, TransactionTally

__all__ = [
    "FEW",
    "LOAD_NOT_SEEN",
    "SYSTEM_POWER",
    "TRANSACTIONS",
    "Bottleneck",
    "Campaign",
    "CampaignPower",
    "Check",
    "Climb",
    "Comparison",
    "Configuration",
    "Counted",
    "CountedDevice",
    "Counts",
    "DeviceIdentity",
    "Drive",
    "DriveFill",
    "DriveHealth",
    "DriveLoad",
    "Estimate",
    "Event",
    "ExceededLoad",
    "Finding",
    "Holder",
    "Host",
    "HostTally",
    "InNopm",
    "InSeconds",
    "InTimes",
    "InTpm",
    "InUsers",
    "IoAllowance",
    "Knee",
    "Latency",
    "Limits",
    "Link",
    "LiveSecond",
    "LoadInterval",
    "LogHistogram",
    "LoopFile",
    "MeasuredPower",
    "MemoryModule",
    "MeterLag",
    "Moved",
    "NoiseFloor",
    "Obstacle",
    "Order",
    "Phase",
    "PlannedDatabase",
    "PlannedStorage",
    "PowerMeterFacts",
    "PowerWindow",
    "Preconditioned",
    "Proof",
    "QuotedLoad",
    "RawProfile",
    "RawRow",
    "RawStorage",
    "Record",
    "Relieved",
    "Remark",
    "ResolvedPlan",
    "ResourceEvidence",
    "Results",
    "Role",
    "Rung",
    "Scope",
    "Second",
    "SeenError",
    "Series",
    "Setting",
    "Severity",
    "Signature",
    "StopResult",
    "Summary",
    "SystemDrive",
    "Tally",
    "Tick",
    "TimeShare",
    "TransactionTally",
    "Verdict",
    "Watch",
    "Whereabouts",
    "WholeDrive",
    "WriteCount",
    "at_rest_on",
    "caveats_of",
    "configuration_name",
    "label_of",
    "named",
    "noted",
    "unwatched",
]
