//! Reading content: what an index is built from, and whole memories.
use std::collections::HashMap;

use rusqlite::CachedStatement;

use super::codec::{self, HeadBlob};
use super::entry::{Entry, WIDTH, columns};
use super::fault::At;
use super::read::ReadTx;
use super::rows::{Changes, IndexRow, Micros, Row, Seq};
use crate::error::{Error, Result};
use crate::model::{Outcome, Vector};

/// Entry, head blob and the vector if there is just one: what most memories are loaded with.
macro_rules! select_heads {
    ($which:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", c.head, v.model, v.part, v.data FROM memory m CROSS JOIN content c ON c.seq = m.seq \
             LEFT JOIN vector v ON v.vid = m.vid AND v.seq = m.seq AND m.parts = 1 WHERE m.seq ",
            $which
        )
    };
}
const SELECT_HEAD: &str = select_heads!("= ?1");
/// Of memories that follow each other: what was stored at once is read from page to page, not looked up one by one.
const SELECT_HEADS: &str = select_heads!("BETWEEN ?1 AND ?2 ORDER BY m.seq");
/// Entry, head blob and body.
const SELECT_ALL: &str =
    concat!("SELECT ", columns!(), ", c.head, c.body FROM memory m JOIN content c ON c.seq = m.seq WHERE m.seq = ?1");
/// As [`SELECT_ALL`], and the vector if there is just one.
const SELECT_ALL_AND_VECTOR: &str = concat!(
    "SELECT ",
    columns!(),
    ", c.head, c.body, v.model, v.part, v.data FROM memory m JOIN content c ON c.seq = m.seq \
     LEFT JOIN vector v ON v.vid = m.vid AND v.seq = m.seq AND m.parts = 1 WHERE m.seq = ?1"
);
const SELECT_VECTORS: &str =
    "SELECT model, part, data FROM vector WHERE vid BETWEEN ?1 AND ?2 AND seq = ?3 ORDER BY vid";
const SELECT_FEEDBACK: &str = "SELECT outcome, ts, sum FROM feedback WHERE seq = ?1 ORDER BY id";

