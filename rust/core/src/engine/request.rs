//! What the binding hands in and gets back. Names are those of the facade's contract, one to one; times are microseconds UTC.
use std::path::PathBuf;
use std::time::Duration;

use crate::model::{Judge, Kind, Outcome, Vector};
use crate::rank::terms::TermStatistics;
use crate::store::{Durability, Micros};

use super::undecided::Undecided;

pub use crate::rank::mode::Mode;

/// How a collection is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// `None` keeps the collection in memory.
    pub path: Option<PathBuf>,
    pub name: String,
    pub language: String,
    pub durability: Durability,
    pub cache_mb: usize,
    pub busy_timeout: Duration,
    pub readonly: bool,
    /// Keys and the epoch of a new file come from here.
    pub entropy: [u8; 32],
}

/// A model of the collection, as its embedder gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundModel {
    pub name: String,
    pub dimension: usize,
    /// The embedder's vector of a fixed text; `None` when the caller gives the vectors.
    pub probe: Option<Vec<f32>>,
}

/// One memory to be stored.
#[derive(Debug, Clone)]
pub struct NewMemory {
    pub id: String,
    pub text: String,
    pub kind: Kind,
    pub user: Option<String>,
    pub session: Option<String>,
    pub role: Option<String>,
    pub name: Option<String>,
    /// Trimmed and case-folded already.
    pub key: Option<String>,
    pub turn: Option<i64>,
    pub ts: Micros,
    /// `None` = for ever.
    pub expires: Option<Micros>,
    /// A JSON object of the caller's own keys.
    pub metadata: Option<String>,
    /// One vector a part of the text and model; empty = stored without vectors.
    pub vectors: Vec<Vector>,
    /// What the vectors were made for ([`super::Engine::model_epoch`]); `None` = not checked.
    pub model_epoch: Option<i64>,
    pub judge: Judge,
    /// Ids a judge named; applied only to those still live at commit.
    pub supersedes: Vec<String>,
    /// Documents: an id in use is replaced; otherwise it is a conflict.
    pub replace: bool,
}

impl NewMemory {
    /// Of what takes most room.
    pub(super) fn bytes(&self) -> usize {
        let vectors: usize = self.vectors.iter().map(|vector| size_of_val(vector.values.as_slice())).sum();
        self.text.len() + self.metadata.as_ref().map_or(0, String::len) + vectors
    }
}

/// The text that corrects a memory.
#[derive(Debug, Clone)]
pub struct Correction {
    pub id: String,
    pub text: String,
    pub ts: Micros,
    pub vectors: Vec<Vector>,
    /// What the vectors were made for ([`super::Engine::model_epoch`]); `None` = not checked.
    pub model_epoch: Option<i64>,
    /// The expiry by kind of the correction; a kind that is missing lives for ever.
    pub expires: Vec<(Kind, Option<Micros>)>,
}

/// The settings of a `ConversationMemory` that reads use.
#[derive(Debug, Clone)]
pub struct Settings {
    pub half_life_days: f64,
    pub recency_weight: f64,
    pub feedback_weight: f64,
    pub feedback_half_life_days: f64,
    pub sitting_gap_us: i64,
    pub recall_roles: Option<Vec<String>>,
    pub recall_min_words: u32,
    pub max_turns: Option<usize>,
    /// Weights by signal name that differ from the defaults.
    pub signals: Vec<(String, f64)>,
    /// Of each model's cosine; their sum is the weight of the dense signal.
    pub dense_weights: Vec<f64>,
}

/// Which memories a call may see. `any_user` is `retentive.ANY`; `user: None` without it is "what has no user".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    pub user: Option<String>,
    pub any_user: bool,
    pub session: Option<String>,
}

/// A query's tokens as its embedder sees them.
#[derive(Debug, Clone, Default)]
pub struct QueryTerms {
    pub vectors: Vec<Vec<f32>>,
    /// The characters that each token covers, from and to.
    pub spans: Vec<(usize, usize)>,
}

#[derive(Debug, Clone)]
pub struct RecallRequest {
    pub query: String,
    /// The query's vector by each model; empty: none.
    pub vectors: Vec<Vec<f32>>,
    /// By model, where the query vector is to be weighted by the scope's statistics.
    pub query_terms: Vec<Option<QueryTerms>>,
    /// What the vectors were made for ([`super::Engine::model_epoch`]); `None` = not checked.
    pub model_epoch: Option<i64>,
    pub reach: Reach,
    pub limit: Option<usize>,
    /// Only sizes the pool, when `limit` is `None`.
    pub token_budget: Option<usize>,
    pub score_gap: Option<f64>,
    pub kinds: Vec<Kind>,
    pub include_superseded: bool,
    pub mode: Mode,
    pub now: Micros,
    pub as_of: Option<Micros>,
    pub exclude_ids: Vec<String>,
    /// JSON.
    pub filter: Option<String>,
    /// The least similarity of each memory.
    pub min_relevance: Option<f64>,
    /// "auto": the embedder's floor, and without a vector any number: what shares no word is refused. `None` = never refuse.
    pub refusal_floor: Option<f64>,
    /// In place of `refusal_floor`, with vectors: what evidence and late interaction together must reach. The answer is then
    /// [undecided](Ranked::undecided) until the caller tells the latter.
    pub late_interaction_floor: Option<f64>,
    /// A floor that was measured on the collection takes the place of both.
    pub calibrated: bool,
    pub settings: Settings,
}

