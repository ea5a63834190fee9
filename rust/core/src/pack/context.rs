//! Filling a block: pinned facts always, then recent turns from the newest, then retrieved memories by rank.
//!
//! A candidate is kept when the whole block with it counts no more than the budget. That is the definition for any
//! counter; where counts add up over lines, the same answer comes from sums.
use std::convert::Infallible;

use super::DropReason;
use super::render::{Line, Section, block};
use super::timeline::{Timeline, heading};
use crate::tokens;

/// What should stand in a block.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Never cut.
    pub pinned: &'a [Line<'a>],
    /// Oldest first; cut oldest first.
    pub recent: &'a [Line<'a>],
    /// Best first; one that does not fit is skipped.
    pub retrieved: &'a [Line<'a>],
    /// The most retrieved memories to keep.
    pub limit: Option<usize>,
}

/// A packed block. Indices are those of [`Wanted`]'s lists; pinned facts are all in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packed {
    pub text: String,
    /// The counter's answer for `text`.
    pub tokens: u64,
    /// The recent turns kept: these and all after them.
    pub recent_from: usize,
    /// Retrieved memories kept, best first.
    pub retrieved: Vec<usize>,
    pub dropped: Vec<(Section, usize, DropReason)>,
    /// Something was cut to fit, or the block is over the budget: what may not be cut is larger.
    pub truncated: bool,
    /// How many the budget cut.
    pub cut_count: usize,
}

impl Packed {
    fn with_text(self, text: String, tokens: u64, budget: u64) -> Self {
        Self { text, tokens, truncated: self.cut_count > 0 || tokens > budget, ..self }
    }
}

/// Packs with a counter that may be anything: `tokens` is its answer for `text`, and at most `budget` unless the pinned
/// facts (or, for an odd counter, nothing at all) count more.
pub fn pack_context<E>(
    wanted: &Wanted,
    budget: u64,
    count: &mut dyn FnMut(&str) -> Result<u64, E>,
) -> Result<Packed, E> {
    let mut draft = CountedDraft { lines: Draft::of(wanted.pinned), tokens: 0, budget, count };
    let packed = fill(wanted, &mut draft)?;
    Ok(packed.with_text(draft.lines.text(), draft.tokens, budget))
}

/// A count that is a function of units which add up: `units(a + "\n" + b) = units(a) + newline + units(b)`.
pub struct AdditiveCount<'a> {
    pub units: &'a dyn Fn(&str) -> u64,
    pub newline: u64,
    /// Rises with the units, or stays.
    pub tokens: &'a dyn Fn(u64) -> u64,
}

fn rounded(units: u64) -> u64 {
    u64::from(tokens::tokens_for(units))
}

impl AdditiveCount<'static> {
    /// The built-in estimate.
    pub const fn built_in() -> Self {
        Self { units: &tokens::units, newline: tokens::NEWLINE_UNITS, tokens: &rounded }
    }
}

impl std::fmt::Debug for AdditiveCount<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdditiveCount").field("newline", &self.newline).finish_non_exhaustive()
    }
}

/// [`pack_context`] with that count, each line counted once.
#[must_use]
pub fn pack_context_additive(wanted: &Wanted, budget: u64, count: &AdditiveCount) -> Packed {
    let mut draft = SummedDraft { lines: Draft::of(wanted.pinned), units: 0, budget, count };
    match fill(wanted, &mut draft) {
        Ok(packed) => packed.with_text(draft.lines.text(), (count.tokens)(draft.units), budget),
        Err(never) => match never {},
    }
}

/// A block in the making.
trait Offer {
    type Error;

    /// Whether anything may be added: the pinned facts alone, if any, are within the budget.
    fn start(&mut self) -> Result<bool, Self::Error>;

    /// Takes the memory into its section if the block with it is within the budget; `rank` is its place in the section's list.
    fn offer(&mut self, section: Section, line: &Line, rank: usize) -> Result<bool, Self::Error>;
}

/// The choice itself; text and tokens are the draft's.
fn fill<D: Offer>(wanted: &Wanted, draft: &mut D) -> Result<Packed, D::Error> {
    let has_room = draft.start()?;
    let mut packed = Packed { recent_from: wanted.recent.len(), ..Packed::default() };
    if has_room {
        for (index, line) in wanted.recent.iter().enumerate().rev() {
            if !draft.offer(Section::Recent, line, index)? {
                break;
            }
            packed.recent_from -= 1;
        }
    }
    packed.dropped.extend((0..packed.recent_from).map(|index| (Section::Recent, index, DropReason::OverBudget)));
    for (index, line) in wanted.retrieved.iter().enumerate() {
        if wanted.limit.is_some_and(|limit| packed.retrieved.len() >= limit) {
            packed.dropped.push((Section::Retrieved, index, DropReason::OverLimit));
        } else if has_room && draft.offer(Section::Retrieved, line, index)? {
            packed.retrieved.push(index);
        } else {
            packed.dropped.push((Section::Retrieved, index, DropReason::OverBudget));
        }
    }
    packed.cut_count = packed.dropped.iter().filter(|(_, _, reason)| *reason == DropReason::OverBudget).count();
    Ok(packed)
}

