//! The Python border: each file is what Python sees of the module of the same name.

mod address;
pub mod errors;
mod generator_spec;
pub mod load_generator;
pub mod loading;
mod simulated;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::generator_spec::GeneratorSpec;
use crate::histogram::{Latencies, Latency};
use crate::protocols;
use crate::session::tls;

/// Merged statistics of base64 HDR histograms (V2).
#[pyfunction]
fn merge_histograms(py: Python<'_>, histograms: Vec<String>) -> PyResult<Latency> {
    Ok(py.detach(|| merged(&histograms))?.statistics())
}

/// The sum of base64 HDR histograms (V2), as one with its statistics; None without samples.
#[pyfunction]
fn sum_histograms(py: Python<'_>, histograms: Vec<String>) -> PyResult<Option<Latency>> {
    py.detach(|| Ok(merged(&histograms)?.latency()))
}

/// Quantiles, in seconds, of all samples of base64 HDR histograms (V2).
#[pyfunction]
fn merged_quantiles(
    py: Python<'_>,
    histograms: Vec<String>,
    shares: Vec<f64>,
) -> PyResult<Vec<f64>> {
    let all = py.detach(|| merged(&histograms))?;
    Ok(shares.into_iter().map(|share| all.quantile_s(share)).collect())
}

fn merged(histograms: &[String]) -> PyResult<Latencies> {
    let mut decoded = histograms.iter().map(|text| Latencies::decode(text));
    let first = decoded.next().unwrap_or_else(|| Ok(Latencies::default()));
    first
        .and_then(|mut sum| {
            for one in decoded {
                sum.merge(&one?);
            }
            Ok(sum)
        })
        .map_err(PyValueError::new_err::<String>)
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
    module.add_class::<loading::Dataset>()?;
    module.add_class::<loading::TableLoad>()?;
    module.add_class::<loading::Loading>()?;
    module.add_class::<simulated::SimulatedServer>()?;
    module.add_function(wrap_pyfunction!(merge_histograms, module)?)?;
    module.add_function(wrap_pyfunction!(sum_histograms, module)?)?;
    module.add_function(wrap_pyfunction!(merged_quantiles, module)?)?;
    module.add_function(wrap_pyfunction!(system_roots, module)?)?;
    protocols::register(module)
}
