//! The rows of a partition that a kind of read may see, kept with that version of the partition: a reply reads the same session
//! again and again, and what it may see changes with the store, not with the question.
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::admit::{Admission, Reached};
use super::columns::{Conversation, Fixed};
use super::marks::Marks;
use crate::model::Kind;
use crate::partition::{Entry, NEVER, Partition, Segment};
use crate::store::Micros;

/// What decides which rows are admitted, but for the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    scope: Option<i64>,
    is_session: bool,
    documents: bool,
    superseded: bool,
}

/// How much rows are, all together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub memories: usize,
    pub tokens: u64,
    /// Indexed terms.
    pub doc_len: u64,
}

impl Totals {
    pub fn add(&mut self, segment: &Segment, rows: &[u32]) {
        self.memories += rows.len();
        for row in rows {
            self.tokens += segment.entries().get(*row as usize).map_or(0, |entry| u64::from(entry.tokens));
            self.doc_len += u64::from(segment.postings().len(*row));
        }
    }

    pub fn join(&mut self, other: Self) {
        self.memories += other.memories;
        self.tokens += other.tokens;
        self.doc_len += other.doc_len;
    }
}

/// Of what kinds rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds {
    /// A bit for each kind.
    held: u8,
    /// The fewest words of a turn.
    least_words: u32,
}

impl Default for Kinds {
    fn default() -> Self {
        Self { held: 0, least_words: u32::MAX }
    }
}

impl Kinds {
    fn add(&mut self, entry: &Entry) {
        self.held |= 1 << entry.kind as u8;
        if entry.kind == Kind::Turn {
            self.least_words = self.least_words.min(entry.words);
        }
    }

    /// All the rows are of these kinds, and no turn has fewer words.
    pub fn are_among(self, kinds: &[Kind], least_words: u32) -> bool {
        let wanted = kinds.iter().fold(0, |bits, kind| bits | 1 << *kind as u8);
        self.held & !wanted == 0 && self.least_words >= least_words
    }
}

/// Rows of each segment, or of each part.
type Rows = Arc<[Arc<[u32]>]>;

/// The admitted rows of each segment, and what was derived from them.
#[derive(Debug)]
pub(super) struct Admitted {
    key: Key,
    /// The rows are these for reads from here.
    since: Micros,
    /// And before this: then the first of them expires.
    until: Micros,
    pub rows: Vec<Arc<[u32]>>,
    pub totals: Totals,
    pub kinds: Kinds,
    pub fixed: OnceLock<Arc<Fixed>>,
    pub marks: OnceLock<Marks>,
    /// For the pause that was asked for last.
    conversation: Mutex<Option<(i64, Arc<Conversation>)>>,
    /// What the last filter left of each part.
    filtered: Mutex<Option<(String, Rows)>>,
}

impl Admitted {
    /// What is in reach and admitted; from the partition's memo where that has it.
    pub fn of(partition: &Partition, reached: &Reached, admission: &Admission) -> Arc<Self> {
        let key = Key {
            scope: reached.scope,
            is_session: reached.is_session,
            documents: admission.documents,
            superseded: admission.superseded,
        };
        if admission.as_of.is_some() {
            return Arc::new(Self::select(key, partition, admission));
        }
        let known = partition.memo().get::<Self>().filter(|known| known.serves(key, admission.now));
        known.unwrap_or_else(|| {
            let selected = Arc::new(Self::select(key, partition, admission));
            partition.memo().keep(key.scope, &selected);
            selected
        })
    }

    /// Who said what when, if it is known for this pause.
    pub fn conversation_by(&self, gap_us: i64) -> Option<Arc<Conversation>> {
        let kept = self.conversation.lock();
        kept.as_ref().filter(|(gap, _)| *gap == gap_us).map(|(_, conversation)| Arc::clone(conversation))
    }

    pub fn keep_conversation(&self, gap_us: i64, conversation: &Arc<Conversation>) {
        *self.conversation.lock() = Some((gap_us, Arc::clone(conversation)));
    }

    /// What this filter left, if it was the last.
    pub fn filtered_by(&self, filter: &str) -> Option<Rows> {
        let filtered = self.filtered.lock();
        filtered.as_ref().filter(|(known, _)| known == filter).map(|(_, rows)| Arc::clone(rows))
    }

    pub fn keep_filtered(&self, filter: &str, rows: &Rows) {
        *self.filtered.lock() = Some((filter.to_owned(), Arc::clone(rows)));
    }

    fn serves(&self, key: Key, now: Micros) -> bool {
        self.key == key && self.times().contains(&now)
    }

    /// The times of reads that have these rows.
    pub fn times(&self) -> Range<Micros> {
        self.since..self.until
    }

    fn select(key: Key, partition: &Partition, admission: &Admission) -> Self {
        let (mut since, mut until) = (Micros::MIN, NEVER);
        let mut admits = |entry: &Entry| {
            if key.scope.is_some_and(|scope| entry.scope != scope) {
                return false;
            }
            if entry.expires <= admission.now {
                since = since.max(entry.expires);
            } else {
                until = until.min(entry.expires);
            }
            admission.admits(entry)
        };
        let mut kinds = Kinds::default();
        let segments = partition.segments().iter();
        let rows = segments.map(|segment| {
            let numbered = segment.entries().iter().zip(0_u32..);
            let admitted = numbered.filter(|(entry, _)| admits(entry));
            admitted.inspect(|(entry, _)| kinds.add(entry)).map(|(_, row)| row).collect()
        });
        let rows: Vec<Arc<[u32]>> = rows.collect();
        let mut totals = Totals::default();
        partition.segments().iter().zip(&rows).for_each(|(segment, rows)| totals.add(segment, rows));
        Self {
            key,
            since,
            until,
            rows,
            totals,
            kinds,
            fixed: OnceLock::new(),
            marks: OnceLock::new(),
            conversation: Mutex::default(),
            filtered: Mutex::default(),
        }
    }
}
