//! Budgets: the core's packing on what a read gave back, with the built-in estimate or the caller's counter.
//! It runs after the read, so no lock is held and no transaction open while a counter answers.
use std::ops::Deref;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use retentive_core::engine::{self, Engine};
use retentive_core::pack::{self, AdditiveCount, Excerpting, Length, Line, Offered, Section, Sources, Wanted};
use retentive_core::{rank, tokens};

use crate::excerpt::{Chooser, Excerpts};
use crate::memory::{ContextParts, Memory};
use crate::request::outcome;
use crate::{courtesy, errors};

/// Memories of more text than this are packed without the interpreter: other threads go on. Of less the hand-over takes longer.
const LONG_BYTES: usize = 1 << 16;

/// A packed block.
#[pyclass(frozen, get_all, module = "retentive._core")]
#[derive(Debug)]
pub struct Packed {
    text: String,
    background: String,
    tokens: u64,
    truncated: bool,
    pinned: Vec<usize>,
    recent: Vec<usize>,
    retrieved: Vec<usize>,
    excerpts: Vec<Option<String>>,
    dropped: Vec<(&'static str, usize, &'static str)>,
    cut_count: usize,
}

type Handed<'py> = Vec<PyRef<'py, Memory>>;

fn ask(counter: &Bound<'_, PyAny>, text: &str) -> PyResult<u64> {
    counter.call1((text,))?.extract()
}

/// A named turn counts with its name, as it is indexed.
fn rendered(memory: &Memory) -> String {
    memory.0.name.as_ref().map_or_else(|| memory.0.text.clone(), |name| format!("{name}: {}", memory.0.text))
}

fn lines<'a>(memories: &'a [Memory]) -> Vec<Line<'a>> {
    let line = |memory: &'a Memory| Line {
        text: &memory.0.text,
        role: memory.0.role.as_deref().unwrap_or_default(),
        name: memory.0.name.as_deref(),
        ts: memory.0.ts,
        turn: memory.0.turn,
    };
    memories.iter().map(line).collect()
}

/// Which of the memories are facts from which others of them.
fn sources<'a>(memories: impl Iterator<Item = &'a Memory> + Clone) -> Sources {
    Sources::new(memories.map(|memory| (memory.0.id.as_str(), memory.0.consolidated_from.as_slice())))
}

/// The order in which ranked memories are offered; `sources` know them behind so many others. A memory that may be excerpted costs
/// no more than a short excerpt. Where a limit says how many there may be, a memory's tokens cost no other its place.
fn order<'a>(
    memories: impl Iterator<Item = &'a Memory>,
    behind: usize,
    sources: &Sources,
    limit: Option<usize>,
    excerpt: Option<Length>,
) -> Vec<usize> {
    let most = excerpt.map_or(u64::MAX, Length::shortest);
    let tokens = |memory: &Memory| u32::try_from(most).map_or(memory.0.tokens, |most| memory.0.tokens.min(most));
    let offered: Vec<Offered> =
        memories.map(|memory| Offered { score: memory.0.score, tokens: tokens(memory) }).collect();
    if limit.is_none() { pack::order(&offered, behind, sources) } else { (0..offered.len()).collect() }
}

fn section(section: Section) -> &'static str {
    match section {
        Section::Pinned => "pinned",
        Section::Recent => "recent",
        Section::Retrieved => "retrieved",
    }
}

/// Which of the ranked memories to return under `limit` and `token_budget`; with `once`, no fact beside all the turns that it came from.
#[pyfunction]
pub fn select<'py>(
    py: Python<'py>,
    memories: Handed<'py>,
    limit: Option<usize>,
    token_budget: Option<u64>,
    counter: Option<Bound<'py, PyAny>>,
    once: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let sources = if once { sources(memories.iter().map(PyRef::deref)) } else { Sources::default() };
    let order = order(memories.iter().map(PyRef::deref), 0, &sources, limit, None);
    let chosen = pack::select(&order, limit, token_budget, &sources, |rank| {
        let Some(memory) = memories.get(rank) else { return Ok(0) };
        match &counter {
            Some(counter) => ask(counter, &rendered(memory)),
            None => Ok(u64::from(memory.0.tokens)),
        }
    })?;
    let dropped: Vec<_> = chosen.dropped.iter().map(|(rank, reason)| (*rank, reason.as_str())).collect();
    let selection = PyDict::new(py);
    selection.set_item("kept", chosen.kept)?;
    selection.set_item("tokens", chosen.tokens)?;
    selection.set_item("truncated", chosen.truncated)?;
    selection.set_item("cut_count", chosen.cut_count)?;
    selection.set_item("dropped", dropped)?;
    Ok(selection)
}

