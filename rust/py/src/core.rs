//! `Core`: one open collection. Each method extracts, goes through the door, converts. No logic.
use std::path::PathBuf;
use std::time::Duration;

use numpy::{PyArray2, PyArrayMethods, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use retentive_core::engine::{Engine, ExportRequest, Unembedded, request as engine};
use retentive_core::error::{Error, Result};
use retentive_core::store::{Calibration, Durability, Floors};

use crate::arrays;
use crate::calibrate::sampled;
use crate::door::call;
use crate::excerpt::Excerpts;
use crate::memory::{ContextParts, Memory, Ranked, all, stat};
use crate::moving::{self, Exported, FileExtras, StagedMemory, Staging};
use crate::packing::{Packed, pack_context};
use crate::report::{Found, found};
use crate::request::{Given, Many, NewVectors, models, outcome, vector};

/// One open collection.
#[pyclass(frozen, module = "retentive._core")]
#[derive(Debug)]
pub struct Core(Engine);

fn durability(name: &str) -> Result<Durability> {
    match name {
        "full" => Ok(Durability::Full),
        "normal" => Ok(Durability::Normal),
        _ => Err(Error::invalid(format!("durability must be \"full\" or \"normal\", got {name:?}"))),
    }
}

pub fn entropy(bytes: &[u8]) -> Result<[u8; 32]> {
    bytes.try_into().map_err(|_| Error::invalid(format!("entropy must be 32 bytes, got {}", bytes.len())))
}

fn given<T>(items: Vec<Given<T>>) -> Vec<T> {
    items.into_iter().map(|Given(item)| item).collect()
}

#[pymethods]
impl Core {
    #[new]
    #[pyo3(signature = (path, *, name, language, durability, cache_mb, busy_timeout_s, readonly, entropy))]
    #[allow(clippy::too_many_arguments)] // the options of a collection, each with a name in Python
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        name: String,
        language: String,
        durability: &str,
        cache_mb: usize,
        busy_timeout_s: f64,
        readonly: bool,
        entropy: &[u8],
    ) -> PyResult<Self> {
        call(py, |interrupt| {
            let options = engine::Options {
                path,
                name,
                language,
                durability: self::durability(durability)?,
                cache_mb,
                busy_timeout: Duration::try_from_secs_f64(busy_timeout_s)
                    .map_err(|error| Error::invalid(format!("busy_timeout_s: {error}")))?,
                readonly,
                entropy: self::entropy(entropy)?,
            };
            Engine::open(options, interrupt).map(Self)
        })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        call(py, |_| {
            self.0.close();
            Ok(())
        })
    }

    #[getter]
    fn closed(&self) -> bool {
        self.0.closed()
    }

    fn bind_models(&self, py: Python<'_>, models: Vec<(String, usize, Bound<'_, PyAny>)>) -> PyResult<i64> {
        let models = self::models(models)?;
        call(py, |interrupt| self.0.bind_models(&models, interrupt))
    }

    fn models(&self, py: Python<'_>) -> PyResult<Vec<(String, usize)>> {
        call(py, |interrupt| self.0.models(interrupt))
    }

    fn model_epoch(&self, py: Python<'_>) -> PyResult<i64> {
        call(py, |interrupt| self.0.model_epoch(interrupt))
    }

    fn begin_reembed(
        &self,
        py: Python<'_>,
        models: Vec<(String, usize, Bound<'_, PyAny>)>,
    ) -> PyResult<Option<(i64, u64, u64)>> {
        let models = self::models(models)?;
        let begun = call(py, |interrupt| self.0.begin_reembed(&models, interrupt))?;
        Ok(begun.map(|begun| (begun.id, begun.done, begun.total)))
    }

    fn unembedded(&self, py: Python<'_>, after: i64, limit: usize) -> PyResult<Vec<(i64, String, Option<String>)>> {
        let found = call(py, |interrupt| self.0.unembedded(after, limit, interrupt))?;
        Ok(texts_of(found))
    }

    fn without_vectors(
        &self,
        py: Python<'_>,
        after: i64,
        limit: usize,
    ) -> PyResult<Vec<(i64, String, Option<String>)>> {
        let found = call(py, |interrupt| self.0.without_vectors(after, limit, interrupt))?;
        Ok(texts_of(found))
    }

    fn vectors_progress(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        call(py, |interrupt| self.0.vectors_progress(interrupt))
    }

    fn add_vectors(&self, py: Python<'_>, model_epoch: i64, vectors: Many<NewVectors>) -> PyResult<(u64, u64)> {
        let vectors: Vec<_> = vectors.0.into_iter().map(NewVectors::into_pair).collect();
        call(py, |interrupt| self.0.add_vectors(model_epoch, &vectors, interrupt))
    }

    fn store_reembedded(&self, py: Python<'_>, id: i64, vectors: Many<NewVectors>) -> PyResult<Option<(u64, u64)>> {
        let vectors: Vec<_> = vectors.0.into_iter().map(NewVectors::into_pair).collect();
        call(py, |interrupt| self.0.store_reembedded(id, &vectors, interrupt))
    }

    /// Appends to `epochs` when the move is over, before any signal handler can run, as `remember` does.
    fn finish_reembed(
        &self,
        py: Python<'_>,
        id: i64,
        vectors: Many<NewVectors>,
        most_left: u64,
        epochs: &Bound<'_, PyList>,
    ) -> PyResult<(u64, u64, u64)> {
        let vectors: Vec<_> = vectors.0.into_iter().map(NewVectors::into_pair).collect();
        let ended = call(py, |interrupt| self.0.finish_reembed(id, &vectors, most_left, interrupt))?;
        ended.epoch.into_iter().try_for_each(|epoch| epochs.append(epoch))?;
        Ok((ended.added, ended.done, ended.total))
    }

    /// Appends to `ids` before any signal handler can run: whoever is interrupted after the commit knows what it stored.
    fn remember(
        &self,
        py: Python<'_>,
        memories: Many<Given<engine::NewMemory>>,
        now: i64,
        ids: &Bound<'_, PyList>,
    ) -> PyResult<()> {
        let memories = given(memories.0);
        let mut stored = Vec::new();
        let done = call(py, |interrupt| {
            stored = self.0.remember(memories, now, interrupt)?;
            Ok(())
        });
        // What was stored is told also where a signal handler raised afterwards.
        stored.into_iter().try_for_each(|id| ids.append(id))?;
        done
    }

    fn replace_turns(
        &self,
        py: Python<'_>,
        user: Option<&str>,
        session: &str,
        memories: Many<Given<engine::NewMemory>>,
        now: i64,
    ) -> PyResult<Vec<String>> {
        let memories = given(memories.0);
        call(py, |interrupt| self.0.replace_turns(user, session, memories, now, interrupt))
    }

    #[pyo3(signature = (text, vector, model_epoch, user, session, limit, now))]
    #[allow(clippy::too_many_arguments)] // what decides who is a candidate
    fn judge_candidates(
        &self,
        py: Python<'_>,
        text: &str,
        vector: &Bound<'_, PyAny>,
        model_epoch: Option<i64>,
        user: Option<&str>,
        session: Option<&str>,
        limit: usize,
        now: i64,
    ) -> PyResult<Vec<(String, String)>> {
        let vector = self::vector(vector)?;
        call(py, |interrupt| {
            self.0.judge_candidates(text, vector.as_deref(), model_epoch, user, session, limit, now, interrupt)
        })
    }

    fn feedback(
        &self,
        py: Python<'_>,
        id: &str,
        outcome: &str,
        ts: i64,
        correction: Option<Given<engine::Correction>>,
        now: i64,
    ) -> PyResult<Option<String>> {
        let outcome = self::outcome(py, outcome)?;
        let correction = correction.map(|Given(correction)| correction);
        call(py, |interrupt| self.0.feedback(id, outcome, ts, correction, now, interrupt))
    }

    fn forget(&self, py: Python<'_>, request: Given<engine::Forget>) -> PyResult<usize> {
        call(py, |interrupt| self.0.forget(&request.0, interrupt))
    }

    fn expire(&self, py: Python<'_>, now: i64) -> PyResult<usize> {
        call(py, |interrupt| self.0.expire(now, interrupt))
    }

    fn delete(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<usize> {
        call(py, |interrupt| self.0.delete(&ids, interrupt))
    }

    fn clear(&self, py: Python<'_>) -> PyResult<usize> {
        call(py, |interrupt| self.0.clear(interrupt))
    }

    #[allow(clippy::too_many_arguments)] // what decides the next batch
    fn consolidation_batch(
        &self,
        py: Python<'_>,
        session: String,
        user: Option<String>,
        keep_recent: usize,
        before: Option<i64>,
        batch_turns: usize,
        now: i64,
        skip: Vec<String>,
    ) -> PyResult<Vec<Memory>> {
        let request = engine::BatchRequest { session, user, keep_recent, before, batch_turns, now, skip };
        call(py, |interrupt| self.0.consolidation_batch(&request, interrupt)).map(all)
    }

    fn commit_consolidation(
        &self,
        py: Python<'_>,
        turn_ids: Vec<String>,
        facts: Vec<(Given<engine::NewMemory>, Vec<String>)>,
        delete: bool,
        now: i64,
    ) -> PyResult<Option<(Vec<String>, usize)>> {
        let facts: Vec<_> = facts.into_iter().map(|(Given(fact), cited)| (fact, cited)).collect();
        call(py, |interrupt| self.0.commit_consolidation(&turn_ids, facts, delete, now, interrupt))
    }

    fn recall(&self, py: Python<'_>, request: Given<engine::RecallRequest>) -> PyResult<Ranked> {
        call(py, |interrupt| self.0.recall(&request.0, interrupt)).map(Ranked::from)
    }

    fn search(&self, py: Python<'_>, request: Given<engine::SearchRequest>) -> PyResult<Ranked> {
        call(py, |interrupt| self.0.search(&request.0, interrupt)).map(Ranked::from)
    }

    fn context(&self, py: Python<'_>, request: Given<engine::ContextRequest>) -> PyResult<ContextParts> {
        let parts = call(py, |interrupt| self.0.context(&request.0, interrupt))?;
        ContextParts::new(py, parts)
    }

    fn pack_context<'py>(
        &self,
        py: Python<'py>,
        parts: &ContextParts,
        limit: Option<usize>,
        token_budget: u64,
        counter: Option<Bound<'py, PyAny>>,
        excerpts: Option<Excerpts>,
    ) -> PyResult<Packed> {
        pack_context(py, &self.0, parts, limit, token_budget, counter.as_ref(), excerpts)
    }

    fn similar(&self, py: Python<'_>, id: &str, limit: Option<usize>, now: i64) -> PyResult<Ranked> {
        call(py, |interrupt| self.0.similar(id, limit, now, interrupt)).map(Ranked::from)
    }

    fn turns(
        &self,
        py: Python<'_>,
        session: &str,
        user: Option<&str>,
        limit: Option<usize>,
        now: i64,
    ) -> PyResult<Vec<Memory>> {
        call(py, |interrupt| self.0.turns(session, user, limit, now, interrupt)).map(all)
    }

    fn history(&self, py: Python<'_>, id: &str) -> PyResult<Vec<Memory>> {
        call(py, |interrupt| self.0.history(id, interrupt)).map(all)
    }

    fn fact(
        &self,
        py: Python<'_>,
        key: &str,
        user: Option<&str>,
        session: Option<&str>,
        now: i64,
    ) -> PyResult<Option<Memory>> {
        let found = call(py, |interrupt| self.0.fact(key, user, session, now, interrupt))?;
        Ok(found.map(Memory::from))
    }

    fn facts(&self, py: Python<'_>, user: Option<&str>, session: Option<&str>, now: i64) -> PyResult<Vec<Memory>> {
        call(py, |interrupt| self.0.facts(user, session, now, interrupt)).map(all)
    }

    fn get(&self, py: Python<'_>, ids: Vec<String>, now: i64) -> PyResult<Vec<Option<Memory>>> {
        let found = call(py, |interrupt| self.0.get(&ids, now, interrupt))?;
        Ok(found.into_iter().map(|memory| memory.map(Memory::from)).collect())
    }

    fn vectors<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Vec<Option<Bound<'py, PyArray2<f32>>>>> {
        let found = call(py, |interrupt| self.0.vectors(&ids, interrupt))?;
        found.into_iter().map(|parts| parts.map(|parts| matrix(py, &parts)).transpose()).collect()
    }

    fn count(&self, py: Python<'_>, reach: Given<engine::Reach>, filter: Option<&str>, now: i64) -> PyResult<usize> {
        call(py, |interrupt| self.0.count(&reach.0, filter, now, interrupt))
    }

    fn sessions(&self, py: Python<'_>, reach: Given<engine::Reach>, now: i64) -> PyResult<Vec<String>> {
        call(py, |interrupt| self.0.sessions(&reach.0, now, interrupt))
    }

    fn users(&self, py: Python<'_>, now: i64) -> PyResult<Vec<String>> {
        call(py, |interrupt| self.0.users(now, interrupt))
    }

    fn calibration_sample<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        sitting_gap_us: i64,
        now: i64,
    ) -> PyResult<Option<(i64, Vec<Bound<'py, PyDict>>)>> {
        let sample = call(py, |interrupt| self.0.calibration_sample(most, sitting_gap_us, now, interrupt))?;
        let Some(sample) = sample else { return Ok(None) };
        let texts = sample.texts.into_iter().map(|text| sampled(py, text)).collect::<PyResult<_>>()?;
        Ok(Some((sample.model, texts)))
    }

    fn evidence(&self, py: Python<'_>, question: Given<engine::Question>, now: i64) -> PyResult<Option<f64>> {
        call(py, |interrupt| self.0.evidence(&question.0, now, interrupt))
    }

    fn set_calibration(
        &self,
        py: Python<'_>,
        model: i64,
        noise_floor: Option<f64>,
        refusal_floor: Option<f64>,
        report: String,
    ) -> PyResult<()> {
        let floors = Floors { noise: noise_floor, refusal: refusal_floor };
        call(py, |interrupt| self.0.set_calibration(model, &Calibration { floors, report }, interrupt))
    }

    fn calibration(&self, py: Python<'_>) -> PyResult<Option<String>> {
        call(py, |interrupt| self.0.calibration(interrupt))
    }

    fn drop_calibration(&self, py: Python<'_>) -> PyResult<bool> {
        call(py, |interrupt| self.0.drop_calibration(interrupt))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = call(py, |interrupt| self.0.stats(interrupt))?;
        let stats = PyDict::new(py);
        for (name, value) in figures {
            stats.set_item(name, stat(py, value)?)?;
        }
        Ok(stats)
    }

    fn verify(&self, py: Python<'_>) -> PyResult<Found> {
        call(py, |interrupt| self.0.verify(interrupt)).map(found)
    }

    fn compact(&self, py: Python<'_>) -> PyResult<u64> {
        call(py, |interrupt| self.0.compact(interrupt))
    }

    fn export(
        &self,
        py: Python<'_>,
        path: PathBuf,
        vectors: bool,
        now: i64,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        moving::export(py, &self.0, &ExportRequest { path, vectors, now }, progress.as_ref())
    }

    fn export_unnamed(
        &self,
        py: Python<'_>,
        beside: PathBuf,
        vectors: bool,
        now: i64,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(u64, Exported)> {
        moving::export_unnamed(py, &self.0, &ExportRequest { path: beside, vectors, now }, progress.as_ref())
    }

    fn backup(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        call(py, |interrupt| self.0.backup(&path, interrupt))
    }

    fn has_models(&self, py: Python<'_>, models: Vec<(String, usize, Bound<'_, PyAny>)>) -> PyResult<bool> {
        let models = self::models(models)?;
        call(py, |interrupt| self.0.has_models(&models, interrupt))
    }

    fn stage(&self, py: Python<'_>) -> PyResult<Staging> {
        call(py, |_| self.0.stage()).map(Staging::new)
    }

    fn add_staged(&self, py: Python<'_>, staging: &Staging, memories: Many<StagedMemory>) -> PyResult<()> {
        staging.add(py, &self.0, memories)
    }

    fn import_staged(
        &self,
        py: Python<'_>,
        staging: &Staging,
        on_conflict: &str,
        extras: Given<FileExtras>,
        now: i64,
        of_lines: bool,
    ) -> PyResult<(u64, u64, u64, u64)> {
        staging.import(py, &self.0, on_conflict, extras.0, now, of_lines)
    }

    fn warmup(&self, py: Python<'_>) -> PyResult<()> {
        call(py, |interrupt| self.0.warmup(interrupt))
    }
}

fn texts_of(found: Vec<Unembedded>) -> Vec<(i64, String, Option<String>)> {
    found.into_iter().map(|memory| (memory.seq, memory.text, memory.name)).collect()
}

pub fn matrix<'py>(py: Python<'py>, parts: &[Vec<f32>]) -> PyResult<Bound<'py, PyArray2<f32>>> {
    arrays::ready(py)?;
    let dimension = parts.first().map_or(0, Vec::len);
    let flat: Vec<f32> = parts.concat();
    flat.to_pyarray(py).reshape([parts.len(), dimension])
}
