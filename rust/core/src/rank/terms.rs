//! Where the query's terms occur in S: the part of the inverted index that one read needs.
use crate::lexical::Posting;
use crate::lexical::bm25::{idf, term_weight};

#[derive(Debug, Clone, PartialEq)]
pub struct TermMatch {
    pub hash: u64,
    /// How often the query says it.
    pub query_count: u32,
    /// Memories of S that hold it.
    pub df: u32,
    pub idf: f32,
    end: usize,
    near_end: usize,
}

/// A memory that does not hold a term of the query but one related to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    pub row: u32,
    /// Of the nearest of those that it holds, 0 to 0.5.
    pub weight: f32,
}

/// Each distinct term of the query with its postings in S, and where only related terms occur, each in one flat list.
#[derive(Debug, Clone, Default)]
pub struct TermMatches {
    memories: u32,
    /// Those of them that are looked at; fewer after a first pass.
    rows: u32,
    terms: Vec<TermMatch>,
    postings: Vec<Posting>,
    near: Vec<Near>,
    /// Of each row the last term that was found in it, by number from 1; empty while nothing is related.
    found_by: Vec<u32>,
    /// The last term of which that is noted.
    marked: u32,
}

/// The query's terms in a scope, without where they occur.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TermStatistics {
    /// Memories in the scope.
    pub memories: u32,
    /// Each distinct term with the number of memories that hold it, by rising hash.
    pub terms: Vec<(u64, u32)>,
}

impl TermStatistics {
    /// Memories that hold the term; 0 for one that the query does not have.
    #[must_use]
    pub fn df(&self, hash: u64) -> u32 {
        let found = self.terms.binary_search_by_key(&hash, |(term, _)| *term).ok();
        found.and_then(|at| self.terms.get(at)).map_or(0, |(_, df)| *df)
    }

    /// Each distinct term with its idf.
    #[must_use]
    pub fn idf(&self) -> Vec<(u64, f32)> {
        self.terms.iter().map(|(hash, df)| (*hash, idf(self.memories as usize, *df as usize))).collect()
    }
}

impl TermMatches {
    /// For a scope of `memories`.
    #[must_use]
    pub fn new(memories: u32) -> Self {
        Self::among(memories, memories)
    }

    /// For `rows` that a first pass kept of a scope of `memories`.
    #[must_use]
    pub fn among(rows: u32, memories: u32) -> Self {
        Self { memories, rows, ..Self::default() }
    }

    /// Adds the next distinct term, by rising hash, with its occurrences in S (none for a term S has never seen); df is their number.
    pub fn push(&mut self, hash: u64, query_count: u32, postings: impl IntoIterator<Item = Posting>) {
        self.push_known(hash, query_count, None, postings);
    }

    /// As [`Self::push`] where df is known otherwise, since not all of S is looked at.
    pub fn push_known(
        &mut self,
        hash: u64,
        query_count: u32,
        df: Option<u32>,
        postings: impl IntoIterator<Item = Posting>,
    ) {
        debug_assert!(self.terms.last().is_none_or(|last| last.hash < hash), "terms come by rising hash");
        let start = self.postings.len();
        self.postings.extend(postings);
        let df = df.unwrap_or((self.postings.len() - start) as u32);
        let idf = idf(self.memories as usize, df as usize);
        self.terms.push(TermMatch { hash, query_count, df, idf, end: self.postings.len(), near_end: self.near.len() });
    }

    /// Adds where a term related to the last one occurs, the nearest first: a row that holds several counts by the first, one that
    /// holds the term itself not at all.
    pub fn push_near(&mut self, weight: f32, rows: impl IntoIterator<Item = u32>) {
        let number = self.terms.len() as u32;
        for row in rows {
            self.mark_last(number);
            if let Some(last) = self.found_by.get_mut(row as usize).filter(|last| **last != number) {
                *last = number;
                self.near.push(Near { row, weight });
            }
        }
        if let Some(term) = self.terms.last_mut() {
            term.near_end = self.near.len();
        }
    }

    /// Notes once in which rows the last term occurs.
    fn mark_last(&mut self, number: u32) {
        if self.marked == number {
            return;
        }
        self.marked = number;
        self.found_by.resize(self.rows as usize, 0);
        let start = self.terms.iter().rev().nth(1).map_or(0, |term| term.end);
        for posting in self.postings.get(start..).unwrap_or_default() {
            if let Some(last) = self.found_by.get_mut(posting.row as usize) {
                *last = number;
            }
        }
    }

