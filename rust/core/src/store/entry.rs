//! The row of `memory`: all numbers, read and written as a whole so that its checksum always covers it.
use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, Row, Statement};

use super::codec::sum_numbers;
use super::rows::{Head, Seq};
use crate::model::{Judge, Kind};

/// In the order of [`Entry::read`].
macro_rules! columns {
    () => {
        "m.seq, m.id, m.scope, m.partition, m.kind, m.turn, m.ts, m.expires, m.key, m.vid, m.parts, m.tokens, m.words, \
         m.question, m.supersedes, m.superseded_by, m.superseded_at, m.judge, m.cited, m.feedbacks, m.rev, m.sum"
    };
}
pub(super) use columns;

pub(super) const INSERT: &str = "INSERT INTO memory VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
                                 ?17, ?18, ?19, ?20, ?21, ?22)";

/// How many columns [`columns!`] names: what a join adds starts here.
pub(super) const WIDTH: usize = 22;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub head: Head,
    /// Keyed hash of the id.
    pub id: i64,
    /// Keyed hash of the key.
    pub key: Option<i64>,
    /// The memory's vectors are `vid .. vid + parts`.
    pub vid: i64,
    pub parts: i64,
    pub feedbacks: i64,
}

impl Entry {
    /// `None`: the row is damaged.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        Self::read_at(row, 0)
    }

    /// As [`Self::read`], where the columns begin at `first`.
    pub(super) fn read_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Self>> {
        let key: Option<i64> = row.get(first + 8)?;
        let small =
            |index: usize| row.get::<_, i64>(first + index).map(|number| u8::try_from(number).unwrap_or(u8::MAX));
        let kind = Kind::from_code(small(4)?);
        let judge = Judge::from_code(small(17)?);
        let (Some(kind), Some(judge)) = (kind, judge) else { return Ok(None) };
        let head = Head {
            seq: row.get(first)?,
            scope: row.get(first + 2)?,
            partition: row.get(first + 3)?,
            kind,
            turn: row.get(first + 5)?,
            ts: row.get(first + 6)?,
            expires: row.get(first + 7)?,
            tokens: row.get(first + 11)?,
            words: row.get(first + 12)?,
            question: small(13)?,
            supersedes: row.get(first + 14)?,
            superseded_by: row.get(first + 15)?,
            superseded_at: row.get(first + 16)?,
            keyed: key.is_some(),
            judge,
            cited: row.get::<_, i64>(first + 18)? != 0,
            rev: row.get(first + 20)?,
        };
        let entry = Self {
            head,
            id: row.get(first + 1)?,
            key,
            vid: row.get(first + 9)?,
            parts: row.get(first + 10)?,
            feedbacks: row.get(first + 19)?,
        };
        Ok((entry.sum() == row.get::<_, i64>(first + 21)?).then_some(entry))
    }

    pub(super) fn vids(&self) -> Range<i64> {
        self.vid..self.vid + self.parts
    }

    /// As [`super::rows::IndexRow::lone_vid`].
    pub(super) fn lone_vid(&self) -> i64 {
        let head = &self.head;
        let is_plain = head.supersedes.is_none() && head.superseded_by.is_none() && head.judge == Judge::None;
        if is_plain && self.feedbacks == 0 && self.parts == 1 { self.vid } else { 0 }
    }

    fn numbers(&self) -> [Option<i64>; 21] {
        let head = &self.head;
        [
            Some(head.seq),
            Some(self.id),
            Some(head.scope),
            Some(head.partition),
            Some(head.kind as i64),
            head.turn,
            Some(head.ts),
            head.expires,
            self.key,
            Some(self.vid),
            Some(self.parts),
            Some(i64::from(head.tokens)),
            Some(i64::from(head.words)),
            Some(i64::from(head.question)),
            head.supersedes,
            head.superseded_by,
            head.superseded_at,
            Some(head.judge as i64),
            Some(i64::from(head.cited)),
            Some(self.feedbacks),
            Some(head.rev),
        ]
    }

    fn sum(&self) -> i64 {
        sum_numbers(&self.numbers())
    }

    pub(super) fn insert(&self, sql: &Connection) -> rusqlite::Result<()> {
        self.insert_by(&mut *sql.prepare_cached(INSERT)?)
    }

    /// `statement`: [`INSERT`].
    pub(super) fn insert_by(&self, statement: &mut Statement<'_>) -> rusqlite::Result<()> {
        for (index, number) in self.numbers().into_iter().chain([Some(self.sum())]).enumerate() {
            statement.raw_bind_parameter(index + 1, number)?;
        }
        statement.raw_execute()?;
        Ok(())
    }

    /// Writes what can change after the insert: chain links, citation, feedback, rev.
    pub(super) fn update(&self, sql: &Connection) -> rusqlite::Result<()> {
        let head = &self.head;
        sql.prepare_cached(
            "UPDATE memory SET supersedes = ?2, superseded_by = ?3, superseded_at = ?4, cited = ?5, feedbacks = ?6, rev = ?7, \
             sum = ?8 WHERE seq = ?1",
        )?
        .execute((
            head.seq,
            head.supersedes,
            head.superseded_by,
            head.superseded_at,
            head.cited,
            self.feedbacks,
            head.rev,
            self.sum(),
        ))?;
        Ok(())
    }

    /// Writes where the vectors are.
    pub(super) fn update_vectors(&self, sql: &Connection) -> rusqlite::Result<()> {
        sql.prepare_cached("UPDATE memory SET vid = ?2, parts = ?3, sum = ?4 WHERE seq = ?1")?.execute((
            self.head.seq,
            self.vid,
            self.parts,
            self.sum(),
        ))?;
        Ok(())
    }
}

pub(super) enum Loaded {
    Found(Entry),
    Damaged,
    Missing,
}

pub(super) fn load(sql: &Connection, seq: Seq) -> rusqlite::Result<Loaded> {
    sql.prepare_cached(concat!("SELECT ", columns!(), " FROM memory m WHERE m.seq = ?1"))?
        .query_row([seq], Entry::read)
        .optional()
        .map(|row| row.map_or(Loaded::Missing, |entry| entry.map_or(Loaded::Damaged, Loaded::Found)))
}
