//! Filling a block: pinned facts always, then recent turns from the newest, then retrieved memories by rank, long ones excerpted.
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
    /// The most retrieved memories to keep.
    pub limit: Option<usize>,
    /// Which turns the facts among them came from: places in `recent`, then in `retrieved`.
    pub sources: Option<&'a Sources>,
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
    /// Whether what has this place, of the recent turns and then the retrieved memories, stands there whole.
    fn has(&self, wanted: &Wanted, place: usize) -> bool {
        let Some(index) = place.checked_sub(wanted.recent.len()) else { return place >= self.recent_from };
        self.retrieved.contains(&index)
    }

    /// Whether it is a fact all of whose turns stand there.
    fn repeats(&self, wanted: &Wanted, index: usize) -> bool {
        let place = wanted.recent.len() + index;
        wanted.sources.is_some_and(|sources| sources.repeats(place, |turn| self.has(wanted, turn)))
    }

    /// The facts that only repeat once this is there, too.
    fn made_repeats(&self, wanted: &Wanted, index: usize) -> Vec<usize> {
        let first = wanted.recent.len();
        let Some(sources) = wanted.sources else { return Vec::new() };
        let facts = sources.made_repeats(first + index, |place| self.has(wanted, place));
        facts.into_iter().filter_map(|place| place.checked_sub(first)).collect()
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
        for (index, line) in wanted.recent.iter().enumerate().rev() {
            if !draft.offer(Section::Recent, line, index)? {
                break;
            }
            packed.recent_from -= 1;
        }
    }
    packed.dropped.extend((0..packed.recent_from).map(|index| (Section::Recent, index, DropReason::OverBudget)));
    if has_room {
        fill_retrieved(wanted, &mut packed, draft, excerpting)?;
    }
    name_left_out(wanted, &mut packed);
    packed.cut_count = packed.dropped.iter().filter(|(_, _, reason)| *reason == DropReason::OverBudget).count();
    Ok(packed)
}

/// What is behind the last memory that the limit allows is over the limit; what else was not taken, over the budget.
fn name_left_out(wanted: &Wanted, packed: &mut Packed) {
    let taken = packed.retrieved.iter().copied().collect::<HashSet<_>>();
    let last = packed.retrieved.last().copied();
    let is_full = wanted.limit.is_some_and(|limit| packed.retrieved.len() >= limit);
    for index in (0..wanted.retrieved.len()).filter(|index| !taken.contains(index)) {
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
    for index in 0..wanted.retrieved.len() {
        if wanted.limit.is_some_and(|limit| packed.retrieved.len() >= limit) {
            break;
        }
        if !packed.repeats(wanted, index) {
            offer(wanted, packed, draft, index, excerpting.as_deref_mut())?;
        }
    }
    if fills_room { widen(wanted, packed, draft) } else { Ok(()) }
}

/// Takes all within the limit, whole, or none: no sentence need be looked at where there is room enough.
fn fits_whole<E, D: Offer<E>>(wanted: &Wanted, packed: &mut Packed, draft: &mut D) -> Result<bool, E> {
    let before = draft.mark();
    for index in 0..wanted.retrieved.len() {
        if wanted.limit.is_some_and(|limit| packed.retrieved.len() >= limit) {
            break;
        }
        if !packed.repeats(wanted, index) && !offer(wanted, packed, draft, index, None)? {
            draft.reset(before);
            packed.retrieved.clear();
            packed.excerpts.clear();
            return Ok(false);
        }
    }
    Ok(true)
}

/// Offers a retrieved memory, or its excerpt if it is long. In place of the facts that say no more than it and the other turns that
/// they came from, where it is whole.
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
    let repeated = packed.made_repeats(wanted, index);
    let before = (!repeated.is_empty()).then(|| draft.mark());
    for fact in &repeated {
        if let Some(line) = wanted.retrieved.get(*fact) {
            draft.give_up(line, *fact)?;
        }
    }
    let shown = Line { text: excerpt.as_deref().unwrap_or(line.text), ..*line };
    let taken = draft.offer(Section::Retrieved, &shown, index)?;
    if taken {
        for fact in repeated {
            packed.give_up(fact);
        }
        packed.retrieved.push(index);
        packed.excerpts.push(excerpt);
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