    /// For each term where only related ones occur, in the order of [`Self::iter`].
    pub fn near(&self) -> impl Iterator<Item = &[Near]> {
        let mut start = 0;
        self.terms.iter().map(move |term| {
            let found = self.near.get(start..term.near_end).unwrap_or_default();
            start = term.near_end;
            found
        })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Each term with where it occurs.
    pub fn iter(&self) -> impl Iterator<Item = (&TermMatch, &[Posting])> {
        let mut start = 0;
        self.terms.iter().map(move |term| {
            let found = self.postings.get(start..term.end).unwrap_or_default();
            start = term.end;
            (term, found)
        })
    }

    #[must_use]
    pub fn statistics(&self) -> TermStatistics {
        let terms = self.terms.iter().map(|term| (term.hash, term.df)).collect();
        TermStatistics { memories: self.memories, terms }
    }

    /// Memories of S that hold the term; 0 for one that the query does not have.
    #[must_use]
    pub fn df(&self, hash: u64) -> u32 {
        let found = self.terms.binary_search_by_key(&hash, |term| term.hash).ok();
        found.and_then(|at| self.terms.get(at)).map_or(0, |term| term.df)
    }

    /// BM25 of each memory of S, summed over the query's terms; a term said twice counts twice.
    #[must_use]
    pub fn bm25(&self, doc_len: &[u32], avg_len: f32) -> Vec<f32> {
        let mut sums = vec![0.0; doc_len.len()];
        for (term, postings) in self.iter() {
            let idf = term.idf * term.query_count as f32;
            for posting in postings {
                let row = posting.row as usize;
                if let (Some(sum), Some(len)) = (sums.get_mut(row), doc_len.get(row)) {
                    *sum += term_weight(posting.tf as f32, *len as f32, avg_len, idf);
                }
            }
        }
        sums
    }

    /// Share of the query's idf that each memory of S holds, 0 to 1. Distinct terms; what S has never seen counts in
    /// full, so a question about unknown things is covered by nothing.
    #[must_use]
    pub fn coverage(&self, rows: usize) -> Vec<f32> {
        let total: f32 = self.terms.iter().map(|term| term.idf).sum();
        let mut held = vec![0.0; rows];
        for (term, postings) in self.iter() {
            for posting in postings {
                if let Some(sum) = held.get_mut(posting.row as usize) {
                    *sum += term.idf / total;
                }
            }
        }
        held
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::Sample;
    use super::*;

    #[test]
    fn a_query_without_terms_covers_nothing() {
        assert_eq!(TermMatches::new(2).coverage(2), [0.0, 0.0]);
        assert_eq!(TermMatches::new(2).bm25(&[3, 4], 3.5), [0.0, 0.0]);
    }

    #[test]
    fn a_term_never_seen_lowers_the_coverage_of_all() {
        let mut matches = TermMatches::new(2);
        matches.push(1, 1, [Posting { row: 0, tf: 1 }]);
        assert_eq!(matches.coverage(2), [1.0, 0.0]);
        matches.push(2, 1, []);
        let coverage = matches.coverage(2);
        assert!(coverage[0] > 0.2 && coverage[0] < 0.5, "the unseen term is the rarer: {coverage:?}");
    }

    #[test]
    fn a_row_is_near_by_the_first_related_term_and_never_beside_the_term() {
        let near = |row, weight| Near { row, weight };
        let mut matches = TermMatches::new(4);
        matches.push(1, 1, [Posting { row: 0, tf: 1 }]);
        matches.push_near(0.4, [0, 2]);
        matches.push_near(0.1, [2, 3]);
        matches.push(2, 1, []);
        matches.push(3, 1, [Posting { row: 2, tf: 1 }]);
        matches.push_near(0.2, [0, 2, 9]);
        let found: Vec<&[Near]> = matches.near().collect();
        assert_eq!(found, [&[near(2, 0.4), near(3, 0.1)][..], &[], &[near(0, 0.2)]]);
        assert_eq!(matches.statistics().df(1), 1, "what is near is no occurrence");
    }

    proptest! {
        #[test]
        fn bm25_is_that_of_the_textbook(sample in Sample::any()) {
            let got = sample.matches().bm25(&sample.doc_len, sample.avg_len());
            for (row, got) in got.iter().enumerate() {
                prop_assert!((f64::from(*got) - sample.textbook_bm25(row)).abs() < 1e-3);
            }
        }

        #[test]
        fn coverage_is_the_idf_held_over_the_idf_asked(sample in Sample::any()) {
            let idf = |term: usize| sample.textbook_idf(term);
            let total: f64 = (0..sample.tf.len()).map(idf).sum();
            for (row, got) in sample.matches().coverage(sample.len()).iter().enumerate() {
                let held: f64 = (0..sample.tf.len()).filter(|&t| sample.tf[t][row] > 0).map(idf).sum();
                let expected = if total > 0.0 { held / total } else { 0.0 };
                prop_assert!((f64::from(*got) - expected).abs() < 1e-4);
            }
        }
    }
}