impl ReadTx<'_> {
    /// What was written to the partition after `since`: new and changed memories in seq order, and what is gone.
    ///
    /// When the answer says `reload`, nothing was delivered: `since` is older than the tombstones that are kept.
    pub fn changes(&self, partition: i64, since: i64, each: &mut dyn FnMut(IndexRow) -> Result<()>) -> Result<Changes> {
        let Some(row) = self.scope_row(partition)? else {
            return Ok(Changes { reload: since > 0, ..Changes::default() });
        };
        let unknown = since < row.pruned_below || since > row.rev;
        if since == row.rev || (since > 0 && unknown) {
            return Ok(Changes { rev: row.rev, gone: Vec::new(), reload: since != row.rev });
        }
        let mut changed =
            self.numbers("SELECT seq FROM memory WHERE partition = ?1 AND rev > ?2", (partition, since))?;
        if since <= 0 && changed.len() as i64 != row.owned {
            return Err(Error::corrupt(
                self.path(),
                format!("partition {partition} should hold {} memories, its index has {}", row.owned, changed.len()),
            ));
        }
        changed.sort_unstable();
        let mut loader = Loader::new(self)?;
        let mut checked = |row: IndexRow| {
            if row.head.partition != partition || row.head.rev <= since {
                return Err(self.damaged("memory", row.head.seq));
            }
            each(row)
        };
        for run in changed.chunk_by(|a, b| a + 1 == *b) {
            loader.load(run, &mut checked)?;
        }
        let gone = if since > 0 {
            self.numbers("SELECT seq FROM tombstone WHERE partition = ?1 AND rev > ?2", (partition, since))?
        } else {
            Vec::new()
        };
        Ok(Changes { rev: row.rev, gone, reload: false })
    }

    /// Whole memories in the order asked for; those that are no more are left out.
    pub fn rows(&self, seqs: &[Seq]) -> Result<Vec<Row>> {
        let mut found = Vec::with_capacity(seqs.len());
        self.each_row(SELECT_ALL, seqs, &mut |row, _, _| {
            found.push(row);
            Ok(())
        })?;
        Ok(found)
    }

    /// As [`Self::rows`], each with its vectors.
    pub fn rows_with_vectors(&self, seqs: &[Seq]) -> Result<Vec<(Row, Vec<Vector>)>> {
        let mut statement = self.sql().prepare_cached(SELECT_VECTORS).at(self.path())?;
        let mut found = Vec::with_capacity(seqs.len());
        self.each_row(SELECT_ALL_AND_VECTOR, seqs, &mut |row, entry, columns| {
            let vectors = if entry.parts == 1 {
                self.read_vector(columns, WIDTH + 2, entry, None)?.1.into_iter().collect()
            } else {
                self.read_vectors(&mut statement, entry)?
            };
            found.push((row, vectors));
            Ok(())
        })?;
        Ok(found)
    }

    /// The ids in the order asked for; those of memories that are no more are left out.
    pub fn ids(&self, seqs: &[Seq]) -> Result<Vec<String>> {
        let mut statement = self.sql().prepare_cached("SELECT head FROM content WHERE seq = ?1").at(self.path())?;
        let mut ids = Vec::with_capacity(seqs.len());
        for seq in seqs {
            let mut rows = statement.query([seq]).at(self.path())?;
            let Some(row) = rows.next().at(self.path())? else { continue };
            let blob = row.get_ref(0).and_then(|value| Ok(value.as_blob()?)).at(self.path())?;
            ids.push(codec::decode_id(blob, *seq).ok_or_else(|| self.damaged("content", *seq))?);
        }
        Ok(ids)
    }

    fn each_row(
        &self,
        select: &str,
        seqs: &[Seq],
        each: &mut dyn FnMut(Row, &Entry, &rusqlite::Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut names = HashMap::new();
        let mut statement = self.sql().prepare_cached(select).at(self.path())?;
        for seq in seqs {
            let mut rows = statement.query([seq]).at(self.path())?;
            let Some(columns) = rows.next().at(self.path())? else { continue };
            let entry = Entry::read(columns).at(self.path())?.ok_or_else(|| self.damaged("memory", *seq))?;
            let blob = |index: usize| columns.get_ref(index).and_then(|value| Ok(value.as_blob()?)).at(self.path());
            let (head_blob, body_blob) = (blob(WIDTH)?, blob(WIDTH + 1)?);
            let damaged = || self.damaged("content", *seq);
            let content = codec::decode_names_of_head(head_blob, *seq).ok_or_else(damaged)?;
            let body = codec::decode_body(body_blob, head_blob).ok_or_else(damaged)?;
            let scope = entry.head.scope;
            if let std::collections::hash_map::Entry::Vacant(vacant) = names.entry(scope) {
                vacant.insert(self.names(scope)?);
            }
            let scope = names.get(&scope);
            let row = Row {
                id: content.id,
                user: scope.and_then(|names| names.user.clone()),
                session: scope.and_then(|names| names.session.clone()),
                role: content.role,
                name: content.name,
                key: content.key,
                text: body.text,
                metadata: body.metadata,
                consolidated_from: content.consolidated_from,
                feedback: if entry.feedbacks == 0 { Vec::new() } else { self.feedback(&entry)? },
                supersedes_id: self.id_of(entry.head.supersedes)?,
                superseded_by_id: self.id_of(entry.head.superseded_by)?,
                head: entry.head.clone(),
            };
            each(row, &entry, columns)?;
        }
        Ok(())
    }

    /// The turns of these ids that were there before the memory: an id given out anew, after its turn was erased, is another turn.
    fn cited_by(&self, seq: Seq, ids: &[String]) -> Result<Vec<Seq>> {
        let mut cites = Vec::with_capacity(ids.len());
        for id in ids {
            cites.extend(self.find(id)?.map(|head| head.seq).filter(|cited| *cited < seq));
        }
        Ok(cites)
    }

    fn id_of(&self, seq: Option<Seq>) -> Result<Option<String>> {
        match seq {
            None | Some(0) => Ok(None),
            Some(seq) => Ok(Some(self.head_blob(seq)?.id)),
        }
    }

    /// The float32 as they were given, one for each part and current model, model by model.
    pub fn vectors(&self, seq: Seq) -> Result<Vec<Vector>> {
        let Some(entry) = self.entry(seq)? else { return Ok(Vec::new()) };
        let mut statement = self.sql().prepare_cached(SELECT_VECTORS).at(self.path())?;
        self.read_vectors(&mut statement, &entry)
    }

    /// The JSON object that was given.
    pub fn metadata(&self, seq: Seq) -> Result<Option<String>> {
        let mut statement =
            self.sql().prepare_cached("SELECT head, body FROM content WHERE seq = ?1").at(self.path())?;
        let mut rows = statement.query([seq]).at(self.path())?;
        let Some(row) = rows.next().at(self.path())? else { return Ok(None) };
        let blob = |index: usize| row.get_ref(index).and_then(|value| Ok(value.as_blob()?)).at(self.path());
        let (head, body) = (blob(0)?, blob(1)?);
        match codec::decode_body(body, head) {
            Some(decoded) => Ok(decoded.metadata),
            None if self.entry(seq)?.is_none() => Ok(None),
            None => Err(self.damaged("content", seq)),
        }
    }

    fn feedback(&self, entry: &Entry) -> Result<Vec<(Outcome, Micros)>> {
        let seq = entry.head.seq;
        let mut statement = self.sql().prepare_cached(SELECT_FEEDBACK).at(self.path())?;
        let mut rows = statement.query([seq]).at(self.path())?;
        let mut given = Vec::new();
        while let Some(row) = rows.next().at(self.path())? {
            let (code, ts, sum): (i64, i64, i64) =
                row.get(0).and_then(|code| Ok((code, row.get(1)?, row.get(2)?))).at(self.path())?;
            let outcome = u8::try_from(code).ok().and_then(Outcome::from_code);
            let outcome = outcome.filter(|_| sum == feedback_sum(seq, code, ts));
            given.push((outcome.ok_or_else(|| self.damaged("feedback of memory", seq))?, ts));
        }
        if given.len() as i64 != entry.feedbacks {
            return Err(self.damaged("feedback of memory", seq));
        }
        Ok(given)
    }

    fn read_vectors(&self, statement: &mut CachedStatement<'_>, entry: &Entry) -> Result<Vec<Vector>> {
        let mut vectors = Vec::with_capacity(usize::try_from(entry.parts).unwrap_or(0).min(4_096));
        let mut last = None;
        let mut found = 0;
        if entry.parts == 0 {
            return Ok(vectors);
        }
        let mut rows = statement.query((entry.vid, entry.vid + entry.parts - 1, entry.head.seq)).at(self.path())?;
        while let Some(row) = rows.next().at(self.path())? {
            let (place, vector) = self.read_vector(row, 0, entry, last)?;
            vectors.extend(vector);
            last = Some(place);
            found += 1;
        }
        if found != entry.parts {
            return Err(self.damaged("vector of memory", entry.head.seq));
        }
        Ok(vectors)
    }

    /// Model, part and data from three columns that begin at `first`. `last` are the model and part of the row before: a model's
    /// parts are numbered from 0. No vector for what was stored before there was a model.
    fn read_vector(
        &self,
        row: &rusqlite::Row<'_>,
        first: usize,
        entry: &Entry,
        last: Option<(i64, i64)>,
    ) -> Result<((i64, i64), Option<Vector>)> {
        let seq = entry.head.seq;
        let damaged = || self.damaged("vector of memory", seq);
        let number = |index: usize| row.get::<_, Option<i64>>(index).at(self.path());
        let (Some(model), Some(part)) = (number(first)?, number(first + 1)?) else { return Err(damaged()) };
        let blob = row.get_ref(first + 2).and_then(|value| Ok(value.as_blob()?)).at(self.path())?;
        let expected = last.filter(|(of, _)| *of == model).map_or(0, |(_, part)| part + 1);
        let values = codec::decode_floats(blob, vector_seed(seq, model, part)).filter(|_| part == expected);
        let values = values.ok_or_else(damaged)?;
        let slot = self.model_ids()?.iter().position(|id| *id == model);
        if slot.is_none() && model != 0 {
            // A memory has vectors of the current models alone: the row of the model says something that cannot be.
            return Err(self.damaged("model", model));
        }
        Ok(((model, part), slot.map(|slot| Vector { slot, values })))
    }
}

