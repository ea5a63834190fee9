//! The inverted index of one segment: which rows have a term, and how often.
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::mem::size_of;

/// One row that has the term, and how often it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    pub row: u32,
    pub tf: u32,
}

/// Built row by row, read by term. Rows count from 0 within the segment.
#[derive(Debug, Clone, Default)]
pub struct Postings {
    lists: HashMap<u64, List, BuildHasherDefault<TermIsHash>>,
    lens: Vec<u32>,
    total_len: u64,
    spilled: usize,
}

/// Most terms of a conversation occur in one row only: that one lies in the table itself.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(PartialEq))]
enum List {
    One(Posting),
    Many(Vec<Posting>),
}

impl Postings {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row after all earlier ones; rows left out have no terms. A row that is not above the last is ignored (and a
    /// fault of the caller, found by a debug assertion).
    pub fn push(&mut self, row: u32, counts: &[(u64, u32)]) {
        let ascending = row as usize >= self.lens.len();
        debug_assert!(ascending, "rows are pushed in rising order");
        if !ascending {
            return;
        }
        self.lens.resize(row as usize, 0);
        let len = counts.iter().fold(0_u32, |sum, (_, tf)| sum.saturating_add(*tf));
        self.lens.push(len);
        self.total_len += u64::from(len);
        for (term, tf) in counts {
            self.add(*term, Posting { row, tf: *tf });
        }
    }

    fn add(&mut self, term: u64, posting: Posting) {
        let Some(list) = self.lists.get_mut(&term) else {
            self.lists.insert(term, List::One(posting));
            return;
        };
        match list {
            List::One(first) => {
                *list = List::Many(vec![*first, posting]);
                self.spilled += 2;
            }
            List::Many(postings) => {
                self.spilled -= postings.capacity();
                postings.push(posting);
                self.spilled += postings.capacity();
            }
        }
    }

    /// Gives back what was taken for rows to come: lists grow by doubling.
    pub fn shrink(&mut self) {
        self.lens.shrink_to_fit();
        self.spilled = 0;
        for list in self.lists.values_mut() {
            if let List::Many(postings) = list {
                postings.shrink_to_fit();
                self.spilled += postings.capacity();
            }
        }
    }

    /// Rows ascending; empty for a term that no row has.
    #[must_use]
    pub fn get(&self, term: u64) -> &[Posting] {
        match self.lists.get(&term) {
            None => &[],
            Some(List::One(posting)) => std::slice::from_ref(posting),
            Some(List::Many(postings)) => postings,
        }
    }

    /// In how many rows the term occurs.
    #[must_use]
    pub fn df(&self, term: u64) -> usize {
        self.get(term).len()
    }

    /// Number of terms of a row, repeated ones repeated; 0 for a row that was not pushed.
    #[must_use]
    pub fn len(&self, row: u32) -> u32 {
        self.lens.get(row as usize).copied().unwrap_or(0)
    }

    /// [`Self::len`] of each row; rows behind the last that was pushed are left out.
    #[must_use]
    pub fn lens(&self) -> &[u32] {
        &self.lens
    }

    /// One more than the highest row.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.lens.len()
    }

    /// Sum of [`Self::len`] over all rows.
    #[must_use]
    pub fn total_len(&self) -> u64 {
        self.total_len
    }

    /// Number of distinct terms.
    #[must_use]
    pub fn term_count(&self) -> usize {
        self.lists.len()
    }

    /// Heap size, near enough for a cache's accounts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // The table has one byte of control a slot and is filled to at most seven eighths of a power of two.
        let slots = (self.lists.capacity() * 8 / 7).next_power_of_two();
        let table = if self.lists.capacity() == 0 { 0 } else { slots * (size_of::<(u64, List)>() + 1) };
        table + self.spilled * size_of::<Posting>() + self.lens.capacity() * size_of::<u32>()
    }
}

/// Terms are hashes already, so hashing them again would be for nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TermIsHash(u64);

impl Hasher for TermIsHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, term: u64) {
        self.0 = term;
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }
}

/// Whatever room either has left.
#[cfg(test)]
impl PartialEq for Postings {
    fn eq(&self, other: &Self) -> bool {
        (&self.lists, &self.lens, self.total_len) == (&other.lists, &other.lens, other.total_len)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_left_out_have_no_terms() {
        let mut postings = Postings::new();
        postings.push(2, &[(7, 3), (9, 1)]);
        postings.push(5, &[(7, 1)]);
        assert_eq!(postings.get(7), [Posting { row: 2, tf: 3 }, Posting { row: 5, tf: 1 }]);
        assert_eq!(postings.get(9), [Posting { row: 2, tf: 1 }]);
        assert_eq!(postings.get(8), []);
        assert_eq!((postings.len(2), postings.len(3), postings.len(5), postings.len(99)), (4, 0, 1, 0));
        assert_eq!((postings.rows(), postings.total_len(), postings.term_count(), postings.df(7)), (6, 5, 2, 2));
    }

    #[test]
    fn shrinking_gives_back_what_lists_took_ahead() {
        let mut postings = Postings::new();
        (0..1025).for_each(|row| postings.push(row, &[(1, 1)]));
        postings.shrink();
        assert!(postings.spilled < 1100, "{}", postings.spilled);
    }

    #[test]
    fn bytes_grow_with_the_content() {
        let mut postings = Postings::new();
        assert_eq!(postings.bytes(), 0);
        for row in 0..1000 {
            postings.push(row, &[(1, 1), (u64::from(row) << 32, 2)]);
        }
        let floor = 1000 * (size_of::<Posting>() + size_of::<u32>() + size_of::<(u64, List)>());
        assert!((floor..floor * 4).contains(&postings.bytes()), "{}", postings.bytes());
    }

    proptest! {
        #[test]
        fn agrees_with_plain_maps(rows in proptest::collection::vec(
            (1u32..4, proptest::collection::btree_map(0u64..12, 1u32..5, 0..8)), 0..40))
        {
            let mut postings = Postings::new();
            let mut expected: BTreeMap<u64, Vec<Posting>> = BTreeMap::new();
            let mut next = 0;
            for (gap, terms) in &rows {
                let row = next + gap;
                next = row + 1;
                let counts: Vec<_> = terms.iter().map(|(term, tf)| (*term, *tf)).collect();
                postings.push(row, &counts);
                prop_assert_eq!(postings.len(row), terms.values().sum::<u32>());
                let (before, kept) = (postings.bytes(), postings.clone());
                postings.shrink();
                prop_assert!(postings == kept && postings.bytes() <= before);
                for (term, tf) in counts {
                    expected.entry(term).or_default().push(Posting { row, tf });
                }
            }
            for term in 0..12 {
                prop_assert_eq!(postings.get(term), expected.get(&term).map_or(&[][..], Vec::as_slice));
            }
        }
    }
}
