//! How the query's terms are spread over windows and sittings of S: counted over whole partitions, of a term that occurs often over
//! as many of them, evenly in S, as it takes. Not over those of which something was kept: where the hits are they stand closer together than elsewhere.
use std::ops::Range;

use super::super::admitted::Totals;
use super::super::gather::{Gathered, Standing};
use super::threads::Threads;
use super::words::Words;
use crate::rank::scene::Spread;

/// Occurrences of a term after which the rest is taken to be spread as these are.
const ENOUGH: usize = 2_000;

/// Partitions are visited in so many rounds, each evenly over all of them, and so are all the rounds before any other.
const ROUNDS: usize = 16;

/// `totals` are those of S.
pub(super) fn spread(gathered: &Gathered, words: &Words, totals: Totals, threads: &mut Threads) -> Spread {
    let Standing { rows, sittings, window_len } = gathered.standing(threads.gap_us());
    let sittings = (sittings as f64 * totals.memories as f64 / rows.max(1) as f64) as usize;
    let mut spread = Spread {
        window_len: (window_len / rows.max(1) as f64) as f32,
        sittings,
        sitting_len: totals.doc_len as f32 / sittings.max(1) as f32,
        ..Spread::default()
    };
    let partitions = threads.partitions().to_vec();
    let mut counting = Counting { gathered, words, threads, marks: Marks::default() };
    for (term, df) in words.df().into_iter().enumerate() {
        let mut counted = Counted::default();
        for round in (0..ROUNDS).map(halving) {
            for (number, parts) in partitions.iter().enumerate().skip(round).step_by(ROUNDS) {
                counting.count(number, parts, term, &mut counted);
            }
            if counted.rows >= ENOUGH {
                break;
            }
        }
        spread.windows.push(counted.of_all(counted.windows, df));
        spread.sittings_with.push(counted.of_all(counted.sittings, df));
    }
    spread
}

/// The rounds in an order that halves what is between them: 0, 8, 4, 12, 2, 10 ...
fn halving(round: usize) -> usize {
    round.reverse_bits() >> (usize::BITS - ROUNDS.trailing_zeros())
}

/// In how many memories, windows and sittings a term occurs.
#[derive(Default)]
struct Counted {
    rows: usize,
    windows: usize,
    sittings: usize,
}

impl Counted {
    /// What `found` is where `df` memories hold the term.
    fn of_all(&self, found: usize, df: u32) -> u32 {
        (found as f64 * f64::from(df) / self.rows.max(1) as f64) as u32
    }
}

struct Counting<'a, 'g> {
    gathered: &'a Gathered,
    words: &'a Words<'a>,
    threads: &'a mut Threads<'g>,
    marks: Marks,
}

impl Counting<'_, '_> {
    /// Adds the occurrences in a partition.
    fn count(&mut self, number: usize, parts: &Range<usize>, term: usize, counted: &mut Counted) {
        let Self { gathered, words, threads, marks } = self;
        let list = |part: usize| words.of_part(part).get(term).copied().unwrap_or_default();
        if parts.clone().all(|part| list(part).is_empty()) {
            return;
        }
        let Some(around) = threads.get(number) else { return };
        let (sitting, shares) = (around.conversation.thread().sitting(), around.conversation.shares());
        let of = gathered.parts().get(parts.clone()).unwrap_or_default();
        marks.begin(around.conversation.len());
        for (part, number) in of.iter().zip(parts.clone()) {
            let rows = list(number).iter().filter_map(|posting| part.index_of_row(posting.row));
            for row in rows.map(|row| row - around.base) {
                counted.rows += 1;
                shares.around(row, |row, _| counted.windows += usize::from(marks.is_first_row(row)));
                counted.sittings += sitting.get(row as usize).map_or(0, |of| usize::from(marks.is_first_sitting(*of)));
            }
        }
    }
}

/// What was counted already, by row and by sitting of a partition.
#[derive(Default)]
struct Marks {
    rows: Vec<u32>,
    sittings: Vec<u32>,
    mark: u32,
}

impl Marks {
    /// Of a partition of so many rows nothing is marked.
    fn begin(&mut self, rows: usize) {
        if self.rows.len() < rows {
            self.rows.resize(rows, 0);
            self.sittings.resize(rows, 0);
        }
        self.mark += 1;
    }

    fn is_first_row(&mut self, row: u32) -> bool {
        is_first(&mut self.rows, row, self.mark)
    }

    fn is_first_sitting(&mut self, sitting: u32) -> bool {
        is_first(&mut self.sittings, sitting, self.mark)
    }
}

/// Marks a place; `false`: it was marked.
fn is_first(marks: &mut [u32], at: u32, mark: u32) -> bool {
    marks.get_mut(at as usize).is_some_and(|before| std::mem::replace(before, mark) != mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_is_run_and_any_first_ones_lie_evenly() {
        let order: Vec<usize> = (0..ROUNDS).map(halving).collect();
        assert_eq!(order.get(..6), Some(&[0, 8, 4, 12, 2, 10][..]));
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..ROUNDS).collect::<Vec<_>>());
    }
}