/// The statements of a partition load, prepared once.
struct Loader<'a, 'tx> {
    tx: &'a ReadTx<'tx>,
    head: CachedStatement<'a>,
    heads: CachedStatement<'a>,
    vectors: CachedStatement<'a>,
}

impl<'a, 'tx> Loader<'a, 'tx> {
    fn new(tx: &'a ReadTx<'tx>) -> Result<Self> {
        let prepare = |select| tx.sql().prepare_cached(select).at(tx.path());
        Ok(Self { tx, head: prepare(SELECT_HEAD)?, heads: prepare(SELECT_HEADS)?, vectors: prepare(SELECT_VECTORS)? })
    }

    /// Memories whose numbers follow each other.
    fn load(&mut self, run: &[Seq], each: &mut dyn FnMut(IndexRow) -> Result<()>) -> Result<()> {
        let Self { tx, head, heads, vectors } = self;
        let mut rows = match run {
            [seq] => head.query([seq]),
            [first, .., last] => heads.query([first, last]),
            [] => return Ok(()),
        }
        .at(tx.path())?;
        for seq in run {
            let row = rows.next().at(tx.path())?.ok_or_else(|| tx.damaged("memory", *seq))?;
            each(Self::index_row(tx, vectors, row, *seq)?)?;
        }
        Ok(())
    }

