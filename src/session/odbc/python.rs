//! The Python border: what `kneebench._odbc` has.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kneebench::dataset::Dataset;
use kneebench::generator_spec::GeneratorSpec;
use kneebench::inputs::Kind;
use kneebench::load_generator::ThreadedLoadGenerator;
use kneebench::loading::{Load, LoadingSpec, TableLoad};
use kneebench::python::errors::session_error;
use kneebench::python::load_generator::LoadGenerator;
use kneebench::python::loading::Loading;
use kneebench::session::{Error, ErrorClass};
use odbc_api::{Cursor, DataType};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::call::standard;
use crate::connection::{self, Link};
use crate::errors::Classes;
use crate::session::OdbcConnector;

/// A database that a driver of unixODBC reaches, and what its dialect says.
#[pyclass(frozen, module = "kneebench._odbc")]
struct Target(connection::Target);

#[pymethods]
impl Target {
    /// `calls` by the names of transactions; those that it has not are the standard ones. `errors`:
    /// an SQLSTATE, a number or words, each with its class.
    #[new]
    #[pyo3(signature = (*, connection_string, place, settings, calls, errors))]
    fn new(
        connection_string: String,
        place: String,
        settings: Vec<String>,
        mut calls: HashMap<String, String>,
        errors: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let calls =
            Kind::ALL.map(|kind| calls.remove(kind.name()).unwrap_or_else(|| standard(kind)));
        let classes = errors
            .into_iter()
            .map(|(known, name)| Ok((known, name.parse::<ErrorClass>()?)))
            .collect::<Result<_, String>>()
            .map_err(PyValueError::new_err)?;
        let classes = Classes(classes);
        Ok(Self(connection::Target { connection_string, place, settings, calls, classes }))
    }

    /// Users; `spec`: the values of a GeneratorSpec of the core, by name.
    fn load_generator(&self, spec: &Bound<'_, PyDict>) -> PyResult<LoadGenerator> {
        let ours = spec.py().get_type::<GeneratorSpec>().call((), Some(spec))?;
        let spec = ours.cast::<GeneratorSpec>()?.get().clone();
        let connector = OdbcConnector::new(self.0.clone());
        Ok(LoadGenerator::wrap(Box::new(ThreadedLoadGenerator::new(spec, connector))))
    }

    /// `shape`: warehouses, profile and seed. `tables`: name, statements before the rows, and the
    /// INSERT.
    fn loading(
        &self,
        shape: (i32, String, u64),
        streams: usize,
        tables: Vec<(String, Vec<String>, String)>,
    ) -> PyResult<Loading> {
        let (warehouses, profile, seed) = shape;
        let of = |profile| Dataset::TprocC { warehouses, profile, seed };
        let load = |dataset: &Dataset, (name, before, fill): (String, _, _)| {
            Ok::<_, String>(TableLoad { table: dataset.table(&name)?, before, fill })
        };
        let spec = profile.parse().map(of).and_then(|dataset| {
            dataset.check()?;
            let tables =
                tables.into_iter().map(|one| load(&dataset, one)).collect::<Result<_, _>>()?;
            let spec = LoadingSpec { streams, tables };
            spec.check().map(|()| spec)
        });
        let spec = spec.map_err(PyValueError::new_err::<String>)?;
        Ok(Loading::wrap(Box::new(Load::new(spec, OdbcConnector::new(self.0.clone())))))
    }

    /// A session for statements; raises SessionError.
    fn connect(&self, py: Python<'_>) -> PyResult<Session> {
        let opened = py.detach(|| self.0.connect()).map_err(session_error)?;
        Ok(Session { target: self.0.clone(), link: Mutex::new(Some(opened)) })
    }
}

/// A session for statements, one at a time.
#[pyclass(frozen, module = "kneebench._odbc")]
struct Session {
    target: connection::Target,
    link: Mutex<Option<Link>>,
}

/// A value as Python has it: numbers are numbers, all else is text.
#[derive(IntoPyObject)]
enum Value {
    Whole(i64),
    Real(f64),
    Text(String),
}

#[pymethods]
impl Session {
    /// Run a statement; the rows of its first result. `limit_s` is the driver's own limit of a
    /// query, which not every driver has.
    #[pyo3(signature = (statement, limit_s = None))]
    fn execute(
        &self,
        py: Python<'_>,
        statement: &str,
        limit_s: Option<usize>,
    ) -> PyResult<Vec<Vec<Option<Value>>>> {
        py.detach(|| self.rows(statement, limit_s)).map_err(session_error)
    }

    /// End it; a second time has no effect.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.link().take()));
    }
}

impl Session {
    fn link(&self) -> MutexGuard<'_, Option<Link>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(
        &self,
        statement: &str,
        limit_s: Option<usize>,
    ) -> Result<Vec<Vec<Option<Value>>>, Error> {
        let link = self.link();
        let link = link.as_ref().ok_or_else(|| Error::lost("the session is closed"))?;
        let executed = link.execute(statement, (), limit_s);
        executed
            .and_then(|found| found.map_or_else(|| Ok(Vec::new()), all_rows))
            .map_err(|error| self.target.classes.error(&error))
    }
}

fn all_rows(mut found: impl Cursor) -> Result<Vec<Vec<Option<Value>>>, odbc_api::Error> {
    let columns = 1..=found.num_result_cols()? as u16;
    let kinds = columns.map(|column| found.col_data_type(column)).collect::<Result<Vec<_>, _>>()?;
    let (mut rows, mut text) = (Vec::new(), Vec::new());
    while let Some(mut row) = found.next_row()? {
        let mut values = Vec::with_capacity(kinds.len());
        for (column, kind) in (1..).zip(&kinds) {
            let some = row.get_text(column, &mut text)?;
            values.push(some.then(|| value(*kind, String::from_utf8_lossy(&text).into())));
        }
        rows.push(values);
    }
    Ok(rows)
}

fn value(kind: DataType, text: String) -> Value {
    if !is_number(kind) {
        return Value::Text(text);
    }
    let whole = text.parse().map(Value::Whole).ok();
    whole.or_else(|| text.parse().map(Value::Real).ok()).unwrap_or(Value::Text(text))
}

fn is_number(kind: DataType) -> bool {
    use DataType::{BigInt, Decimal, Double, Float, Integer, Numeric, Real, SmallInt, TinyInt};
    matches!(
        kind,
        BigInt
            | Integer
            | SmallInt
            | TinyInt
            | Real
            | Double
            | Float { .. }
            | Decimal { .. }
            | Numeric { .. }
    )
}

#[pymodule]
fn _odbc(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Target>()?;
    module.add_class::<Session>()
}
