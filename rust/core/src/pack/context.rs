//! Filling a block: pinned facts always, then recent turns from the newest, up to half of what is left, then retrieved memories by
//! rank, long ones excerpted, then further recent turns.
//!
//! A candidate is kept when the whole block with it counts no more than the budget. That is the definition for any
//! counter; where counts add up over lines, the same answer comes from sums.
use std::collections::HashSet;

use super::DropReason;
use super::draft::{AdditiveCount, CountedDraft, Draft, Offer, SummedDraft};
use super::excerpt::{Excerpting, Length};
use super::render::{Line, Section};
use super::sources::Sources;

/// What should stand in a block.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Never cut.
    pub pinned: &'a [Line<'a>],
    /// Oldest first; cut oldest first.
    pub recent: &'a [Line<'a>],
    /// Best first; one that does not fit is skipped.
    pub retrieved: &'a [Line<'a>],
    /// The places in `retrieved`, each once, in the order in which they are offered. Empty = the best first.
    pub order: &'a [usize],
    /// Which of `recent` each of `retrieved` is, where it is one; it is shown once. Empty = none is.
    pub recent_of: &'a [Option<usize>],
    /// The most retrieved memories to keep.
    pub limit: Option<usize>,
    /// Which turns the facts among them came from: places in `recent`, then in `retrieved`.
    pub sources: Option<&'a Sources>,
}

impl Wanted<'_> {
    /// The places in `retrieved`, in the order in which they are offered.
    fn offered(&self) -> impl Iterator<Item = usize> {
        let ranks = if self.order.is_empty() { self.retrieved.len() } else { 0 };
        self.order.iter().copied().chain(0..ranks)
    }

    /// The place among the recent turns of a retrieved memory.
    fn turn(&self, retrieved: usize) -> Option<usize> {
        self.recent_of.get(retrieved).copied().flatten()
    }

    /// Where `sources` know a recent turn: as a retrieved memory, if it is one.
    fn place_of_recent(&self, recent: usize) -> usize {
        let retrieved = self.recent_of.iter().position(|turn| *turn == Some(recent));
        retrieved.map_or(recent, |index| self.recent.len() + index)
    }
}

/// What recent turns may take of this room while something else wants in: long turns left retrieved memories no room
/// (docs/adr/0031-recent-turns-share.md).
#[must_use]
pub const fn recent_share(room: u64) -> u64 {
    room / 2
}

/// A packed block. Indices are those of [`Wanted`]'s lists; pinned facts are all in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packed {
    pub text: String,
    /// The text without the recent turns.
    pub background: String,
    /// The counter's answer for `text`.
    pub tokens: u64,
    /// The recent turns kept: these and all after them.
    pub recent_from: usize,
    /// Retrieved memories kept, best first.
    pub retrieved: Vec<usize>,
    /// What of each of them was packed; `None` = all.
    pub excerpts: Vec<Option<String>>,
    pub dropped: Vec<(Section, usize, DropReason)>,
    /// Something was cut to fit, or the block is over the budget: what may not be cut is larger.
    pub truncated: bool,
    /// How many the budget cut.
    pub cut_count: usize,
}

impl Packed {
    /// Whether this recent turn stands among the retrieved memories.
    fn retrieved_turn(&self, wanted: &Wanted, recent: usize) -> bool {
        self.retrieved.iter().any(|index| wanted.turn(*index) == Some(recent))
    }

    /// Whether this retrieved memory stands among the recent turns.
    fn is_recent(&self, wanted: &Wanted, retrieved: usize) -> bool {
        wanted.turn(retrieved).is_some_and(|turn| turn >= self.recent_from)
    }

    /// Whether what has this place, of the recent turns and then the retrieved memories, stands in the block, as either.
    fn has(&self, wanted: &Wanted, place: usize) -> bool {
        match place.checked_sub(wanted.recent.len()) {
            Some(index) => self.retrieved.contains(&index) || self.is_recent(wanted, index),
            None => place >= self.recent_from || self.retrieved_turn(wanted, place),
        }
    }

    /// Whether it is a fact all of whose turns stand there.
    fn repeats(&self, wanted: &Wanted, index: usize) -> bool {
        let place = wanted.recent.len() + index;
        wanted.sources.is_some_and(|sources| sources.repeats(place, |turn| self.has(wanted, turn)))
    }

    /// The facts that only repeat once what has this place is there, too.
    fn made_repeats(&self, wanted: &Wanted, place: usize) -> Vec<usize> {
        let Some(sources) = wanted.sources else { return Vec::new() };
        let facts = sources.made_repeats(place, |place| self.has(wanted, place));
        facts.into_iter().filter_map(|place| place.checked_sub(wanted.recent.len())).collect()
    }