#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// `None` and no vector: filter only, newest first.
    pub query: Option<String>,
    /// The query's vector by each model; empty: none.
    pub vectors: Vec<Vec<f32>>,
    /// What the vectors were made for ([`super::Engine::model_epoch`]); `None` = not checked.
    pub model_epoch: Option<i64>,
    pub reach: Reach,
    pub limit: Option<usize>,
    pub token_budget: Option<usize>,
    pub score_gap: Option<f64>,
    pub mode: Mode,
    pub now: Micros,
    /// JSON.
    pub filter: Option<String>,
    pub max_distance: Option<f64>,
    /// A floor that was measured on the collection takes the place of `max_distance`.
    pub calibrated: bool,
    /// Of each model's cosine; their sum is w of hybrid.
    pub dense_weights: Vec<f64>,
    pub explain: bool,
}

#[derive(Debug, Clone)]
pub struct ContextRequest {
    pub recall: RecallRequest,
    /// The session whose recent turns are wanted.
    pub recent_session: Option<String>,
    pub recent_turns: usize,
}

/// A question to find the evidence for.
#[derive(Debug, Clone)]
pub struct Question {
    pub text: String,
    pub vector: Vec<f32>,
    /// Id of the memory that it was taken from.
    pub own: Option<String>,
}

/// What an embedder is measured on.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Id of the model that made the vectors.
    pub model: i64,
    pub texts: Vec<Sampled>,
}

/// A stored text of a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    pub id: String,
    pub text: String,
    pub vectors: Vec<Vec<f32>>,
    /// The same for what is of one session.
    pub session: i64,
    /// The same for what is of one sitting.
    pub sitting: u32,
}

/// What `forget` selects.
#[derive(Debug, Clone)]
pub struct Forget {
    pub reach: Reach,
    pub kinds: Vec<Kind>,
    /// Only what is dated before.
    pub before: Option<Micros>,
    /// Taken whatever their kind.
    pub ids: Option<Vec<String>>,
    /// Only what was superseded.
    pub superseded: bool,
    pub now: Micros,
}

/// One memory as a read returns it; everything it can tell is inside it, nothing is fetched later.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    pub id: String,
    pub text: String,
    pub kind: Kind,
    pub user: Option<String>,
    pub session: Option<String>,
    pub role: Option<String>,
    pub name: Option<String>,
    pub key: Option<String>,
    pub turn: Option<i64>,
    pub ts: Micros,
    pub expires: Option<Micros>,
    pub supersedes: Option<String>,
    /// [`FORGOTTEN`] where the successor is gone.
    pub superseded_by: Option<String>,
    pub feedback: Vec<(Outcome, Micros)>,
    pub consolidated_from: Vec<String>,
    pub judge: Judge,
    /// JSON text of the caller's own keys.
    pub metadata: Option<String>,
    pub score: f64,
    /// The exact float32 cosine with the plain query vector.
    pub similarity: Option<f64>,
    /// `_vx_scoring`.
    pub scoring: Option<Vec<(&'static str, f64)>>,
    /// The built-in estimate of the text.
    pub tokens: u32,
}

/// What stands in `superseded_by` when the successor was forgotten.
pub const FORGOTTEN: &str = "forgotten";

/// The whole pool by score, after kinds, policy and `score_gap`; the caller applies limit and budget with `pack::select`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranked {
    pub memories: Vec<Memory>,
    /// Ids that follow them in a recall with a limit and no budget: nothing could make room for them.
    pub over_limit: Vec<String>,
    /// Ids left out by `score_gap`, best first.
    pub below_gap: Vec<String>,
    /// "Nothing relevant".
    pub refused: bool,
    /// It may be so: late interaction decides.
    pub undecided: Option<Undecided>,
    /// The query's terms over scope S; excerpts are chosen by them.
    pub terms: TermStatistics,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextParts {
    /// Live, oldest first.
    pub pinned: Vec<Memory>,
    /// Oldest first.
    pub recent: Vec<Memory>,
    /// Without what is in `pinned` and `recent`.
    pub ranked: Ranked,
}

/// The next batch of turns to summarise.
#[derive(Debug, Clone)]
pub struct BatchRequest {
    pub session: String,
    pub user: Option<String>,
    pub keep_recent: usize,
    /// Only what is dated before.
    pub before: Option<Micros>,
    pub batch_turns: usize,
    pub now: Micros,
    /// Ids of turns summarised before in this call (they gave no fact and were kept).
    pub skip: Vec<String>,
}

/// A figure of [`stats`](super::Engine::stats).
#[derive(Debug, Clone, PartialEq)]
pub enum Stat {
    Int(i64),
    Bool(bool),
    Text(String),
    Missing,
}
