//! The specification of a load generator for Python.

use std::convert::Infallible;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::generator_spec::GeneratorSpec;
use crate::inputs::{Home, Profile};

#[pymethods]
impl GeneratorSpec {
    #[new]
    #[pyo3(signature = (
        *, users, first_user = 0, all_users = 0, warehouses, databases = 1, profile, home,
        think_times = false, retries = 0, seed, stream, rate_per_s = None, drain_s = 10.0,
        connections = 0, workers, cores = Vec::new(), ledger = false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        users: u32,
        first_user: u32,
        all_users: u32,
        warehouses: u32,
        databases: u32,
        profile: &str,
        home: &str,
        think_times: bool,
        retries: u32,
        seed: u64,
        stream: u64,
        rate_per_s: Option<f64>,
        drain_s: f64,
        connections: u32,
        workers: u32,
        cores: Vec<usize>,
        ledger: bool,
    ) -> PyResult<Self> {
        let profile = profile.parse().map_err(PyValueError::new_err::<String>)?;
        let home = home.parse().map_err(PyValueError::new_err::<String>)?;
        let spec = Self {
            users,
            first_user,
            all_users,
            warehouses,
            databases,
            profile,
            home,
            think_times,
            retries,
            seed,
            stream,
            rate_per_s,
            drain_s,
            connections,
            workers,
            cores,
            ledger,
        };
        spec.check().map_err(PyValueError::new_err)?;
        Ok(spec)
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl<'py> IntoPyObject<'py> for Profile {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(PyString::new(py, self.name()))
    }
}

impl<'py> IntoPyObject<'py> for Home {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(PyString::new(py, self.name()))
    }
}
