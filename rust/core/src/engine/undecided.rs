//! A recall that may have no answer: which texts late interaction is to be known of, and what becomes of it then. The model that tells it
//! is the caller's, so it runs after the read.
use std::collections::{BTreeSet, HashMap};

use super::gather::Gathered;
use super::request::{Memory, Ranked};
use super::view::View;
use crate::error::{Error, Result};
use crate::rank::refuse::Doubt;

/// As it was embedded and indexed: with its speaker.
fn said_by(memory: &Memory) -> String {
    memory.name.as_ref().map_or_else(|| memory.text.clone(), |name| format!("{name}: {}", memory.text))
}

/// The memories that decide, each with the turns beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Undecided {
    doubt: Doubt,
    pub texts: Vec<String>,
}

impl Undecided {
    /// `known`: memories that were read, with their rows.
    pub(super) fn new(view: &View, gathered: &Gathered, doubt: Doubt, known: &[(u32, &Memory)]) -> Result<Self> {
        let rows: BTreeSet<u32> = doubt.windows().flatten().copied().collect();
        let mut said: HashMap<u32, String> =
            known.iter().filter(|(row, _)| rows.contains(row)).map(|(row, memory)| (*row, said_by(memory))).collect();
        let missing: Vec<u32> = rows.into_iter().filter(|row| !said.contains_key(row)).collect();
        let read = view.memories(gathered, missing.iter().copied(), false)?;
        said.extend(missing.into_iter().zip(read.iter().map(|(memory, _)| said_by(memory))));
        let joined = |rows: &[u32]| rows.iter().filter_map(|row| said.get(row)).cloned().collect::<Vec<_>>().join("\n");
        let texts = doubt.windows().map(joined).collect();
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
