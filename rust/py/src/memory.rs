//! What reads give back: frozen, and whole, so that nothing is fetched later.
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use retentive_core::engine::{Undecided, request as engine};
use retentive_core::model::Judge;
use retentive_core::rank::terms::TermStatistics;

use crate::errors;

/// One memory as a read returns it.
#[pyclass(frozen, module = "retentive._core")]
#[derive(Debug, Clone)]
pub struct Memory(pub Arc<engine::Memory>);

impl From<engine::Memory> for Memory {
    fn from(memory: engine::Memory) -> Self {
        Self(Arc::new(memory))
    }
}

pub fn all(memories: Vec<engine::Memory>) -> Vec<Memory> {
    memories.into_iter().map(Memory::from).collect()
}

#[pymethods]
impl Memory {
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.as_str()
    }

    #[getter]
    fn user(&self) -> Option<&str> {
        self.0.user.as_deref()
    }

    #[getter]
    fn session(&self) -> Option<&str> {
        self.0.session.as_deref()
    }

    #[getter]
    fn role(&self) -> Option<&str> {
        self.0.role.as_deref()
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    #[getter]
    fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    #[getter]
    fn turn(&self) -> Option<i64> {
        self.0.turn
    }

    #[getter]
    fn ts(&self) -> i64 {
        self.0.ts
    }

    #[getter]
    fn expires(&self) -> Option<i64> {
        self.0.expires
    }

    #[getter]
    fn supersedes(&self) -> Option<&str> {
        self.0.supersedes.as_deref()
    }

    #[getter]
    fn superseded_by(&self) -> Option<&str> {
        self.0.superseded_by.as_deref()
    }

    #[getter]
    fn feedback(&self) -> Vec<(&'static str, i64)> {
        self.0.feedback.iter().map(|(outcome, at)| (outcome.as_str(), *at)).collect()
    }

    #[getter]
    fn consolidated_from(&self) -> Vec<String> {
        self.0.consolidated_from.clone()
    }

    #[getter]
    fn judge(&self) -> Option<&'static str> {
        match self.0.judge {
            Judge::None => None,
            Judge::Ok => Some("ok"),
            Judge::Failed => Some("failed"),
        }
    }

    #[getter]
    fn metadata(&self) -> Option<&str> {
        self.0.metadata.as_deref()
    }

    #[getter]
    fn score(&self) -> f64 {
        self.0.score
    }

    #[getter]
    fn similarity(&self) -> Option<f64> {
        self.0.similarity
    }

    #[getter]
    fn scoring<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(parts) = &self.0.scoring else { return Ok(None) };
        let scoring = PyDict::new(py);
        for (name, value) in parts {
            scoring.set_item(name, value)?;
        }
        Ok(Some(scoring))
    }

    #[getter]
    fn tokens(&self) -> u32 {
        self.0.tokens
    }
}

/// A pool of memories by score.
#[pyclass(frozen, module = "retentive._core")]
#[derive(Debug)]
pub struct Ranked {
    pub memories: Vec<Memory>,
    over_limit: Vec<String>,
    below_gap: Vec<String>,
    #[pyo3(get)]
    refused: bool,
    undecided: Option<Undecided>,
    pub terms: TermStatistics,
}

impl From<engine::Ranked> for Ranked {
    fn from(ranked: engine::Ranked) -> Self {
        Self {
            memories: all(ranked.memories),
            over_limit: ranked.over_limit,
            below_gap: ranked.below_gap,
            refused: ranked.refused,
            undecided: ranked.undecided,
            terms: ranked.terms,
        }
    }
}

#[pymethods]
impl Ranked {
    #[getter]
    fn memories(&self) -> Vec<Memory> {
        self.memories.clone()
    }

    #[getter]
    fn over_limit(&self) -> Vec<String> {
        self.over_limit.clone()
    }

    #[getter]
    fn below_gap(&self) -> Vec<String> {
        self.below_gap.clone()
    }

    /// The texts whose late interaction with the query decides whether anything is relevant; none where that is known.
    #[getter]
    fn undecided(&self) -> Vec<String> {
        self.undecided.as_ref().map(|undecided| undecided.texts.clone()).unwrap_or_default()
    }

    /// Itself, or "nothing relevant", from the late interaction of each undecided text.
    fn decided(slf: Py<Self>, py: Python<'_>, late: Vec<f32>) -> PyResult<Py<Self>> {
        let refused = match &slf.get().undecided {
            Some(undecided) => undecided.nothing_relevant(&late).map_err(|error| errors::to_python(py, &error))?,
            None => false,
        };
        if refused { Py::new(py, Self::from(engine::Ranked::nothing_relevant())) } else { Ok(slf) }
    }
}

/// What a context block is packed from.
#[pyclass(frozen, module = "retentive._core")]
#[derive(Debug)]
pub struct ContextParts {
    pub pinned: Vec<Memory>,
    pub recent: Vec<Memory>,
    #[pyo3(get)]
    pub ranked: Py<Ranked>,
}

impl ContextParts {
    pub fn new(py: Python<'_>, parts: engine::ContextParts) -> PyResult<Self> {
        Ok(Self {
            pinned: all(parts.pinned),
            recent: all(parts.recent),
            ranked: Py::new(py, Ranked::from(parts.ranked))?,
        })
    }
}

#[pymethods]
impl ContextParts {
    #[getter]
    fn pinned(&self) -> Vec<Memory> {
        self.pinned.clone()
    }

    #[getter]
    fn recent(&self) -> Vec<Memory> {
        self.recent.clone()
    }

    /// The same with what was decided of the ranked ones.
    fn with_ranked(&self, ranked: Py<Ranked>) -> Self {
        Self { pinned: self.pinned.clone(), recent: self.recent.clone(), ranked }
    }
}

/// A figure of `stats` as a Python value.
pub fn stat(py: Python<'_>, value: engine::Stat) -> PyResult<Bound<'_, PyAny>> {
    match value {
        engine::Stat::Int(number) => number.into_bound_py_any(py),
        engine::Stat::Bool(truth) => truth.into_bound_py_any(py),
        engine::Stat::Text(text) => text.into_bound_py_any(py),
        engine::Stat::Missing => Ok(py.None().into_bound(py)),
    }
}
