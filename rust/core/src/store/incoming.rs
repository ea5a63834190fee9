//! The move to other models. Their vectors stand beside the current ones, which everybody goes on reading and writing, until one
//! transaction puts them in their place and overwrites the old ones.
use std::collections::BTreeSet;
use std::ops::Range;

use rusqlite::OptionalExtension;

use super::codec;
use super::erase::Blobs;
use super::fault::At;
use super::models::model_seed;
use super::read::ReadTx;
use super::rows::{Model, NewModel, Scan, Seq};
use super::write::WriteTx;
use crate::error::Result;
use crate::model::Vector;

/// Where a memory's incoming vectors are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub vid: i64,
    pub parts: i64,
}

impl Place {
    pub(super) fn vids(self) -> Range<i64> {
        self.vid..self.vid + self.parts
    }

    pub(super) fn sum(self, seq: Seq) -> i64 {
        codec::sum_numbers(&[Some(seq), Some(self.vid), Some(self.parts)])
    }
}

impl ReadTx<'_> {
    /// Memories after `after` that have no incoming vectors yet, in seq order.
    pub fn without_incoming(&self, after: Seq, limit: usize) -> Result<Vec<Seq>> {
        let select = "SELECT m.seq FROM memory m WHERE m.seq > ?1 \
                      AND NOT EXISTS (SELECT 1 FROM incoming i WHERE i.seq = m.seq) ORDER BY m.seq LIMIT ?2";
        self.numbers(select, (after, i64::try_from(limit).unwrap_or(i64::MAX)))
    }

    /// How many memories have incoming vectors, and how many there are. Walks over the former.
    pub fn incoming_progress(&self) -> Result<(u64, u64)> {
        Ok((self.count("SELECT count(*) FROM incoming")?, self.memory_count()?))
    }

    /// Memories after `after` that have no vectors at all, in seq order. Walks over all memories.
    pub fn without_vectors(&self, after: Seq, limit: usize) -> Result<Vec<Seq>> {
        let select = "SELECT seq FROM memory WHERE seq > ?1 AND parts = 0 ORDER BY seq LIMIT ?2";
        self.numbers(select, (after, i64::try_from(limit).unwrap_or(i64::MAX)))
    }

    /// How many memories have vectors, and how many there are. Walks over all.
    pub fn vectors_progress(&self) -> Result<(u64, u64)> {
        Ok((self.count("SELECT count(*) FROM memory WHERE parts > 0")?, self.memory_count()?))
    }

    pub fn memory_count(&self) -> Result<u64> {
        self.count("SELECT coalesce(sum(owned), 0) FROM scope")
    }

    fn count(&self, select: &str) -> Result<u64> {
        Ok(self.numbers(select, [])?.first().map_or(0, |count| u64::try_from(*count).unwrap_or(0)))
    }

    pub(super) fn incoming(&self, seq: Seq) -> Result<Option<Place>> {
        let found = self
            .sql()
            .prepare_cached("SELECT vid, parts, sum FROM incoming WHERE seq = ?1")
            .and_then(|mut statement| {
                let place = |row: &rusqlite::Row<'_>| {
                    Ok((Place { vid: row.get(0)?, parts: row.get(1)? }, row.get::<_, i64>(2)?))
                };
                statement.query_row([seq], place).optional()
            })
            .at(self.path())?;
        match found {
            Some((place, sum)) if place.sum(seq) == sum => Ok(Some(place)),
            Some(_) => Err(self.damaged("incoming", seq)),
            None => Ok(None),
        }
    }
}

