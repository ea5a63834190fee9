//! What is kept: the best hits, and what was said around them.
use std::ops::Range;

use super::super::admitted::Totals;
use super::super::gather::Gathered;
use super::FirstPass;
use super::hits::{Hit, Hits};
use super::nearest::Place;
use super::spread::spread;
use super::threads::{Around, Threads};
use super::words::Words;
use crate::lexical::bm25::idf;
use crate::rank::scene::Spread;
use crate::rank::thread::Thread;

/// How many hits are kept by the estimate of their relevance.
const KEPT: usize = 600;
/// Each with the sitting that it stands in: of a long one the turns that are so near to it.
const SITTING: usize = 32;
/// The best first, until so many memories are kept; the rest with as many turns beside them as `neighbours` looks at.
const MOST: usize = 9_000;
const BESIDE: usize = 2;

/// The share of what a query's terms weigh by which a term still tells sittings apart.
const NOTICEABLE: f32 = 0.01;

/// What is kept of S, in its order.
#[derive(Default)]
pub(super) struct Rows {
    /// Numbers of parts with the rows of each.
    pub by_part: Vec<(usize, Vec<u32>)>,
    /// Of each row, as [`super::Chosen`] has it.
    pub runs: Vec<u32>,
    pub sittings: Vec<u32>,
    pub spread: Spread,
}

pub(super) fn kept(pass: &FirstPass, gathered: &Gathered, hits: &Hits, words: &Words, totals: Totals) -> Rows {
    let mut threads = Threads::of(gathered, pass.sitting_gap_us);
    let mut kept = Kept::of(gathered.len());
    let mut touched = vec![false; threads.partitions().len()];
    for ((part, row), reach) in chosen(pass, hits) {
        let number = threads.number_of(part as usize);
        let index = gathered.parts().get(part as usize).and_then(|part| part.index_of_row(row));
        let (Some(index), Some(around)) = (index, threads.get(number)) else { continue };
        let reach = if kept.len < MOST { reach } else { reach.min(BESIDE) };
        kept.add(around, index, reach);
        for turn in around.conversation.cited_by(index - around.base) {
            kept.add(around, around.base + turn, reach);
        }
        touched.get_mut(number).into_iter().for_each(|touched| *touched = true);
    }
    let touched: Vec<usize> = (0..).zip(touched).filter(|(_, touched)| *touched).map(|(number, _)| number).collect();
    for number in &touched {
        threads.get(*number).into_iter().for_each(|around| kept.add_cited(around));
    }
    let indexes = kept.indexes();
    let mut rows = Rows { by_part: by_part(gathered, &indexes), ..Rows::default() };
    rows.spread = spread(gathered, words, totals, &mut threads);
    let telling = telling(pass, &rows.spread);
    rows.spread.said = vec![Vec::new(); telling.len()];
    let (mut numbering, mut rest) = (Numbering::default(), indexes.as_slice());
    for number in touched {
        let parts = threads.partitions().get(number).cloned().unwrap_or_default();
        let Some(around) = threads.get(number) else { continue };
        let end = around.base + around.conversation.len() as u32;
        let (own, behind) = rest.split_at(rest.partition_point(|index| *index < end));
        rest = behind;
        numbering.add(around, own, &mut rows);
        numbering.add_said(around, gathered, parts, words, &telling, &mut rows.spread);
    }
    rows
}

/// Whether a sitting is told by how often it holds each term: not by those that nearly all sittings hold.
fn telling(pass: &FirstPass, spread: &Spread) -> Vec<bool> {
    let counted = spread.sittings_with.iter().zip(pass.asked.terms);
    let weights: Vec<f32> =
        counted.map(|(df, (_, count))| idf(spread.sittings, *df as usize) * *count as f32).collect();
    let least = NOTICEABLE * weights.iter().sum::<f32>();
    weights.into_iter().map(|weight| weight > least).collect()
}

/// Numbers of parts with the rows of each, of indexes in S that rise.
fn by_part(gathered: &Gathered, indexes: &[u32]) -> Vec<(usize, Vec<u32>)> {
    let (mut by_part, mut rest) = (Vec::new(), indexes);
    for (number, part) in gathered.parts().iter().enumerate() {
        let Some(first) = rest.first() else { break };
        let (base, end) = (part.base() as u32, (part.base() + part.rows.len()) as u32);
        if *first >= end {
            continue;
        }
        let (own, behind) = rest.split_at(rest.partition_point(|index| *index < end));
        rest = behind;
        by_part
            .push((number, own.iter().filter_map(|index| part.rows.get((index - base) as usize)).copied().collect()));
    }
    by_part
}

type Measure = fn(&Hit) -> f32;

/// The best hits, best first, each with how far around it is kept; then the farthest rows.
fn chosen(pass: &FirstPass, hits: &Hits) -> Vec<(Place, usize)> {
    let most = pass.most(KEPT);
    let mut chosen = Vec::with_capacity(2 * most);
    let by: [(Measure, usize); 4] = [
        (|hit| hit.total, most),
        (|hit| hit.base, most / 2),
        (|hit| hit.cosine, most / 4),
        (|hit| hit.words, most / 4),
    ];
    let mut order: Vec<&Hit> = hits.found.iter().collect();
    for (of, most) in by {
        let best = |a: &&Hit, b: &&Hit| of(b).total_cmp(&of(a)).then(b.place.cmp(&a.place));
        if most < order.len() {
            order.select_nth_unstable_by(most, best);
        }
        let most = most.min(order.len());
        let Some(best_of) = order.get_mut(..most) else { continue };
        best_of.sort_unstable_by(best);
        chosen.extend(best_of.iter().map(|hit| (hit.place, SITTING)));
    }
    chosen.extend(hits.rest.iter().map(|place| (*place, SITTING)));
    chosen.extend(hits.far.iter().map(|place| (*place, 1)));
    chosen
}