    /// By rank, whatever the order in which they were taken.
    fn sort(&mut self) {
        let mut taken: Vec<(usize, Option<String>)> = self.retrieved.drain(..).zip(self.excerpts.drain(..)).collect();
        taken.sort_unstable_by_key(|(index, _)| *index);
        (self.retrieved, self.excerpts) = taken.into_iter().unzip();
    }

    fn give_up(&mut self, index: usize) {
        if let Some(at) = self.retrieved.iter().position(|kept| *kept == index) {
            self.retrieved.remove(at);
            self.excerpts.remove(at);
        }
    }

    fn with_lines(self, lines: &Draft, tokens: u64, budget: u64) -> Self {
        Self {
            text: lines.text(),
            background: lines.background(),
            tokens,
            truncated: self.cut_count > 0 || tokens > budget,
            ..self
        }
    }
}

/// Packs with a counter that may be anything: `tokens` is its answer for `text`, and at most `budget` unless the pinned
/// facts (or, for an odd counter, nothing at all) count more. Without `excerpting` every memory is packed whole.
pub fn pack_context<E>(
    wanted: &Wanted,
    budget: u64,
    count: &mut dyn FnMut(&str) -> Result<u64, E>,
    excerpting: Option<&mut Excerpting<E>>,
) -> Result<Packed, E> {
    let mut draft = CountedDraft::new(wanted.pinned, budget, count);
    let packed = fill(wanted, &mut draft, excerpting)?;
    Ok(packed.with_lines(&draft.lines, draft.tokens, budget))
}

/// [`pack_context`] with that count, each line counted once. Fails only where the excerpting does.
pub fn pack_context_additive<E>(
    wanted: &Wanted,
    budget: u64,
    count: &AdditiveCount,
    excerpting: Option<&mut Excerpting<E>>,
) -> Result<Packed, E> {
    let mut draft = SummedDraft::new(wanted.pinned, budget, count);
    let packed = fill(wanted, &mut draft, excerpting)?;
    let tokens = (count.tokens)(draft.units);
    Ok(packed.with_lines(&draft.lines, tokens, budget))
}

/// The choice itself; text and tokens are the draft's.
fn fill<E, D: Offer<E>>(wanted: &Wanted, draft: &mut D, excerpting: Option<&mut Excerpting<E>>) -> Result<Packed, E> {
    let has_room = draft.start()?;
    let mut packed = Packed { recent_from: wanted.recent.len(), ..Packed::default() };
    if has_room {
        fill_sections(wanted, &mut packed, draft, excerpting)?;
    }
    name_left_out(wanted, &mut packed);
    packed.cut_count = packed.dropped.iter().filter(|(_, _, reason)| *reason == DropReason::OverBudget).count();
    Ok(packed)
}

/// The newest turn, more recent turns within their share, retrieved memories, and further recent turns in what these leave.
fn fill_sections<E, D: Offer<E>>(
    wanted: &Wanted,
    packed: &mut Packed,
    draft: &mut D,
    excerpting: Option<&mut Excerpting<E>>,
) -> Result<(), E> {
    let room = draft.room();
    fill_recent(wanted, packed, draft, 1)?;
    if !wanted.retrieved.is_empty() && wanted.limit != Some(0) && packed.recent_from < wanted.recent.len() {
        draft.reserve(room - recent_share(room));
        fill_recent(wanted, packed, draft, usize::MAX)?;
        draft.release();
    }
    let fills_room = excerpting.as_ref().is_some_and(|excerpting| excerpting.length == Length::Auto);
    fill_retrieved(wanted, packed, draft, excerpting)?;
    packed.sort();
    fill_recent(wanted, packed, draft, usize::MAX)?;
    if fills_room { widen(wanted, packed, draft) } else { Ok(()) }
}

/// Takes recent turns before those it has, the newest first and at most so many, until one is over the budget or stands in the
/// block already.
fn fill_recent<E, D: Offer<E>>(wanted: &Wanted, packed: &mut Packed, draft: &mut D, most: usize) -> Result<(), E> {
    for (index, line) in wanted.recent.iter().enumerate().take(packed.recent_from).rev().take(most) {
        if packed.retrieved_turn(wanted, index) {
            break;
        }
        let repeated = packed.made_repeats(wanted, wanted.place_of_recent(index));
        if !offer_instead(wanted, packed, draft, (Section::Recent, line, index), &repeated)? {
            break;
        }
        packed.recent_from = index;
    }
    Ok(())
}

