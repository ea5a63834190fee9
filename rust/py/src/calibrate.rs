//! Calibration: samples go out, cosines and what they say come back.
use pyo3::prelude::*;
use pyo3::types::PyDict;
use retentive_core::engine::{self, Sampled};
use retentive_core::model::Vector;
use retentive_core::rank::calibrate::{self, Distribution};

use crate::core::matrix;
use crate::request::{rows, vector};

/// One stored text with its vectors.
pub fn sampled(py: Python<'_>, text: Sampled) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("id", text.id)?;
    dict.set_item("text", text.text)?;
    dict.set_item("vectors", matrix(py, &text.vectors)?)?;
    dict.set_item("session", text.session)?;
    dict.set_item("sitting", text.sitting)?;
    Ok(dict)
}

/// The exact cosine of each vector with the nearest row of its array; `None` where no row has its dimension.
#[pyfunction]
pub fn cosines(pairs: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>) -> PyResult<Vec<Option<f32>>> {
    let of_one_model = |values| Vector { slot: 0, values };
    let best = |(query, vectors): &(Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let vectors: Vec<Vector> = rows(vectors)?.into_iter().map(of_one_model).collect();
        Ok(vector(query)?.and_then(|query| engine::best_cosine(0, &query, &vectors)))
    };
    pairs.iter().map(best).collect()
}

/// What samples of cosines, and the evidence of questions with an answer, say.
#[pyfunction]
pub fn measure(
    py: Python<'_>,
    related: Vec<f64>,
    unrelated: Vec<f64>,
    evidence: Vec<f64>,
    made: bool,
) -> PyResult<Bound<'_, PyDict>> {
    let measured = calibrate::measure(related, unrelated, evidence, made);
    let dict = PyDict::new(py);
    dict.set_item("noise_floor", measured.noise_floor)?;
    dict.set_item("cutoff", measured.cutoff)?;
    dict.set_item("refusal_floor", measured.refusal_floor)?;
    dict.set_item("auc", measured.auc)?;
    dict.set_item("related", distribution(py, measured.related)?)?;
    dict.set_item("unrelated", distribution(py, measured.unrelated)?)?;
    Ok(dict)
}

fn distribution(py: Python<'_>, of: Distribution) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("count", of.count)?;
    dict.set_item("quantiles", of.quantiles)?;
    dict.set_item("histogram", of.histogram.to_vec())?;
    Ok(dict)
}
