//! Constants for the sessions of Python.

use pyo3::prelude::*;

use super::settings::{NO_LIMITS, SETTINGS};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SESSION_SETTINGS", SETTINGS)?;
    module.add("NO_LIMITS", NO_LIMITS)
}
