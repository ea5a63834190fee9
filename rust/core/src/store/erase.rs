//! Forgetting for real. Erasable bytes are overwritten in place, in rows that never move: deleting such rows would leave copies of
//! them in pages that SQLite has rebalanced, whatever `secure_delete` says. What is deleted holds numbers only.
use std::collections::BTreeMap;
use std::ffi::CStr;

use rusqlite::MAIN_DB;
use rusqlite::blob::Blob;

use super::entry::Entry;
use super::fault::At;
use super::incoming::Place;
use super::rows::{Scan, Seq};
use super::scopes::ScopeRow;
use super::write::WriteTx;
use crate::error::{Error, Result};

/// With more tombstones a partition's older ones go: a copy that has missed them reloads.
const MOST_TOMBSTONES: i64 = 4_096;
/// So many of those before the last erasure stay. Whoever missed nothing but that never reloads.
const KEPT_TOMBSTONES: i64 = MOST_TOMBSTONES / 2;

const ZEROES: [u8; 4_096] = [0; 4_096];

impl WriteTx<'_> {
    /// Erases these memories and closes the gaps they leave in chains. Those that are no more are not counted.
    pub fn erase(&self, seqs: &[Seq]) -> Result<usize> {
        self.step(|| {
            let rev = self.rev()?;
            let mut losses: BTreeMap<i64, Loss> = BTreeMap::new();
            let mut zeroes = Eraser::new(self);
            let mut count = 0;
            for seq in seqs {
                let Some(entry) = self.entry(*seq)? else { continue };
                self.relink(&entry)?;
                zeroes.erase(&entry)?;
                self.delete_numbers(&entry, rev)?;
                losses.entry(entry.head.scope).or_insert(Loss { partition: entry.head.partition, count: 0 }).count += 1;
                count += 1;
            }
            if count > 0 {
                self.note_erasure()?;
                self.settle(&losses, rev)?;
            }
            Ok(count)
        })
    }

    /// Erases everything. Numbers go on from where they were.
    pub fn clear(&self) -> Result<usize> {
        let mut seqs = Vec::new();
        self.heads(Scan::All, &mut |head| {
            seqs.push(head.seq);
            Ok(())
        })?;
        self.erase(&seqs)
    }

    /// Links the neighbours of a memory that goes. What it superseded stays superseded: by its successor, else by nobody (0).
    fn relink(&self, gone: &Entry) -> Result<()> {
        if gone.head.supersedes.is_none() && gone.head.superseded_by.is_none() {
            return Ok(());
        }
        let successor = gone.head.superseded_by.unwrap_or(0);
        let older = self.predecessors(gone.head.seq)?;
        for seq in &older {
            let mut entry = self.entry(*seq)?.ok_or_else(|| self.damaged("memory", *seq))?;
            entry.head.superseded_by = Some(successor);
            self.touch(&mut entry)?;
        }
        if successor == 0 {
            return Ok(());
        }
        let mut newer = self.entry(successor)?.ok_or_else(|| self.damaged("memory", successor))?;
        if newer.head.supersedes == Some(gone.head.seq) {
            let others = self.predecessors(successor)?;
            newer.head.supersedes =
                gone.head.supersedes.or_else(|| others.into_iter().find(|other| *other != gone.head.seq));
        }
        self.touch(&mut newer)
    }

    fn delete_numbers(&self, entry: &Entry, rev: i64) -> Result<()> {
        let run = |sql: &str, parameters: &[i64]| -> Result<usize> {
            let done = self
                .sql()
                .prepare_cached(sql)
                .and_then(|mut statement| statement.execute(rusqlite::params_from_iter(parameters)));
            done.at(self.path())
        };
        let seq = entry.head.seq;
        if entry.feedbacks > 0 {
            run("DELETE FROM feedback WHERE seq = ?1", &[seq])?;
        }
        run("DELETE FROM memory WHERE seq = ?1", &[seq])?;
        run("DELETE FROM incoming WHERE seq = ?1", &[seq])?;
        run("INSERT INTO tombstone VALUES (?1, ?2, ?3)", &[entry.head.partition, rev, seq])?;
        Ok(())
    }

    /// Brings the scopes' counts up to date, and takes the names of those in which nothing is left.
    fn settle(&self, losses: &BTreeMap<i64, Loss>, rev: i64) -> Result<()> {
        let mut partitions: BTreeMap<i64, i64> = BTreeMap::new();
        for (scope, loss) in losses {
            let mut row = self.known_scope(*scope)?;
            row.held -= loss.count;
            row.update(self.sql()).at(self.path())?;
            *partitions.entry(loss.partition).or_default() += loss.count;
        }
        for (partition, count) in &partitions {
            let mut row = self.known_scope(*partition)?;
            row.owned -= count;
            row.rev = rev;
            row.tombstones += count;
            if row.owned == 0 || *count > row.owned.max(MOST_TOMBSTONES) {
                // To load what is left costs a copy less than to be told what went.
                self.prune(&mut row, rev)?;
            } else if row.tombstones > MOST_TOMBSTONES {
                self.prune_older(&mut row, rev)?;
            }
            row.update(self.sql()).at(self.path())?;
        }
        let mut names = Blobs::new(c"names", c"data");
        for scope in losses.keys().chain(partitions.keys()) {
            if self.known_scope(*scope)?.is_empty() {
                names.zero(self, *scope)?;
            }
        }
        Ok(())
    }

    /// Deletes the tombstones up to `rev`, which is included.
    pub(super) fn prune(&self, row: &mut ScopeRow, rev: i64) -> Result<()> {
        let deleted = self
            .sql()
            .prepare_cached("DELETE FROM tombstone WHERE partition = ?1 AND rev <= ?2")
            .and_then(|mut statement| statement.execute((row.id, rev)))
            .at(self.path())?;
        row.tombstones -= deleted as i64;
        row.pruned_below = rev;
        Ok(())
    }

    /// Deletes all but the latest tombstones, and none of `rev`.
    fn prune_older(&self, row: &mut ScopeRow, rev: i64) -> Result<()> {
        let select = "SELECT rev FROM tombstone WHERE partition = ?1 AND rev < ?2 ORDER BY rev DESC LIMIT 1 OFFSET ?3";
        let last = self.numbers(select, (row.id, rev, KEPT_TOMBSTONES))?;
        last.first().map_or(Ok(()), |last| self.prune(row, *last))
    }

    /// Replaces a blob by one of the same length, in place.
    pub(super) fn overwrite(&self, table: &CStr, column: &CStr, row: i64, bytes: &[u8]) -> Result<()> {
        let mut blob = self.sql().blob_open(MAIN_DB, table, column, row, false).at(self.path())?;
        if blob.len() != bytes.len() {
            return Err(Error::corrupt(self.path(), format!("a blob of row {row} has another length than it should")));
        }
        blob.write_all_at(bytes, 0).at(self.path())?;
        blob.close().at(self.path())
    }
}

