"""A plan that somebody else wrote: what of it is run here.

Such a plan comes in a result archive. Whoever made that chose every key of it, so nothing in it may
start a program, reach another machine, erase a drive, change the kernel, or set a server up to do
one of these. What remains is a database of kneebench's own in the plan's directories, which may
contain nothing else, and it is run only when that was agreed to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kneebench.plan.plan import Plan

_HARMLESS = re.compile(r"(?i)on|off|try|true|false|[0-9][0-9.]*\s*[a-z]{0,3}")
"""A server setting that can only be a switch, a number or a size."""
_NAMES = re.compile(r"(?i)command|librar|preload|plugin|init|file|dir|path|program|conninfo")
"""Names of server settings whose values may be programs or files."""


def reaches_further(plan: Plan) -> str:
    """The first reason not to run somebody else's plan; empty for one that may be run."""
    return next(_reasons(plan), "")


def effects(plan: Plan) -> str:
    """What the plan does to this machine, in words."""
    engines = ", ".join(dict.fromkeys(one.engine for one in plan.databases_by_name.values()))
    if not plan.measures_real_hardware:
        return f"run a {engines} database, which writes to no drive"
    places = ", ".join(map(str, (*plan.paths, *_image_paths(plan))))
    return f"run {engines} and write to {places}"


def _reasons(plan: Plan) -> Iterator[str]:
    if plan.hosts != type(plan.hosts)():
        yield "it has [hosts]: it would log in to other machines"
    if plan.servers:
        yield "it names a server by URL"
    if plan.power.meters:
        yield "it has meters of power, which are programs or on the network"
    if plan.volumes or plan.erase:
        yield "it makes volumes of drives"
    if plan.kernel != type(plan.kernel)():
        yield "it sets kernel settings"
    if plan.raw_profile:
        yield "it measures storages with fio"
    if plan.has_constraints:
        yield "it limits memory or cores"
    for name, one in plan.databases_by_name.items():
        table = f"databases.{name}" if name else "database"
        if getattr(one, "restore_command", ""):
            yield f"{table}.restore_command is a command"
        if getattr(one, "bin_dir", None):
            yield f"{table}.bin_dir names the programs of a server"
        if odd := next(filter(_may_act, one.settings.items()), None):
            yield f"{table}.settings has {odd[0]}, which may name a program or file"


def _may_act(setting: tuple[str, object]) -> bool:
    name, value = setting
    return bool(_NAMES.search(name)) or not _HARMLESS.fullmatch(str(value).strip())


def _image_paths(plan: Plan) -> Iterator[object]:
    found = (getattr(one, "base_image_path", None) for one in plan.databases_by_name.values())
    yield from dict.fromkeys(path for path in found if path)
