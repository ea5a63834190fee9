//! One consistent look at the store: partitions, rows and vectors of the same snapshot.
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Engine;
use super::admit::{Admission, Reached, reached};
use super::calibrate::KnownFloors;
use super::filter::MetadataFilter;
use super::gather::Gathered;
use super::record;
use super::request::{Memory, Reach};
use crate::error::{Error, Result};
use crate::gate;
use crate::model::{Slot, Vector};
use crate::partition::{Cache, Partition, Session};
use crate::store::{Floors, Interrupt, Micros, ReadTx, Version};
use crate::vector::quantise::cosine;

/// How often a read takes a fresh snapshot because a thread with a newer one has caught up the partition beyond its own. After that
/// it loads a copy of its own, so that no number of writers can keep it from ending.
const FRESH_SNAPSHOTS: usize = 8;

pub(super) struct View<'v, 'tx> {
    pub tx: &'v ReadTx<'tx>,
    cache: &'v Cache,
    known_floors: &'v KnownFloors,
    own_copies: bool,
    /// Larger scopes are ranked after a first pass.
    pub ranked_whole: usize,
}

/// A scope of many partitions, as a read of one state of the store found it: finding it anew takes longer than looking through it.
struct Whole {
    version: Version,
    reach: Reach,
    documents: bool,
    superseded: bool,
    times: Range<Micros>,
    gathered: Arc<Gathered>,
}

impl Whole {
    fn of(version: Version, reach: &Reach, admission: &Admission, gathered: &Arc<Gathered>) -> Self {
        let Admission { documents, superseded, .. } = *admission;
        let (times, gathered) = (gathered.times(), Arc::clone(gathered));
        Self { version, reach: reach.clone(), documents, superseded, times, gathered }
    }

    fn serves(&self, version: Version, reach: &Reach, admission: &Admission) -> bool {
        let Admission { documents, superseded, now, .. } = *admission;
        self.version == version
            && (self.documents, self.superseded) == (documents, superseded)
            && self.times.contains(&now)
            && self.reach == *reach
    }
}

impl Engine {
    /// Runs the job in one read transaction. A job that returns `None` wants a fresh one.
    pub(super) fn snapshot<T>(&self, interrupt: Interrupt, job: impl Fn(&View) -> Result<Option<T>>) -> Result<T> {
        let _inside = gate::enter();
        let (cache, known_floors) = (&self.cache, &self.floors);
        let ranked_whole = self.ranked_whole.load(Ordering::Relaxed);
        for attempt in 0..=FRESH_SNAPSHOTS {
            let own_copies = attempt == FRESH_SNAPSHOTS;
            let done =
                self.store.read(interrupt, |tx| job(&View { tx, cache, known_floors, own_copies, ranked_whole }))?;
            if let Some(done) = done {
                return Ok(done);
            }
        }
        Err(Error::Busy {
            path: self.store.facts().path.unwrap_or_default(),
            message: "the partition kept changing; read again".to_owned(),
        })
    }
}

impl View<'_, '_> {
    /// The floors that were measured on this collection.
    pub fn floors(&self) -> Result<Floors> {
        self.known_floors.of(self.tx)
    }

    /// The partition as this transaction sees it; `None`: a fresh transaction is wanted.
    pub fn partition(&self, id: i64) -> Result<Option<Arc<Partition>>> {
        self.partition_at(id, self.tx.partition_rev(id)?, None)
    }

    /// As [`Self::partition`], where its newest rev is known, and what of it is read.
    fn partition_at(&self, id: i64, rev: i64, session: Option<Session>) -> Result<Option<Arc<Partition>>> {
        if self.own_copies {
            return Ok(Some(Arc::new(Partition::load(self.tx, id, rev)?)));
        }
        self.cache.version(self.tx, id, rev, session)
    }