/// What is behind the last memory that the limit allows is over the limit; what else was not taken, over the budget. A recent turn
/// that was not retrieved either is named once.
fn name_left_out(wanted: &Wanted, packed: &mut Packed) {
    for index in (0..packed.recent_from).filter(|index| !packed.retrieved_turn(wanted, *index)).collect::<Vec<_>>() {
        packed.dropped.push((Section::Recent, index, DropReason::OverBudget));
    }
    let taken = packed.retrieved.iter().copied().collect::<HashSet<_>>();
    let last = packed.retrieved.iter().max().copied();
    let is_full = wanted.limit.is_some_and(|limit| packed.retrieved.len() >= limit);
    for index in (0..wanted.retrieved.len()).filter(|index| !taken.contains(index) && wanted.turn(*index).is_none()) {
        let over_limit = is_full && last.is_none_or(|last| index > last);
        let reason = if packed.repeats(wanted, index) {
            DropReason::SaidByItsTurns
        } else if over_limit {
            DropReason::OverLimit
        } else {
            DropReason::OverBudget
        };
        packed.dropped.push((Section::Retrieved, index, reason));
    }
}

fn fill_retrieved<E, D: Offer<E>>(
    wanted: &Wanted,
    packed: &mut Packed,
    draft: &mut D,
    mut excerpting: Option<&mut Excerpting<E>>,
) -> Result<(), E> {
    let fills_room = excerpting.as_ref().is_some_and(|excerpting| excerpting.length == Length::Auto);
    if fills_room && fits_whole(wanted, packed, draft)? {
        return Ok(());
    }
    for index in wanted.offered() {
        if wanted.limit.is_some_and(|limit| packed.retrieved.len() >= limit) {
            break;
        }
        if !packed.is_recent(wanted, index) && !packed.repeats(wanted, index) {
            offer(wanted, packed, draft, index, excerpting.as_deref_mut())?;
        }
    }
    Ok(())
}

/// Takes all within the limit, whole, or none: no sentence need be looked at where there is room enough.
fn fits_whole<E, D: Offer<E>>(wanted: &Wanted, packed: &mut Packed, draft: &mut D) -> Result<bool, E> {
    let before = draft.mark();
    for index in wanted.offered() {
        if wanted.limit.is_some_and(|limit| packed.retrieved.len() >= limit) {
            break;
        }
        if packed.is_recent(wanted, index) || packed.repeats(wanted, index) {
            continue;
        }
        if !offer(wanted, packed, draft, index, None)? {
            draft.reset(before);
            packed.retrieved.clear();
            packed.excerpts.clear();
            return Ok(false);
        }
    }
    Ok(true)
}

/// Offers a retrieved memory, or its excerpt if it is long.
fn offer<E, D: Offer<E>>(
    wanted: &Wanted,
    packed: &mut Packed,
    draft: &mut D,
    index: usize,
    excerpting: Option<&mut Excerpting<E>>,
) -> Result<bool, E> {
    let Some(line) = wanted.retrieved.get(index) else { return Ok(false) };
    let excerpt = match excerpting {
        Some(excerpting) => excerpting.excerpt(line.text, draft.room(), &mut |text| draft.count(text))?,
        None => None,
    };
    let shown = Line { text: excerpt.as_deref().unwrap_or(line.text), ..*line };
    let repeated = packed.made_repeats(wanted, wanted.recent.len() + index);
    let taken = offer_instead(wanted, packed, draft, (Section::Retrieved, &shown, index), &repeated)?;
    if taken {
        packed.retrieved.push(index);
        packed.excerpts.push(excerpt);
    }
    Ok(taken)
}

/// Offers a line in place of the facts that say no more than it and the other turns that they came from.
fn offer_instead<E, D: Offer<E>>(
    wanted: &Wanted,
    packed: &mut Packed,
    draft: &mut D,
    (section, line, index): (Section, &Line, usize),
    repeated: &[usize],
) -> Result<bool, E> {
    let before = (!repeated.is_empty()).then(|| draft.mark());
    for fact in repeated {
        if let Some(line) = wanted.retrieved.get(*fact) {
            draft.give_up(line, *fact)?;
        }
    }
    let taken = draft.offer(section, line, index)?;
    if taken {
        for fact in repeated {
            packed.give_up(*fact);
        }
    } else if let Some(before) = before {
        draft.reset(before);
    }
    Ok(taken)
}

/// Packs excerpted memories whole, the best first, where the room that remains allows it.
fn widen<E, D: Offer<E>>(wanted: &Wanted, packed: &mut Packed, draft: &mut D) -> Result<(), E> {
    for (index, excerpt) in packed.retrieved.iter().zip(&mut packed.excerpts).filter(|(_, excerpt)| excerpt.is_some()) {
        if let Some(line) = wanted.retrieved.get(*index)
            && draft.offer(Section::Retrieved, line, *index)?
        {
            *excerpt = None;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
