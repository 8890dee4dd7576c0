"""Volumes on md arrays, on a real kernel: made, used, killed and taken apart in user-mode Linux."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kneebench.lab.programs import found
from kneebench.lab.volumes.layouts import md_command
from tests.user_mode_linux import answers, needs_uml

GUEST = Path(__file__).parent / "md_guest.py"
MODULES = [f"md/{name}" for name in ("md-mod", "raid0", "raid1", "raid10", "dm-mod")]
CLEAN = {"journal": [], "arrays": [], "mounts": [], "states": ["blank"] * 4}
pytestmark = [
    pytest.mark.long,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it reads all of the host's files"),
    pytest.mark.skipif(not found("mdadm"), reason="needs mdadm"),
    needs_uml,
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the guest saw, in one boot."""
    return answers(tmp_path_factory.mktemp("md"), GUEST, [168 * 2**20] * 4, MODULES)


def test_a_stripe_is_made_by_md_and_leaves_blank_drives(seen: dict[str, Any]) -> None:
    stripe = seen["stripe"]
    assert "raid0" in stripe["array"][0]
    assert (stripe["same"], stripe["drives"]) == (True, ["ubda", "ubdb"])
    assert stripe["read_ahead"].strip() == "64"
    assert stripe["states"] == ["in use", "in use", "blank", "blank"]
    assert seen["stripe_left"] == CLEAN


def test_an_array_of_mirrors_is_used_without_a_resync(seen: dict[str, Any]) -> None:
    [array] = seen["killed"]["arrays"]
    assert "active raid10" in array
    assert "resync" not in seen["printed"]


def test_an_array_whose_maker_is_killed_is_taken_apart_even_without_its_entry(
    seen: dict[str, Any],
) -> None:
    assert len(seen["killed"]["arrays"]) == len(seen["killed"]["mounts"]) == 1
    found = seen["killed_cleaned"]
    assert all("is left as it is" in one for one in found.pop("warnings")), "it was mounted"
    assert found == {**CLEAN, "states": ["contains data"] * 4}
    assert seen["killed_erased"] == CLEAN


def test_an_array_that_has_another_name_after_a_restart_is_taken_apart(
    seen: dict[str, Any],
) -> None:
    [array], state, why = seen["renamed"]
    assert "inactive" in array
    assert array.split()[0] != seen["mirror"][0].split()[0]
    assert (state, why) == ("in use", f"ubda is part of {array.split()[0]}")
    assert seen["renamed_cleaned"] == {**CLEAN, "warnings": []}


def test_real_members_of_arrays_and_mapped_drives_are_named_as_such(seen: dict[str, Any]) -> None:
    assert all(why.startswith("linux_raid_member ") for why in seen["members"])
    assert seen["mapped"] == "ubdd is part of dm-0 (orders)"


def test_a_stripe_has_no_mirrors_that_a_bitmap_could_be_of() -> None:
    assert "--bitmap" not in md_command("/dev/md/x", "raid0", "1-2", ["/dev/a", "/dev/b"])
