//! The columns of scope S that ranking reads, and what the query's terms and vector give over them.
use super::admit::Admission;
use super::gather::Gathered;
use crate::error::Result;
use crate::lexical::Analyzer;
use crate::model::Kind;
use crate::rank::blend;
use crate::rank::decay::feedback_score;
use crate::rank::scene::{Query, Scene};
use crate::rank::terms::TermMatches;
use crate::rank::thread::{NO_SESSION, Thread};
use crate::vector::quantise::Quantised;

/// The role whose words are the user's own.
const USER: &str = "user";

#[derive(Default)]
pub(super) struct Columns {
    pub cosine: Option<Vec<f32>>,
    pub matches: TermMatches,
    doc_len: Vec<u32>,
    avg_len: f32,
    pub tokens: Vec<u32>,
    pub ts: Vec<i64>,
    kind: Vec<Kind>,
    user_words: Vec<bool>,
    question_share: Vec<f32>,
    pub thread: Thread,
}

/// What a read ranks by.
pub(super) struct Asked<'a> {
    pub terms: &'a [(u64, u32)],
    pub vector: Option<&'a Quantised>,
}

impl Columns {
    pub fn new(gathered: &Gathered, asked: &Asked) -> Result<Self> {
        let len = gathered.len();
        let doc_len: Vec<u32> = gathered.lengths().collect();
        let total: u64 = doc_len.iter().map(|len| u64::from(*len)).sum();
        let mut columns = Self {
            cosine: asked.vector.map(|vector| gathered.dense(vector)).transpose()?,
            matches: gathered.matches(asked.terms),
            avg_len: total as f32 / len.max(1) as f32,
            doc_len,
            tokens: Vec::with_capacity(len),
            ts: Vec::with_capacity(len),
            kind: Vec::with_capacity(len),
            user_words: Vec::with_capacity(len),
            question_share: Vec::with_capacity(len),
            thread: Thread::default(),
        };
        columns.fill(gathered);
        Ok(columns)
    }

    fn fill(&mut self, gathered: &Gathered) {
        for part in gathered.parts() {
            let user = part.partition.role_named(USER);
            for (_, entry) in part.entries() {
                self.tokens.push(entry.tokens);
                self.ts.push(entry.ts);
                self.kind.push(entry.kind);
                self.user_words.push(entry.kind.is_fact() || (entry.role != 0 && Some(entry.role) == user));
                self.question_share.push(f32::from(entry.question) / 255.0);
            }
        }
    }

    /// Orders the turns; reads without a thread leave this out.
    pub fn with_thread(mut self, gathered: &Gathered, gap_us: i64) -> Self {
        let (mut sessions, mut turns) = (Vec::with_capacity(gathered.len()), Vec::with_capacity(gathered.len()));
        for part in gathered.parts() {
            for (_, entry) in part.entries() {
                // The scope that is the partition itself is a session only for those without a user.
                let alone = entry.scope == part.reached.partition && !part.reached.is_session;
                sessions.push(if alone { NO_SESSION } else { entry.scope as u32 });
                turns.push(entry.turn);
            }
        }
        self.thread = Thread::new(&sessions, &turns, &self.ts, &self.kind, gap_us);
        self
    }

    pub fn scene<'a>(&'a self, query: &'a Query<'a>) -> Scene<'a> {
        Scene {
            query,
            cosine: self.cosine.as_deref(),
            matches: &self.matches,
            doc_len: &self.doc_len,
            avg_len: self.avg_len,
            tokens: &self.tokens,
            kind: &self.kind,
            user_words: &self.user_words,
            question_share: &self.question_share,
            thread: &self.thread,
        }
    }

    pub fn pooling<'a>(&'a self, relevance: &'a [f32], tokens: &'a [u32]) -> blend::Columns<'a> {
        blend::Columns { relevance, ts: &self.ts, tokens }
    }
}

/// The feedback that a memory had at the instant the read answers for.
pub(super) fn feedback_then(given: &[(i8, i64)], admission: &Admission, half_life_days: f64) -> f64 {
    if given.is_empty() {
        return 0.0;
    }
    let then: Vec<(i8, i64)> =
        given.iter().copied().filter(|(_, ts)| admission.as_of.is_none_or(|as_of| *ts <= as_of)).collect();
    feedback_score(&then, admission.instant(), half_life_days)
}

/// The distinct terms of a query, by rising hash, each with how often the query says it.
pub(super) fn query_terms(analyzer: &Analyzer, query: &str) -> Vec<(u64, u32)> {
    let mut hashes: Vec<u64> = analyzer.query_terms(query).into_iter().map(|term| term.hash).collect();
    hashes.sort_unstable();
    hashes.chunk_by(|a, b| a == b).filter_map(|same| Some((*same.first()?, same.len() as u32))).collect()
}
