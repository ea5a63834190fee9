//! Extraction: from the facade's dictionaries (the `TypedDict`s of `_core.pyi`) to the engine's requests.
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyDictMethods, PyString};
use retentive_core::engine::request as engine;
use retentive_core::error::{Error, Result as CoreResult};
use retentive_core::model::{Judge, Kind, Outcome, Vector};

use crate::arrays;
use crate::courtesy::give_way;
use crate::errors;
use crate::names::name;

/// A value of the engine that comes from a Python mapping.
pub trait Extract: Sized {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self>;
}

/// A mapping argument, extracted.
#[derive(Debug)]
pub struct Given<T>(pub T);

impl<'py, T: Extract> FromPyObject<'_, 'py> for Given<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(T::extract(&*object.cast::<PyDict>()?)?))
    }
}

/// A list of mappings, extracted piece by piece: between two pieces other threads may have the interpreter.
#[derive(Debug)]
pub struct Many<T>(pub Vec<T>);

impl<'py, T> FromPyObject<'_, 'py> for Many<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let mut extracted = Vec::with_capacity(object.len()?);
        for item in object.try_iter()? {
            if !extracted.is_empty() {
                give_way(object.py())?;
            }
            extracted.push(item?.extract()?);
        }
        Ok(Self(extracted))
    }
}

fn item<'py>(from: &Bound<'py, PyDict>, key: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    from.get_item(key)?.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(key.to_string()))
}

/// The value under an interned key: a request has forty of them.
pub fn field<'py, T>(from: &Bound<'py, PyDict>, key: &Bound<'py, PyString>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    item(from, key)?.extract().map_err(Into::into)
}

fn nested<'py, T: Extract>(from: &Bound<'py, PyDict>, key: &Bound<'py, PyString>) -> PyResult<T> {
    T::extract(item(from, key)?.cast::<PyDict>()?)
}

fn parsed<T>(py: Python<'_>, value: CoreResult<T>) -> PyResult<T> {
    value.map_err(|error| errors::to_python(py, &error))
}

fn known<T>(py: Python<'_>, what: &str, name: &str, value: Option<T>) -> PyResult<T> {
    parsed(py, value.ok_or_else(|| Error::invalid(format!("there is no {what} {name:?}"))))
}

pub fn kind(py: Python<'_>, name: &str) -> PyResult<Kind> {
    known(py, "kind", name, Kind::parse(name))
}

fn kinds<'py>(from: &Bound<'py, PyDict>, key: &Bound<'py, PyString>) -> PyResult<Vec<Kind>> {
    field::<Vec<String>>(from, key)?.iter().map(|name| kind(from.py(), name)).collect()
}

pub fn outcome(py: Python<'_>, name: &str) -> PyResult<Outcome> {
    known(py, "outcome", name, Outcome::parse(name))
}

fn mode(from: &Bound<'_, PyDict>) -> PyResult<engine::Mode> {
    parsed(from.py(), engine::Mode::parse(&field::<String>(from, name!(from.py(), "mode"))?))
}

fn judge(verdict: Option<&str>) -> Judge {
    match verdict {
        None => Judge::None,
        Some("failed") => Judge::Failed,
        Some(_) => Judge::Ok,
    }
}

