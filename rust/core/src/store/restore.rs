//! What a memory had where it comes from, given back to it here.
use super::fault::At;
use super::rows::{Micros, Seq};
use super::write::WriteTx;
use crate::error::{Error, Result};

impl WriteTx<'_> {
    /// The number that the next new memory gets: all there are by now have a lower one.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.counters.next_seq.get()
    }

    /// Marks a memory that was just stored as superseded, by nobody yet, and as one that a fact was made from.
    pub fn restore(&self, seq: Seq, superseded_at: Option<Micros>, cited: bool) -> Result<()> {
        let mut entry = self.entry(seq)?.ok_or_else(|| self.damaged("memory", seq))?;
        entry.head.superseded_at = superseded_at;
        entry.head.superseded_by = superseded_at.map(|_| 0);
        entry.head.cited = cited || entry.head.cited;
        self.step(|| self.touch(&mut entry))
    }

    /// Names the successor of one that was restored as superseded.
    pub fn restore_successor(&self, old: Seq, new: Seq) -> Result<()> {
        let (mut older, mut newer) = (self.there(old)?, self.there(new)?);
        if older.head.superseded_by != Some(0) || old >= new {
            return Err(Error::Conflict(
                "a memory that is not superseded, or is younger, gets no successor".to_owned(),
            ));
        }
        self.step(|| {
            older.head.superseded_by = Some(new);
            self.touch(&mut older)?;
            newer.head.supersedes = newer.head.supersedes.or(Some(old));
            self.touch(&mut newer)
        })
    }

    /// Which of its predecessors a memory names as the first. False: `old` is none of them.
    pub fn restore_predecessor(&self, new: Seq, old: Seq) -> Result<bool> {
        let mut newer = self.there(new)?;
        if self.there(old)?.head.superseded_by != Some(new) {
            return Ok(false);
        }
        newer.head.supersedes = Some(old);
        self.step(|| self.touch(&mut newer)).map(|()| true)
    }

    /// Turn numbers of this scope go on at `next_turn` at least.
    pub fn raise_next_turn(&self, scope: i64, next_turn: i64) -> Result<()> {
        let mut row = self.known_scope(scope)?;
        if row.next_turn >= next_turn {
            return Ok(());
        }
        row.next_turn = next_turn;
        self.step(|| row.update(self.sql()).at(self.path()))
    }

    fn there(&self, seq: Seq) -> Result<super::entry::Entry> {
        self.entry(seq)?.ok_or_else(|| self.damaged("memory", seq))
    }
}
