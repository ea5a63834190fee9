//! What is kept: the best hits, and what was said around them.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::super::admitted::Totals;
use super::super::columns::Conversation;
use super::super::gather::Gathered;
use super::FirstPass;
use super::hits::{Hit, Hits};
use super::nearest::Place;
use super::spread::spread;
use super::words::Words;
use crate::rank::scene::Spread;
use crate::rank::thread::Thread;

/// How many hits are kept by the estimate of their relevance.
const KEPT: usize = 600;
/// Each with the sitting that it stands in: of a long one the turns that are so near to it.
const SITTING: usize = 32;
/// The best first, until so many memories are kept; the rest with as many turns beside them as `neighbours` looks at.
const MOST: usize = 9_000;
const BESIDE: usize = 2;

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
    let mut partitions: BTreeMap<usize, OfPartition> = BTreeMap::new();
    let mut len = 0;
    for ((part, row), reach) in chosen(pass, hits) {
        let part = part as usize;
        let first = gathered.first_part(part);
        let of = partitions.entry(first).or_insert_with(|| OfPartition::of(gathered, part, pass.sitting_gap_us));
        let Some(index) = of.own.parts().get(part - first).and_then(|part| part.index_of_row(row)) else { continue };
        let before = of.kept.any.len();
        let reach = if len < MOST { reach } else { reach.min(BESIDE) };
        for row in std::iter::once(index).chain(of.conversation.cited_by(index)) {
            of.kept.add(of.conversation.thread(), row, reach);
        }
        len += of.kept.any.len() - before;
    }
    let mut rows = Rows { spread: spread(&partitions, words, totals), ..Rows::default() };
    let (mut numbers, mut seats) = (0, 0);
    for (first, OfPartition { own, conversation, mut kept }) in partitions {
        kept.add_cited(&conversation);
        kept.number(conversation.thread(), &mut numbers);
        for (number, part) in (first..).zip(own.parts()) {
            let of_part: Vec<u32> =
                part.indexes().filter(|(_, index)| kept.holds(*index)).map(|(row, _)| row).collect();
            if !of_part.is_empty() {
                rows.by_part.push((number, of_part));
            }
        }
        rows.sittings.extend(kept.sittings(conversation.thread(), &mut seats));
        rows.runs.extend(kept.runs());
    }
    rows
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

/// One partition of S, and what is kept of it.
pub(super) struct OfPartition {
    pub own: Gathered,
    pub conversation: Arc<Conversation>,
    kept: Kept,
}

impl OfPartition {
    fn of(gathered: &Gathered, part: usize, sitting_gap_us: i64) -> Self {
        let own = gathered.alone(part);
        let conversation = own.conversation(&own.fixed(), sitting_gap_us);
        Self { kept: Kept::of(own.len()), conversation, own }
    }
}

/// What is kept of a partition, by index.
struct Kept {
    /// 0: not kept; else one more than the number of its run.
    run: Vec<u32>,
    any: Vec<u32>,
}

const UNNUMBERED: u32 = u32::MAX;

impl Kept {
    fn of(rows: usize) -> Self {
        Self { run: vec![0; rows], any: Vec::new() }
    }

    fn holds(&self, index: u32) -> bool {
        self.run.get(index as usize).is_some_and(|run| *run != 0)
    }

    fn keep(&mut self, index: u32) {
        if let Some(run) = self.run.get_mut(index as usize).filter(|run| **run == 0) {
            *run = UNNUMBERED;
            self.any.push(index);
        }
    }

    /// Keeps a row and those so many turns before and behind it.
    fn add(&mut self, thread: &Thread, index: u32, reach: usize) {
        self.keep(index);
        for step in [Thread::previous, Thread::next] {
            let mut at = index as usize;
            for _ in 0..reach {
                let Some(beside) = step(thread, at) else { break };
                self.keep(beside as u32);
                at = beside;
            }
        }
    }

    /// A fact stands beside the turns that it came from, so these are kept with it and what they have around them, and it with them.
    fn add_cited(&mut self, conversation: &Conversation) {
        let linked = conversation.citations().iter();
        let half: Vec<u32> = linked
            .filter(|(fact, turn)| self.holds(*fact) != self.holds(*turn))
            .map(|(fact, turn)| if self.holds(*fact) { *turn } else { *fact })
            .collect();
        for index in half {
            self.add(conversation.thread(), index, BESIDE);
        }
    }

    /// Numbers the runs from `numbers` on.
    fn number(&mut self, thread: &Thread, numbers: &mut u32) {
        for index in std::mem::take(&mut self.any) {
            let heads = thread.previous(index as usize).is_none_or(|before| !self.holds(before as u32));
            if !heads {
                continue;
            }
            *numbers += 1;
            let mut at = Some(index as usize);
            while let Some(run) = at.and_then(|at| self.run.get_mut(at)).filter(|run| **run == UNNUMBERED) {
                *run = *numbers;
                at = at.and_then(|at| thread.next(at));
            }
        }
    }

    /// The sittings of the kept rows in order, numbered from `seats` on.
    fn sittings(&self, thread: &Thread, seats: &mut u32) -> Vec<u32> {
        let mut known = HashMap::new();
        let kept = self.run.iter().zip(thread.sitting()).filter(|(run, _)| **run != 0);
        let numbered = kept.map(|(_, sitting)| {
            *known.entry(*sitting).or_insert_with(|| {
                *seats += 1;
                *seats - 1
            })
        });
        numbered.collect()
    }

    /// Of the kept rows in order.
    fn runs(self) -> impl Iterator<Item = u32> {
        self.run.into_iter().filter(|run| *run != 0).map(|run| run - 1)
    }
}
