//! What a ranking sees: scope S as columns. Row i of each column is memory i of S, in insertion order.
use super::language::Language;
use super::terms::TermMatches;
use super::thread::Thread;
use crate::model::Kind;

#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    pub text: &'a str,
    /// Microseconds UTC.
    pub now: i64,
    /// `None`: signals that need a language are silent.
    pub language: Option<&'static Language>,
}

/// Scope S of one read. A new signal adds the column it needs here.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    pub query: &'a Query<'a>,
    /// The best cosine of the memory's vectors, negative infinity for a memory without one; `None` when the read has
    /// no query vector.
    pub cosine: Option<&'a [f32]>,
    pub matches: &'a TermMatches,
    /// Indexed terms of the memory, and their mean over S.
    pub doc_len: &'a [u32],
    pub avg_len: f32,
    /// Tokens by the built-in estimate, whatever the caller's counter.
    pub tokens: &'a [u32],
    pub kind: &'a [Kind],
    /// The user said it, or it is a fact.
    pub user_words: &'a [bool],
    /// Share of the memory's characters in sentences that end in a question mark.
    pub question_share: &'a [f32],
    pub thread: &'a Thread,
}

impl Scene<'_> {
    /// Memories in S.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }
}
