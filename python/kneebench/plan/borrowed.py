"""What a plan executes, and what is run of a plan that somebody else wrote.

The latter comes in a result archive. Whoever made that chose every key of it, so nothing in it may
start a program, reach another machine, erase a drive, change the kernel, or set a server up to do
one of these. What remains is a database of kneebench's own in the plan's directories, which may
contain nothing else, and it is run only when that was agreed to.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from kneebench.plan.database import Database
from kneebench.plan.hosts import DatabaseHost, LoadHost
from kneebench.plan.plan import Plan
from kneebench.secrets import without_passwords

_HARMLESS = re.compile(r"(?i)on|off|try|true|false|[0-9][0-9.]*\s*[a-z]{0,3}")
"""A server setting that can only be a switch, a number or a size."""
_NAMES = re.compile(
    r"(?i)command|cmd|librar|preload|plugin|provider|init|file|dir|path|program|conninfo|include"
)
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


SHELL = ("restore_command", "cut_command")
"""Keys of a database's table that are commands of a shell."""


def executed(plan: Plan, user: str) -> Iterator[tuple[str, str]]:
    """The key and the words of each program that a run of the plan starts because the plan says so:
    its arguments, the account, and the host if that is another one. `user`: our own account.
    """
    host = plan.hosts.database
    there = f"on {host.called}, as the account of ssh {host.ssh}" if host.ssh else f"as {user}"
    for meter in plan.power.meters:
        if command := getattr(meter, "command", ()):
            where = there if meter.on_database_host else f"as {user}"
            yield f"power meter {meter.name}", f"{where}: {without_passwords(shlex.join(command))}"
    for name, one in plan.databases_by_name.items():
        table = f"databases.{name}" if name else "database"
        for key in SHELL:
            if command := getattr(one, key, ""):
                words = without_passwords(f"sh -c {shlex.quote(command)}")
                yield f"{table}.{key}", f"{there}: {words}"
        for key, words in executed_by_server(one):
            yield f"{table}.{key}", f"{there}, or the server's account: {words}"
    hosts: list[tuple[str, DatabaseHost | LoadHost]] = [("database", host)]
    load = plan.hosts.load if isinstance(plan.hosts.load, tuple) else ()
    hosts += [("load", one) for one in load]
    for key, other in hosts:
        if other.ssh and is_own_python(other.python):
            words = f"on {other.called}, as the account of ssh {other.ssh}: {other.python}"
            yield f"hosts.{key}.python", words


def executed_by_server(table: Database) -> tuple[tuple[str, str], ...]:
    """The keys of a database's table by which its server is a program of the plan, or starts or
    loads one, and what that is.
    """
    folder = getattr(table, "bin_dir", None)
    own = (("bin_dir", f"the server's programs in {folder}"),) if folder else ()
    named = ((name, value) for name, value in table.settings.items() if _NAMES.search(name))
    acting = [(f"settings.{name}", str(value)) for name, value in named if not _is_harmless(value)]
    return (*own, *((key, without_passwords(words)) for key, words in acting))


def is_own_python(name: str) -> bool:
    """Whether a host's Python is a program of the plan, and not one that its system has.

    >>> is_own_python("python3.12"), is_own_python("/tmp/python3")
    (False, True)
    """
    return not re.fullmatch(r"(/usr(/local)?/bin/)?python3?(\.\d+)?", name)


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
        for key in SHELL:
            if getattr(one, key, ""):
                yield f"{table}.{key} is a command"
        if getattr(one, "bin_dir", None):
            yield f"{table}.bin_dir names the programs of a server"
        if odd := next(filter(_may_act, one.settings.items()), None):
            yield f"{table}.settings has {odd[0]}, which may name a program or file"


def _may_act(setting: tuple[str, object]) -> bool:
    name, value = setting
    return bool(_NAMES.search(name)) or not _is_harmless(value)


def _is_harmless(value: object) -> bool:
    return bool(_HARMLESS.fullmatch(str(value).strip()))


def _image_paths(plan: Plan) -> Iterator[object]:
    found = (getattr(one, "base_image_path", None) for one in plan.databases_by_name.values())
    yield from dict.fromkeys(path for path in found if path)