    /// Scope S of a read. A filter that says in which session all matches are is taken as the reach's session.
    pub fn gather(
        &self,
        reach: &Reach,
        admission: &Admission,
        filter: Option<&MetadataFilter>,
    ) -> Result<Option<Arc<Gathered>>> {
        let lasts = filter.is_none() && reach.session.is_none() && admission.as_of.is_none() && !self.own_copies;
        let known = if lasts { self.cache.across().get::<Whole>() } else { None };
        if let Some(known) = known.filter(|known| known.serves(self.tx.version(), reach, admission)) {
            return Ok(Some(Arc::clone(&known.gathered)));
        }
        let session = filter.and_then(MetadataFilter::session).filter(|_| reach.session.is_none());
        let reached = match session {
            Some(session) => reached(self.tx, &Reach { session: Some(session.to_owned()), ..reach.clone() })?,
            None => reached(self.tx, reach)?,
        };
        let Some(mut gathered) = self.gather_from(&reached, admission)? else { return Ok(None) };
        if let Some(filter) = filter {
            filter.narrow(self.tx, &mut gathered)?;
        }
        let gathered = Arc::new(gathered);
        if lasts && gathered.len() > self.ranked_whole {
            let whole = Whole::of(self.tx.version(), reach, admission, &gathered);
            self.cache.across().keep(None, &Arc::new(whole));
        }
        Ok(Some(gathered))
    }

    pub fn gather_from(&self, reached: &[Reached], admission: &Admission) -> Result<Option<Gathered>> {
        let mut gathered = Gathered::default();
        for reached in reached {
            let rev = reached.rev.map_or_else(|| self.tx.partition_rev(reached.partition), Ok)?;
            let Some(partition) = self.partition_at(reached.partition, rev, reached.part())? else { return Ok(None) };
            gathered.add(&partition, *reached, admission);
        }
        Ok(Some(gathered))
    }

    /// Whole memories without a score, by their indexes in S, with their vectors where these are wanted. What the partition knows is not
    /// read again: of most memories only the content and one vector are.
    pub fn memories(
        &self,
        gathered: &Gathered,
        indexes: impl Iterator<Item = u32>,
        with_vectors: bool,
    ) -> Result<Vec<(Memory, Vec<Vector>)>> {
        let mut contents = self.tx.contents()?;
        let mut memories = Vec::with_capacity(indexes.size_hint().0);
        for index in indexes {
            let Some(entry) = gathered.entry(index as usize) else { continue };
            let vid = if with_vectors { entry.lone_vid } else { 0 };
            let known = if entry.lone_vid == 0 { None } else { contents.read(entry.seq, entry.scope, vid)? };
            if let Some((content, vectors)) = known {
                memories.push((record::plain_memory(entry, content), vectors));
            } else if with_vectors {
                let (row, vectors) = self.tx.row_with_vectors(entry.seq)?;
                memories.push((record::memory(row), vectors));
            } else {
                memories
                    .extend(self.tx.all_rows(&[entry.seq])?.into_iter().map(|row| (record::memory(row), Vec::new())));
            }
        }
        Ok(memories)
    }

    /// Of the candidates those that are at least so similar, by the exact cosine: int8 decides where it can tell.
    pub fn at_least(
        &self,
        gathered: &Gathered,
        int8: &[f32],
        query: &[f32],
        least: f32,
        candidates: Vec<u32>,
    ) -> Result<Vec<u32>> {
        let mut kept = Vec::with_capacity(candidates.len());
        for index in candidates {
            let near = int8.get(index as usize).copied().unwrap_or(f32::NEG_INFINITY) - least;
            let enough = if near.abs() > INT8_ERROR {
                near > 0.0
            } else {
                let seq = gathered.seq(index as usize).unwrap_or_default();
                best_cosine(0, query, &self.tx.vectors(seq)?).is_some_and(|exact| exact >= least)
            };
            if enough {
                kept.push(index);
            }
        }
        Ok(kept)
    }
}

/// The float32 cosine with a model's query vector of the best of a memory's vectors of that model; `None` for a memory without any.
#[must_use]
pub fn best_cosine(slot: Slot, query: &[f32], vectors: &[Vector]) -> Option<f32> {
    let fitting = vectors.iter().filter(|vector| vector.slot == slot && vector.values.len() == query.len());
    fitting.map(|vector| cosine(query, &vector.values)).reduce(f32::max)
}

/// The vectors that one model made.
pub(super) fn of_slot(slot: Slot, vectors: Vec<Vector>) -> Vec<Vec<f32>> {
    vectors.into_iter().filter(|vector| vector.slot == slot).map(|vector| vector.values).collect()
}

/// Wider than int8 codes can be wrong about a cosine, query and memory together.
const INT8_ERROR: f32 = 0.04;