impl WriteTx<'_> {
    /// Begins a move; none is under way.
    pub fn begin_incoming(&self, models: &[NewModel]) -> Result<()> {
        self.step(|| {
            for (place, model) in (1_i64..).zip(models) {
                let probe = codec::encode_floats(&model.probe, model_seed(&model.name, model.dimension));
                self.sql()
                    .execute(
                        "INSERT INTO model(name, dimension, probe, current, incoming) VALUES (?1, ?2, ?3, 0, ?4)",
                        (&model.name, model.dimension, probe, place),
                    )
                    .at(self.path())?;
            }
            Ok(())
        })
    }

    /// Stores a memory's vectors of the incoming models. False: it has some already, or is no more.
    pub fn add_incoming(&self, models: &[Model], seq: Seq, vectors: &[Vector]) -> Result<bool> {
        if self.incoming(seq)?.is_some() || self.entry(seq)?.is_none() {
            return Ok(false);
        }
        self.step(|| {
            let place = Place { vid: self.counters.next_vid.get(), parts: vectors.len() as i64 };
            let ids: Vec<i64> = models.iter().map(|model| model.id).collect();
            self.append_vectors(seq, &ids, vectors)?;
            self.sql()
                .prepare_cached("INSERT INTO incoming VALUES (?1, ?2, ?3, ?4)")
                .and_then(|mut statement| statement.execute((seq, place.vid, place.parts, place.sum(seq))))
                .at(self.path())?;
            Ok(true)
        })
    }

    /// Gives a move up: overwrites the vectors that it stored.
    pub fn drop_incoming(&self) -> Result<()> {
        self.step(|| {
            let mut vectors = Blobs::new(c"vector", c"data");
            for seq in self.numbers("SELECT seq FROM incoming ORDER BY seq", [])? {
                let Some(place) = self.incoming(seq)? else { continue };
                place.vids().try_for_each(|vid| vectors.zero(self, vid))?;
            }
            self.note_erasure()?;
            self.run("DELETE FROM incoming")?;
            self.run("UPDATE model SET incoming = 0 WHERE incoming > 0")
        })
    }

    /// Ends a move: the incoming vectors become the current ones, and the old ones are overwritten. A memory without incoming vectors
    /// has none then.
    pub fn swap_incoming(&self) -> Result<()> {
        let mut seqs = Vec::new();
        self.heads(Scan::All, &mut |head| {
            seqs.push(head.seq);
            Ok(())
        })?;
        self.step(|| {
            let mut vectors = Blobs::new(c"vector", c"data");
            for seq in seqs {
                let mut entry = self.entry(seq)?.ok_or_else(|| self.damaged("memory", seq))?;
                entry.vids().try_for_each(|vid| vectors.zero(self, vid))?;
                (entry.vid, entry.parts) = self.incoming(seq)?.map_or((entry.vid, 0), |place| (place.vid, place.parts));
                entry.update_vectors(self.sql()).at(self.path())?;
            }
            self.note_erasure()?;
            self.forget_model_ids();
            self.run("DELETE FROM incoming")?;
            self.drop_calibration()?; // of the old vectors
            self.run("UPDATE model SET current = incoming, incoming = 0 WHERE current > 0 OR incoming > 0")?;
            self.outdate_copies(self.numbers("SELECT id FROM scope WHERE owned > 0", [])?)
        })
    }

    /// Stores vectors of the current models for memories that have none. How many had none; others are left as they are.
    pub fn add_vectors(&self, rows: &[(Seq, Vec<Vector>)]) -> Result<u64> {
        self.step(|| {
            let models = self.model_ids()?;
            let mut partitions = BTreeSet::new();
            let mut added = 0;
            for (seq, vectors) in rows {
                let Some(mut entry) = self.entry(*seq)?.filter(|entry| entry.parts == 0) else { continue };
                (entry.vid, entry.parts) = (self.counters.next_vid.get(), vectors.len() as i64);
                self.append_vectors(*seq, &models, vectors)?;
                entry.update_vectors(self.sql()).at(self.path())?;
                partitions.insert(entry.head.partition);
                added += 1;
            }
            self.outdate_copies(partitions)?;
            Ok(added)
        })
    }

    /// Whoever has a copy of one of these partitions must load it anew: catching up brings no vectors of memories that it knows.
    fn outdate_copies(&self, partitions: impl IntoIterator<Item = i64>) -> Result<()> {
        for id in partitions {
            let rev = self.rev()?;
            let mut row = self.known_scope(id)?;
            row.rev = rev;
            self.prune(&mut row, rev)?;
            row.update(self.sql()).at(self.path())?;
        }
        Ok(())
    }

    fn run(&self, statement: &str) -> Result<()> {
        self.sql().execute(statement, []).at(self.path()).map(drop)
    }
}
