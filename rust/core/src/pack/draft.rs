//! A block in the making: which lines stand in it, and whether one more is within the budget.
use super::render::{Line, Section, block};
use super::timeline::{Timeline, heading};
use crate::tokens;

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

/// A block in the making.
pub(super) trait Offer<E> {
    /// Whether anything may be added: the pinned facts alone, if any, are within the budget.
    fn start(&mut self) -> Result<bool, E>;

    /// Takes the memory into its section if the block with it is within the budget; `rank` is its place in the section's list. A
    /// retrieved memory that stands there already is replaced.
    fn offer(&mut self, section: Section, line: &Line, rank: usize) -> Result<bool, E>;

    /// Takes a retrieved memory out again.
    fn give_up(&mut self, line: &Line, rank: usize) -> Result<(), E>;

    /// The tokens of a text alone.
    fn count(&mut self, text: &str) -> Result<u64, E>;

    /// What the budget has left.
    fn room(&self) -> u64;

    /// Takes this much off the budget; [`Offer::release`] gives all that was taken back.
    fn reserve(&mut self, tokens: u64);
    fn release(&mut self);

    /// What stands in it, and a way back to it.
    fn mark(&self) -> Mark;
    fn reset(&mut self, mark: Mark);
}

/// Lines and what they count.
pub(super) type Mark = (Draft, u64);

/// The lines of each section so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Draft {
    pub pinned: String,
    recent: String,
    retrieved: Timeline,
}

impl Draft {
    fn of(pinned: &[Line]) -> Self {
        let lines: Vec<String> = pinned.iter().map(|line| Section::Pinned.line(line)).collect();
        Self { pinned: lines.join("\n"), ..Self::default() }
    }

    pub fn text(&self) -> String {
        self.block(&self.recent)
    }

    /// The text without the recent turns.
    pub fn background(&self) -> String {
        self.block("")
    }

    fn block(&self, recent: &str) -> String {
        let retrieved = self.retrieved.text();
        let lines = [self.pinned.as_str(), recent, &retrieved];
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

    /// The line of a retrieved memory that stands there.
    fn shown(&self, section: Section, line: &Line, rank: usize) -> Option<&str> {
        if section == Section::Retrieved { self.retrieved.get(line, rank) } else { None }
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

/// Counts the whole block for each candidate.
pub(super) struct CountedDraft<'a, E> {
    pub lines: Draft,
    pub tokens: u64,
    budget: u64,
    reserved: u64,
    count: &'a mut dyn FnMut(&str) -> Result<u64, E>,
}

impl<'a, E> CountedDraft<'a, E> {
    pub fn new(pinned: &[Line], budget: u64, count: &'a mut dyn FnMut(&str) -> Result<u64, E>) -> Self {
        Self { lines: Draft::of(pinned), tokens: 0, budget, reserved: 0, count }
    }
}

impl<E> Offer<E> for CountedDraft<'_, E> {
    fn start(&mut self) -> Result<bool, E> {
        self.tokens = (self.count)(&self.lines.text())?;
        Ok(self.tokens <= self.budget || self.lines.pinned.is_empty())
    }

    fn offer(&mut self, section: Section, line: &Line, rank: usize) -> Result<bool, E> {
        let mut trial = self.lines.clone();
        trial.add(section, line, rank);
        let tokens = (self.count)(&trial.text())?;
        if tokens > self.budget - self.reserved {
            return Ok(false);
        }
        (self.lines, self.tokens) = (trial, tokens);
        Ok(true)
    }

    fn give_up(&mut self, line: &Line, rank: usize) -> Result<(), E> {
        self.lines.retrieved.remove(line, rank);
        self.tokens = (self.count)(&self.lines.text())?;
        Ok(())
    }

    fn count(&mut self, text: &str) -> Result<u64, E> {
        (self.count)(text)
    }

    fn room(&self) -> u64 {
        (self.budget - self.reserved).saturating_sub(self.tokens)
    }

    fn reserve(&mut self, tokens: u64) {
        self.reserved = tokens.min(self.budget);
    }

    fn release(&mut self) {
        self.reserved = 0;
    }

    fn mark(&self) -> Mark {
        (self.lines.clone(), self.tokens)
    }

    fn reset(&mut self, mark: Mark) {
        (self.lines, self.tokens) = mark;
    }
}

/// Adds up what each line counts.
pub(super) struct SummedDraft<'a> {
    pub lines: Draft,
    pub units: u64,
    budget: u64,
    reserved: u64,
    count: &'a AdditiveCount<'a>,
}

impl<'a> SummedDraft<'a> {
    pub fn new(pinned: &[Line], budget: u64, count: &'a AdditiveCount<'a>) -> Self {
        Self { lines: Draft::of(pinned), units: 0, budget, reserved: 0, count }
    }
}

impl<E> Offer<E> for SummedDraft<'_> {
    fn start(&mut self) -> Result<bool, E> {
        self.units = (self.count.units)(&self.lines.text());
        Ok((self.count.tokens)(self.units) <= self.budget || self.lines.pinned.is_empty())
    }

    fn offer(&mut self, section: Section, line: &Line, rank: usize) -> Result<bool, E> {
        let shown = (self.count.units)(&section.line(line));
        let units = match self.lines.shown(section, line, rank) {
            Some(replaced) => self.units - (self.count.units)(replaced) + shown,
            None => self.units + self.opening(section) + self.dating(section, line) + shown,
        };
        if (self.count.tokens)(units) > self.budget - self.reserved {
            return Ok(false);
        }
        self.units = units;
        self.lines.add(section, line, rank);
        Ok(true)
    }

    fn give_up(&mut self, line: &Line, rank: usize) -> Result<(), E> {
        self.lines.retrieved.remove(line, rank);
        self.units = (self.count.units)(&self.lines.text());
        Ok(())
    }

    fn count(&mut self, text: &str) -> Result<u64, E> {
        Ok((self.count.tokens)((self.count.units)(text)))
    }

    fn room(&self) -> u64 {
        (self.budget - self.reserved).saturating_sub((self.count.tokens)(self.units))
    }

    fn reserve(&mut self, tokens: u64) {
        self.reserved = tokens.min(self.budget);
    }

    fn release(&mut self) {
        self.reserved = 0;
    }

    fn mark(&self) -> Mark {
        (self.lines.clone(), self.units)
    }

    fn reset(&mut self, mark: Mark) {
        (self.lines, self.units) = mark;
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
