//! Reading what an index is built from: what was written to a partition since a rev.
use std::rc::Rc;

use rusqlite::Rows;
use rusqlite::types::{Value, ValueRef};

use super::codec::{self, HeadBlob};
use super::entry::{Entry, WIDTH, columns};
use super::fault::At;
use super::load::SELECT_VECTORS;
use super::read::ReadTx;
use super::rows::{Changes, IndexRow, Progress, Seq};
use crate::error::{Error, Result};

/// What was written to a partition after a rev, but for what the copy has already.
const SELECT_CHANGED: &str =
    "SELECT seq FROM memory INDEXED BY memory_rev WHERE partition = ?1 AND rev > ?2 AND (rev > ?3 OR seq > ?4)";
/// What an index is built from: entry, head blob and the vector if there is just one.
macro_rules! index_rows {
    ($memories:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", c.head, v.model, v.part, v.data FROM ",
            $memories,
            " LEFT JOIN content c ON c.seq = m.seq LEFT JOIN vector v ON v.vid = m.vid AND v.seq = m.seq AND m.parts = 1 "
        )
    };
}

/// A run of a partition's memories: the three tables are read from page to page.
const SELECT_RUN: &str = concat!(
    index_rows!("memory m NOT INDEXED"),
    "WHERE m.seq BETWEEN ?1 AND ?2 AND m.partition = ?3 AND m.rev > ?4 ORDER BY m.seq"
);
/// Those of a list, in its order: one statement for memories that lie far from each other, whose cursors stay open from one to the
/// next.
const SELECT_LISTED: &str = concat!(
    index_rows!("rarray(?1) listed CROSS JOIN memory m ON m.seq = listed.value"),
    "WHERE m.partition = ?2 AND m.rev > ?3"
);
/// Other memories that may lie between two of a run: to read past one costs less than to begin anew.
const MOST_BETWEEN: i64 = 8;
/// A shorter run is listed.
const LEAST_RUN: usize = 8;

