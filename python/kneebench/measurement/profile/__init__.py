"""What a directory's drive can do by itself, without a database: fio(1) on one file, and a copy of
many small files.

The file is written in full first, so that reads find data. I/O bypasses the page cache, except for
log writes and copies, which databases and people do through it.
"""

from __future__ import annotations

from kneebench.measurement.profile.datasheet import Claim, DataSheet, read_datasheet
from kneebench.measurement.profile.fio import found_fio
from kneebench.measurement.profile.jobs import JOBS, Job
from kneebench.measurement.profile.profiling import Profile, expected_s, profile, writing_s
from kneebench.measurement.profile.rows import ProfileRow, Traffic
from kneebench.measurement.profile.targets import DirectoryTarget, DriveTarget, Target
from kneebench.measurement.profile.together import (
    Member,
    Together,
    TogetherRow,
    expected_together_s,
    profile_together,
    require_different_drives,
    writing_together_s,
)

__all__ = [
    "JOBS",
    "Claim",
    "DataSheet",
    "DirectoryTarget",
    "DriveTarget",
    "Job",
    "Member",
    "Profile",
    "ProfileRow",
    "Target",
    "Together",
    "TogetherRow",
    "Traffic",
    "expected_s",
    "expected_together_s",
    "found_fio",
    "profile",
    "profile_together",
    "read_datasheet",
    "require_different_drives",
    "writing_s",
    "writing_together_s",
]
