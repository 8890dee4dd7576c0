//! Exceptions of the border, as Python defines them: those of a database have `error_class`, `code`
//! and `message`.

use pyo3::exceptions::PyRuntimeError;
use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;

use crate::load_generator::GeneratorError;
use crate::session::Error;

import_exception!(kneebench.core_errors, ConnectError);
import_exception!(kneebench.core_errors, LoadError);
import_exception!(kneebench.core_errors, SessionError);

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

pub fn session_error(error: Error) -> PyErr {
    structured::<SessionError>(&error)
}

fn structured<E: PyTypeInfo>(error: &Error) -> PyErr {
    PyErr::new::<E, _>((error.message.clone(), error.code.clone(), error.class.name()))
}