/// The lines of each section so far.
#[derive(Debug, Default, Clone)]
struct Draft {
    pinned: String,
    recent: String,
    retrieved: Timeline,
}

impl Draft {
    fn of(pinned: &[Line]) -> Self {
        let lines: Vec<String> = pinned.iter().map(|line| Section::Pinned.line(line)).collect();
        Self { pinned: lines.join("\n"), ..Self::default() }
    }

    fn text(&self) -> String {
        let retrieved = self.retrieved.text();
        let lines = [&self.pinned, &self.recent, &retrieved].map(String::as_str);
        let sections = [Section::Pinned, Section::Recent, Section::Retrieved];
        block(&sections.into_iter().zip(lines).collect::<Vec<_>>())
    }

    /// Recent turns come from the newest, so each goes before the others.
    fn add(&mut self, section: Section, line: &Line, rank: usize) {
        match section {
            Section::Pinned => append(&mut self.pinned, &section.line(line)),
            Section::Retrieved => self.retrieved.add(line, rank),
            Section::Recent if self.recent.is_empty() => self.recent = section.line(line),
            Section::Recent => self.recent = format!("{}\n{}", section.line(line), self.recent),
        }
    }

    fn is_blank(&self) -> bool {
        [Section::Pinned, Section::Recent, Section::Retrieved].into_iter().all(|section| self.is_empty(section))
    }

    fn is_empty(&self, section: Section) -> bool {
        match section {
            Section::Pinned => self.pinned.is_empty(),
            Section::Recent => self.recent.is_empty(),
            Section::Retrieved => self.retrieved.is_empty(),
        }
    }
}

fn append(lines: &mut String, line: &str) {
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines.push_str(line);
}

struct CountedDraft<'a, E> {
    lines: Draft,
    tokens: u64,
    budget: u64,
    count: &'a mut dyn FnMut(&str) -> Result<u64, E>,
}

impl<E> Offer for CountedDraft<'_, E> {
    type Error = E;

    fn start(&mut self) -> Result<bool, E> {
        self.tokens = (self.count)(&self.lines.text())?;
        Ok(self.tokens <= self.budget || self.lines.pinned.is_empty())
    }

    fn offer(&mut self, section: Section, line: &Line, rank: usize) -> Result<bool, E> {
        let mut trial = self.lines.clone();
        trial.add(section, line, rank);
        let tokens = (self.count)(&trial.text())?;
        if tokens > self.budget {
            return Ok(false);
        }
        (self.lines, self.tokens) = (trial, tokens);
        Ok(true)
    }
}

struct SummedDraft<'a> {
    lines: Draft,
    units: u64,
    budget: u64,
    count: &'a AdditiveCount<'a>,
}

impl Offer for SummedDraft<'_> {
    type Error = Infallible;

    fn start(&mut self) -> Result<bool, Infallible> {
        self.units = (self.count.units)(&self.lines.text());
        Ok((self.count.tokens)(self.units) <= self.budget || self.lines.pinned.is_empty())
    }

    fn offer(&mut self, section: Section, line: &Line, rank: usize) -> Result<bool, Infallible> {
        let shown = (self.count.units)(&section.line(line));
        let units = self.units + self.opening(section) + self.dating(section, line) + shown;
        if (self.count.tokens)(units) > self.budget {
            return Ok(false);
        }
        self.units = units;
        self.lines.add(section, line, rank);
        Ok(true)
    }
}

impl SummedDraft<'_> {
    /// What stands before a further line of a section: a line break, and before its first the heading, and before the
    /// heading an empty line where there is something above.
    fn opening(&self, section: Section) -> u64 {
        if !self.lines.is_empty(section) {
            return self.count.newline;
        }
        let separator = 2 * self.count.newline + (self.count.units)("");
        let above = if self.lines.is_blank() { 0 } else { separator };
        above + (self.count.units)(section.heading()) + self.count.newline
    }

    /// The date above the first retrieved memory of a day.
    fn dating(&self, section: Section, line: &Line) -> u64 {
        if section != Section::Retrieved || self.lines.retrieved.has_day_of(line) {
            return 0;
        }
        (self.count.units)(&heading(line.ts)) + self.count.newline
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
