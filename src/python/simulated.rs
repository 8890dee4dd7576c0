//! The Python border of the simulated server.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use super::errors::generator_error;
use super::load_generator::LoadGenerator;
use crate::generator_spec::GeneratorSpec;
use crate::session::simulated::ledger::Sums;
use crate::session::simulated::model::{Model, SECOND_NS, Storage};
use crate::simulation::Simulation;
use crate::simulation::generator_handle::SimulatedLoadGenerator;
use crate::simulation::world::World;

/// A database and its drives as a discrete-event model with its own clock.
#[pyclass(frozen, module = "kneebench._core")]
pub struct SimulatedServer {
    simulation: Simulation,
    /// The last readings and the number of changes at that time: every meter reads them in the same
    /// second.
    cached: Mutex<Option<(u64, Py<PyDict>)>>,
}

impl SimulatedServer {
    fn read<T: Send + 'static>(
        &self,
        py: Python<'_>,
        query: impl FnOnce(&mut World) -> T + Send + 'static,
    ) -> PyResult<T> {
        py.detach(|| self.simulation.read(query)).map_err(PyRuntimeError::new_err)
    }
}

#[pymethods]
impl SimulatedServer {
    #[new]
    #[pyo3(signature = (*, storage, warehouses, profile, seed))]
    fn new(storage: Storage, warehouses: u32, profile: &str, seed: u64) -> PyResult<Self> {
        let profile = profile.parse().map_err(PyValueError::new_err::<String>)?;
        let model = Model { storage, warehouses, profile, seed };
        Ok(Self { simulation: Simulation::start(model)?, cached: Mutex::default() })
    }

    /// A load generator on the simulated clock: tick() returns as soon as a second is simulated.
    fn load_generator(&self, py: Python<'_>, spec: &GeneratorSpec) -> PyResult<LoadGenerator> {
        let created = py
            .detach(|| SimulatedLoadGenerator::new(&self.simulation, spec.clone()))
            .map_err(generator_error)?;
        Ok(LoadGenerator::wrap(Box::new(created)))
    }

    /// Cumulative counters and gauges by "quantity|source", as of real meters; read-only.
    fn readings(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let changes = self.simulation.changes();
        let cached = || self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, readings)) = cached().as_ref().filter(|(before, _)| *before == changes) {
            return Ok(readings.clone_ref(py));
        }
        let readings = self
            .read(py, |world| world.database.borrow_mut().readings(world.now_ns()))?
            .into_py_dict(py)?
            .unbind();
        *cached() = Some((changes, readings.clone_ref(py)));
        Ok(readings)
    }

    /// Sums over the tables.
    fn ledger(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, u64>> {
        self.read(py, |world| world.database.borrow().ledger().sums().named())
    }

    /// The simulated clock.
    fn now_s(&self) -> f64 {
        self.simulation.now_ns() as f64 / SECOND_NS as f64
    }

    /// Let simulated time pass without a load.
    fn pass_time(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let ns = (seconds.max(0.0) * SECOND_NS as f64) as u64;
        py.detach(|| {
            self.simulation.change(move |world| {
                let until_ns = world.now_ns().saturating_add(ns);
                world.executor.run_until(until_ns);
            })
        })
        .map_err(PyRuntimeError::new_err)
    }

    /// A requested checkpoint; it ends at once.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            self.simulation
                .change(|world| world.database.borrow_mut().checkpoint(world.now_ns(), false))
        })
        .map_err(PyRuntimeError::new_err)
    }

    /// The reason of the server's end; empty while it is alive.
    fn ended(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |world| world.database.borrow().dead(world.now_ns()).unwrap_or_default())
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
