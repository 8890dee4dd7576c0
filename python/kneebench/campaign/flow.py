"""The main flow: for each configuration prepare, restore, climb, keep; then the knees again,
properly.

Start reading here. Measuring never prints (`watch` receives the events), and everything measured is
saved before the next thing begins, so that a killed campaign resumes at the next rung.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from kneebench.analysis.outcome import exit_code
from kneebench.analysis.wording import plural
from kneebench.campaign.bench import Bench
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.campaign.machines.opening import let_users_in
from kneebench.campaign.machines.opening import machine_of as machine_of
from kneebench.campaign.power import campaign_power, keep_cost, recorded_power, use_kept
from kneebench.campaign.preflight import as_plan, refuse
from kneebench.campaign.proof import prove
from kneebench.campaign.restored import Context
from kneebench.databases.engine import Engine
from kneebench.directories import CAMPAIGNS
from kneebench.errors import PlanError, Refused
from kneebench.hosts.bandwidth import measured
from kneebench.hosts.load_hosts import LoadHosts, connected
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.hosts import DatabaseHost
from kneebench.plan.resolve import campaign_plan
from kneebench.records import (
    DriveLoad,
    Event,
    Link,
    Preconditioned,
    Results,
    Watch,
    Whereabouts,
    WholeDrive,
)
from kneebench.results import step_times
from kneebench.results.event_log import EventLog
from kneebench.results.logo import keep_logo
from kneebench.results.noise_pairs import known_noise_floor
from kneebench.results.store import Store


def run(
    plan: Plan | str | Path,
    folder: str | Path | None = None,
    watch: Watch = lambda event: None,
    fresh: bool = False,
    brief: bool = False,
    *,
    erase: Sequence[WholeDrive] = (),
    reliefs: Sequence[str] | None = None,
) -> Results:
    """Measure a whole campaign, by a plan or the path of its file, and give its results.

    `folder` holds campaigns; an unfinished one of the same plan, image and kneebench is resumed
    unless `fresh`. `brief`: one is written next. `erase`: drives agreed to be erased. `reliefs`:
    see `prove`. Raises PlanError or Refused before any change; InvalidMeasurement for a lost
    database. Whatever ends it, the machine is put back; what was measured stays.

    >>> from kneebench.campaign.preflight import preset
    >>> results = run(preset("simulated"), folder="kneebench-results")
    >>> results.finished, results.campaign.simulated
    (True, True)
    """
    plan = as_plan(plan)
    with machine_of(plan) as machine:
        return run_on(machine, plan, folder, watch, fresh, brief, erase, reliefs)


def run_on(
    machine: DatabaseMachine,
    plan: Plan,
    folder: str | Path | None,
    watch: Watch,
    fresh: bool,
    brief: bool,
    erase: Sequence[WholeDrive] = (),
    reliefs: Sequence[str] | None = None,
) -> Results:
    """The same on the machine of the plan's databases."""
    watch = _Logging(watch)
    with contextlib.ExitStack() as stack:
        # 1. Undo what a killed run left, check the plan against the machine, reach the others.
        engine, hosts, link = stack.enter_context(_check(machine, plan, erase, watch))
        power = stack.enter_context(recorded_power(plan, machine.instruments))
        # 2. Open the results: new ones, or those to resume. Change the machine as the plan says.
        paths = _paths(map(engine.where, configurations(plan)))
        host = machine.host(paths, whole=plan.measures_real_hardware)
        in_force = stack.enter_context(machine.sysctls(plan.kernel, watch))
        found = Store.for_plan(_root(folder), plan, host, fresh=fresh, reliefs=reliefs, watch=watch)
        store = stack.enter_context(_open_results(found, plan, engine, watch))
        store.put_known(known_noise_floor(host, plan, watch), link, campaign_power(plan, power))
        use_kept(store, power)
        _put_before(store, machine, plan, paths)
        machine.erase(erase, watch)
        # 3. Climb on every configuration, measure the knees in turn, prove what limits them.
        resolved, watched = campaign_plan(plan), _keeping(store, watch)
        context = Context(resolved, engine, store, watched, machine, in_force, hosts, link, power)
        resumed = bool(store.rungs)
        Bench(context).measure()
        prove(context, plan, reliefs)
        # 4. The drives as they are now, what the meters took, and how it ended.
        keep_cost(store, power)
        store.put_drives_after(machine.drives(paths, plan.drives))
        results = store.finish(exit_code, awaits_brief=brief)
        step_times.keep(host, plan, results, resumed=resumed)
        return results


