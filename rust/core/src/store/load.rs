//! Reading content: whole memories, and of each what others ask for.
use rusqlite::CachedStatement;
use rusqlite::types::ValueRef;

use super::codec::{self, NamesBlob};
use super::entry::{Entry, WIDTH, columns};
use super::fault::At;
use super::read::ReadTx;
use super::rows::{Content, Micros, Row, Seq};
use crate::error::{Error, Result};
use crate::model::{Outcome, Slot, Vector};

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
/// Head blob, body, and one vector, of which [`Entry`] needs not be known.
const SELECT_CONTENT: &str = "SELECT c.head, c.body, v.model, v.part, v.data FROM content c \
                              LEFT JOIN vector v ON v.vid = ?2 AND v.seq = ?1 WHERE c.seq = ?1";
pub(super) const SELECT_VECTORS: &str =
    "SELECT model, part, data FROM vector WHERE vid BETWEEN ?1 AND ?2 AND seq = ?3 ORDER BY vid";
const SELECT_FEEDBACK: &str = "SELECT outcome, ts, sum FROM feedback WHERE seq = ?1 ORDER BY id";

impl ReadTx<'_> {
    /// Whole memories in the order asked for; those that are no more are left out.
    pub fn rows(&self, seqs: &[Seq]) -> Result<Vec<Row>> {
        let mut found = Vec::with_capacity(seqs.len());
        self.each_row(SELECT_ALL, seqs, &mut |row, _, _| {
            found.push(row);
            Ok(())
        })?;
        Ok(found)
    }

    /// As [`Self::rows`], of memories that this transaction has found: one that is no more is damage.
    pub fn all_rows(&self, seqs: &[Seq]) -> Result<Vec<Row>> {
        let found = self.rows(seqs)?;
        let mut rows = found.iter();
        match seqs.iter().find(|seq| rows.next().is_none_or(|row| row.head.seq != **seq)) {
            Some(missing) => Err(self.damaged("memory", *missing)),
            None => Ok(found),
        }
    }

    /// As [`Self::all_rows`], of one memory, with its vectors.
    pub fn row_with_vectors(&self, seq: Seq) -> Result<(Row, Vec<Vector>)> {
        self.rows_with_vectors(&[seq])?.pop().ok_or_else(|| self.damaged("memory", seq))
    }

    /// As [`Self::rows`], each with its vectors.
    pub fn rows_with_vectors(&self, seqs: &[Seq]) -> Result<Vec<(Row, Vec<Vector>)>> {
        let mut statement = self.sql().prepare_cached(SELECT_VECTORS).at(self.path())?;
        let mut found = Vec::with_capacity(seqs.len());
        self.each_row(SELECT_ALL_AND_VECTOR, seqs, &mut |row, entry, columns| {
            let vectors = if entry.parts == 1 {
                self.read_vector(columns, WIDTH + 2, entry.head.seq, None)?.1.into_iter().collect()
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
        let mut names = Names::default();
        let mut statement = self.sql().prepare_cached(select).at(self.path())?;
        for seq in seqs {
            let mut rows = statement.query([seq]).at(self.path())?;
            let Some(columns) = rows.next().at(self.path())? else { continue };
            let entry = Entry::read(columns).at(self.path())?.ok_or_else(|| self.damaged("memory", *seq))?;
            let content = self.decoded(columns, WIDTH, *seq, names.of(self, entry.head.scope)?)?;
            let row = Row {
                id: content.id,
                user: content.user,
                session: content.session,
                role: content.role,
                name: content.name,
                key: content.key,
                text: content.text,
                metadata: content.metadata,
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

    /// From head blob and body, two columns that begin at `first`.
    fn decoded(&self, columns: &rusqlite::Row<'_>, first: usize, seq: Seq, names: &NamesBlob) -> Result<Content> {
        let blob = |index: usize| columns.get_ref(index).and_then(|value| Ok(value.as_blob()?)).at(self.path());
        let (head_blob, body_blob) = (blob(first)?, blob(first + 1)?);
        let damaged = || self.damaged("content", seq);
        let head = codec::decode_names_of_head(head_blob, seq).ok_or_else(damaged)?;
        let body = codec::decode_body(body_blob, head_blob).ok_or_else(damaged)?;
        Ok(Content {
            id: head.id,
            user: names.user.clone(),
            session: names.session.clone(),
            role: head.role,
            name: head.name,
            key: head.key,
            text: body.text,
            metadata: body.metadata,
            consolidated_from: head.consolidated_from,
        })
    }

    /// What reads the contents of memories whose numbers are known.
    pub fn contents(&self) -> Result<Contents<'_>> {
        let statement = self.sql().prepare_cached(SELECT_CONTENT).at(self.path())?;
        Ok(Contents { tx: self, statement, names: Names::default() })
    }

    /// The turns of these ids that were there before the memory: an id given out anew, after its turn was erased, is another turn.
    pub(super) fn cited_by(&self, seq: Seq, ids: &[String]) -> Result<Vec<Seq>> {
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

    pub(super) fn feedback(&self, entry: &Entry) -> Result<Vec<(Outcome, Micros)>> {
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

    pub(super) fn read_vectors(&self, statement: &mut CachedStatement<'_>, entry: &Entry) -> Result<Vec<Vector>> {
        let mut vectors = Vec::with_capacity(usize::try_from(entry.parts).unwrap_or(0).min(4_096));
        let mut last = None;
        let mut found = 0;
        if entry.parts == 0 {
            return Ok(vectors);
        }
        let mut rows = statement.query((entry.vid, entry.vid + entry.parts - 1, entry.head.seq)).at(self.path())?;
        while let Some(row) = rows.next().at(self.path())? {
            let (place, vector) = self.read_vector(row, 0, entry.head.seq, last)?;
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
        seq: Seq,
        last: Option<(i64, i64)>,
    ) -> Result<((i64, i64), Option<Vector>)> {
        let mut values = Vec::new();
        let (place, slot) = self.read_values(row, first, seq, last, &mut values)?;
        Ok((place, slot.map(|slot| Vector { slot, values })))
    }

    /// As [`Self::read_vector`], of a memory that has one: in the place of another's vectors.
    pub(super) fn read_lone_vector(
        &self,
        row: &rusqlite::Row<'_>,
        first: usize,
        seq: Seq,
        vectors: &mut Vec<Vector>,
    ) -> Result<()> {
        vectors.truncate(1);
        let mut vector = vectors.pop().unwrap_or_else(|| Vector::first(Vec::new()));
        if let (_, Some(slot)) = self.read_values(row, first, seq, None, &mut vector.values)? {
            vector.slot = slot;
            vectors.push(vector);
        }
        Ok(())
    }

    fn read_values(
        &self,
        row: &rusqlite::Row<'_>,
        first: usize,
        seq: Seq,
        last: Option<(i64, i64)>,
        values: &mut Vec<f32>,
    ) -> Result<((i64, i64), Option<Slot>)> {
        let damaged = || self.damaged("vector of memory", seq);
        let number = |index: usize| row.get::<_, Option<i64>>(index).at(self.path());
        let (Some(model), Some(part)) = (number(first)?, number(first + 1)?) else { return Err(damaged()) };
        let blob = row.get_ref(first + 2).and_then(|value| Ok(value.as_blob()?)).at(self.path())?;
        let expected = last.filter(|(of, _)| *of == model).map_or(0, |(_, part)| part + 1);
        let whole = codec::decode_floats_into(blob, vector_seed(seq, model, part), values);
        whole.filter(|()| part == expected).ok_or_else(damaged)?;
        let slot = self.model_ids()?.iter().position(|id| *id == model);
        if slot.is_none() && model != 0 {
            // A memory has vectors of the current models alone: the row of the model says something that cannot be.
            return Err(self.damaged("model", model));
        }
        Ok(((model, part), slot))
    }
}

/// The names of scopes, each read once.
#[derive(Default)]
struct Names(Vec<(i64, NamesBlob)>);

impl Names {
    fn of(&mut self, tx: &ReadTx<'_>, scope: i64) -> Result<&NamesBlob> {
        let known = self.0.iter().position(|(known, _)| *known == scope);
        if known.is_none() {
            self.0.push((scope, tx.names(scope)?));
        }
        let found = known.map_or(self.0.last(), |at| self.0.get(at)).map(|(_, names)| names);
        found.ok_or_else(|| Error::corrupt(tx.path(), format!("the names of scope {scope} are missing")))
    }
}

/// Reads contents by number, with one prepared statement.
pub struct Contents<'a> {
    tx: &'a ReadTx<'a>,
    statement: CachedStatement<'a>,
    names: Names,
}

impl std::fmt::Debug for Contents<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Contents").field("tx", self.tx).finish_non_exhaustive()
    }
}

impl Contents<'_> {
    /// A memory's content and the vector that lies at `vid`, 0 for none. `None`: not there, and whoever reads the memory's numbers
    /// from the store sees why.
    pub fn read(&mut self, seq: Seq, scope: i64, vid: i64) -> Result<Option<(Content, Vec<Vector>)>> {
        let tx = self.tx;
        let mut rows = self.statement.query([seq, vid]).at(tx.path())?;
        let Some(columns) = rows.next().at(tx.path())? else { return Ok(None) };
        let vector = if vid == 0 {
            None
        } else if columns.get_ref(4).at(tx.path())? == ValueRef::Null {
            return Ok(None);
        } else {
            tx.read_vector(columns, 2, seq, None)?.1
        };
        let content = tx.decoded(columns, 0, seq, self.names.of(tx, scope)?)?;
        Ok(Some((content, vector.into_iter().collect())))
    }
}

pub(super) fn feedback_sum(seq: Seq, outcome: i64, ts: Micros) -> i64 {
    codec::sum_numbers(&[Some(seq), Some(outcome), Some(ts)])
}

/// Ties a vector's bytes to its memory, model and part.
pub(super) fn vector_seed(seq: Seq, model: i64, part: i64) -> u64 {
    codec::sum_numbers(&[Some(seq), Some(model), Some(part)]) as u64
}