/// One vector, or none.
pub fn vector(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<f32>>> {
    if object.is_none() {
        return Ok(None);
    }
    arrays::ready(object.py())?;
    let array: PyReadonlyArray1<'_, f32> = object.extract()?;
    Ok(Some(array.as_slice()?.to_vec()))
}

/// The rows of one `[parts, d]` array for each model, in order.
fn parts(from: &Bound<'_, PyDict>) -> PyResult<Vec<Vector>> {
    slots(&item(from, name!(from.py(), "vectors"))?)
}

fn slots(arrays: &Bound<'_, PyAny>) -> PyResult<Vec<Vector>> {
    let mut vectors = Vec::new();
    for (slot, array) in arrays.try_iter()?.enumerate() {
        vectors.extend(rows(&array?)?.into_iter().map(|values| Vector { slot, values }));
    }
    Ok(vectors)
}

/// A model as its embedder gives it: name, dimension, probe.
pub fn models(given: Vec<(String, usize, Bound<'_, PyAny>)>) -> PyResult<Vec<engine::BoundModel>> {
    let model = |(name, dimension, probe): (String, usize, Bound<'_, PyAny>)| {
        Ok(engine::BoundModel { name, dimension, probe: vector(&probe)? })
    };
    given.into_iter().map(model).collect()
}

/// What is given for each model, in order.
fn each<T>(given: &Bound<'_, PyAny>, extract: fn(&Bound<'_, PyAny>) -> PyResult<T>) -> PyResult<Vec<T>> {
    let mut all = Vec::new();
    // Not collected: that asks for the iterator's length, by a function which `PyO3` imports and keeps (see `names`).
    for of_model in given.try_iter()? {
        all.push(extract(&of_model?)?);
    }
    Ok(all)
}

/// The rows of an array.
pub fn rows(object: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<f32>>> {
    arrays::ready(object.py())?;
    let array: PyReadonlyArray2<'_, f32> = object.extract()?;
    Ok(array.as_array().rows().into_iter().map(|row| row.to_vec()).collect())
}

/// A memory's number with its vectors, `[parts, d]` of each model.
#[derive(Debug)]
pub struct NewVectors(i64, Vec<Vector>);

impl NewVectors {
    pub fn into_pair(self) -> (i64, Vec<Vector>) {
        (self.0, self.1)
    }
}

impl<'py> FromPyObject<'_, 'py> for NewVectors {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (seq, vectors): (i64, Bound<'_, PyAny>) = object.extract()?;
        Ok(Self(seq, slots(&vectors)?))
    }
}

/// Token vectors `[t, d]` with their spans, or none.
pub fn query_terms(object: &Bound<'_, PyAny>) -> PyResult<Option<engine::QueryTerms>> {
    if object.is_none() {
        return Ok(None);
    }
    let (vectors, spans): (Bound<'_, PyAny>, Vec<(usize, usize)>) = object.extract()?;
    Ok(Some(engine::QueryTerms { vectors: rows(&vectors)?, spans }))
}

impl Extract for engine::NewMemory {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            id: field(from, name!(from.py(), "id"))?,
            text: field(from, name!(from.py(), "text"))?,
            kind: kind(from.py(), &field::<PyBackedStr>(from, name!(from.py(), "kind"))?)?,
            user: field(from, name!(from.py(), "user"))?,
            session: field(from, name!(from.py(), "session"))?,
            role: field(from, name!(from.py(), "role"))?,
            name: field(from, name!(from.py(), "name"))?,
            key: field(from, name!(from.py(), "key"))?,
            turn: field(from, name!(from.py(), "turn"))?,
            ts: field(from, name!(from.py(), "ts"))?,
            expires: field(from, name!(from.py(), "expires"))?,
            metadata: field(from, name!(from.py(), "metadata"))?,
            vectors: parts(from)?,
            model_epoch: field(from, name!(from.py(), "model_epoch"))?,
            judge: judge(field::<Option<PyBackedStr>>(from, name!(from.py(), "judge"))?.as_deref()),
            supersedes: field(from, name!(from.py(), "supersedes"))?,
            replace: field(from, name!(from.py(), "replace"))?,
        })
    }
}

impl Extract for engine::Correction {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut expires = Vec::new();
        for (name, at) in item(from, name!(from.py(), "expires"))?.cast::<PyDict>()?.iter() {
            expires.push((kind(from.py(), &name.extract::<String>()?)?, at.extract()?));
        }
        Ok(Self {
            id: field(from, name!(from.py(), "id"))?,
            text: field(from, name!(from.py(), "text"))?,
            ts: field(from, name!(from.py(), "ts"))?,
            vectors: parts(from)?,
            model_epoch: field(from, name!(from.py(), "model_epoch"))?,
            expires,
        })
    }
}

impl Extract for engine::Settings {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        let signals = item(from, name!(from.py(), "signals"))?;
        let signals = signals.cast::<PyDict>()?.iter();
        Ok(Self {
            half_life_days: field(from, name!(from.py(), "half_life_days"))?,
            recency_weight: field(from, name!(from.py(), "recency_weight"))?,
            feedback_weight: field(from, name!(from.py(), "feedback_weight"))?,
            feedback_half_life_days: field(from, name!(from.py(), "feedback_half_life_days"))?,
            sitting_gap_us: field(from, name!(from.py(), "sitting_gap_us"))?,
            recall_roles: field(from, name!(from.py(), "recall_roles"))?,
            recall_min_words: field(from, name!(from.py(), "recall_min_words"))?,
            max_turns: field(from, name!(from.py(), "max_turns"))?,
            signals: signals.map(|(name, weight)| Ok((name.extract()?, weight.extract()?))).collect::<PyResult<_>>()?,
            dense_weights: field(from, name!(from.py(), "dense_weights"))?,
        })
    }
}

