//! The load generator for Python.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::address::Address;
use super::errors::generator_error;
use crate::generator_spec::GeneratorSpec;
use crate::ledger::Entry;
use crate::load_generator::{self, GeneratorError, KeepWaiting};
use crate::protocols;
use crate::shared_state::Tick;
use crate::tally::report::Report;

/// Many terminals on one server, from the first connection to the last response.
#[pyclass(frozen, module = "kneebench._core")]
pub struct LoadGenerator(Box<dyn load_generator::LoadGenerator>);

impl LoadGenerator {
    pub fn wrap(load_generator: Box<dyn load_generator::LoadGenerator>) -> Self {
        Self(load_generator)
    }

    /// Call without the interpreter lock; a Python signal (Ctrl-C) ends the wait with its
    /// exception.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        call: impl Fn(&dyn load_generator::LoadGenerator, KeepWaiting) -> Result<T, GeneratorError>
        + Send
        + Sync,
    ) -> PyResult<T> {
        let load_generator = &*self.0;
        py.detach(|| {
            let signal = RefCell::new(None);
            let keep_waiting = || {
                Python::attach(|py| {
                    py.check_signals().map_err(|exception| signal.replace(Some(exception))).is_ok()
                })
            };
            call(load_generator, &keep_waiting)
                .map_err(|error| signal.take().unwrap_or_else(|| generator_error(error)))
        })
    }
}

#[pymethods]
impl LoadGenerator {
    #[new]
    #[pyo3(signature = (spec, address, *beside))]
    fn new(spec: &GeneratorSpec, address: &Address, beside: Vec<PyRef<'_, Address>>) -> Self {
        let beside: Vec<&protocols::Address> = beside.iter().map(|one| &one.0).collect();
        Self(address.0.load_generator(&beside, spec.clone()))
    }

    fn ready(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, |load_generator, keep_waiting| load_generator.ready(keep_waiting))
    }

    fn go(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, |load_generator, _| load_generator.go())
    }

    fn tick(&self, py: Python<'_>) -> PyResult<Tick> {
        self.wait(py, |load_generator, keep_waiting| load_generator.tick(keep_waiting))
    }

    fn mark(&self, py: Python<'_>, phase: &str) -> PyResult<f64> {
        self.wait(py, |load_generator, _| load_generator.mark(phase))
    }

    fn stop(&self, py: Python<'_>) -> PyResult<Report> {
        self.wait(py, |load_generator, keep_waiting| load_generator.stop(keep_waiting))
    }

    /// Entries as 32-bit integers, little-endian: acknowledged, each with its nanoseconds since go
    /// (64 bits), then unknown.
    fn take_ledger<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let ledger = self.wait(py, |load_generator, _| load_generator.take_ledger())?;
        let words = |entry: Entry| entry.into_iter().flat_map(i32::to_le_bytes);
        let acknowledged = ledger.acknowledged.into_iter();
        let acknowledged: Vec<u8> =
            acknowledged.flat_map(|(entry, ns)| words(entry).chain(ns.to_le_bytes())).collect();
        let unknown: Vec<u8> = ledger.unknown.into_iter().flat_map(words).collect();
        Ok((PyBytes::new(py, &acknowledged), PyBytes::new(py, &unknown)))
    }
}
