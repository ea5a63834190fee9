//! Late interaction: the tokens' vectors come from a model in Python, what they say from the core.
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use retentive_core::rank::late_interaction as rank;
use retentive_core::vector::kernels::LONGEST;

use crate::arrays;

/// Each text's late interaction with a query, from the int8 vectors of their tokens; the query's with their scales.
#[pyfunction]
pub fn late_interaction(
    py: Python<'_>,
    query: Bound<'_, PyAny>,
    scales: Bound<'_, PyAny>,
    texts: Vec<Bound<'_, PyAny>>,
) -> PyResult<Vec<f32>> {
    arrays::ready(py)?;
    let query: PyReadonlyArray2<'_, i8> = query.extract()?;
    let scales: PyReadonlyArray1<'_, f32> = scales.extract()?;
    let texts: Vec<PyReadonlyArray2<'_, i8>> = texts.iter().map(|text| text.extract()).collect::<Result<_, _>>()?;
    let dimension = query.shape().get(1).copied().unwrap_or_default();
    let of_one_model = texts.iter().all(|text| text.shape().get(1) == Some(&dimension));
    if dimension == 0
        || dimension > LONGEST
        || !of_one_model
        || scales.len() != query.shape().first().copied().unwrap_or_default()
    {
        return Err(PyValueError::new_err("the arrays are not [t, d], [t] and [n, d] of one d"));
    }
    let codes: Vec<&[i8]> = texts.iter().map(|text| text.as_slice()).collect::<Result<_, _>>()?;
    let tokens: Vec<rank::Tokens> = codes.into_iter().map(|codes| rank::Tokens { codes, dimension }).collect();
    Ok(rank::late_interaction(rank::Tokens { codes: query.as_slice()?, dimension }, scales.as_slice()?, &tokens))
}
