//! The scope S of a read: the admitted rows of every partition reached, in insertion order, with the columns that ranking needs.
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::admit::{Admission, Reached};
use super::admitted::{Admitted, Kinds, Totals};
use super::among::Among;
use super::columns::{Conversation, Fixed, Related};
use super::marks::Marks;
use crate::error::Result;
use crate::lexical::Posting;
use crate::model::{Period, Slot};
use crate::partition::{Entry, NEVER, Partition, Segment};
use crate::rank::scene::Spread;
use crate::rank::terms::TermMatches;
use crate::store::{Micros, Seq};
use crate::vector::quantise::Quantised;

/// Memories by which it is told how those of S stand together.
const SUMMED: usize = 200_000;
/// Rows of a part that are compared before the next ones are asked for.
const AT_ONCE: usize = 16;

/// The admitted rows of one segment.
#[derive(Clone)]
pub(super) struct Part {
    pub partition: Arc<Partition>,
    pub reached: Reached,
    pub segment: Arc<Segment>,
    /// Rising.
    pub rows: Arc<[u32]>,
    /// What its partition's admitted rows are.
    pub kinds: Kinds,
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

    /// All of the segment is admitted.
    pub fn is_whole(&self) -> bool {
        self.rows.len() == self.segment.entries().len()
    }

    pub fn holds(&self, row: u32) -> bool {
        self.is_whole() || self.rows.binary_search(&row).is_ok()
    }

    /// Index in S of a row of the segment.
    pub fn index_of_row(&self, row: u32) -> Option<u32> {
        let at = if self.is_whole() { Some(row as usize) } else { self.rows.binary_search(&row).ok() };
        at.map(|at| (self.base + at) as u32)
    }

    /// Index in S of its first row.
    pub fn base(&self) -> usize {
        self.base
    }

    /// What of a list of rows, which rise, is in S, by index there.
    fn held<'p>(&'p self, list: &'p [Posting]) -> impl Iterator<Item = Posting> + 'p {
        let whole = self.is_whole();
        let among = Among::of(if whole { &[] } else { &self.rows }, list);
        let all = if whole { list } else { &[] };
        let base = self.base as u32;
        let all = all.iter().copied();
        all.chain(among).map(move |posting| Posting { row: base + posting.row, ..posting })
    }
}

#[derive(Default)]
pub(super) struct Gathered {
    parts: Vec<Part>,
    len: usize,
    /// Each partition: where its parts begin, and what of it S is as long as no filter narrowed it.
    partitions: Vec<(usize, Arc<Admitted>)>,
    is_filtered: bool,
    /// The scope that a first pass chose these rows from; `None`: they are S themselves.
    chosen: Option<Chosen>,
    speakers: OnceLock<Vec<Speaker>>,
    marks: OnceLock<Marks>,
    /// With the pause that begins a new sitting.
    standing: OnceLock<(i64, Standing)>,
}

/// How memories of S stand together, summed over whole partitions that lie evenly in it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Standing {
    pub rows: usize,
    pub sittings: usize,
    /// Indexed terms of the rows' windows.
    pub window_len: f64,
}

/// A name that speakers have.
pub(super) struct Speaker {
    pub name: Arc<str>,
    /// The parts in which it may occur, rising, each with its code there.
    pub places: Vec<(u32, u32)>,
}

/// What is known of S where only some of it was kept to be ranked.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub totals: Totals,
    /// How many memories of S hold each term of the query, in the query's order.
    pub df: Vec<u32>,
    pub spread: Spread,
    /// The query names more than one speaker of S.
    pub names_several: bool,
    /// For each kept row the run of the thread that was kept with it: rows of one follow each other without a gap.
    pub runs: Vec<u32>,
    /// And the sitting in S that it stands in, numbered from 0: runs of one sitting have one number.
    pub sittings: Vec<u32>,
}

