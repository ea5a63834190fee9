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
        self.kill_all(changes.gone);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::super::Cache;
    use super::*;
    use crate::model::{Judge, Kind, Marks};
    use crate::store::{Durability, NewMemory, OpenOptions, Store};

    const OF_ANN: &str = "ann";

    fn never() -> bool {
        false
    }

    fn turn(number: usize) -> NewMemory {
        NewMemory {
            id: format!("turn-{number}"),
            kind: Kind::Turn,
            role: Some("user".to_owned()),
            name: None,
            key: None,
            text: "said".to_owned(),
            metadata: None,
            turn: None,
            ts: number as i64,
            expires: None,
            tokens: 1,
            words: 1,
            question: 0,
            terms: vec![(number as u64 % 50, 1)],
            marks: Marks::default(),
            vectors: Vec::new(),
            consolidated_from: Vec::new(),
            cited: Vec::new(),
            judge: Judge::None,
        }
    }

    fn fill(store: &Store, session: &str, from: usize, count: usize) {
        let stored = store.write(&never, |tx| {
            let scope = tx.ensure_scope(Some(OF_ANN), Some(session))?;
            (from..from + count).try_for_each(|number| tx.insert(&scope, &turn(number)).map(drop))
        });
        stored.unwrap();
    }

    fn opened() -> Store {
        let options = OpenOptions {
            path: None,
            durability: Durability::Normal,
            language: "english".to_owned(),
            busy_timeout: Duration::ZERO,
            readonly: false,
            entropy: [7; 32],
        };
        Store::open(options, &never).unwrap()
    }

    #[test]
    fn a_segment_of_which_nothing_is_left_goes() {
        let (store, cache) = (opened(), Cache::new(1 << 24));
        let rows = || {
            let version = store.read(&never, |tx| {
                let partition = tx.scope(Some(OF_ANN), Some("s"))?.unwrap().partition;
                cache.version(tx, partition, tx.partition_rev(partition)?, None)
            });
            let version = version.unwrap().unwrap();
            (version.rows(), version.dead())
        };
        fill(&store, "s", 0, 6_000);
        for from in (10_000..50_000).step_by(10_000) {
            fill(&store, "t", from, 4_500);
            let (before, dead) = rows();
            assert_eq!(before - dead, 10_500);
            let gone = store.write(&never, |tx| {
                let of = tx.scope(Some(OF_ANN), Some("t"))?.unwrap().id;
                let mut seqs = Vec::new();
                tx.heads(crate::store::Scan::All, &mut |head| {
                    seqs.extend(Some(head.seq).filter(|_| head.scope == of));
                    Ok(())
                })?;
                tx.erase(&seqs)
            });
            assert_eq!(gone.unwrap(), 4_500);
            assert_eq!(rows(), (8_192, 2_192), "what it shares a segment with is there");
        }
    }

    #[test]
    fn what_is_new_in_another_session_is_taken_over_by_slices() {
        let store = opened();
        fill(&store, "s", 0, 10);
        let cache = Cache::new(1 << 20);
        let read = |session: Option<&str>| {
            let version = store.read(&never, |tx| {
                let scope = tx.scope(Some(OF_ANN), session)?.unwrap();
                let part = session.map(|_| Session { scope: scope.id, held: scope.held });
                cache.version(tx, scope.partition, tx.partition_rev(scope.partition)?, part)
            });
            let version = version.unwrap().unwrap();
            (version.rows(), version.rev() == version.newest())
        };
        assert_eq!(read(Some("s")), (10, true));
        fill(&store, "t", 1_000, 300);
        assert_eq!(read(Some("s")), (10 + SLICE, false));
        assert_eq!(read(Some("s")), (10 + 2 * SLICE, false));
        assert_eq!(read(Some("s")), (310, true));
        fill(&store, "t", 2_000, 300);
        assert_eq!(read(Some("s")), (310 + SLICE, false));
        fill(&store, "s", 3_000, 1);
        assert_eq!(read(Some("s")), (611, true), "one of them is the session's own");
        fill(&store, "t", 4_000, 300);
        assert_eq!(read(Some("s")), (611 + SLICE, false));
        assert_eq!(read(None), (911, true), "all of the partition is read");
    }
}