/// What is kept of S: a bit for each index in it.
struct Kept {
    bits: Vec<u64>,
    len: usize,
}

impl Kept {
    fn of(rows: usize) -> Self {
        Self { bits: vec![0; rows.div_ceil(64)], len: 0 }
    }

    fn holds(&self, index: u32) -> bool {
        self.bits.get(index as usize / 64).is_some_and(|bits| bits >> (index % 64) & 1 != 0)
    }

    fn keep(&mut self, index: u32) {
        if let Some(bits) = self.bits.get_mut(index as usize / 64) {
            let bit = 1 << (index % 64);
            self.len += usize::from(*bits & bit == 0);
            *bits |= bit;
        }
    }

    /// Keeps a row and those so many turns before and behind it.
    fn add(&mut self, Around { conversation, base }: Around, index: u32, reach: usize) {
        self.keep(index);
        for step in [Thread::previous, Thread::next] {
            let mut at = (index - base) as usize;
            for _ in 0..reach {
                let Some(beside) = step(conversation.thread(), at) else { break };
                self.keep(base + beside as u32);
                at = beside;
            }
        }
    }

    /// A fact stands beside the turns that it came from, so these are kept with it and what they have around them, and it with them.
    fn add_cited(&mut self, around: Around) {
        let Around { conversation, base } = around;
        let linked = conversation.citations().iter().map(|(fact, turn)| (base + fact, base + turn));
        let half: Vec<u32> = linked
            .filter(|(fact, turn)| self.holds(*fact) != self.holds(*turn))
            .map(|(fact, turn)| if self.holds(fact) { turn } else { fact })
            .collect();
        for index in half {
            self.add(around, index, BESIDE);
        }
    }

    /// Rising.
    fn indexes(&self) -> Vec<u32> {
        let mut indexes = Vec::with_capacity(self.len);
        for (first, bits) in (0_u32..).step_by(64).zip(&self.bits) {
            let mut left = *bits;
            while left != 0 {
                indexes.push(first + left.trailing_zeros());
                left &= left - 1;
            }
        }
        indexes
    }
}

/// No number yet.
const NONE: u32 = u32::MAX;

/// Numbers the runs and the sittings of what is kept, partition by partition.
#[derive(Default)]
struct Numbering {
    runs: u32,
    sittings: u32,
    /// Of the partition's sittings.
    seats: Vec<u32>,
}

impl Numbering {
    /// `indexes` are those of what is kept of the partition, rising.
    fn add(&mut self, Around { conversation, base }: Around, indexes: &[u32], rows: &mut Rows) {
        let thread = conversation.thread();
        let first = rows.runs.len();
        rows.runs.resize(first + indexes.len(), NONE);
        let runs = rows.runs.get_mut(first..).unwrap_or_default();
        let place = |row: usize, near: usize| place(indexes, base + row as u32, near);
        for (at, index) in indexes.iter().enumerate() {
            let row = (index - base) as usize;
            if thread.previous(row).is_some_and(|before| place(before, at.saturating_sub(1)).is_some()) {
                continue;
            }
            let mut next = Some((at, row));
            while let Some((at, row)) = next {
                runs.get_mut(at).into_iter().for_each(|run| *run = self.runs);
                next = thread.next(row).and_then(|row| Some((place(row, at + 1)?, row)));
            }
            self.runs += 1;
        }
        self.seats.clear();
        self.seats.resize(thread.sittings(), NONE);
        for index in indexes {
            let sitting = thread.sitting().get((index - base) as usize);
            let Some(seat) = sitting.and_then(|sitting| self.seats.get_mut(*sitting as usize)) else { continue };
            if *seat == NONE {
                *seat = self.sittings;
                self.sittings += 1;
            }
            rows.sittings.push(*seat);
        }
    }

    /// Counts each sitting of which something is kept as a whole: those of the partition that was added last.
    fn add_said(
        &self,
        Around { conversation, base }: Around,
        gathered: &Gathered,
        parts: Range<usize>,
        words: &Words,
        telling: &[bool],
        spread: &mut Spread,
    ) {
        spread.lens.resize(self.sittings as usize, 0);
        for (seat, len) in self.seats.iter().zip(conversation.sitting_len()) {
            spread.lens.get_mut(*seat as usize).into_iter().for_each(|slot| *slot = *len);
        }
        for number in parts {
            let Some(part) = gathered.parts().get(number) else { continue };
            let lists = words.of_part(number).iter().zip(telling).zip(&mut spread.said);
            for ((list, _), said) in lists.filter(|((_, telling), _)| **telling) {
                said.resize(self.sittings as usize, 0);
                for posting in *list {
                    let row = part.index_of_row(posting.row).map(|index| (index - base) as usize);
                    let sitting = row.and_then(|row| conversation.thread().sitting().get(row));
                    let seat = sitting.and_then(|sitting| self.seats.get(*sitting as usize));
                    let said = seat.and_then(|seat| said.get_mut(*seat as usize));
                    if let Some(said) = said {
                        *said += posting.tf;
                    }
                }
            }
        }
    }
}

/// Where an index stands among these, which rise: most often `near`.
fn place(indexes: &[u32], index: u32, near: usize) -> Option<usize> {
    if indexes.get(near) == Some(&index) { Some(near) } else { indexes.binary_search(&index).ok() }
}
