"""The climb of a model: the campaign's own ladder, with its stop conditions, on a simulated server.

Knee, stop and bottleneck come from the code that judges measured rungs.
"""

from __future__ import annotations

from kneebench.databases.engines.simulated.engine import simulated_server
from kneebench.databases.engines.simulated.server import Simulated
from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.engine_properties import engine_properties
from kneebench.ladder.climb import climb, measure_orders
from kneebench.ladder.steps import ClimbStep
from kneebench.measurement.measure import measure
from kneebench.plan.database_plan import RungPlan
from kneebench.plan.study import Study
from kneebench.records import Climb, Configuration, Rung

METERS = ("cores", "devices", "log_writes", "waits", "pressure", "processes")
WINDOW_S, WARM_UP_S = 4.0, 1.0


def climbed(model: SimulatedStorage, study: Study, configuration: Configuration) -> Climb:
    """A climb of users on a model, by the ladder that a configuration of the study has."""
    plan = _plan(study, configuration)

    def measured(step: ClimbStep) -> Rung:
        server = Simulated(simulated_server(model, plan.workload, seed=1), model)
        order = step.on(configuration.id)
        return measure(order, plan, server, lambda event: None).rung

    found = measure_orders(climb(plan.ladder, model.cores, confirms=False, warms=False), measured)
    limits = plan.ladder.stops.limits
    return Climb(configuration=configuration, limits=limits, label="Predicted", **found._asdict())


def _plan(study: Study, configuration: Configuration) -> RungPlan:
    """The rules of the rungs: short windows are enough where nothing disturbs."""
    plan = study.rungs(configuration)
    quick = {
        "warm_up": WARM_UP_S,
        "window": WINDOW_S,
        "final_window": WINDOW_S,
        "checkpoints": 0,
        "climb_again": False,
    }
    workload = plan.workload.model_copy(
        update={"connections": 0, "load_generator_threads": 1, "load_generator_cores": ()}
    )
    return plan._replace(
        engine=engine_properties("simulated"),
        ladder=plan.ladder.model_copy(update=quick),
        workload=workload,
        meters=METERS,
    )
