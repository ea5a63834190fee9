//! Reading one consistent snapshot.
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use rusqlite::Connection;

use super::codec::{self, HeadBlob};
use super::entry::{self, Entry, Loaded, columns};
use super::fault::At;
use super::rows::Micros;
use super::rows::{Head, OwnerRef, Scan, Seq, Stats};
use super::schema::{HashKey, Meta};
use super::sqlite::Conn;
use crate::error::{Error, Result};
use crate::model::Kind;

/// A snapshot of the collection: what was committed when it began.
pub struct ReadTx<'a> {
    pub(super) conn: &'a Conn,
    pub(super) path: &'a Path,
    pub(super) meta: Meta,
    /// No writer shares the transaction, so `meta` is what it was when the snapshot began.
    pub(super) alone: bool,
    /// Ids of the current models by slot, once looked up.
    pub(super) models: RefCell<Option<Rc<[i64]>>>,
}

impl std::fmt::Debug for ReadTx<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ReadTx").field("path", &self.path).field("meta", &self.meta).finish_non_exhaustive()
    }
}

impl<'a> ReadTx<'a> {
    pub(super) fn new(conn: &'a Conn, path: &'a Path, meta: Meta, alone: bool) -> Self {
        Self { conn, path, meta, alone, models: RefCell::new(None) }
    }
}