    fn index_row(
        tx: &ReadTx,
        vectors: &mut CachedStatement<'_>,
        row: &rusqlite::Row<'_>,
        seq: Seq,
    ) -> Result<IndexRow> {
        let (entry, content, mut own) = Self::read(tx, row, seq)?;
        if entry.parts > 1 {
            own = tx.read_vectors(vectors, &entry)?;
        }
        let feedback = if entry.feedbacks == 0 { Vec::new() } else { tx.feedback(&entry)? };
        let cites = tx.cited_by(seq, &content.consolidated_from)?;
        Ok(IndexRow {
            head: entry.head,
            role: content.role,
            name: content.name,
            cites,
            terms: content.terms,
            marks: content.marks,
            vectors: own,
            feedback: feedback.into_iter().map(|(outcome, ts)| (outcome.sign(), ts)).collect(),
        })
    }

    fn read(tx: &ReadTx, row: &rusqlite::Row<'_>, seq: Seq) -> Result<(Entry, HeadBlob, Vec<Vector>)> {
        let entry = Entry::read(row).at(tx.path())?.filter(|entry| entry.head.seq == seq);
        let entry = entry.ok_or_else(|| tx.damaged("memory", seq))?;
        let blob = row.get_ref(WIDTH).and_then(|value| Ok(value.as_blob()?)).at(tx.path())?;
        let content = codec::decode_head(blob, seq).ok_or_else(|| tx.damaged("content", seq))?;
        let alone = if entry.parts == 1 { tx.read_vector(row, WIDTH + 1, &entry, None)?.1 } else { None };
        let vectors = alone.into_iter().collect();
        Ok((entry, content, vectors))
    }
}

pub(super) fn feedback_sum(seq: Seq, outcome: i64, ts: Micros) -> i64 {
    codec::sum_numbers(&[Some(seq), Some(outcome), Some(ts)])
}

/// Ties a vector's bytes to its memory, model and part.
pub(super) fn vector_seed(seq: Seq, model: i64, part: i64) -> u64 {
    codec::sum_numbers(&[Some(seq), Some(model), Some(part)]) as u64
}
