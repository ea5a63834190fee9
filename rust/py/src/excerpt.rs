//! Excerpts: the sentences' vectors come from a model in Python, everything else from the core. The model runs where a token
//! counter does: after the read, with no lock held.
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods};
use retentive_core::engine::{Engine, QueryTerms};
use retentive_core::pack::Length;
use retentive_core::rank::answers::{answers, compared};
use retentive_core::rank::terms::TermStatistics;
use retentive_core::vector::quantise::cosine;

use crate::names::name;
use crate::request::{field, query_terms, rows};

/// How the facade wants long memories excerpted.
#[derive(Debug)]
pub struct Excerpts {
    pub length: Length,
    query: String,
    /// The model's, where the recall had them.
    query_terms: Option<QueryTerms>,
    model: Option<Py<PyAny>>,
}

impl<'py> FromPyObject<'_, 'py> for Excerpts {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let from = object.cast::<PyDict>()?;
        let length: Option<u64> = field(&from, name!(from.py(), "length"))?;
        Ok(Self {
            length: length.map_or(Length::Auto, Length::Tokens),
            query: field(&from, name!(from.py(), "query"))?,
            query_terms: query_terms(&field(&from, name!(from.py(), "query_terms"))?)?,
            model: from.get_item("model")?.filter(|model| !model.is_none()).map(Bound::unbind),
        })
    }
}

/// Scores sentences by how well they answer the query.
pub struct Chooser<'a> {
    engine: &'a Engine,
    terms: &'a TermStatistics,
    excerpts: Excerpts,
    /// Made when first needed; empty where the query has none.
    direction: Option<Vec<f32>>,
}

impl<'a> Chooser<'a> {
    pub fn new(engine: &'a Engine, terms: &'a TermStatistics, excerpts: Excerpts) -> Self {
        Self { engine, terms, excerpts, direction: None }
    }

    /// Hears Ctrl-C, once a memory.
    pub fn answers(&mut self, py: Python<'_>, sentences: &[&str]) -> PyResult<Vec<f32>> {
        py.check_signals()?;
        let (overlaps, compared, held) = py.detach(|| {
            let overlaps = self.engine.overlaps(self.terms, sentences);
            let compared = compared(&overlaps);
            let held = self.engine.held(&self.excerpts.query, sentences, &compared);
            (overlaps, compared, held)
        });
        let cosines = self.cosines(py, sentences, &compared)?;
        Ok(answers(&overlaps, &compared, &cosines, &held))
    }

    fn cosines(&mut self, py: Python<'_>, sentences: &[&str], compared: &[usize]) -> PyResult<Vec<f32>> {
        let Some(model) = self.excerpts.model.as_ref().map(|model| model.bind(py).clone()) else {
            return Ok(Vec::new());
        };
        if self.direction.is_none() {
            self.direction = Some(self.query_direction(&model)?);
        }
        let Some(direction) = self.direction.as_ref().filter(|direction| !direction.is_empty()) else {
            return Ok(Vec::new());
        };
        let texts: Vec<&str> = compared.iter().filter_map(|index| sentences.get(*index).copied()).collect();
        let vectors = rows(&model.call_method1("embed_documents", (texts,))?)?;
        Ok(vectors.iter().map(|vector| cosine(vector, direction)).collect())
    }

    fn query_direction(&mut self, model: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
        let query = &self.excerpts.query;
        let tokens = match self.excerpts.query_terms.take() {
            Some(tokens) => Some(tokens),
            None => query_terms(&model.call_method1("query_terms", (query,))?)?,
        };
        let weighted = tokens.and_then(|tokens| self.engine.weighted_query(self.terms, query, tokens));
        Ok(weighted.unwrap_or_default())
    }
}
