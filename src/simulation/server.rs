//! The simulated server as Python sees it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use super::crew::SimulatedCrew;
use super::{Simulation, World};
use crate::python::{Crew, raised};
use crate::session::simulated::ledger::Sums;
use crate::session::simulated::model::{Model, SECOND_NS};

/// A database and its drives as a discrete-event model with a clock of its own.
#[pyclass(frozen)]
pub struct SimulatedServer {
    simulation: Simulation,
    /// The readings last made, and after how many changes: every meter asks for them in the same second.
    seen: Mutex<Option<(u64, Py<PyDict>)>>,
}

impl SimulatedServer {
    fn look<T: Send + 'static>(&self, py: Python<'_>, question: impl FnOnce(&mut World) -> T + Send + 'static) -> PyResult<T> {
        py.detach(|| self.simulation.look(question)).map_err(PyRuntimeError::new_err)
    }
}

#[pymethods]
impl SimulatedServer {
    #[new]
    fn new(model: &str) -> PyResult<Self> {
        let model: Model =
            serde_json::from_str(model).map_err(|wrong| PyValueError::new_err(format!("while reading the model: {wrong}")))?;
        Ok(Self { simulation: Simulation::start(model)?, seen: Mutex::default() })
    }

    /// A crew on the simulated clock: tick() returns as soon as a simulated second has been worked off.
    fn crew(&self, py: Python<'_>, order: &str) -> PyResult<Crew> {
        py.detach(|| SimulatedCrew::new(&self.simulation, order)).map(Crew::new).map_err(raised)
    }

    /// Cumulative counters and gauges by "quantity|source", as real meters would give them; not to be changed.
    fn readings(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let changes = self.simulation.changes();
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, readings)) = seen().as_ref().filter(|(before, _)| *before == changes) {
            return Ok(readings.clone_ref(py));
        }
        let readings = self.look(py, |world| world.database.borrow_mut().readings(world.now_ns()))?.into_py_dict(py)?.unbind();
        *seen() = Some((changes, readings.clone_ref(py)));
        Ok(readings)
    }

    /// Sums over what the tables would hold.
    fn ledger(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, u64>> {
        self.look(py, |world| world.database.borrow().ledger().sums().named())
    }

    /// The simulated clock.
    fn now_s(&self) -> f64 {
        self.simulation.now_ns() as f64 / SECOND_NS as f64
    }

    /// A checkpoint that someone asked for; over at once.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.simulation.ask(|world| world.database.borrow_mut().checkpoint(world.now_ns(), false)))
            .map_err(PyRuntimeError::new_err)
    }

    /// What was seen of the server's end; empty while it lives.
    fn ended(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |world| world.database.borrow().dead(world.now_ns()).unwrap_or_default())
    }
}

impl Sums {
    fn named(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([
            ("next_order_ids", self.sum_next_order_ids),
            ("districts", self.districts),
            ("orders", self.orders),
            ("new_orders", self.new_orders),
            ("undelivered", self.undelivered),
            ("order_lines", self.order_lines),
            ("ol_cnt", self.sum_ol_cnt),
            ("w_ytd_cents", self.w_ytd_cents),
            ("d_ytd_cents", self.d_ytd_cents),
            ("h_amount_cents", self.h_amount_cents),
            ("committed", self.committed),
            ("rolled_back", self.rolled_back),
        ])
    }
}
