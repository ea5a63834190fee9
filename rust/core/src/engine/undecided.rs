//! A recall that may have no answer: which texts late interaction is to be known of, and what becomes of it then. The model that tells it
//! is the caller's, so it runs after the read.
use super::gather::Gathered;
use super::request::{Memory, Ranked};
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
    /// `known`: memories that were read, with their rows.
    pub(super) fn new(view: &View, gathered: &Gathered, doubt: Doubt, known: &[(u32, &Memory)]) -> Result<Self> {
        let text_of = |row: u32| known.iter().find(|(of, _)| *of == row).map(|(_, memory)| memory.text.clone());
        let missing = doubt.rows().filter(|row| text_of(*row).is_none());
        let mut read = view.memories(gathered, missing, false)?.into_iter().map(|(memory, _)| memory.text);
        let texts = doubt.rows().filter_map(|row| text_of(row).or_else(|| read.next())).collect();
        Ok(Self { doubt, texts })
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
