//! Loading for Python.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::address::Address;
use super::errors::load_error;
use crate::dataset;
use crate::loading::{self, LoadProgress, LoadingSpec};
use crate::protocols::write_lines;

/// What shapes the rows of a database.
#[pyclass(frozen, module = "kneebench._core")]
pub struct Dataset(dataset::Dataset);

#[pymethods]
impl Dataset {
    #[staticmethod]
    #[pyo3(signature = (*, warehouses, profile, seed))]
    fn tproc_c(warehouses: i32, profile: &str, seed: u64) -> PyResult<Self> {
        let profile = profile.parse().map_err(PyValueError::new_err::<String>)?;
        checked(dataset::Dataset::TprocC { warehouses, profile, seed })
    }

    #[staticmethod]
    #[pyo3(signature = (*, scale))]
    fn tproc_h(scale: f64) -> PyResult<Self> {
        checked(dataset::Dataset::TprocH { scale })
    }

    /// Warehouses, profile and seed of TPROC-C; None of TPROC-H.
    #[getter]
    fn shape(&self) -> Option<(i32, &'static str, u64)> {
        match self.0 {
            dataset::Dataset::TprocC { warehouses, profile, seed } => {
                Some((warehouses, profile.name(), seed))
            }
            dataset::Dataset::TprocH { .. } => None,
        }
    }

    fn write(&self, py: Python<'_>, table: &str, path: PathBuf) -> PyResult<u64> {
        let table = self.0.table(table).map_err(PyValueError::new_err)?;
        Ok(py.detach(|| write_lines(table, &path))?)
    }
}

fn checked(dataset: dataset::Dataset) -> PyResult<Dataset> {
    dataset.check().map_err(PyValueError::new_err)?;
    Ok(Dataset(dataset))
}

/// One table of a load.
#[pyclass(frozen, get_all, module = "kneebench._core")]
#[derive(Clone)]
pub struct TableLoad {
    name: String,
    before: Vec<String>,
    fill: String,
}

#[pymethods]
impl TableLoad {
    #[new]
    #[pyo3(signature = (*, name, before, fill))]
    fn new(name: String, before: Vec<String>, fill: String) -> Self {
        Self { name, before, fill }
    }
}

impl TableLoad {
    fn of(&self, dataset: &Dataset) -> PyResult<loading::TableLoad> {
        let table = dataset.0.table(&self.name).map_err(PyValueError::new_err)?;
        let Self { before, fill, .. } = self.clone();
        Ok(loading::TableLoad { table, before, fill })
    }
}

/// One load on its own threads.
#[pyclass(frozen, module = "kneebench._core")]
pub struct Loading(Box<dyn LoadProgress>);

impl Loading {
    pub fn wrap(load: Box<dyn LoadProgress>) -> Self {
        Self(load)
    }
}

#[pymethods]
impl Loading {
    #[new]
    #[pyo3(signature = (*, address, dataset, streams, tables))]
    fn new(
        address: &Address,
        dataset: &Dataset,
        streams: usize,
        tables: Vec<PyRef<'_, TableLoad>>,
    ) -> PyResult<Self> {
        let tables = tables.iter().map(|table| table.of(dataset)).collect::<PyResult<_>>()?;
        let spec = LoadingSpec { streams, tables };
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