impl Gathered {
    /// Adds the rows of a partition that are in reach and admitted.
    pub fn add(&mut self, partition: &Arc<Partition>, reached: Reached, admission: &Admission) {
        let admitted = Admitted::of(partition, &reached, admission);
        self.partitions.push((self.parts.len(), Arc::clone(&admitted)));
        for (segment, rows) in partition.segments().iter().zip(&admitted.rows) {
            let base = self.len;
            self.len += rows.len();
            if !rows.is_empty() {
                self.parts.push(Part {
                    partition: Arc::clone(partition),
                    reached,
                    segment: Arc::clone(segment),
                    rows: Arc::clone(rows),
                    kinds: admitted.kinds,
                    base,
                });
            }
        }
    }

    /// What S is, where it is of one partition and no filter narrowed it.
    fn admitted(&self) -> Option<&Arc<Admitted>> {
        match self.partitions.as_slice() {
            [(_, admitted)] if !self.is_filtered => Some(admitted),
            _ => None,
        }
    }

    /// The times of reads that have these rows.
    pub fn times(&self) -> Range<Micros> {
        let all = self.partitions.iter().map(|(_, admitted)| admitted.times());
        all.fold(Micros::MIN..NEVER, |all, one| all.start.max(one.start)..all.end.min(one.end))
    }

    /// The names of S's speakers, in no order.
    pub fn speakers(&self) -> &[Speaker] {
        self.speakers.get_or_init(|| {
            let mut known: HashMap<Arc<str>, Vec<(u32, u32)>> = HashMap::new();
            for (number, part) in (0_u32..).zip(&self.parts) {
                for (code, name) in (1_u32..).zip(part.partition.names().iter()) {
                    known.entry(Arc::clone(name)).or_default().push((number, code));
                }
            }
            known.into_iter().map(|(name, places)| Speaker { name, places }).collect()
        })
    }

