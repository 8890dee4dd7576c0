"""Load hosts that are nodes of a Ray cluster, which the user has: one actor on each.

Ray needs a token, since whoever reaches its ports can run anything on all nodes. Losses are seen by
calls of our own: Ray notices them after half a minute.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from kneebench.analysis.wording import plural
from kneebench.errors import PlanError
from kneebench.extras import require_extra
from kneebench.hosts import host_program, ray_actor
from kneebench.hosts.connection import (
    ANSWER_S,
    BEAT_S,
    CONNECT_S,
    SEND_S,
    HostLine,
    HostLost,
    require_fit,
)
from kneebench.hosts.package import load_package
from kneebench.hosts.pipe import Message
from kneebench.plan.hosts import RayHosts

SILENT_S = 4.0
"""So long a node may leave a sign of life unanswered."""
LOOK_S = 0.5
KNOWN = "cannot use the Ray cluster"
TOKEN = "RAY_AUTH_MODE"  # noqa: S105


@contextlib.contextmanager
def cluster(planned: RayHosts) -> Iterator[dict[str, str]]:
    """The ids of the nodes that users run on, by address, while this process is a client of the
    cluster. Raises PlanError for a cluster that cannot be used.
    """
    ray = _imported()
    if os.environ.get(TOKEN) != "token":
        do = f"set {TOKEN}=token and RAY_AUTH_TOKEN on all nodes and here"
        raise PlanError(KNOWN, seen="it takes work from anyone who reaches its ports", do=do)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"logging_level": "ERROR", "log_to_driver": False, "configure_logging": False}
    try:
        ray.init(address=planned.ray, namespace="kneebench", ignore_reinit_error=True, **quiet)
    except Exception as error:
        do = "see that it is up, its address is right, and the token is the cluster's"
        raise PlanError(KNOWN, seen=str(error).split("\n")[0], do=do) from error
    try:
        yield _nodes(ray, planned)
    finally:
        ray.shutdown()


def _imported() -> Any:
    require_extra("ray", KNOWN)
    import ray

    return ray


def _nodes(ray: Any, planned: RayHosts) -> dict[str, str]:
    """By address, without those that the plan leaves out."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    there = {node["NodeManagerAddress"]: node["NodeID"] for node in alive}
    found = {name: there[name] for name in sorted(there) if name not in planned.without}
    wanted = planned.hosts or len(found)
    if not found or len(found) < wanted:
        seen = f"it has {plural(len(found), 'node')}: {', '.join(found) or 'none'}"
        raise PlanError(KNOWN, seen=seen, do=f"add nodes, or lower hosts.load.hosts ({wanted})")
    return dict(list(found.items())[:wanted])


class RayConnection(HostLine):
    """An actor on a node that answers orders, as `Connection` does by ssh."""

    def __init__(self, name: str, node: str) -> None:
        """Start it. Raises PlanError for a node that cannot run it."""
        self.name, self._ray = name, _imported()
        self._numbers, self._begun = itertools.count(1), dict[int, Any]()
        self._lost = ""
        self._over = threading.Event()
        self._actor = self._started(node)
        try:
            self.facts = self._ready()
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._beat, daemon=True).start()

    def _started(self, node: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        for module in (host_program, ray_actor):
            self._ray.cloudpickle.register_pickle_by_value(module)
        there = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        kind = self._ray.remote(ray_actor.LoadActor)
        options = {"num_cpus": 0, "max_concurrency": 3, "scheduling_strategy": there}
        return kind.options(**options).remote()

    def _ready(self) -> dict[str, Any]:
        """What the node is, once kneebench's files are there."""
        what, package = f"cannot run kneebench on node {self.name}", load_package()
        try:
            facts: dict[str, Any] = self._ray.get(self._actor.facts.remote(), timeout=CONNECT_S)
            require_fit(self.name, facts, package)
            begun = self._actor.begin.remote(package.name, package.packed())
            words = self._ray.get(begun, timeout=SEND_S)
        except self._ray.exceptions.RayError as error:
            raise PlanError(what, seen=_words(error), do="see the node's own log") from error
        if words:
            raise PlanError(what, seen=words, do="see the cache directory of Ray's account there")
        return facts

    def begin(self, do: str, **values: object) -> int:
        """Order something; `result` has what comes of it, by this number. Raises HostLost."""
        self._require_there()
        number = next(self._numbers)
        self._begun[number] = self._actor.answer.remote({"do": do, "id": number, **values})
        return number

    def result(self, number: int, limit_s: float = 0.0) -> Message:
        """What came of an order; `limit_s`: what the order itself may take. Raises HostLost."""
        begun, until = self._begun.pop(number), time.monotonic() + limit_s + ANSWER_S
        while True:
            self._require_there()
            try:
                found: Message = self._ray.get(begun, timeout=LOOK_S)
                return found
            except self._ray.exceptions.GetTimeoutError:
                if time.monotonic() > until:
                    raise HostLost(self.name, f"no answer within {ANSWER_S:g} s") from None
            except self._ray.exceptions.RayError as error:
                raise HostLost(self.name, _words(error)) from error

    def _require_there(self) -> None:
        if self._lost:
            raise HostLost(self.name, self._lost)

    def _beat(self) -> None:
        """A sign of life each second; the node is lost where it does not answer one."""
        while not self._over.wait(BEAT_S):
            try:
                self._ray.get(self._actor.beat.remote(), timeout=SILENT_S)
            except self._ray.exceptions.RayError as error:
                self._lost = _words(error)
                return

    def close(self) -> None:
        """End the actor, and with it what runs there."""
        self._over.set()
        with contextlib.suppress(Exception):  # it may have ended by itself
            self._ray.kill(self._actor)


def _words(error: Exception) -> str:
    """Ray's first line."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