@contextlib.contextmanager
def _check(
    machine: DatabaseMachine, plan: Plan, erase: Sequence[WholeDrive], watch: Watch
) -> Iterator[tuple[Engine, LoadHosts | None, Link | None]]:
    """The plan's engine, its load hosts and the network to them, once what a killed run left is
    undone, and nothing is wrong.
    """
    machine.clean(watch)
    with closing(machine.engine(plan)) as engine:
        refuse(machine.findings(plan, engine, erase, watch))
        with connected(plan.hosts.load) as load_hosts:
            let_users_in(engine, plan, load_hosts)
            yield engine, load_hosts, measured_link(plan.hosts.database, machine, load_hosts)


def _root(folder: str | Path | None) -> Path:
    """Where the campaigns are."""
    return Path(folder or CAMPAIGNS)


def _paths(servers: Iterable[Whereabouts]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path for server in servers for path in server.paths))


def _put_before(store: Store, machine: DatabaseMachine, plan: Plan, paths: Sequence[Path]) -> None:
    """Keep the author's logo, and the drives as they are. Raises Refused if a resumed campaign had
    other ones for its volumes.
    """
    keep_logo(store.folder, plan.brief.logo)
    drives = machine.drives((), plan.drives)
    before = {one.wwid for one in store.campaign.drives_before if one.wwid}
    now = {one.wwid for one in drives if one.wwid}
    if others := sorted(now - before) if before and not store.campaign.joined else []:
        seen = f"the campaign was begun without drive {', '.join(others)}"
        raise Refused(
            f"cannot resume {store.folder}", seen=seen, do="use its drives, or run --fresh"
        )
    store.put_drives_before((*machine.drives(paths, ()), *drives))


class _Logging:
    """The watcher; from when the campaign's folder is known, what happens is also kept there."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._log: EventLog | None = None

    def __call__(self, event: Event) -> None:
        """Keep what happened, and pass it on."""
        if isinstance(folder := event.data.get("folder"), str):
            self._log = EventLog(Path(folder))
        if self._log:
            self._log.write(event)
        self._watch(event)


def _keeping(store: Store, watch: Watch) -> Watch:
    """The watcher; reports of preconditioned and loaded drives are also kept."""

    def watched(event: Event) -> None:
        if isinstance(done := event.data.get("written"), Preconditioned | DriveLoad):
            store.put_drive_written(done)
        watch(event)

    return watched


@contextlib.contextmanager
def _open_results(store: Store, plan: Plan, engine: Engine, watch: Watch) -> Iterator[Store]:
    """The campaign's folder, once its base image is there; a new one if the image has changed."""
    with contextlib.ExitStack() as stack:
        _hold(store, stack, watch)
        image = engine.prepare(watch)
        if differing := store.differing(image):
            doing = f"cannot resume {store.folder} ({differing}); starting a new campaign"
            watch(Event(kind="warning", doing=doing))
            created = Store.create(store.folder.parent, plan, store.campaign.host)
            store = _hold(created, stack, watch)
        if joined := store.reopen(plan):
            names = ", ".join(configuration.name for configuration in joined)
            doing = f"adding to {store.folder.name}: {names}"
            watch(Event(kind="start", doing=doing))
        if store.rungs:
            rungs = plural(store.rungs, "rung")
            doing = f"resuming {store.folder.name} ({rungs} already measured)"
            watch(Event(kind="start", doing=doing))
        store.put_base_image(image)
        yield store


def _hold(store: Store, until: contextlib.ExitStack, watch: Watch) -> Store:
    """The store, open until then; its folder is reported."""
    folder = str(until.enter_context(store).folder)
    watch(Event(kind="start", doing=f"writing results to {folder}", data={"folder": folder}))
    return store


# The network between the database host and the users, looked at before the first rung.

HERE = "this machine"


def measured_link(
    host: DatabaseHost, machine: DatabaseMachine, load_hosts: LoadHosts | None
) -> Link | None:
    """What the users' hosts receive from the database host's address for a second; None where the
    plan names no such address. Raises PlanError where one of them has no way there.
    """
    if not host.address:
        return None
    with machine.sending(host.address, host.port) as port:
        if load_hosts:
            found = load_hosts.bandwidth(host.address, port)
        else:
            found = {HERE: _received(host.address, port)}
    interface, line_bytes_per_s = machine.interface(host.address)
    return Link(
        address=host.address,
        interface=interface,
        line_bytes_per_s=line_bytes_per_s,
        measured={name: one["bytes_per_s"] for name, one in found.items()},
        connect_s=max(one["took_s"] for one in found.values()),
    )


def _received(address: str, port: int) -> dict[str, float]:
    try:
        return measured(address, port)
    except OSError as error:
        do = f"let this machine reach the ports of hosts.database (tried: {port})"
        raise PlanError(f"cannot reach {address}", seen=str(error), do=do) from error
