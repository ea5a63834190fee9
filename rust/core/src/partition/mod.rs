//! What one owner has, in memory: a copy derived from the store, caught up by `rev`.
//!
//! A [`Partition`] is one consistent version. Readers hold it by `Arc`; catching up changes it in place when nobody holds it, and
//! otherwise copies what changes (the append head, as a rule), so a reader never waits for a writer and never sees half a change.
mod cache;
mod ids;
mod labels;
mod memo;
mod segment;
mod session;

use std::sync::Arc;

use crate::error::Result;
use crate::store::{IndexRow, Progress, ReadTx, Seq};

pub use cache::Cache;
use labels::Labels;
pub(crate) use memo::Memo;
use segment::{Codes, SEGMENT_ROWS};
pub(crate) use segment::{Entry, NEVER, Segment};
pub use session::Session;

/// What a memo takes for each row, about: the columns of a scope, its thread, and the marks of a first pass, here and joined across partitions.
const MEMO_ROW_BYTES: usize = 100;

/// One version of one owner's memories, in insertion order.
#[derive(Debug, Clone)]
pub struct Partition {
    epoch: u64,
    progress: Progress,
    segments: Vec<Arc<Segment>>,
    roles: Arc<Labels>,
    /// Of speakers.
    names: Arc<Labels>,
    memo: Memo,
    /// A session and how many memories of it are here, while there are others that are not.
    counted: Option<(i64, u64)>,
}

impl Partition {
    /// Reads the whole partition, whose newest change in this transaction is `rev`.
    pub fn load(tx: &ReadTx, id: i64, rev: i64) -> Result<Self> {
        let mut partition = Self {
            epoch: tx.epoch(),
            progress: Progress::default(),
            segments: Vec::new(),
            roles: Arc::default(),
            names: Arc::default(),
            memo: Memo::default(),
            counted: None,
        };
        let mut left = usize::try_from(tx.owned(id)?).unwrap_or_default();
        // Everything there is comes, whatever was pruned.
        tx.changes(id, 0, &mut |row| {
            if partition.is_full() {
                partition.segments.push(Arc::new(Segment::with_room(left.min(SEGMENT_ROWS))));
            }
            left = left.saturating_sub(1);
            partition.take(row)
        })?;
        if let Some(last) = partition.segments.last_mut() {
            Arc::make_mut(last).shrink();
        }
        partition.progress = rev.into();
        Ok(partition)
    }

    /// Takes over what was committed up to `rev`; where that cannot be told any more, reads everything again.
    pub fn catch_up(&mut self, tx: &ReadTx, id: i64, rev: i64) -> Result<()> {
        self.memo = Memo::default();
        self.counted = None;
        if self.epoch != tx.epoch() || !self.take_changes(tx, id, rev)? || self.is_mostly_dead() {
            *self = Self::load(tx, id, rev)?;
        }
        Ok(())
    }

    /// The version that `rev` makes of this one where it only adds rows, in their order.
    pub fn grown(&self, rev: i64, rows: &[IndexRow]) -> Result<Self> {
        let mut grown = self.clone();
        rows.iter().try_for_each(|row| grown.take(row))?;
        grown.progress = rev.into();
        Ok(grown)
    }

    /// It has all that was written up to this rev.
    #[must_use]
    pub fn rev(&self) -> i64 {
        self.progress.rev
    }

    /// And nothing that was written after this one.
    #[must_use]
    pub fn newest(&self) -> i64 {
        self.progress.newest
    }

    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    pub(crate) fn roles(&self) -> &Labels {
        &self.roles
    }

    pub(crate) fn names(&self) -> &Labels {
        &self.names
    }

    pub(crate) fn memo(&self) -> &Memo {
        &self.memo
    }

    /// What the version takes in memory, with what a read may keep of it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let labels = self.roles.bytes() + self.names.bytes();
        let segments = self.segments.iter().map(|segment| segment.bytes() + MEMO_ROW_BYTES * segment.entries().len());
        size_of::<Self>() + labels + segments.sum::<usize>()
    }

    /// `false`: this version is too old to be caught up.
    fn take_changes(&mut self, tx: &ReadTx, id: i64, rev: i64) -> Result<bool> {
        let changes = tx.changes(id, self.progress, &mut |row| self.take(row))?;
        if changes.reload {
            return Ok(false);
        }
        self.kill_all(changes.gone);
        self.progress = rev.into();
        Ok(true)
    }

    /// A segment of which nothing is left goes: who adds and forgets in turns would otherwise have all that is alive read anew.
    fn kill_all(&mut self, gone: Vec<Seq>) {
        let any = !gone.is_empty();
        for seq in gone {
            self.kill(seq);
        }
        if any {
            self.segments.retain(|segment| segment.dead() < segment.entries().len());
        }
    }

    fn take(&mut self, row: &IndexRow) -> Result<()> {
        let codes = Codes {
            role: Labels::add(&mut self.roles, row.role.as_deref()),
            name: Labels::add(&mut self.names, row.name.as_deref()),
        };
        if let Some((segment, position)) = self.locate(row.head.seq) {
            segment.update(position, row, codes);
            return Ok(());
        }
        self.append().push(row, codes)?;
        if let Some((_, held)) = self.counted.as_mut().filter(|(scope, _)| *scope == row.head.scope) {
            *held += 1;
        }
        Ok(())
    }

    fn kill(&mut self, seq: Seq) {
        let Some((segment, position)) = self.locate(seq) else { return };
        let scope = segment.kill(position);
        if let Some((_, held)) = self.counted.as_mut().filter(|(counted, _)| scope == Some(*counted)) {
            *held -= 1;
        }
    }

    fn locate(&mut self, seq: Seq) -> Option<(&mut Segment, usize)> {
        let at = self.segments.partition_point(|segment| segment.last().is_some_and(|last| last < seq));
        let segment = self.segments.get_mut(at)?;
        let position = segment.position(seq)?;
        Some((Arc::make_mut(segment), position))
    }

    /// The next new row begins another segment.
    fn is_full(&self) -> bool {
        self.segments.last().is_none_or(|segment| segment.is_full())
    }

    /// The segment that takes new rows.
    fn append(&mut self) -> &mut Segment {
        if self.is_full() {
            self.segments.push(Arc::default());
        }
        let last = self.segments.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "there is a last one: it was pushed if there was none")]
        Arc::make_mut(&mut self.segments[last])
    }

    fn rows(&self) -> usize {
        self.segments.iter().map(|segment| segment.entries().len()).sum()
    }

    fn dead(&self) -> usize {
        self.segments.iter().map(|segment| segment.dead()).sum()
    }

    fn is_mostly_dead(&self) -> bool {
        let dead = self.dead();
        dead > 256 && dead * 2 > self.rows()
    }
}
