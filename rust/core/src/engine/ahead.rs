//! What a bulk write adds to partitions in memory, prepared while it is stored: the next read finds a version that is up to date, and
//! need not read from the file what this process had in its hands.
use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::partition::Cache;
use crate::store::{Filled, IndexRow, NewMemory, WriteTx};

/// Fewer rows are soon read, and a version costs the copy of a segment.
const WORTH_A_VERSION: usize = 64;

/// The rows of one write, of the partitions that somebody reads.
pub(super) struct Ahead<'c> {
    cache: &'c Arc<Cache>,
    added: HashMap<i64, Added>,
    /// Something else happened than rows that were added.
    abandoned: bool,
}

#[derive(Default)]
struct Added {
    /// The rev of the partition before.
    since: i64,
    /// None of a partition that is not in memory.
    rows: Option<Vec<IndexRow>>,
}

impl<'c> Ahead<'c> {
    pub fn new(cache: &'c Arc<Cache>) -> Self {
        Self { cache, added: HashMap::new(), abandoned: false }
    }

    /// A memory was stored.
    pub fn add(&mut self, filled: Filled, new: NewMemory) {
        let partition = filled.head.partition;
        let added = self
            .added
            .entry(partition)
            .or_insert_with(|| Added { since: filled.partition_was, rows: self.cache.holds(partition).then(Vec::new) });
        if let Some(rows) = &mut added.rows {
            rows.push(IndexRow {
                head: filled.head,
                id: new.id,
                role: new.role,
                name: new.name,
                cites: Vec::new(),
                terms: new.terms,
                marks: new.marks,
                vectors: new.vectors,
                lone_vid: filled.lone_vid,
                feedback: Vec::new(),
            });
        }
    }

