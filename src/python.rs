//! What Python sees of the hot path, beside the simulated server.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use pyo3::exceptions::{PyConnectionError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::crew::{self, PostgresCrew, Wrong};
use crate::histogram::Latencies;
use crate::loading::Load;

/// Many terminals over one server, from the first connection to the last answer.
#[pyclass(frozen, name = "Crew")]
pub struct Crew(Box<dyn crew::Crew>);

impl Crew {
    pub fn new(crew: impl crew::Crew + 'static) -> Self {
        Self(Box::new(crew))
    }

    /// Without the interpreter lock; a Python signal (Ctrl-C) ends the wait with its exception.
    fn wait<T: Send>(&self, py: Python<'_>, ask: impl Fn(&dyn crew::Crew, crew::GoOn) -> Result<T, Wrong> + Send + Sync) -> PyResult<T> {
        let crew = &*self.0;
        py.detach(|| {
            let signal = RefCell::new(None);
            let go_on = || Python::attach(|py| py.check_signals().map_err(|raised| signal.replace(Some(raised))).is_ok());
            ask(crew, &go_on).map_err(|wrong| signal.take().unwrap_or_else(|| raised(wrong)))
        })
    }
}

#[pymethods]
impl Crew {
    fn ready(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, |crew, go_on| crew.ready(go_on))
    }

    fn go(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, |crew, _| crew.go())
    }

    fn tick(&self, py: Python<'_>) -> PyResult<String> {
        self.wait(py, |crew, go_on| crew.tick(go_on))
    }

    fn mark(&self, py: Python<'_>, phase: &str) -> PyResult<f64> {
        self.wait(py, |crew, _| crew.mark(phase))
    }

    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        self.wait(py, |crew, go_on| crew.stop(go_on))
    }
}

/// A crew for a PostgreSQL server; nothing is opened before ready().
#[pyfunction]
fn postgres_crew(order: &str) -> PyResult<Crew> {
    PostgresCrew::new(order).map(Crew::new).map_err(raised)
}

/// One load under way on threads of its own.
#[pyclass(frozen)]
struct Loading(Load);

#[pymethods]
impl Loading {
    #[new]
    fn new(order: &str) -> PyResult<Self> {
        Load::new(order).map(Self).map_err(PyValueError::new_err)
    }

    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(PyRuntimeError::new_err)
    }

    fn progress(&self) -> HashMap<&'static str, u64> {
        self.0.progress().into()
    }

    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout_s).map_err(|wrong| PyValueError::new_err(wrong.to_string()))?;
        py.detach(|| self.0.wait(timeout)).map_err(PyRuntimeError::new_err)
    }

    fn cancel(&self) {
        self.0.cancel();
    }
}

/// Merged statistics of base64 HDR histograms (V2).
#[pyfunction]
fn merge_histograms<'py>(py: Python<'py>, histograms: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
    let merged = py.detach(|| {
        histograms.iter().try_fold(Latencies::default(), |mut sum, text| {
            sum.merge(&Latencies::decode(text)?);
            Ok(sum)
        })
    });
    let latency = merged.map_err(PyValueError::new_err::<String>)?.statistics();
    let answer = PyDict::new(py);
    for (name, value) in [
        ("n", latency.n as f64),
        ("mean_s", latency.mean_s),
        ("p50_s", latency.p50_s),
        ("p90_s", latency.p90_s),
        ("p95_s", latency.p95_s),
        ("p99_s", latency.p99_s),
        ("p999_s", latency.p999_s),
        ("p999_low_s", latency.p999_low_s),
        ("p999_high_s", latency.p999_high_s),
        ("max_s", latency.max_s),
        ("overflow", latency.overflow as f64),
    ] {
        answer.set_item(name, value)?;
    }
    Ok(answer)
}

pub fn raised(wrong: Wrong) -> PyErr {
    let message = wrong.to_string();
    match wrong {
        Wrong::Order(_) => PyValueError::new_err(message),
        Wrong::Connection(_) => PyConnectionError::new_err(message),
        Wrong::Broken(_) | Wrong::Interrupted => PyRuntimeError::new_err(message),
    }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Crew>()?;
    module.add("SESSION_SETTINGS", crate::session::postgres::SETTINGS)?;
    module.add_class::<Loading>()?;
    module.add_class::<crate::simulation::server::SimulatedServer>()?;
    module.add_function(wrap_pyfunction!(postgres_crew, module)?)?;
    module.add_function(wrap_pyfunction!(merge_histograms, module)?)
}
