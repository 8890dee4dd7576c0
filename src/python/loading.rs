//! Loading for Python.

use std::collections::HashMap;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::address::Address;
use super::errors::load_error;
use crate::loading::{self, LoadProgress, LoadingSpec};

/// One table of a load.
#[pyclass(frozen, module = "kneebench._core")]
#[derive(Clone)]
pub struct TableLoad(loading::TableLoad);

#[pymethods]
impl TableLoad {
    #[new]
    #[pyo3(signature = (*, name, before, fill))]
    fn new(name: &str, before: Vec<String>, fill: String) -> PyResult<Self> {
        let table = name.parse().map_err(PyValueError::new_err::<String>)?;
        Ok(Self(loading::TableLoad { table, before, fill }))
    }
}

/// One load on its own threads.
#[pyclass(frozen, module = "kneebench._core")]
pub struct Loading(Box<dyn LoadProgress>);

#[pymethods]
impl Loading {
    #[new]
    #[pyo3(signature = (*, address, warehouses, profile, seed, streams, tables))]
    fn new(
        address: &Address,
        warehouses: i32,
        profile: &str,
        seed: u64,
        streams: usize,
        tables: Vec<PyRef<'_, TableLoad>>,
    ) -> PyResult<Self> {
        let profile = profile.parse().map_err(PyValueError::new_err::<String>)?;
        let tables = tables.iter().map(|table| table.0.clone()).collect();
        let spec = LoadingSpec { warehouses, profile, seed, streams, tables };
        spec.check().map_err(PyValueError::new_err)?;
        Ok(Self(address.0.clone().load(spec)))
    }

    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(load_error)
    }

    fn progress(&self) -> HashMap<&'static str, u64> {
        self.0.progress().into()
    }

    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        py.detach(|| self.0.wait(timeout)).map_err(load_error)
    }

    fn cancel(&self) {
        self.0.cancel();
    }
}
