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
    blocks: Blocks,
    /// No list has room for one more.
    is_packed: bool,
    lens: Vec<u32>,
    total_len: u64,
}

/// Most terms of a conversation occur in one row only: that one lies in the table itself.
#[derive(Debug, Clone, Copy)]
enum List {
    One(Posting),
    /// In a block of its own, with room for the next power of two unless lists are packed.
    Many {
        start: u32,
        len: u32,
    },
}

/// The lists of more than one row, in one piece of memory: a list that grows does not ask the system's allocator, which was a quarter
/// of what loading a partition cost, and a copy of them all is one.
#[derive(Debug, Clone, Default)]
struct Blocks {
    postings: Vec<Posting>,
    /// Where blocks begin that lists have outgrown, by the binary logarithm of their size.
    free: Vec<Vec<u32>>,
}

impl Blocks {
    /// Appends to the list of `len`, two at least, that begins at `start`; where it begins then.
    fn push(&mut self, start: u32, len: u32, posting: Posting) -> u32 {
        let mut start = start;
        if len.is_power_of_two() {
            let grown = self.take(2 * len);
            self.postings.copy_within(start as usize..(start + len) as usize, grown as usize);
            self.give_back(start, len);
            start = grown;
        }
        self.set(start + len, posting);
        start
    }

    fn set(&mut self, at: u32, posting: Posting) {
        if let Some(slot) = self.postings.get_mut(at as usize) {
            *slot = posting;
        }
    }

    /// A block with room for `size`, a power of two.
    fn take(&mut self, size: u32) -> u32 {
        if let Some(start) = self.free.get_mut(size.trailing_zeros() as usize).and_then(Vec::pop) {
            return start;
        }
        let start = self.postings.len();
        if self.postings.capacity() < start + size as usize {
            // Not twice as much: what is reserved and not used is memory that another partition could have.
            self.postings.reserve_exact((start / 4).max(size as usize));
        }
        self.postings.resize(start + size as usize, Posting { row: 0, tf: 0 });
        start as u32
    }

    fn give_back(&mut self, start: u32, size: u32) {
        let log = size.trailing_zeros() as usize;
        if self.free.len() <= log {
            self.free.resize_with(log + 1, Vec::new);
        }
        self.free.get_mut(log).into_iter().for_each(|free| free.push(start));
    }

    fn get(&self, start: u32, len: u32) -> &[Posting] {
        self.postings.get(start as usize..(start + len) as usize).unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        let free: usize = self.free.iter().map(|free| free.capacity() * size_of::<u32>()).sum();
        self.postings.capacity() * size_of::<Posting>() + free
    }
}

impl Postings {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With room for so many rows, whatever their terms.
    #[must_use]
    pub fn with_room(rows: usize) -> Self {
        Self { lens: Vec::with_capacity(rows), ..Self::default() }
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
        if self.is_packed {
            self.lay_out(u32::next_power_of_two);
            self.is_packed = false;
        }
        let Some(list) = self.lists.get_mut(&term) else {
            self.lists.insert(term, List::One(posting));
            return;
        };
        match list {
            List::One(first) => {
                let start = self.blocks.take(2);
                self.blocks.set(start, *first);
                self.blocks.set(start + 1, posting);
                *list = List::Many { start, len: 2 };
            }
            List::Many { start, len } => {
                *start = self.blocks.push(*start, *len, posting);
                *len += 1;
            }
        }
    }

    /// Gives back what was taken for rows to come. The next row takes it again.
    pub fn shrink(&mut self) {
        self.lens.shrink_to_fit();
        self.lay_out(|len| len);
        self.is_packed = true;
    }

    /// Copies every list that has a block to one with room for so many.
    fn lay_out(&mut self, room: impl Fn(u32) -> u32) {
        let rooms = self.lists.values().map(|list| match list {
            List::One(_) => 0,
            List::Many { len, .. } => room(*len) as usize,
        });
        let mut postings = Vec::with_capacity(rooms.sum());
        for list in self.lists.values_mut() {
            if let List::Many { start, len } = list {
                let begins = postings.len();
                postings.extend_from_slice(self.blocks.get(*start, *len));
                postings.resize(begins + room(*len) as usize, Posting { row: 0, tf: 0 });
                *start = begins as u32;
            }
        }
        self.blocks = Blocks { postings, free: Vec::new() };
    }

    /// Rows ascending; empty for a term that no row has.
    #[must_use]
    pub fn get(&self, term: u64) -> &[Posting] {
        match self.lists.get(&term) {
            None => &[],
            Some(List::One(posting)) => std::slice::from_ref(posting),
            Some(List::Many { start, len }) => self.blocks.get(*start, *len),
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
        table + self.blocks.bytes() + self.lens.capacity() * size_of::<u32>()
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

/// Whatever room either has left, and wherever its lists lie.
#[cfg(test)]
impl PartialEq for Postings {
    fn eq(&self, other: &Self) -> bool {
        let same_terms = self.lists.len() == other.lists.len();
        let same_lists = self.lists.keys().all(|term| self.get(*term) == other.get(*term));
        same_terms && same_lists && (&self.lens, self.total_len) == (&other.lens, other.total_len)
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
    fn shrinking_gives_back_what_was_taken_ahead_and_lists_go_on() {
        let mut postings = Postings::new();
        (0..1_000).for_each(|row| postings.push(row, &[(1, 1), (u64::from(row / 2) << 32, 1)]));
        postings.shrink();
        assert_eq!(postings.blocks.postings.capacity(), postings.blocks.postings.len());
        (1_000..1_100).for_each(|row| postings.push(row, &[(1, 1)]));
        assert_eq!(postings.get(1).len(), 1_100);
        assert_eq!(postings.get(77 << 32).iter().map(|posting| posting.row).collect::<Vec<_>>(), [154, 155]);
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

    #[test]
    fn a_block_that_a_list_outgrew_is_used_again() {
        let mut postings = Postings::new();
        for row in 0..64 {
            postings.push(row, &[(1, 1)]);
        }
        let taken = postings.blocks.postings.len();
        // Blocks of two, four, eight, sixteen and thirty-two are what the first list has left behind.
        for row in 64..96 {
            postings.push(row, &[(2, 1)]);
        }
        assert_eq!(postings.df(2), 32);
        assert_eq!(postings.blocks.postings.len(), taken);
        assert_eq!(postings.df(1), 64);
    }

    proptest! {
        #[test]
        fn agrees_with_plain_maps(rows in proptest::collection::vec(
            (1u32..4, proptest::collection::btree_map(0u64..12, 1u32..5, 0..8)), 0..120))
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