    /// Something was stored that may change others: readers will read it.
    pub fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// Makes the versions, which take their places when the write is committed.
    pub fn prepare(self, tx: &WriteTx) -> Result<()> {
        if self.abandoned {
            return Ok(());
        }
        for (id, added) in self.added {
            let Some(rows) = added.rows.filter(|rows| rows.len() >= WORTH_A_VERSION) else { continue };
            let before = self.cache.held(id).filter(|held| held.epoch() == tx.epoch() && held.rev() == added.since);
            let Some(before) = before else { continue };
            let rev = tx.rev()?;
            // Rows that do not fit what is in memory are no fault of the write: the read that catches up loads anew, or says so.
            let Ok(version) = before.grown(rev, &rows) else { continue };
            let (cache, version) = (Arc::clone(self.cache), Arc::new(version));
            tx.after_commit(move || cache.publish(id, version));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::time::Duration;

    use super::super::Engine;
    use super::super::request::{BoundModel, NewMemory, Options};
    use crate::error::Error;
    use crate::model::{Judge, Kind, Vector};
    use crate::store::Durability;

    const fn go() -> bool {
        false
    }

    fn opened(path: Option<&std::path::Path>) -> Engine {
        let options = Options {
            path: path.map(Into::into),
            name: "chat".to_owned(),
            language: "english".to_owned(),
            durability: Durability::Normal,
            cache_mb: 64,
            busy_timeout: Duration::from_secs(30),
            readonly: false,
            entropy: [7; 32],
        };
        let engine = Engine::open(options, &go).unwrap();
        let model = BoundModel { name: "made-up".to_owned(), dimension: 2, probe: None };
        engine.bind_models(&[model], &go).unwrap();
        engine
    }

    fn turns(from: usize, count: usize) -> Vec<NewMemory> {
        let turn = |number: usize| NewMemory {
            id: format!("turn-{number}"),
            text: format!("the kite number {number} flew on Friday"),
            kind: Kind::Turn,
            user: Some("ann".to_owned()),
            session: Some(format!("s{}", number % 3)),
            role: number.is_multiple_of(2).then(|| "user".to_owned()),
            name: number.is_multiple_of(5).then(|| "Bob".to_owned()),
            key: None,
            turn: None,
            ts: 1_000_000 * number as i64,
            expires: number.is_multiple_of(7).then_some(i64::MAX - 1),
            metadata: None,
            vectors: if number.is_multiple_of(11) {
                Vec::new()
            } else {
                vec![Vector::first(vec![number as f32, 1.0]); 1 + number % 2]
            },
            model_epoch: None,
            judge: Judge::None,
            supersedes: Vec::new(),
            replace: false,
        };
        (from..from + count).map(turn).collect()
    }

    /// The rev of the partition in memory and of that in the file.
    fn revs(engine: &Engine) -> (Option<i64>, i64) {
        let (id, stored) = engine
            .read(&go, |tx| {
                let id = tx.scope(Some("ann"), None)?.unwrap().id;
                Ok((id, tx.partition_rev(id)?))
            })
            .unwrap();
        (engine.cache.held(id).map(|held| held.rev()), stored)
    }

    #[test]
    fn a_bulk_write_leaves_a_reader_nothing_to_catch_up() {
        let folder = tempfile::tempdir().unwrap();
        for path in [None, Some(folder.path().join("chat.db"))] {
            let engine = opened(path.as_deref());
            engine.remember(turns(0, 100), 0, &go).unwrap();
            assert_eq!(revs(&engine).0, None, "nobody reads it yet");
            engine.warmup(&go).unwrap();
            for from in (100..6_000).step_by(700) {
                engine.remember(turns(from, 700), 0, &go).unwrap();
                let (held, stored) = revs(&engine);
                assert_eq!(held, Some(stored));
            }
        }
    }

    #[test]
    fn a_version_made_ahead_is_the_one_that_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat.db");
        let engine = opened(Some(&path));
        engine.remember(turns(0, 10), 0, &go).unwrap();
        engine.warmup(&go).unwrap();
        for from in (10..9_000).step_by(899) {
            engine.remember(turns(from, 899), 0, &go).unwrap();
        }
        let (held, stored) = revs(&engine);
        assert_eq!(held, Some(stored));
        let id = engine.read(&go, |tx| Ok(tx.scope(Some("ann"), None)?.unwrap().id)).unwrap();
        let ahead = engine.cache.held(id).unwrap();
        let loaded = engine.read(&go, |tx| crate::partition::Partition::load(tx, id, stored)).unwrap();
        assert_eq!(ahead.segments().len(), loaded.segments().len());
        for (ahead, loaded) in ahead.segments().iter().zip(loaded.segments()) {
            assert_eq!(ahead.entries(), loaded.entries());
            assert_eq!(ahead.periods(), loaded.periods());
            assert_eq!(ahead.rows(0), loaded.rows(0));
            assert_eq!(ahead.postings(), loaded.postings());
        }
        assert_eq!(ahead.roles(), loaded.roles());
        assert_eq!(ahead.names(), loaded.names());
    }

    #[test]
    fn what_is_not_committed_is_in_no_version() {
        let folder = tempfile::tempdir().unwrap();
        let engine = opened(Some(&folder.path().join("chat.db")));
        engine.remember(turns(0, 100), 0, &go).unwrap();
        engine.warmup(&go).unwrap();
        let before = revs(&engine);
        let mut broken = turns(100, 100);
        broken[99].id = "turn-0".to_owned();
        assert!(matches!(engine.remember(broken, 0, &go), Err(Error::Conflict(_))));
        assert_eq!(revs(&engine), before);
        engine.remember(turns(500, 70), 0, &go).unwrap();
        let (held, stored) = revs(&engine);
        assert_eq!((held, stored), (Some(stored), before.1 + 1));
    }

    #[test]
    fn few_rows_and_those_that_change_others_are_left_to_the_reader() {
        let engine = opened(None);
        engine.remember(turns(0, 100), 0, &go).unwrap();
        engine.warmup(&go).unwrap();
        let (before, _) = revs(&engine);
        engine.remember(turns(100, 10), 0, &go).unwrap();
        let mut keyed = turns(200, 100);
        keyed[50] = NewMemory { kind: Kind::Fact, key: Some("plan".to_owned()), ..keyed[50].clone() };
        engine.remember(keyed, 0, &go).unwrap();
        engine.remember(turns(300, 100), 0, &go).unwrap();
        assert_eq!(revs(&engine).0, before, "a version of what is older has nothing to stand on");
        engine.warmup(&go).unwrap();
        let (held, stored) = revs(&engine);
        assert_eq!(held, Some(stored));
    }
}