    /// How much there is in S.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        if let Some(chosen) = &self.chosen {
            return chosen.totals;
        }
        if self.is_filtered {
            self.parts.iter().for_each(|part| totals.add(&part.segment, &part.rows));
        } else {
            self.partitions.iter().for_each(|(_, admitted)| totals.join(admitted.totals));
        }
        totals
    }

    /// Memories in S.
    pub fn memories(&self) -> usize {
        self.chosen.as_ref().map_or(self.len, |chosen| chosen.totals.memories)
    }

    /// What of S is known beyond these rows; `None` where they are all of it.
    pub fn chosen(&self) -> Option<&Chosen> {
        self.chosen.as_ref()
    }

    /// The last partition whose parts begin at this one or before, by number.
    fn partition_of(&self, part: usize) -> usize {
        self.partitions.partition_point(|(first, _)| *first <= part).saturating_sub(1)
    }

    /// The number of the first part of the partition that a part is of.
    pub fn first_part(&self, part: usize) -> usize {
        self.partitions.get(self.partition_of(part)).map_or(0, |(first, _)| *first)
    }

    /// The partition that a part is of, as a scope of its own.
    pub fn alone(&self, part: usize) -> Self {
        let at = self.partition_of(part);
        let first = self.first_part(part);
        let end = self.partitions.get(at + 1).map_or(self.parts.len(), |(next, _)| *next);
        let mut own = Self { is_filtered: self.is_filtered, ..Self::default() };
        own.partitions.extend(self.partitions.get(at).map(|(_, admitted)| (0, Arc::clone(admitted))));
        for part in self.parts.get(first..end).unwrap_or_default() {
            own.push(part, Arc::clone(&part.rows));
        }
        own
    }

    /// Each partition by the numbers of its parts; of some nothing is in S.
    pub fn partitions(&self) -> impl Iterator<Item = Range<usize>> {
        let ends = self.partitions.iter().skip(1).map(|(first, _)| *first).chain([self.parts.len()]);
        self.partitions.iter().zip(ends).map(|((first, _), end)| *first..end)
    }

    /// Who said what when in the partition that a part is of, by index in it.
    pub fn conversation_around(&self, part: usize, gap_us: i64) -> Arc<Conversation> {
        let admitted = self.partitions.get(self.partition_of(part)).filter(|_| !self.is_filtered);
        let known = admitted.and_then(|(_, admitted)| admitted.conversation_by(gap_us));
        known.unwrap_or_else(|| {
            let own = self.alone(part);
            own.conversation(&own.fixed(), gap_us)
        })
    }

    /// Of each memory, by index.
    pub fn marks(&self) -> &Marks {
        self.marks.get_or_init(|| {
            if self.is_filtered {
                return Marks::of(&self.parts);
            }
            let mut marks = Marks::default();
            for (parts, (_, admitted)) in self.partitions().zip(&self.partitions) {
                let own = self.parts.get(parts).unwrap_or_default();
                marks.join(admitted.marks.get_or_init(|| Marks::of(own)));
            }
            marks
        })
    }

    /// How its memories stand together, summed over every so manieth partition, so that [`SUMMED`] memories are looked at or all.
    pub fn standing(&self, gap_us: i64) -> Standing {
        let sum = || {
            let mut standing = Standing::default();
            let step = (self.len / SUMMED).max(1);
            for parts in self.partitions().filter(|parts| !parts.is_empty()).step_by(step) {
                let conversation = self.conversation_around(parts.start, gap_us);
                standing.rows += conversation.len();
                standing.sittings += conversation.thread().sittings();
                standing.window_len += f64::from(conversation.shares().total_len());
            }
            standing
        };
        let (known, standing) = self.standing.get_or_init(|| (gap_us, sum()));
        if *known == gap_us { *standing } else { sum() }
    }

    /// The rows that a first pass kept, by part; they rise in each.
    pub fn keep(&self, rows: Vec<(usize, Vec<u32>)>, chosen: Chosen) -> Self {
        let mut kept = Self { chosen: Some(chosen), is_filtered: true, ..Self::default() };
        for (part, rows) in rows {
            if let Some(part) = self.parts.get(part).filter(|_| !rows.is_empty()) {
                kept.push(part, rows.into());
            }
        }
        kept
    }

    fn push(&mut self, part: &Part, rows: Arc<[u32]>) {
        let base = self.len;
        self.len += rows.len();
        self.parts.push(Part { rows, base, ..part.clone() });
    }

    /// The columns that no query changes.
    pub fn fixed(&self) -> Arc<Fixed> {
        match self.admitted() {
            Some(admitted) => Arc::clone(admitted.fixed.get_or_init(|| Arc::new(Fixed::of(self)))),
            None => Arc::new(Fixed::of(self)),
        }
    }

    /// Who said what when, next to whom; a pause of more than `gap_us` begins a new sitting.
    pub fn conversation(&self, fixed: &Fixed, gap_us: i64) -> Arc<Conversation> {
        let Some(admitted) = self.admitted() else { return Arc::new(Conversation::of(self, fixed, gap_us)) };
        if let Some(known) = admitted.conversation_by(gap_us) {
            return known;
        }
        let conversation = Arc::new(Conversation::of(self, fixed, gap_us));
        admitted.keep_conversation(gap_us, &conversation);
        conversation
    }

    /// Keeps of each part the rows that match a filter; asks for them only where the same filter was not the last one over the same rows.
    pub fn narrow_once<M>(&mut self, filter: &str, matching: impl FnOnce() -> Result<M>) -> Result<()>
    where
        M: FnMut(&Part) -> Result<Vec<u32>>,
    {
        let admitted = self.admitted().cloned();
        self.is_filtered = true;
        let known = admitted.as_ref().and_then(|admitted| admitted.filtered_by(filter));
        let kept = if let Some(kept) = known {
            kept
        } else {
            let kept = self.parts.iter().map(matching()?).map(|rows| rows.map(Arc::from)).collect::<Result<_>>()?;
            if let Some(admitted) = &admitted {
                admitted.keep_filtered(filter, &kept);
            }
            kept
        };
        self.len = 0;
        for (part, rows) in self.parts.iter_mut().zip(kept.iter()) {
            part.rows = Arc::clone(rows);
            part.base = self.len;
            self.len += rows.len();
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Asks for the addresses of a part's postings.
    pub fn prefetch_postings(&self, part: usize) {
        self.parts.get(part).into_iter().for_each(|part| part.segment.prefetch_postings());
    }

    /// Asks for the addresses of a part's vectors.
    pub fn prefetch_rows(&self, part: usize, slot: Slot) {
        self.parts.get(part).into_iter().for_each(|part| part.segment.prefetch_rows(slot));
    }

    /// Everything of S in order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.parts.iter().flat_map(|part| part.entries().map(|(_, entry)| entry))
    }

    pub fn entry(&self, index: usize) -> Option<&Entry> {
        let (part, row) = self.place(index)?;
        part.segment.entries().get(row as usize)
    }

    pub fn id(&self, index: usize) -> Option<String> {
        let (part, row) = self.place(index)?;
        part.segment.id(row)
    }

    pub fn seq(&self, index: usize) -> Option<Seq> {
        self.entry(index).map(|entry| entry.seq)
    }

    /// Index in S of a memory; `None` for one that is not in S.
    pub fn index_of(&self, seq: Seq) -> Option<u32> {
        self.parts.iter().find_map(|part| part.index_of(seq))
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
            // Rows on their own cost more each than rows in a run.
            if part.rows.len() * 4 < part.segment.entries().len() {
                all.extend(rows.best_of(query, &part.rows)?);
                continue;
            }
            let best = rows.best_per_owner(query, part.segment.entries().len())?;
            if part.is_whole() {
                all.extend(best);
                continue;
            }
            all.extend(part.rows.iter().map(|row| best.get(*row as usize).copied().unwrap_or(f32::NEG_INFINITY)));
        }
        Ok(all)
    }

    /// As [`Self::dense`] for these rows of parts alone; rows of one part follow each other.
    pub fn cosines(&self, slot: Slot, query: &Quantised, places: &[(u32, u32)]) -> Result<Vec<f32>> {
        let mut all = Vec::with_capacity(places.len());
        let blocks = || places.chunk_by(|a, b| a.0 == b.0).flat_map(|of_part| of_part.chunks(AT_ONCE));
        let mut soon = blocks().skip(1);
        for of_part in blocks() {
            // The next ones come from memory while these are compared.
            soon.next().into_iter().for_each(|of_part| self.prefetch_vectors(slot, of_part));
            let part = of_part.first().and_then(|(part, _)| self.parts.get(*part as usize));
            match part.and_then(|part| part.segment.rows(slot)) {
                Some(rows) => {
                    let owners: Vec<u32> = of_part.iter().map(|(_, row)| *row).collect();
                    all.extend(rows.best_of(query, &owners)?);
                }
                None => all.resize(all.len() + of_part.len(), f32::NEG_INFINITY),
            }
        }
        Ok(all)
    }

    /// Asks for the vectors of these rows, which are of one part.
    fn prefetch_vectors(&self, slot: Slot, places: &[(u32, u32)]) {
        let part = places.first().and_then(|(part, _)| self.parts.get(*part as usize));
        let Some(rows) = part.and_then(|part| part.segment.rows(slot)) else { return };
        for (_, row) in places {
            rows.prefetch_codes(*row);
        }
    }

    /// Where the terms occur in S, and those related to them.
    pub fn matches(&self, terms: &[(u64, u32)], related: &[Related]) -> TermMatches {
        let mut matches = TermMatches::among(self.len as u32, self.memories() as u32);
        for (at, (term, count)) in terms.iter().enumerate() {
            let df = self.chosen.as_ref().and_then(|chosen| chosen.df.get(at)).copied();
            matches.push_known(*term, *count, df, self.postings(*term));
            let from = related.partition_point(|other| other.of < *term);
            for near in related.iter().skip(from).take_while(|other| other.of == *term) {
                matches.push_near(near.weight, self.postings(near.term).map(|posting| posting.row));
            }
        }
        matches
    }

    /// The occurrences of a term in S.
    fn postings(&self, term: u64) -> impl Iterator<Item = Posting> {
        self.parts.iter().flat_map(move |part| part.held(part.segment.postings().get(term)))
    }

    /// Number of terms of each memory of S.
    pub fn lengths(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().flat_map(|part| part.rows.iter().map(|row| part.segment.postings().len(*row)))
    }
}
