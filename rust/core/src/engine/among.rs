//! Which of a term's occurrences are in rows that were kept: of few kept rows in a long list, and the other way round.
use std::cmp::Ordering;

use crate::lexical::Posting;

/// Those of a list that are among rows, by their place there. Both rise.
pub(super) struct Among<'p> {
    rows: &'p [u32],
    list: &'p [Posting],
    /// Place of the first of `rows`.
    at: u32,
}

impl<'p> Among<'p> {
    pub fn of(rows: &'p [u32], list: &'p [Posting]) -> Self {
        Self { rows, list, at: 0 }
    }
}

impl Iterator for Among<'_> {
    type Item = Posting;

    fn next(&mut self) -> Option<Posting> {
        loop {
            let (row, posting) = (*self.rows.first()?, *self.list.first()?);
            match posting.row.cmp(&row) {
                Ordering::Less => self.list = self.list.get(behind(self.list, |posting| posting.row < row)..)?,
                Ordering::Greater => {
                    let skipped = behind(self.rows, |row| *row < posting.row);
                    self.rows = self.rows.get(skipped..)?;
                    self.at += skipped as u32;
                }
                Ordering::Equal => {
                    self.rows = self.rows.get(1..)?;
                    self.list = self.list.get(1..)?;
                    self.at += 1;
                    return Some(Posting { row: self.at - 1, ..posting });
                }
            }
        }
    }
}

/// How many of the first are before: looked for in steps that double, since it is few where much of the one is in the other.
fn behind<T>(all: &[T], before: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while all.get(step).is_some_and(&before) {
        step *= 2;
    }
    let from = step / 2;
    from + all.get(from..all.len().min(step)).unwrap_or_default().partition_point(before)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_those_that_a_search_for_each_finds(
            rows in prop::collection::btree_set(0_u32..300, 0..80), list in prop::collection::btree_set(0_u32..300, 0..80)
        ) {
            let rows: Vec<u32> = rows.into_iter().collect();
            let of = |list: &BTreeSet<u32>| -> Vec<Posting> { list.iter().map(|row| Posting { row: *row, tf: row % 5 + 1 }).collect() };
            let place = |posting: Posting| rows.binary_search(&posting.row).ok().map(|at| Posting { row: at as u32, ..posting });
            let expected: Vec<Posting> = of(&list).into_iter().filter_map(place).collect();
            prop_assert_eq!(Among::of(&rows, &of(&list)).collect::<Vec<_>>(), expected);
        }
    }
}