/// Packs a context block within `token_budget`.
pub fn pack_context<'py>(
    py: Python<'py>,
    engine: &Engine,
    parts: &ContextParts,
    limit: Option<usize>,
    token_budget: u64,
    counter: Option<&Bound<'py, PyAny>>,
    excerpts: Option<Excerpts>,
) -> PyResult<Packed> {
    let ranked = parts.ranked.bind(py).get();
    let (pinned, recent, retrieved) = (lines(&parts.pinned), lines(&parts.recent), lines(&ranked.memories));
    let place = |memory: &Memory| parts.recent.iter().position(|turn| turn.0.id == memory.0.id);
    let recent_of: Vec<Option<usize>> = ranked.memories.iter().map(place).collect();
    let sources = sources(parts.recent.iter().chain(&ranked.memories));
    let length = excerpts.as_ref().map(|excerpts| excerpts.length);
    let order = order(ranked.memories.iter(), recent.len(), &sources, limit, length);
    let wanted = Wanted {
        pinned: &pinned,
        recent: &recent,
        retrieved: &retrieved,
        order: &order,
        recent_of: &recent_of,
        limit,
        sources: Some(&sources),
    };
    let bytes: usize = [&pinned, &recent, &retrieved].into_iter().flatten().map(|line| line.text.len()).sum();
    let mut chooser = excerpts.map(|excerpts| Chooser::new(engine, &ranked.terms, excerpts));
    let counter = counter.map(|counter| counter.clone().unbind());
    let mut pack = || {
        let mut answers = |sentences: &[&str]| match &mut chooser {
            Some(chooser) => Python::attach(|py| chooser.answers(py, sentences)),
            None => Ok(Vec::new()),
        };
        let mut excerpting = length.map(|length| Excerpting { length, answers: &mut answers });
        match &counter {
            Some(counter) => {
                let mut count = |text: &str| Python::attach(|py| ask(counter.bind(py), text));
                pack::pack_context(&wanted, token_budget, &mut count, excerpting.as_mut())
            }
            None => pack::pack_context_additive(&wanted, token_budget, &AdditiveCount::built_in(), excerpting.as_mut()),
        }
    };
    let packed = if bytes > LONG_BYTES { detached(py, pack) } else { pack() }?;
    Ok(Packed {
        pinned: (0..pinned.len()).collect(),
        recent: (packed.recent_from..recent.len()).collect(),
        dropped: packed.dropped.iter().map(|(of, index, reason)| (section(*of), *index, reason.as_str())).collect(),
        retrieved: packed.retrieved,
        excerpts: packed.excerpts,
        text: packed.text,
        background: packed.background,
        tokens: packed.tokens,
        truncated: packed.truncated,
        cut_count: packed.cut_count,
    })
}

fn detached<T: Send>(py: Python<'_>, job: impl FnOnce() -> T + Send) -> T {
    let done = py.detach(job);
    courtesy::taken();
    done
}

/// The built-in estimate of the tokens of `text`.
#[pyfunction]
pub fn estimate_tokens(text: &str) -> u32 {
    tokens::estimate(text)
}

/// Raises `InvalidInputError` where `filter`, as JSON, is none.
#[pyfunction]
pub fn validate_filter(py: Python<'_>, filter: &str) -> PyResult<()> {
    engine::validate_filter(filter).map_err(|error| errors::to_python(py, &error))
}

/// Raises `InvalidInputError` where `signals`, weights by name, have an unknown name or no weight.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // extracted arguments are owned
pub fn validate_signals(py: Python<'_>, signals: Vec<(String, f64)>) -> PyResult<()> {
    engine::validate_signals(&signals).map_err(|error| errors::to_python(py, &error))
}

/// The decayed sum of `feedback`, pairs of an outcome and its time.
#[pyfunction]
pub fn feedback_score(py: Python<'_>, feedback: Vec<(String, i64)>, now: i64, half_life_days: f64) -> PyResult<f64> {
    let outcomes: Vec<(i8, i64)> =
        feedback.iter().map(|(name, at)| Ok((outcome(py, name)?.sign(), *at))).collect::<PyResult<_>>()?;
    Ok(rank::decay::feedback_score(&outcomes, now, half_life_days))
}
