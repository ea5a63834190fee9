//! How the query's terms are spread over windows and sittings: counted over whole partitions, of a term that occurs often over as
//! many of them as it takes.
use std::collections::BTreeMap;

use super::super::admitted::Totals;
use super::keep::OfPartition;
use super::words::Words;
use crate::rank::scene::Spread;

/// Occurrences of a term after which the rest is taken to be spread as these are.
const ENOUGH: usize = 2_000;

/// Partitions are visited in so many rounds, each evenly over all of them.
const ROUNDS: usize = 16;

/// By the partitions of which something was kept. `totals` are those of S.
pub(super) fn spread(partitions: &BTreeMap<usize, OfPartition>, words: &Words, totals: Totals) -> Spread {
    let (mut rows, mut sittings, mut window_len) = (0, 0, 0.0_f64);
    for of in partitions.values() {
        rows += of.own.len();
        sittings += of.conversation.thread().sittings();
        window_len += f64::from(of.conversation.shares().total_len());
    }
    let sittings = (sittings as f64 * totals.memories as f64 / rows.max(1) as f64) as usize;
    let mut spread = Spread {
        window_len: (window_len / rows.max(1) as f64) as f32,
        sittings,
        sitting_len: totals.doc_len as f32 / sittings.max(1) as f32,
        ..Spread::default()
    };
    let all: Vec<(&usize, &OfPartition)> = partitions.iter().collect();
    let longest = all.iter().map(|(_, of)| of.own.len()).max().unwrap_or_default();
    let mut counted = Counted { marks: vec![0; longest], seats: vec![0; longest], mark: 0 };
    for (term, df) in words.df().into_iter().enumerate() {
        let (mut seen, mut windows, mut seated) = (0, 0, 0);
        let order = (0..ROUNDS).flat_map(|round| all.iter().skip(round).step_by(ROUNDS));
        for (first, of) in order {
            let of_partition = counted.count(**first, of, words, term);
            seen += of_partition.0;
            windows += of_partition.1;
            seated += of_partition.2;
            if seen >= ENOUGH {
                break;
            }
        }
        let all = |found: usize| (found as f64 * f64::from(df) / seen.max(1) as f64) as u32;
        spread.windows.push(all(windows));
        spread.sittings_with.push(all(seated));
    }
    spread
}

/// What was counted already, by row and by sitting of a partition.
struct Counted {
    marks: Vec<u32>,
    seats: Vec<u32>,
    mark: u32,
}

impl Counted {
    /// How many memories, windows and sittings of a partition hold a term.
    fn count(&mut self, first: usize, of: &OfPartition, words: &Words, term: usize) -> (usize, usize, usize) {
        let Self { marks, seats, mark } = self;
        *mark += 1;
        let (mut rows, mut windows, mut seated) = (0, 0, 0);
        let (sitting, shares) = (of.conversation.thread().sitting(), of.conversation.shares());
        for (number, part) in (first..).zip(of.own.parts()) {
            let Some(list) = words.of_part(number).get(term) else { continue };
            for row in list
                .iter()
                .filter(|posting| part.holds(posting.row))
                .filter_map(|posting| part.index_of_row(posting.row))
            {
                rows += 1;
                shares.around(row, |row, _| windows += usize::from(is_first(marks, row, *mark)));
                seated += sitting.get(row as usize).map_or(0, |sitting| usize::from(is_first(seats, *sitting, *mark)));
            }
        }
        (rows, windows, seated)
    }
}

/// Marks a place; `false`: it was marked.
fn is_first(marks: &mut [u32], at: u32, mark: u32) -> bool {
    marks.get_mut(at as usize).is_some_and(|before| std::mem::replace(before, mark) != mark)
}