impl ReadTx<'_> {
    pub(super) fn sql(&self) -> &Connection {
        &self.conn.sql
    }

    /// As messages name the collection.
    pub(crate) fn path(&self) -> &Path {
        self.path
    }

    pub(super) fn hash_key(&self) -> HashKey {
        self.conn.origin.hash_key
    }

    pub(super) fn damaged(&self, table: &str, row: i64) -> Error {
        Error::corrupt(
            self.path,
            format!(
                "row {row} of `{table}` does not match its checksum: the file was damaged outside of retentive. \
                 Restore a backup, or salvage the rest with `python -m retentive.repair`"
            ),
        )
    }

    /// Tells a restored backup from the file it replaced.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.conn.generation()
    }

    pub fn find(&self, id: &str) -> Result<Option<Head>> {
        Ok(self.find_entry(id)?.map(|entry| entry.head))
    }

    pub fn head(&self, seq: Seq) -> Result<Option<Head>> {
        Ok(self.entry(seq)?.map(|entry| entry.head))
    }

    pub(super) fn find_entry(&self, id: &str) -> Result<Option<Entry>> {
        let hash = self.hash_key().id(id);
        let mut statement = self.sql().prepare_cached("SELECT seq FROM memory WHERE id = ?1").at(self.path)?;
        let mut rows = statement.query([hash]).at(self.path)?;
        while let Some(row) = rows.next().at(self.path)? {
            let seq = row.get(0).at(self.path)?;
            let entry = self.entry(seq)?.filter(|entry| entry.id == hash).ok_or_else(|| self.damaged("memory", seq))?;
            if self.head_blob(seq)?.id == id {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    pub(super) fn entry(&self, seq: Seq) -> Result<Option<Entry>> {
        match entry::load(self.sql(), seq).at(self.path)? {
            Loaded::Found(entry) => Ok(Some(entry)),
            Loaded::Damaged => Err(self.damaged("memory", seq)),
            Loaded::Missing => Ok(None),
        }
    }

    pub(super) fn head_blob(&self, seq: Seq) -> Result<HeadBlob> {
        let mut statement = self.sql().prepare_cached("SELECT head FROM content WHERE seq = ?1").at(self.path)?;
        let mut rows = statement.query([seq]).at(self.path)?;
        let row = rows.next().at(self.path)?.ok_or_else(|| self.damaged("content", seq))?;
        let blob = row.get_ref(0).and_then(|value| Ok(value.as_blob()?)).at(self.path)?;
        codec::decode_head(blob, seq).ok_or_else(|| self.damaged("content", seq))
    }

    /// Walks over memories without their content, verifying each row.
    pub fn heads(&self, scan: Scan, each: &mut dyn FnMut(&Head) -> Result<()>) -> Result<()> {
        let select = match scan {
            Scan::Scope(_) => {
                concat!("SELECT ", columns!(), " FROM memory m WHERE m.scope = ?1 ORDER BY m.turn, m.seq")
            }
            Scan::Partition(_) => {
                concat!("SELECT ", columns!(), " FROM memory m WHERE m.partition = ?1 ORDER BY m.seq")
            }
            Scan::All => concat!("SELECT ", columns!(), " FROM memory m WHERE ?1 = 0 ORDER BY m.seq"),
            Scan::Expired(_) => {
                concat!("SELECT ", columns!(), " FROM memory m WHERE m.expires <= ?1 ORDER BY m.expires, m.seq")
            }
        };
        let number = match scan {
            Scan::Scope(id) | Scan::Partition(id) => id,
            Scan::All => 0,
            Scan::Expired(now) => now,
        };
        let expected = match scan {
            Scan::Scope(id) => self.scope_row(id)?.map_or(0, |row| row.held),
            Scan::Partition(id) => self.scope_row(id)?.map_or(0, |row| row.owned),
            Scan::All => self.numbers("SELECT coalesce(sum(owned), 0) FROM scope", [])?.into_iter().sum(),
            Scan::Expired(_) => -1,
        };
        let mut statement = self.sql().prepare_cached(select).at(self.path)?;
        let mut rows = statement.query([number]).at(self.path)?;
        let mut found = 0;
        let mut last = None;
        while let Some(row) = rows.next().at(self.path)? {
            // A damaged index may lead to a row twice, and to another one never.
            let entry = Entry::read(row).at(self.path)?;
            let entry = entry.filter(|entry| scan.covers(&entry.head) && last < Some(scan.place(&entry.head)));
            let head = entry.ok_or_else(|| self.damaged("memory", row.get(0).unwrap_or(0)))?.head;
            last = Some(scan.place(&head));
            each(&head)?;
            found += 1;
        }
        if expected >= 0 && expected != found {
            return Err(Error::corrupt(
                self.path,
                format!("{expected} memories should be found by {scan:?}, {found} were"),
            ));
        }
        Ok(())
    }

    /// The last turns of a session that have not expired, superseded ones too, in (turn, seq) order. Costs as much as it returns.
    pub fn turns(&self, scope: i64, last: Option<usize>, now: Micros) -> Result<Vec<Seq>> {
        let limit = last.map_or(-1, |last| i64::try_from(last).unwrap_or(i64::MAX));
        let select = "SELECT seq FROM memory WHERE scope = ?1 AND turn >= 0 AND kind = ?2 AND (expires IS NULL OR expires > ?3) \
                      ORDER BY turn DESC, seq DESC LIMIT ?4";
        let mut turns = self.numbers(select, (scope, Kind::Turn as i64, now, limit))?;
        turns.reverse();
        let mut last = (-1, -1);
        self.confirm(&turns, |head| {
            let place = (head.turn.unwrap_or(-1), head.seq);
            let rises = std::mem::replace(&mut last, place) < place;
            rises && head.scope == scope && head.kind == Kind::Turn && head.expires.is_none_or(|at| at > now)
        })?;
        Ok(turns)
    }

    /// An index is not covered by checksums, the rows it leads to are: that they are what was asked for is read there.
    fn confirm(&self, seqs: &[Seq], mut fits: impl FnMut(&Head) -> bool) -> Result<()> {
        for seq in seqs {
            if !self.entry(*seq)?.is_some_and(|entry| fits(&entry.head)) {
                return Err(self.damaged("memory", *seq));
            }
        }
        Ok(())
    }

    /// The whole chain that `seq` is in, oldest first. Empty if there is no such memory.
    pub fn chain(&self, seq: Seq) -> Result<Vec<Seq>> {
        let Some(mut tip) = self.entry(seq)? else { return Ok(Vec::new()) };
        while let Some(next) = tip.head.superseded_by.filter(|next| *next != 0) {
            // A successor is always the younger one: that the numbers rise is what ends this loop in a damaged file.
            tip = self.entry(next)?.filter(|_| next > tip.head.seq).ok_or_else(|| self.broken_chain(next))?;
        }
        let mut chain = vec![tip.head.seq];
        let mut unexplored = vec![tip.head.seq];
        while let Some(successor) = unexplored.pop() {
            let older = self.predecessors(successor)?;
            if older.iter().any(|older| *older >= successor) {
                return Err(self.broken_chain(successor));
            }
            unexplored.extend_from_slice(&older);
            chain.extend(older);
        }
        chain.sort_unstable();
        Ok(chain)
    }

    fn broken_chain(&self, seq: Seq) -> Error {
        Error::corrupt(self.path, format!("the chain of memory {seq} does not hold together"))
    }

    pub(super) fn predecessors(&self, seq: Seq) -> Result<Vec<Seq>> {
        let older = self.numbers("SELECT seq FROM memory WHERE superseded_by = ?1 ORDER BY seq", [seq])?;
        self.confirm(&older, |head| head.superseded_by == Some(seq))?;
        Ok(older)
    }

    /// Who holds the key and is not superseded. Whether it has expired is for the caller to see.
    pub fn keyed(&self, owner: OwnerRef, key: &str) -> Result<Option<Head>> {
        let select =
            "SELECT seq FROM memory WHERE partition = ?1 AND key = ?2 AND superseded_by IS NULL ORDER BY seq DESC";
        for seq in self.numbers(select, (owner, self.hash_key().key(key)))? {
            if self.head_blob(seq)?.key.as_deref() == Some(key) {
                self.confirm(&[seq], |head| head.partition == owner && head.superseded_by.is_none())?;
                return self.head(seq);
            }
        }
        Ok(None)
    }

    /// Every holder of a key that is not superseded, oldest first.
    pub fn keyed_all(&self, owner: OwnerRef) -> Result<Vec<Seq>> {
        let select =
            "SELECT seq FROM memory WHERE partition = ?1 AND key IS NOT NULL AND superseded_by IS NULL ORDER BY seq";
        let holders = self.numbers(select, [owner])?;
        self.confirm(&holders, |head| head.partition == owner && head.keyed && head.superseded_by.is_none())?;
        Ok(holders)
    }

    /// Was a fact made from this turn?
    pub fn cited(&self, seq: Seq) -> Result<bool> {
        Ok(self.entry(seq)?.is_some_and(|entry| entry.head.cited))
    }

    /// Counts everything: walks over all memories.
    pub fn stats(&self) -> Result<Stats> {
        let count = |sql: &str| -> Result<u64> {
            let number: i64 = self.sql().query_row(sql, [], |row| row.get(0)).at(self.path)?;
            Ok(u64::try_from(number).unwrap_or(0))
        };
        let mut stats = Stats {
            scopes: count("SELECT count(*) FROM scope WHERE held > 0")?,
            partitions: count("SELECT count(*) FROM scope WHERE owned > 0")?,
            tombstones: count("SELECT count(*) FROM tombstone")?,
            erased: count("SELECT (SELECT count(*) FROM content) - (SELECT count(*) FROM memory)")?,
            page_size: count("PRAGMA page_size")?,
            pages: count("PRAGMA page_count")?,
            free_pages: count("PRAGMA freelist_count")?,
            rev: self.meta.rev,
            ..Stats::default()
        };
        self.heads(Scan::All, &mut |head| {
            if let Some(counted) = stats.by_kind.get_mut(head.kind as usize) {
                *counted += 1;
            }
            stats.superseded += u64::from(head.superseded_by.is_some());
            Ok(())
        })?;
        Ok(stats)
    }

    pub(super) fn numbers(&self, select: &str, parameters: impl rusqlite::Params) -> Result<Vec<i64>> {
        let mut statement = self.sql().prepare_cached(select).at(self.path)?;
        let found = statement.query_map(parameters, |row| row.get(0)).and_then(Iterator::collect).at(self.path)?;
        Ok(found)
    }
}
