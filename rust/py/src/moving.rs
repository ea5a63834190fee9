//! Files in and out: what `export`, `import_` and `backup` of the facade call.
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use retentive_core::engine;
use retentive_core::engine::{Engine, ExportRequest, Extras, ImportRequest, Numbered, OnConflict, Progress, Restored};
use retentive_core::error::{Error, Result};
use retentive_core::store::{self, Calibration, Floors, Interrupt, Unused};

use crate::door::{call, call_telling};
use crate::names::name;
use crate::request::{Extract, Given, Many, field, models, outcome};

/// Memories of a file that were checked and wait for the others.
#[pyclass(frozen, module = "retentive._core")]
#[derive(Debug)]
pub struct Staging(Mutex<engine::Staging>);

impl Staging {
    fn with<T>(&self, job: impl FnOnce(&mut engine::Staging) -> Result<T>) -> Result<T> {
        let mut staging = self.0.lock().map_err(|_| Error::invalid("an import that failed cannot go on"))?;
        job(&mut staging)
    }
}

impl Extract for Restored {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        let feedback: Vec<(String, i64)> = field(from, name!(from.py(), "feedback"))?;
        let feedback = feedback.into_iter().map(|(name, ts)| Ok((outcome(from.py(), &name)?, ts)));
        Ok(Self {
            line: field(from, name!(from.py(), "line"))?,
            supersedes: field(from, name!(from.py(), "supersedes"))?,
            superseded: field(from, name!(from.py(), "superseded"))?,
            cited: field(from, name!(from.py(), "cited"))?,
            consolidated_from: field(from, name!(from.py(), "consolidated_from"))?,
            feedback: feedback.collect::<PyResult<_>>()?,
        })
    }
}

/// A new memory, and what happened to it where it comes from.
#[derive(Debug)]
pub struct StagedMemory(engine::NewMemory, Restored);

impl<'py> FromPyObject<'_, 'py> for StagedMemory {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (Given(new), Given(restored)): (Given<engine::NewMemory>, Given<Restored>) = object.extract()?;
        Ok(Self(new, restored))
    }
}

/// What a file says beside its memories.
#[derive(Debug)]
pub struct FileExtras(Extras);

impl Extract for FileExtras {
    fn extract(from: &Bound<'_, PyDict>) -> PyResult<Self> {
        let unused: Vec<(Option<String>, Option<String>, i64)> = field(from, name!(from.py(), "unused"))?;
        let calibration: Option<(Option<f64>, Option<f64>, String)> = field(from, name!(from.py(), "calibration"))?;
        Ok(Self(Extras {
            unused: unused.into_iter().map(|(user, session, next_turn)| Unused { user, session, next_turn }).collect(),
            calibration: calibration
                .map(|(noise, refusal, report)| Calibration { floors: Floors { noise, refusal }, report }),
            models: models(field(from, name!(from.py(), "models"))?)?,
            with_vectors: field(from, name!(from.py(), "with_vectors"))?,
        }))
    }
}

/// An export in a file without a name, read piece by piece.
#[pyclass(frozen, module = "retentive._core")]
#[derive(Debug)]
pub struct Exported(Mutex<File>);

#[pymethods]
impl Exported {
    /// The next bytes, at most so many; none at the end.
    fn read(&self, py: Python<'_>, size: usize) -> PyResult<Vec<u8>> {
        py.detach(|| {
            let mut bytes = Vec::new();
            let mut file = self.0.lock().map_err(|_| std::io::Error::other("an export that failed cannot be read"))?;
            Read::by_ref(&mut *file).take(size as u64).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        })
        .map_err(PyErr::from)
    }
}

/// Whether a path leads to what this process has open as a collection, or to what SQLite keeps beside one.
#[pyfunction]
pub fn is_open_file(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    call(py, |_| Ok(store::is_open_file(&path)))
}

pub fn export(
    py: Python<'_>,
    engine: &Engine,
    request: &ExportRequest,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<u64> {
    telling(py, progress, |state, interrupt| engine.export(request, state, interrupt))
}

pub fn export_unnamed(
    py: Python<'_>,
    engine: &Engine,
    request: &ExportRequest,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(u64, Exported)> {
    let (count, file) = telling(py, progress, |state, interrupt| engine.export_unnamed(request, state, interrupt))?;
    Ok((count, Exported(Mutex::new(file))))
}

/// Calls `progress(done, total)` now and then, from this thread, while another one writes.
fn telling<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&Progress, Interrupt) -> Result<T> + Send,
) -> PyResult<T> {
    let state = Progress::default();
    let progress = progress.map(|progress| progress.clone().unbind());
    let told = Mutex::new(0);
    let tell = |py: Python<'_>| {
        let (done, total) = (state.done.load(Ordering::Relaxed), state.total.load(Ordering::Relaxed));
        let Some(progress) = progress.as_ref().filter(|_| done < total) else { return Ok(()) };
        let before = told.lock().map_or(done, |mut told| std::mem::replace(&mut *told, done));
        if before < done { progress.call1(py, (done, total)).map(drop) } else { Ok(()) }
    };
    call_telling(py, tell, |interrupt| job(&state, interrupt))
}

impl Staging {
    pub fn new(staging: engine::Staging) -> Self {
        Self(Mutex::new(staging))
    }

    pub fn add(&self, py: Python<'_>, engine: &Engine, memories: Many<StagedMemory>) -> PyResult<()> {
        let memories: Vec<_> = memories.0.into_iter().map(|StagedMemory(new, restored)| (new, restored)).collect();
        call(py, |_| self.with(|staging| engine.add_staged(staging, memories)))
    }

    /// How many were stored; of the file, skipped; of those stored, replaced and renumbered.
    pub fn import(
        &self,
        py: Python<'_>,
        engine: &Engine,
        on_conflict: &str,
        extras: FileExtras,
        now: i64,
        of_lines: bool,
    ) -> PyResult<(u64, u64, u64, u64)> {
        let done = call(py, |interrupt| {
            let numbered = if of_lines { Numbered::Lines } else { Numbered::Items };
            let request =
                ImportRequest { on_conflict: OnConflict::parse(on_conflict)?, numbered, extras: extras.0, now };
            self.with(|staging| engine.import(staging, &request, interrupt))
        })?;
        Ok((done.stored, done.skipped, done.replaced, done.renumbered))
    }
}
