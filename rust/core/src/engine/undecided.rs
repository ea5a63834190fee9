//! A recall that may have no answer: which texts late interaction is to be known of, and what becomes of it then. The model that tells it
//! is the caller's, so it runs after the read.
use super::gather::Gathered;
use super::request::Ranked;
use super::view::View;
use crate::error::{Error, Result};
use crate::rank::refuse::Doubt;

/// The memories that decide.
#[derive(Debug, Clone, PartialEq)]
pub struct Undecided {
    doubt: Doubt,
    pub texts: Vec<String>,
}

impl Undecided {
    pub(super) fn new(view: &View, gathered: &Gathered, doubt: Doubt) -> Result<Self> {
        let memories = view.memories(gathered, doubt.rows(), false)?;
        Ok(Self { doubt, texts: memories.into_iter().map(|(memory, _)| memory.text).collect() })
    }

    /// Whether there is no answer, from the late interaction of the query with each of the texts.
    pub fn nothing_relevant(&self, late: &[f32]) -> Result<bool> {
        if late.len() != self.texts.len() {
            return Err(Error::invalid(format!("{} late interactions, expected {}", late.len(), self.texts.len())));
        }
        Ok(self.doubt.nothing_relevant(late))
    }
}

impl Ranked {
    /// "Nothing relevant".
    #[must_use]
    pub fn nothing_relevant() -> Self {
        Self { refused: true, ..Self::default() }
    }
}