/// One column whose blobs are overwritten. The handle moves from row to row: opening one costs as much as ten moves.
pub(super) struct Blobs<'a> {
    table: &'static CStr,
    column: &'static CStr,
    open: Option<Blob<'a>>,
}

impl<'a> Blobs<'a> {
    pub(super) fn new(table: &'static CStr, column: &'static CStr) -> Self {
        Self { table, column, open: None }
    }

    /// Overwrites the blob of this row with zeroes of the same length. Incremental I/O cannot do anything else: it never moves a row.
    pub(super) fn zero(&mut self, tx: &'a WriteTx<'_>, row: i64) -> Result<()> {
        let blob = match &mut self.open {
            Some(blob) => {
                blob.reopen(row).at(tx.path())?;
                blob
            }
            none => none.insert(tx.sql().blob_open(MAIN_DB, self.table, self.column, row, false).at(tx.path())?),
        };
        let length = blob.len();
        for at in (0..length).step_by(ZEROES.len()) {
            let piece = ZEROES.get(..length - at).unwrap_or(&ZEROES);
            blob.write_all_at(piece, at).at(tx.path())?;
        }
        Ok(())
    }
}

struct Eraser<'a, 'tx> {
    tx: &'a WriteTx<'tx>,
    heads: Blobs<'a>,
    bodies: Blobs<'a>,
    vectors: Blobs<'a>,
}

impl<'a, 'tx> Eraser<'a, 'tx> {
    fn new(tx: &'a WriteTx<'tx>) -> Self {
        let blobs = Blobs::new;
        Self {
            tx,
            heads: blobs(c"content", c"head"),
            bodies: blobs(c"content", c"body"),
            vectors: blobs(c"vector", c"data"),
        }
    }

    fn erase(&mut self, entry: &Entry) -> Result<()> {
        self.heads.zero(self.tx, entry.head.seq)?;
        self.bodies.zero(self.tx, entry.head.seq)?;
        let incoming = self.tx.incoming(entry.head.seq)?.map(Place::vids);
        entry.vids().chain(incoming.into_iter().flatten()).try_for_each(|vid| self.vectors.zero(self.tx, vid))
    }
}

/// What one scope loses in one erasure.
struct Loss {
    partition: i64,
    count: i64,
}
