//! A few thousand memories of one partition as columns: what ranking reads, in insertion order.
use super::ids::Ids;
use crate::error::Result;
use crate::lexical::Postings;
use crate::model::{Kind, MOST_MODELS, Period, Slot};
use crate::store::{IndexRow, Micros, Seq};
use crate::vector::hamming::prefetch;
use crate::vector::scan::Rows;

/// Rows of a segment. Small enough that a copy for a waiting reader is cheap, large enough that a segment's own cost vanishes.
pub(crate) const SEGMENT_ROWS: usize = 4096;

/// A memory that never expires, or was not superseded.
pub(crate) const NEVER: Micros = Micros::MAX;

/// Feedback in the order it was given: sign and time.
pub(crate) type Feedback = Box<[(i8, Micros)]>;

/// What one memory is, without its terms and vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    pub seq: Seq,
    pub scope: i64,
    pub kind: Kind,
    /// -1: no turn number.
    pub turn: i64,
    pub ts: Micros,
    pub expires: Micros,
    /// The successor's time; [`NEVER`] while it has none.
    pub superseded_at: Micros,
    pub tokens: u32,
    pub words: u32,
    pub question: u8,
    /// Into the partition's roles; 0 = no role.
    pub role: u32,
    /// Into the partition's names; 0 = a speaker without one.
    pub name: u32,
    /// The memory's own words say when something is; name somebody or something.
    pub names_time: bool,
    pub names_proper: bool,
    pub dead: bool,
    /// As [`IndexRow::lone_vid`].
    pub lone_vid: i64,
}

/// A row's codes of what the partition knows by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codes {
    pub role: u32,
    pub name: u32,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Segment {
    entries: Vec<Entry>,
    ids: Ids,
    /// By row number, rising.
    feedback: Vec<(u32, Feedback)>,
    /// The days that rows' own words mean, by row number, rising; rows without any are left out.
    periods: Vec<(u32, Box<[Period]>)>,
    /// The turns that facts came from, by row number, rising; rows without any are left out.
    cites: Vec<(u32, Box<[Seq]>)>,
    /// Of each model.
    rows: [Rows; MOST_MODELS],
    postings: Postings,
    dead: usize,
    /// The times of its rows lie in between.
    said: Option<(Micros, Micros)>,
}

impl Segment {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn id(&self, row: u32) -> Option<String> {
        self.ids.get(row)
    }

    /// The vectors that one model made; none for a model that there is not.
    pub fn rows(&self, slot: Slot) -> Option<&Rows> {
        self.rows.get(slot).filter(|rows| !rows.is_empty())
    }

    pub fn postings(&self) -> &Postings {
        &self.postings
    }

    /// Asks for the addresses of its postings: in a read of thousands of segments each would be waited for.
    pub fn prefetch_postings(&self) {
        prefetch_all(&self.postings);
    }

    /// As [`Self::prefetch_postings`], of one model's vectors.
    pub fn prefetch_rows(&self, slot: Slot) {
        self.rows.get(slot).into_iter().for_each(prefetch_all);
    }

    /// The first and the last time that any row has had.
    pub fn said(&self) -> Option<(Micros, Micros)> {
        self.said
    }

    fn widen(&mut self, ts: Micros) {
        let (first, last) = self.said.unwrap_or((ts, ts));
        self.said = Some((first.min(ts), last.max(ts)));
    }

    pub fn is_full(&self) -> bool {
        self.entries.len() >= SEGMENT_ROWS
    }

    pub fn dead(&self) -> usize {
        self.dead
    }

    pub fn feedback(&self, row: u32) -> &[(i8, Micros)] {
        let found = self.feedback.binary_search_by_key(&row, |(row, _)| *row).ok();
        found.and_then(|at| self.feedback.get(at)).map_or(&[], |(_, feedback)| feedback)
    }

    pub fn periods(&self) -> &[(u32, Box<[Period]>)] {
        &self.periods
    }

    pub fn cites(&self) -> &[(u32, Box<[Seq]>)] {
        &self.cites
    }

    pub fn position(&self, seq: Seq) -> Option<usize> {
        self.entries.binary_search_by_key(&seq, |entry| entry.seq).ok()
    }

    /// The largest sequence number here.
    pub fn last(&self) -> Option<Seq> {
        self.entries.last().map(|entry| entry.seq)
    }