impl ReadTx<'_> {
    /// What was written to the partition after `since`: new and changed memories in seq order, and what is gone.
    ///
    /// When the answer says `reload`, nothing was delivered: `since` is older than the tombstones that are kept.
    pub fn changes(
        &self,
        partition: i64,
        since: impl Into<Progress>,
        each: &mut dyn FnMut(&IndexRow) -> Result<()>,
    ) -> Result<Changes> {
        self.changed(partition, since.into(), None, each)
    }

    /// As [`Self::changes`], but no more than the first `most` of the memories; all that is gone.
    pub fn first_changes(
        &self,
        partition: i64,
        since: Progress,
        most: usize,
        each: &mut dyn FnMut(&IndexRow) -> Result<()>,
    ) -> Result<Changes> {
        self.changed(partition, since, Some(most), each)
    }

    fn changed(
        &self,
        partition: i64,
        since: Progress,
        most: Option<usize>,
        each: &mut dyn FnMut(&IndexRow) -> Result<()>,
    ) -> Result<Changes> {
        let Some(row) = self.scope_row(partition)? else {
            return Ok(Changes { reload: since.rev > 0, ..Changes::default() });
        };
        let unknown = since.rev < row.pruned_below || since.newest > row.rev;
        if since.rev == row.rev || (since.rev > 0 && unknown) {
            return Ok(Changes { rev: row.rev, gone: Vec::new(), reload: since.rev != row.rev });
        }
        let mut changed = self.numbers(SELECT_CHANGED, (partition, since.rev, since.newest, since.seq))?;
        if since.rev <= 0 && changed.len() as i64 != row.owned {
            let found = changed.len();
            return Err(Error::corrupt(
                self.path(),
                format!("partition {partition} should hold {} memories, its index has {found}", row.owned),
            ));
        }
        changed.sort_unstable();
        changed.truncate(most.unwrap_or(usize::MAX));
        let mut read = Reading::default();
        let mut listed = Vec::new();
        for run in changed.chunk_by(|a, b| b - a <= MOST_BETWEEN) {
            if run.len() < LEAST_RUN {
                listed.extend_from_slice(run);
                continue;
            }
            self.each_listed(partition, since.rev, &listed, &mut read, each)?;
            listed.clear();
            self.each_of_run(partition, since.rev, run, &mut read, each)?;
        }
        self.each_listed(partition, since.rev, &listed, &mut read, each)?;
        let gone = if since.rev > 0 {
            self.numbers("SELECT seq FROM tombstone WHERE partition = ?1 AND rev > ?2", (partition, since.rev))?
        } else {
            Vec::new()
        };
        Ok(Changes { rev: row.rev, gone, reload: false })
    }

    fn each_of_run(
        &self,
        partition: i64,
        since: i64,
        run: &[Seq],
        read: &mut Reading,
        each: &mut dyn FnMut(&IndexRow) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.sql().prepare_cached(SELECT_RUN).at(self.path())?;
        let rows = statement.query((run.first(), run.last(), partition, since)).at(self.path())?;
        self.each_wanted(run, rows, read, each)
    }

    fn each_listed(
        &self,
        partition: i64,
        since: i64,
        listed: &[Seq],
        read: &mut Reading,
        each: &mut dyn FnMut(&IndexRow) -> Result<()>,
    ) -> Result<()> {
        if listed.is_empty() {
            return Ok(());
        }
        let list = Rc::new(listed.iter().copied().map(Value::Integer).collect::<Vec<_>>());
        let mut statement = self.sql().prepare_cached(SELECT_LISTED).at(self.path())?;
        let rows = statement.query((list, partition, since)).at(self.path())?;
        self.each_wanted(listed, rows, read, each)
    }

    fn each_wanted(
        &self,
        wanted: &[Seq],
        mut rows: Rows<'_>,
        read: &mut Reading,
        each: &mut dyn FnMut(&IndexRow) -> Result<()>,
    ) -> Result<()> {
        let mut wanted = wanted.iter().copied().peekable();
        while let Some(row) = rows.next().at(self.path())? {
            let seq: Seq = row.get(0).at(self.path())?;
            if wanted.peek().is_some_and(|wanted| seq < *wanted) {
                continue;
            }
            // What the index leads to and is not there was damaged, as is one whose checksum says so.
            let next = wanted.next();
            if next != Some(seq) {
                return Err(self.damaged("memory", next.unwrap_or(seq)));
            }
            let entry = Entry::read(row).at(self.path())?.ok_or_else(|| self.damaged("memory", seq))?;
            each(self.read_index_row(row, entry, read)?)?;
        }
        wanted.next().map_or(Ok(()), |missing| Err(self.damaged("memory", missing)))
    }

    /// From a row of [`index_rows`], in the place of the one before.
    fn read_index_row<'r>(&self, row: &rusqlite::Row<'_>, entry: Entry, read: &'r mut Reading) -> Result<&'r IndexRow> {
        let seq = entry.head.seq;
        let head = row.get_ref(WIDTH).at(self.path())?;
        if head == ValueRef::Null {
            return Err(self.damaged("content", seq));
        }
        let blob = head.as_blob().map_err(rusqlite::Error::from).at(self.path())?;
        codec::decode_head_into(blob, seq, &mut read.head).ok_or_else(|| self.damaged("content", seq))?;
        let filled = read.row.get_or_insert_with(|| IndexRow::of(entry.head.clone()));
        if entry.parts == 1 {
            self.read_lone_vector(row, WIDTH + 1, seq, &mut filled.vectors)?;
        } else {
            let mut several = self.sql().prepare_cached(SELECT_VECTORS).at(self.path())?;
            filled.vectors = self.read_vectors(&mut several, &entry)?;
        }
        self.fill(filled, entry, &mut read.head)?;
        Ok(filled)
    }

    /// All but the vectors. What was there goes to `content`, whose next user takes its memory.
    fn fill(&self, row: &mut IndexRow, entry: Entry, content: &mut HeadBlob) -> Result<()> {
        let feedback = if entry.feedbacks == 0 { Vec::new() } else { self.feedback(&entry)? };
        row.feedback = feedback.into_iter().map(|(outcome, ts)| (outcome.sign(), ts)).collect();
        row.cites = self.cited_by(entry.head.seq, &content.consolidated_from)?;
        row.lone_vid = entry.lone_vid();
        row.head = entry.head;
        std::mem::swap(&mut row.id, &mut content.id);
        std::mem::swap(&mut row.role, &mut content.role);
        std::mem::swap(&mut row.name, &mut content.name);
        std::mem::swap(&mut row.terms, &mut content.terms);
        std::mem::swap(&mut row.marks, &mut content.marks);
        Ok(())
    }
}

/// What each row of a reading is decoded into, so that it takes no memory of its own.
#[derive(Default)]
struct Reading {
    head: HeadBlob,
    row: Option<IndexRow>,
}
