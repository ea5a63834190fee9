//! Extraction: from the facade's dictionaries (the `TypedDict`s of `_core.pyi`) to the engine's requests.
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyKeyError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyDictMethods, PyString};
use retentive_core::engine::request as engine;
use retentive_core::error::{Error, Result as CoreResult};
use retentive_core::model::{Judge, Kind, Outcome, Vector};

use crate::courtesy::Courtesy;
use crate::errors;

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
        let mut courtesy = Courtesy::new();
        let mut extracted = Vec::with_capacity(object.len()?);
        for item in object.try_iter()? {
            extracted.push(item?.extract()?);
            courtesy.give_way(object.py())?;
        }
        Ok(Self(extracted))
    }
}

fn item<'py>(from: &Bound<'py, PyDict>, key: &str) -> PyResult<Bound<'py, PyAny>> {
    from.get_item(key)?.ok_or_else(|| PyKeyError::new_err(key.to_owned()))
}

/// As [`field`], by a key that is made once.
fn interned<'py, T>(from: &Bound<'py, PyDict>, key: &Bound<'py, PyString>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let value = from.get_item(key)?;
    value.ok_or_else(|| PyKeyError::new_err(key.to_string()))?.extract().map_err(Into::into)
}

pub fn field<'py, T>(from: &Bound<'py, PyDict>, key: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    item(from, key)?.extract().map_err(Into::into)
}

fn nested<T: Extract>(from: &Bound<'_, PyDict>, key: &str) -> PyResult<T> {
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

fn kinds(from: &Bound<'_, PyDict>, key: &str) -> PyResult<Vec<Kind>> {
    field::<Vec<String>>(from, key)?.iter().map(|name| kind(from.py(), name)).collect()
}

pub fn outcome(py: Python<'_>, name: &str) -> PyResult<Outcome> {
    known(py, "outcome", name, Outcome::parse(name))
}

fn mode(from: &Bound<'_, PyDict>) -> PyResult<engine::Mode> {
    parsed(from.py(), engine::Mode::parse(&field::<String>(from, "mode")?))
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
    let array: PyReadonlyArray1<'_, f32> = object.extract()?;
    Ok(Some(array.as_slice()?.to_vec()))
}

/// The rows of one `[parts, d]` array for each model, in order.
fn parts(from: &Bound<'_, PyDict>) -> PyResult<Vec<Vector>> {
    slots(&item(from, "vectors")?)
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
    given.try_iter()?.map(|of_model| extract(&of_model?)).collect()
}

/// The rows of an array.
pub fn rows(object: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<f32>>> {
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
        let py = from.py();
        Ok(Self {
            id: interned(from, intern!(py, "id"))?,
            text: interned(from, intern!(py, "text"))?,
            kind: kind(py, &interned::<PyBackedStr>(from, intern!(py, "kind"))?)?,
            user: interned(from, intern!(py, "user"))?,
            session: interned(from, intern!(py, "session"))?,
            role: interned(from, intern!(py, "role"))?,
            name: interned(from, intern!(py, "name"))?,
            key: interned(from, intern!(py, "key"))?,
            turn: interned(from, intern!(py, "turn"))?,
            ts: interned(from, intern!(py, "ts"))?,
            expires: interned(from, intern!(py, "expires"))?,
            metadata: interned(from, intern!(py, "metadata"))?,
            vectors: slots(&interned(from, intern!(py, "vectors"))?)?,
            model_epoch: interned(from, intern!(py, "model_epoch"))?,
            judge: judge(interned::<Option<PyBackedStr>>(from, intern!(py, "judge"))?.as_deref()),
            supersedes: interned(from, intern!(py, "supersedes"))?,
            replace: interned(from, intern!(py, "replace"))?,
        })
    }
}

impl Extract for engine::Correction {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut expires = Vec::new();
        for (name, at) in item(from, "expires")?.cast::<PyDict>()?.iter() {
            expires.push((kind(from.py(), &name.extract::<String>()?)?, at.extract()?));
        }
        Ok(Self {
            id: field(from, "id")?,
            text: field(from, "text")?,
            ts: field(from, "ts")?,
            vectors: parts(from)?,
            model_epoch: field(from, "model_epoch")?,
            expires,
        })
    }
}

impl Extract for engine::Settings {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        let signals = item(from, "signals")?;
        let signals = signals.cast::<PyDict>()?.iter();
        Ok(Self {
            half_life_days: field(from, "half_life_days")?,
            recency_weight: field(from, "recency_weight")?,
            feedback_weight: field(from, "feedback_weight")?,
            feedback_half_life_days: field(from, "feedback_half_life_days")?,
            sitting_gap_us: field(from, "sitting_gap_us")?,
            recall_roles: field(from, "recall_roles")?,
            recall_min_words: field(from, "recall_min_words")?,
            max_turns: field(from, "max_turns")?,
            signals: signals.map(|(name, weight)| Ok((name.extract()?, weight.extract()?))).collect::<PyResult<_>>()?,
            dense_weights: field(from, "dense_weights")?,
        })
    }
}

impl Extract for engine::Reach {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self { user: field(from, "user")?, any_user: field(from, "any_user")?, session: field(from, "session")? })
    }
}

impl Extract for engine::RecallRequest {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            query: field(from, "query")?,
            vectors: each(&item(from, "vectors")?, vector)?.into_iter().flatten().collect(),
            query_terms: each(&item(from, "query_terms")?, query_terms)?,
            model_epoch: field(from, "model_epoch")?,
            reach: nested(from, "reach")?,
            limit: field(from, "limit")?,
            token_budget: field(from, "token_budget")?,
            score_gap: field(from, "score_gap")?,
            kinds: kinds(from, "kinds")?,
            include_superseded: field(from, "include_superseded")?,
            mode: mode(from)?,
            now: field(from, "now")?,
            as_of: field(from, "as_of")?,
            exclude_ids: field(from, "exclude_ids")?,
            filter: field(from, "filter")?,
            min_relevance: field(from, "min_relevance")?,
            refusal_floor: field(from, "refusal_floor")?,
            calibrated: field(from, "calibrated")?,
            settings: nested(from, "settings")?,
        })
    }
}

impl Extract for engine::SearchRequest {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            query: field(from, "query")?,
            vectors: each(&item(from, "vectors")?, vector)?.into_iter().flatten().collect(),
            model_epoch: field(from, "model_epoch")?,
            reach: nested(from, "reach")?,
            limit: field(from, "limit")?,
            token_budget: field(from, "token_budget")?,
            score_gap: field(from, "score_gap")?,
            mode: mode(from)?,
            now: field(from, "now")?,
            filter: field(from, "filter")?,
            max_distance: field(from, "max_distance")?,
            calibrated: field(from, "calibrated")?,
            dense_weights: field(from, "dense_weights")?,
            explain: field(from, "explain")?,
        })
    }
}

impl Extract for engine::Question {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        let vector: PyReadonlyArray1<'_, f32> = item(from, "vector")?.extract()?;
        Ok(Self { text: field(from, "text")?, vector: vector.as_slice()?.to_vec(), own: field(from, "own")? })
    }
}

impl Extract for engine::ContextRequest {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            recall: nested(from, "recall")?,
            recent_session: field(from, "recent_session")?,
            recent_turns: field(from, "recent_turns")?,
        })
    }
}

impl Extract for engine::Forget {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            reach: nested(from, "reach")?,
            kinds: kinds(from, "kinds")?,
            before: field(from, "before")?,
            ids: field(from, "ids")?,
            superseded: field(from, "superseded")?,
            now: field(from, "now")?,
        })
    }
}
