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

/// What should stand in a block.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Never cut.
    pub pinned: &'a [Line<'a>],
    /// Oldest first; cut oldest first.
    pub recent: &'a [Line<'a>],
    /// Best first; one that does not fit is skipped.
    pub retrieved: &'a [Line<'a>],
    /// Which of `recent` each of `retrieved` is, where it is one; it is shown once. Empty = none is.
    pub recent_of: &'a [Option<usize>],
    /// The most retrieved memories to keep.
    pub limit: Option<usize>,
}

impl Wanted<'_> {
    /// The place among the recent turns of a retrieved memory.
    fn turn(&self, retrieved: usize) -> Option<usize> {
        self.recent_of.get(retrieved).copied().flatten()
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
    fill_recent(wanted, packed, draft, usize::MAX)?;
    if fills_room { widen(wanted, packed, draft) } else { Ok(()) }
}

/// Takes recent turns before those it has, the newest first and at most so many, until one is over the budget or stands in the
/// block already.
fn fill_recent<E, D: Offer<E>>(wanted: &Wanted, packed: &mut Packed, draft: &mut D, most: usize) -> Result<(), E> {
    for (index, line) in wanted.recent.iter().enumerate().take(packed.recent_from).rev().take(most) {
        if packed.retrieved_turn(wanted, index) || !draft.offer(Section::Recent, line, index)? {
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
    let last = packed.retrieved.last().copied();
    let is_full = wanted.limit.is_some_and(|limit| packed.retrieved.len() >= limit);
    for index in (0..wanted.retrieved.len()).filter(|index| !taken.contains(index) && wanted.turn(*index).is_none()) {
        let over_limit = is_full && last.is_none_or(|last| index > last);
        let reason = if over_limit { DropReason::OverLimit } else { DropReason::OverBudget };
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
    for (index, line) in wanted.retrieved.iter().enumerate() {
        if wanted.limit.is_some_and(|limit| packed.retrieved.len() >= limit) {
            break;
        }
        if packed.is_recent(wanted, index) {
            continue;
        }
        offer_shortened(packed, draft, line, index, excerpting.as_deref_mut())?;
    }
    Ok(())
}

/// Takes all within the limit, whole, or none: no sentence need be looked at where there is room enough.
fn fits_whole<E, D: Offer<E>>(wanted: &Wanted, packed: &mut Packed, draft: &mut D) -> Result<bool, E> {
    let before = draft.mark();
    let others = (0..wanted.retrieved.len()).filter(|index| !packed.is_recent(wanted, *index));
    let within_limit: Vec<usize> = others.take(wanted.limit.unwrap_or(usize::MAX)).collect();
    let lines = within_limit.into_iter().filter_map(|index| wanted.retrieved.get(index).map(|line| (index, line)));
    for (index, line) in lines {
        if !draft.offer(Section::Retrieved, line, index)? {
            draft.reset(before);
            packed.retrieved.clear();
            return Ok(false);
        }
        packed.retrieved.push(index);
    }
    packed.excerpts = vec![None; packed.retrieved.len()];
    Ok(true)
}

/// Offers a retrieved memory, or its excerpt if it is long.
fn offer_shortened<E, D: Offer<E>>(
    packed: &mut Packed,
    draft: &mut D,
    line: &Line,
    index: usize,
    excerpting: Option<&mut Excerpting<E>>,
) -> Result<(), E> {
    let excerpt = match excerpting {
        Some(excerpting) => excerpting.excerpt(line.text, draft.room(), &mut |text| draft.count(text))?,
        None => None,
    };
    let shown = Line { text: excerpt.as_deref().unwrap_or(line.text), ..*line };
    if draft.offer(Section::Retrieved, &shown, index)? {
        packed.retrieved.push(index);
        packed.excerpts.push(excerpt);
    }
    Ok(())
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
