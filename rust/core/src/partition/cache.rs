//! The partitions in memory: least recently used ones go when together they take more than the cache may.
//!
//! A partition in use stays valid by its `Arc`. The one just used is kept even when it alone is larger than the cache, since every
//! read of it would otherwise load it anew; so memory is bounded by the cache or the largest partition, and what readers hold.
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{Memo, Partition, Session};
use crate::error::Result;
use crate::store::ReadTx;

/// How long a writer waits for readers that look at a partition's place: they are there for microseconds, or they catch up and need
/// nothing of it.
const PATIENCE: Duration = Duration::from_micros(300);

/// A partition's place. Its lock is held while that partition is loaded or caught up, so that only its own readers wait.
type Slot = Arc<Mutex<Option<Arc<Partition>>>>;

#[derive(Debug)]
pub struct Cache {
    limit_bytes: usize,
    places: Mutex<Places>,
    /// What a read derived from many partitions and may hold: it goes before any of them changes or leaves.
    across: Memo,
}

#[derive(Debug, Default)]
struct Places {
    by_partition: HashMap<i64, Place>,
    /// Rises with every use.
    clock: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Place {
    slot: Slot,
    used: u64,
    bytes: usize,
}

impl Cache {
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, places: Mutex::default(), across: Memo::default() }
    }

    /// The version of the partition that this transaction sees, whose newest rev is `wanted`; where only a `session` is read, one that
    /// has all of that. `None`: another thread has caught up beyond this transaction's snapshot, and the read should start again with a
    /// fresh one.
    pub fn version(
        &self,
        tx: &ReadTx,
        id: i64,
        wanted: i64,
        session: Option<Session>,
    ) -> Result<Option<Arc<Partition>>> {
        let slot = self.slot(id);
        let mut held = slot.lock();
        let (version, grown) = match held.take() {
            Some(version) if version.epoch() == tx.epoch() && version.newest() > wanted => {
                *held = Some(version);
                return Ok(None);
            }
            Some(version) if version.epoch() == tx.epoch() && version.rev() == wanted => (version, false),
            Some(mut version) => {
                self.across.clear();
                // On an error the place stays empty and the next read loads anew.
                let changed = Arc::make_mut(&mut version);
                match session {
                    Some(session) => changed.catch_up_session(tx, id, wanted, session)?,
                    None => changed.catch_up(tx, id, wanted)?,
                }
                (version, true)
            }
            None => (Arc::new(Partition::load(tx, id, wanted)?), true),
        };
        *held = Some(Arc::clone(&version));
        drop(held);
        if grown {
            self.account(id, version.bytes());
        }
        Ok(Some(version))
    }

    /// Whether the partition is in memory. Nobody's use of it.
    #[must_use]
    pub fn holds(&self, id: i64) -> bool {
        self.places.lock().by_partition.contains_key(&id)
    }

    /// The version in memory.
    #[must_use]
    pub fn held(&self, id: i64) -> Option<Arc<Partition>> {
        let slot = self.places.lock().by_partition.get(&id).map(|place| Arc::clone(&place.slot))?;
        let held = slot.try_lock_for(PATIENCE)?;
        held.clone()
    }

    /// Takes over a version that is committed, in place of an older one. What nobody has in memory any more, or somebody is just
    /// catching up, is left as it is: a read finds out what it lacks.
    pub fn publish(&self, id: i64, version: Arc<Partition>) {
        let slot = self.places.lock().by_partition.get(&id).map(|place| Arc::clone(&place.slot));
        let Some(slot) = slot else { return };
        let Some(mut held) = slot.try_lock_for(PATIENCE) else { return };
        let older = held.as_ref().filter(|held| held.epoch() == version.epoch() && held.rev() < version.rev());
        if older.is_none() {
            return;
        }
        self.across.clear();
        let bytes = version.bytes();
        let older = held.replace(version);
        drop(held);
        self.account(id, bytes);
        drop(older);
    }

    /// What all the cached partitions take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.places.lock().bytes
    }

    /// How many partitions are cached.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.lock().by_partition.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes() >= self.limit_bytes
    }

    /// For a read of many partitions, see [`Memo`].
    pub(crate) fn across(&self) -> &Memo {
        &self.across
    }

    pub fn clear(&self) {
        self.across.clear();
        *self.places.lock() = Places::default();
    }

    fn slot(&self, id: i64) -> Slot {
        let mut places = self.places.lock();
        places.clock += 1;
        let now = places.clock;
        let place = places.by_partition.entry(id).or_default();
        place.used = now;
        Arc::clone(&place.slot)
    }

    fn account(&self, id: i64, bytes: usize) {
        let mut places = self.places.lock();
        // A place that another thread evicted meanwhile is no longer the cache's.
        let Some(place) = places.by_partition.get_mut(&id) else { return };
        let before = std::mem::replace(&mut place.bytes, bytes);
        places.bytes = places.bytes + bytes - before;
        if places.bytes > self.limit_bytes {
            self.across.clear();
        }
        while places.bytes > self.limit_bytes && places.by_partition.len() > 1 {
            let oldest =
                places.by_partition.iter().filter(|(other, _)| **other != id).min_by_key(|(_, place)| place.used);
            let Some(oldest) = oldest.map(|(oldest, _)| *oldest) else { return };
            if let Some(gone) = places.by_partition.remove(&oldest) {
                places.bytes -= gone.bytes;
            }
        }
    }
}
