//! The scope S of a read: the admitted rows of every partition reached, in insertion order, with the columns that ranking needs.
use std::sync::Arc;

use super::admit::{Admission, Reached};
use super::columns::Related;
use crate::error::Result;
use crate::lexical::Posting;
use crate::model::{Period, Slot};
use crate::partition::{Entry, Partition, Segment};
use crate::rank::terms::TermMatches;
use crate::store::{Micros, Seq};
use crate::vector::quantise::Quantised;

/// The admitted rows of one segment.
pub(super) struct Part {
    pub partition: Arc<Partition>,
    pub reached: Reached,
    segment: Arc<Segment>,
    /// Rising.
    rows: Vec<u32>,
    /// Index in S of the first of `rows`.
    base: usize,
}

impl Part {
    /// Row numbers with what they are.
    pub fn entries(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let entries = self.segment.entries();
        self.rows.iter().filter_map(move |row| entries.get(*row as usize).map(|entry| (*row, entry)))
    }

    /// The days that memories' own words mean, by index in S, rising.
    pub fn periods(&self) -> impl Iterator<Item = (u32, &[Period])> {
        self.segment.periods().iter().filter_map(|(row, periods)| {
            let index = self.rows.binary_search(row).ok()?;
            Some(((self.base + index) as u32, &**periods))
        })
    }

    /// Index in S of a memory with the turns that it cites, rising.
    fn cites(&self) -> impl Iterator<Item = (u32, &[Seq])> {
        self.segment.cites().iter().filter_map(|(row, cites)| {
            let index = self.rows.binary_search(row).ok()?;
            Some(((self.base + index) as u32, &**cites))
        })
    }

    fn index_of(&self, seq: Seq) -> Option<u32> {
        let row = self.segment.position(seq)? as u32;
        self.rows.binary_search(&row).ok().map(|index| (self.base + index) as u32)
    }

    /// For each row of the segment its index in S; `u32::MAX` for those left out.
    fn slots(&self) -> Vec<u32> {
        let mut slots = vec![u32::MAX; self.segment.entries().len()];
        for (index, row) in self.rows.iter().enumerate() {
            if let Some(slot) = slots.get_mut(*row as usize) {
                *slot = (self.base + index) as u32;
            }
        }
        slots
    }
}

#[derive(Default)]
pub(super) struct Gathered {
    parts: Vec<Part>,
    len: usize,
}

impl Gathered {
    /// Adds the rows of a partition that are in reach and admitted.
    pub fn add(&mut self, partition: &Arc<Partition>, reached: Reached, admission: &Admission) {
        for segment in partition.segments() {
            let in_reach =
                |entry: &Entry| reached.scope.is_none_or(|scope| entry.scope == scope) && admission.admits(entry);
            let numbered = segment.entries().iter().zip(0_u32..);
            let rows: Vec<u32> = numbered.filter(|(entry, _)| in_reach(entry)).map(|(_, row)| row).collect();
            let base = self.len;
            self.len += rows.len();
            if !rows.is_empty() {
                self.parts.push(Part {
                    partition: Arc::clone(partition),
                    reached,
                    segment: Arc::clone(segment),
                    rows,
                    base,
                });
            }
        }
    }

    /// Keeps of each part the rows that `keep` names.
    pub fn narrow(&mut self, mut keep: impl FnMut(&Part) -> Result<Vec<u32>>) -> Result<()> {
        let mut len = 0;
        for part in &mut self.parts {
            part.rows = keep(part)?;
            part.base = len;
            len += part.rows.len();
        }
        self.len = len;
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Everything of S in order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.parts.iter().flat_map(|part| part.entries().map(|(_, entry)| entry))
    }

    pub fn entry(&self, index: usize) -> Option<&Entry> {
        let (part, row) = self.place(index)?;
        part.segment.entries().get(row as usize)
    }

    pub fn seq(&self, index: usize) -> Option<Seq> {
        self.entry(index).map(|entry| entry.seq)
    }

    pub fn feedback(&self, index: usize) -> &[(i8, Micros)] {
        self.place(index).map_or(&[], |(part, row)| part.segment.feedback(row))
    }

    /// Facts with the turns they came from, as pairs of indexes in S, by rising fact.
    pub fn citations(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            for (fact, cites) in part.cites() {
                // A turn was there before its fact, in the same partition.
                let earlier = self.parts.iter().take(at + 1).rev();
                let own = earlier.take_while(|other| Arc::ptr_eq(&other.partition, &part.partition));
                let found = cites.iter().filter_map(|seq| own.clone().find_map(|part| part.index_of(*seq)));
                pairs.extend(found.map(|turn| (fact, turn)));
            }
        }
        pairs
    }

    fn place(&self, index: usize) -> Option<(&Part, u32)> {
        let at = self.parts.partition_point(|part| part.base + part.rows.len() <= index);
        let part = self.parts.get(at)?;
        part.rows.get(index.checked_sub(part.base)?).map(|row| (part, *row))
    }

    /// The int8 cosine of each memory with a model's query vector, the best of its vectors; `NEG_INFINITY` for one without.
    pub fn dense(&self, slot: Slot, query: &Quantised) -> Result<Vec<f32>> {
        let mut all = Vec::with_capacity(self.len);
        for part in &self.parts {
            let Some(rows) = part.segment.rows(slot) else {
                all.resize(all.len() + part.rows.len(), f32::NEG_INFINITY);
                continue;
            };
            let best = rows.best_per_owner(query, part.segment.entries().len())?;
            all.extend(part.rows.iter().map(|row| best.get(*row as usize).copied().unwrap_or(f32::NEG_INFINITY)));
        }
        Ok(all)
    }

    /// Where the terms occur in S, and those related to them.
    pub fn matches(&self, terms: &[(u64, u32)], related: &[Related]) -> TermMatches {
        let mut matches = TermMatches::new(self.len as u32);
        if terms.is_empty() {
            return matches;
        }
        let slots: Vec<Vec<u32>> = self.parts.iter().map(Part::slots).collect();
        for (term, count) in terms {
            matches.push(*term, *count, self.postings(*term, &slots));
            let from = related.partition_point(|other| other.of < *term);
            for near in related.iter().skip(from).take_while(|other| other.of == *term) {
                matches.push_near(near.weight, self.postings(near.term, &slots).map(|posting| posting.row));
            }
        }
        matches
    }

    /// The occurrences of a term in S; `slots` are those of each part.
    fn postings(&self, term: u64, slots: &[Vec<u32>]) -> impl Iterator<Item = Posting> {
        self.parts.iter().zip(slots).flat_map(move |(part, slots)| {
            part.segment.postings().get(term).iter().filter_map(|posting| {
                let row = slots.get(posting.row as usize).copied().filter(|slot| *slot != u32::MAX)?;
                Some(Posting { row, tf: posting.tf })
            })
        })
    }

    /// Number of terms of each memory of S.
    pub fn lengths(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().flat_map(|part| part.rows.iter().map(|row| part.segment.postings().len(*row)))
    }
}