impl Extract for engine::Reach {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            user: field(from, name!(from.py(), "user"))?,
            any_user: field(from, name!(from.py(), "any_user"))?,
            session: field(from, name!(from.py(), "session"))?,
        })
    }
}

impl Extract for engine::RecallRequest {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            query: field(from, name!(from.py(), "query"))?,
            vectors: each(&item(from, name!(from.py(), "vectors"))?, vector)?.into_iter().flatten().collect(),
            query_terms: each(&item(from, name!(from.py(), "query_terms"))?, query_terms)?,
            model_epoch: field(from, name!(from.py(), "model_epoch"))?,
            reach: nested(from, name!(from.py(), "reach"))?,
            limit: field(from, name!(from.py(), "limit"))?,
            token_budget: field(from, name!(from.py(), "token_budget"))?,
            score_gap: field(from, name!(from.py(), "score_gap"))?,
            kinds: kinds(from, name!(from.py(), "kinds"))?,
            include_superseded: field(from, name!(from.py(), "include_superseded"))?,
            mode: mode(from)?,
            now: field(from, name!(from.py(), "now"))?,
            as_of: field(from, name!(from.py(), "as_of"))?,
            exclude_ids: field(from, name!(from.py(), "exclude_ids"))?,
            filter: field(from, name!(from.py(), "filter"))?,
            min_relevance: field(from, name!(from.py(), "min_relevance"))?,
            refusal_floor: field(from, name!(from.py(), "refusal_floor"))?,
            late_interaction_floor: field(from, name!(from.py(), "late_interaction_floor"))?,
            calibrated: field(from, name!(from.py(), "calibrated"))?,
            settings: nested(from, name!(from.py(), "settings"))?,
        })
    }
}

impl Extract for engine::SearchRequest {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            query: field(from, name!(from.py(), "query"))?,
            vectors: each(&item(from, name!(from.py(), "vectors"))?, vector)?.into_iter().flatten().collect(),
            model_epoch: field(from, name!(from.py(), "model_epoch"))?,
            reach: nested(from, name!(from.py(), "reach"))?,
            limit: field(from, name!(from.py(), "limit"))?,
            token_budget: field(from, name!(from.py(), "token_budget"))?,
            score_gap: field(from, name!(from.py(), "score_gap"))?,
            mode: mode(from)?,
            now: field(from, name!(from.py(), "now"))?,
            filter: field(from, name!(from.py(), "filter"))?,
            max_distance: field(from, name!(from.py(), "max_distance"))?,
            calibrated: field(from, name!(from.py(), "calibrated"))?,
            dense_weights: field(from, name!(from.py(), "dense_weights"))?,
            explain: field(from, name!(from.py(), "explain"))?,
        })
    }
}

impl Extract for engine::Question {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        arrays::ready(from.py())?;
        let vector: PyReadonlyArray1<'_, f32> = item(from, name!(from.py(), "vector"))?.extract()?;
        Ok(Self {
            text: field(from, name!(from.py(), "text"))?,
            vector: vector.as_slice()?.to_vec(),
            own: field(from, name!(from.py(), "own"))?,
        })
    }
}

impl Extract for engine::ContextRequest {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            recall: nested(from, name!(from.py(), "recall"))?,
            recent_session: field(from, name!(from.py(), "recent_session"))?,
            recent_turns: field(from, name!(from.py(), "recent_turns"))?,
        })
    }
}

impl Extract for engine::Forget {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            reach: nested(from, name!(from.py(), "reach"))?,
            kinds: kinds(from, name!(from.py(), "kinds"))?,
            before: field(from, name!(from.py(), "before"))?,
            ids: field(from, name!(from.py(), "ids"))?,
            superseded: field(from, name!(from.py(), "superseded"))?,
            now: field(from, name!(from.py(), "now"))?,
        })
    }
}
