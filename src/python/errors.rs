//! Exceptions of the border. Those of a database have `error_class`, `code` and `message`.

use pyo3::create_exception;
use pyo3::exceptions::{PyConnectionError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;

use crate::load_generator::GeneratorError;
use crate::session::{Error, ErrorClass};

create_exception!(
    kneebench._core,
    ConnectError,
    PyConnectionError,
    "Connections cannot be opened."
);
create_exception!(kneebench._core, LoadError, PyRuntimeError, "A load failed.");

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    for (name, exception) in
        [("ConnectError", py.get_type::<ConnectError>()), ("LoadError", py.get_type::<LoadError>())]
    {
        // the values of an exception that Python raises itself
        exception.setattr("error_class", ErrorClass::Other.name())?;
        exception.setattr("code", "")?;
        exception.setattr("message", "")?;
        module.add(name, exception)?;
    }
    Ok(())
}

pub fn generator_error(error: GeneratorError) -> PyErr {
    match error {
        GeneratorError::Connection(error) => structured::<ConnectError>(&error),
        GeneratorError::Broken(_) | GeneratorError::Interrupted => {
            PyRuntimeError::new_err(error.to_string())
        }
    }
}

pub fn load_error(error: Error) -> PyErr {
    structured::<LoadError>(&error)
}

fn structured<E: PyTypeInfo>(error: &Error) -> PyErr {
    Python::attach(|py| {
        let exception = PyErr::new::<E, _>(error.message.clone());
        let value = exception.value(py);
        let fields = [
            ("error_class", error.class.name()),
            ("code", &error.code),
            ("message", &error.message),
        ];
        match fields.into_iter().try_for_each(|(name, text)| value.setattr(name, text)) {
            Ok(()) => exception,
            Err(failed) => failed,
        }
    })
}
