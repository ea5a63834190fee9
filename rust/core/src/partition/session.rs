//! Catching up as far as a read of one session needs it: behind another process's bulk write, the rest of a large partition is taken
//! over by many reads, a slice each, so that none of them waits for all of it.
//!
//! What a version then lacks is new, and of other sessions. That the session itself lacks nothing is told by counting: the store knows
//! how many memories a session has, all changes of those that the version knows come before the new ones, and what was erased is
//! taken over as a whole.
use super::Partition;
use super::memo::Memo;
use crate::error::Result;
use crate::store::{Progress, ReadTx};

/// New memories that a read takes over at once. As many more cost it what ranking a session does.
const SLICE: usize = 128;
/// And this part of them, so that a great many are taken over by a few reads.
const PART: usize = 8;

/// One session of a partition, and how many memories the store has of it.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    pub scope: i64,
    pub held: u64,
}

impl Partition {
    /// As [`catch_up`](Self::catch_up), but what is new in other sessions may come later.
    pub fn catch_up_session(&mut self, tx: &ReadTx, id: i64, rev: i64, session: Session) -> Result<()> {
        if self.epoch == tx.epoch() && self.take_slice(tx, id, rev, session)? {
            return Ok(());
        }
        self.catch_up(tx, id, rev)
    }

    /// `false`: all of it is to be taken over.
    fn take_slice(&mut self, tx: &ReadTx, id: i64, rev: i64, session: Session) -> Result<bool> {
        let known = self.rows() - self.dead();
        let new = usize::try_from(tx.owned(id)?).unwrap_or(0).saturating_sub(known);
        if new <= SLICE {
            return Ok(false);
        }
        self.count(session.scope);
        let last_known = self.segments.last().and_then(|segment| segment.last()).unwrap_or(0);
        let (mut last, mut is_untouched) = (0, true);
        let changes = tx.first_changes(id, self.progress, SLICE.max(new / PART), &mut |row| {
            last = row.head.seq;
            is_untouched &= last > last_known && row.head.scope != session.scope;
            self.take(row)
        })?;
        is_untouched &= changes.gone.is_empty();
        if is_untouched {
            self.memo.keep_only(session.scope);
        } else {
            self.memo = Memo::default();
        }
        if changes.reload || last < last_known {
            return Ok(false);
        }
        for seq in changes.gone {
            self.kill(seq);
        }
        self.progress = Progress { rev: self.progress.rev, newest: rev, seq: last };
        Ok(self.counted == Some((session.scope, session.held)))
    }

    /// Counts what is here of the session, unless that is known.
    fn count(&mut self, scope: i64) {
        if self.counted.is_none_or(|(counted, _)| counted != scope) {
            let entries = self.segments.iter().flat_map(|segment| segment.entries());
            let held = entries.filter(|entry| !entry.dead && entry.scope == scope).count();
            self.counted = Some((scope, held as u64));
        }
    }
}
