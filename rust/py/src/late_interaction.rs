//! Late interaction: the tokens' vectors come from a model in Python, what they say from the core.
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use retentive_core::rank::late_interaction as rank;
use retentive_core::vector::kernels::LONGEST;

use crate::arrays;

/// Each text's late interaction with a query, from the int8 vectors of their tokens: the query's, with their scales, and those of all texts
/// one after the other, of which each text has so many.
#[pyfunction]
pub fn late_interaction(
    py: Python<'_>,
    query: Bound<'_, PyAny>,
    scales: Bound<'_, PyAny>,
    texts: Bound<'_, PyAny>,
    counts: Vec<usize>,
) -> PyResult<Vec<f32>> {
    arrays::ready(py)?;
    let (query, texts): (PyReadonlyArray2<'_, i8>, PyReadonlyArray2<'_, i8>) = (query.extract()?, texts.extract()?);
    let scales: PyReadonlyArray1<'_, f32> = scales.extract()?;
    let ([asked, dimension], [held, other]) = (dims(&query), dims(&texts));
    let whole = counts.iter().try_fold(0, |sum: usize, count| sum.checked_add(*count)) == Some(held);
    if dimension == 0 || dimension > LONGEST || other != dimension || scales.len() != asked || !whole {
        return Err(PyValueError::new_err(
            "the arrays are not [t, d], [t] and [n, d] of one d, with n the sum of the counts",
        ));
    }
    let mut left = texts.as_slice()?;
    let mut tokens = Vec::with_capacity(counts.len());
    for count in counts {
        let (codes, others) = left.split_at(count * dimension);
        tokens.push(rank::Tokens { codes, dimension });
        left = others;
    }
    Ok(rank::late_interaction(rank::Tokens { codes: query.as_slice()?, dimension }, scales.as_slice()?, &tokens))
}

fn dims(array: &PyReadonlyArray2<'_, i8>) -> [usize; 2] {
    let shape = array.as_array().raw_dim();
    [shape[0], shape[1]]
}
