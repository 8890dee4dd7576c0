//! The Python border.

mod address;
mod errors;
mod generator_spec;
mod load_generator;
mod loading;
mod simulated;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::generator_spec::GeneratorSpec;
use crate::histogram::Latencies;
use crate::protocols;
use crate::session::tls;

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
    let statistics = PyDict::new(py);
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
        statistics.set_item(name, value)?;
    }
    Ok(statistics)
}

/// The file of the machine's own root certificates; None if there is none.
#[pyfunction]
fn system_roots() -> Option<String> {
    tls::system_roots().map(|file| file.display().to_string())
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<GeneratorSpec>()?;
    module.add_class::<address::Address>()?;
    module.add_class::<load_generator::LoadGenerator>()?;
    module.add_class::<loading::TableLoad>()?;
    module.add_class::<loading::Loading>()?;
    module.add_class::<simulated::SimulatedServer>()?;
    module.add_function(wrap_pyfunction!(merge_histograms, module)?)?;
    module.add_function(wrap_pyfunction!(system_roots, module)?)?;
    errors::register(module)?;
    protocols::register(module)
}
