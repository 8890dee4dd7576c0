"""Profiles of performance of the firmware, where it reports them to the kernel.

Most servers report them to their BMC only; then the plan's `[brief.machine]` says it.
Sources: Documentation/ABI/testing/sysfs-platform_profile and sysfs-class-firmware-attributes.
"""

from __future__ import annotations

import re

from kneebench.lab.inventory.sources import Sources
from kneebench.visible import escaped

PROFILE = re.compile(r"profile|operating_?mode", re.IGNORECASE)
"""In the name of an attribute."""
MOST, LONGEST = 10, 100


def firmware_profiles(sources: Sources) -> dict[str, str]:
    """Profiles by name; empty where the firmware reports none, or only root may read them."""
    found = {"platform_profile": sources.line(sources.sys, "firmware/acpi/platform_profile")}
    for folder in sorted((sources.sys / "class/firmware-attributes").glob("*/attributes/*")):
        if PROFILE.search(folder.name):
            found[folder.name] = sources.line(folder, "current_value")
    told = {escaped(name): escaped(text)[:LONGEST] for name, text in found.items() if text}
    return dict(list(told.items())[:MOST])