    /// An empty one with room for so many rows. More are taken as well, and [`Self::shrink`] gives back what was too much.
    pub fn with_room(rows: usize) -> Self {
        let mut segment = Self { postings: Postings::with_room(rows), ids: Ids::with_room(rows), ..Self::default() };
        segment.entries.reserve_exact(rows);
        segment
    }

    /// Appends a row that is newer than all the others.
    pub fn push(&mut self, row: &IndexRow, codes: Codes) -> Result<()> {
        let number = self.entries.len() as u32;
        for vector in &row.vectors {
            let Some(rows) = self.rows.get_mut(vector.slot) else { continue };
            if rows.is_empty() {
                *rows = Rows::with_room(vector.values.len(), self.entries.capacity() - self.entries.len());
            }
            rows.push(number, &vector.values)?;
        }
        self.postings.push(number, &row.terms);
        self.widen(row.head.ts);
        self.entries.push(entry(row, codes));
        self.ids.push(&row.id);
        if !row.marks.periods.is_empty() {
            self.periods.push((number, row.marks.periods.as_slice().into()));
        }
        if !row.cites.is_empty() {
            self.cites.push((number, row.cites.as_slice().into()));
        }
        self.set_feedback(number, &row.feedback);
        if self.is_full() {
            self.shrink();
        }
        Ok(())
    }

    /// Gives back what was taken for rows to come.
    pub fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.ids.shrink();
        self.rows.iter_mut().for_each(Rows::shrink);
        self.postings.shrink();
    }

    /// Takes over what can change of a stored memory; its terms and vectors cannot.
    pub fn update(&mut self, position: usize, row: &IndexRow, codes: Codes) {
        self.widen(row.head.ts);
        let updated = entry(row, codes);
        if let Some(slot) = self.entries.get_mut(position) {
            *slot = Entry { dead: slot.dead, ..updated };
        }
        self.set_feedback(position as u32, &row.feedback);
    }

    /// What was erased takes part in nothing. The scope that it was in; `None` if it was dead before.
    pub fn kill(&mut self, position: usize) -> Option<i64> {
        let slot = self.entries.get_mut(position).filter(|entry| !entry.dead)?;
        slot.dead = true;
        self.dead += 1;
        Some(slot.scope)
    }

    fn set_feedback(&mut self, row: u32, feedback: &[(i8, Micros)]) {
        match self.feedback.binary_search_by_key(&row, |(row, _)| *row) {
            Ok(at) => {
                if let Some(slot) = self.feedback.get_mut(at) {
                    slot.1 = feedback.into();
                }
            }
            Err(at) if !feedback.is_empty() => self.feedback.insert(at, (row, feedback.into())),
            Err(_) => {}
        }
    }

    /// What the segment takes in memory.
    pub fn bytes(&self) -> usize {
        let feedback: usize =
            self.feedback.iter().map(|(_, given)| size_of_val(&**given) + size_of::<(u32, Feedback)>()).sum();
        let periods: usize =
            self.periods.iter().map(|(_, periods)| size_of_val(&**periods) + size_of::<(u32, Box<[Period]>)>()).sum();
        let cites: usize =
            self.cites.iter().map(|(_, cites)| size_of_val(&**cites) + size_of::<(u32, Box<[Seq]>)>()).sum();
        let rows: usize = self.rows.iter().map(Rows::bytes).sum();
        let entries = self.entries.capacity() * size_of::<Entry>();
        entries + self.ids.bytes() + feedback + periods + cites + rows + self.postings.bytes()
    }
}

fn prefetch_all<T>(of: &T) {
    let first = std::ptr::from_ref(of).cast::<u8>();
    // It may begin within a line.
    for line in (0..size_of::<T>()).step_by(64).chain([size_of::<T>() - 1]) {
        prefetch(first.wrapping_add(line));
    }
}

fn entry(row: &IndexRow, codes: Codes) -> Entry {
    let head = &row.head;
    // A memory whose successor was forgotten stays superseded, from the time its successor had.
    let superseded_at = head.superseded_by.map_or(NEVER, |_| head.superseded_at.unwrap_or(Micros::MIN));
    Entry {
        seq: head.seq,
        scope: head.scope,
        kind: head.kind,
        turn: head.turn.unwrap_or(-1),
        ts: head.ts,
        expires: head.expires.unwrap_or(NEVER),
        superseded_at,
        tokens: head.tokens,
        words: head.words,
        question: head.question,
        role: codes.role,
        name: codes.name,
        names_time: row.marks.names_time,
        names_proper: row.marks.names_proper,
        dead: false,
        lone_vid: row.lone_vid,
    }
}
