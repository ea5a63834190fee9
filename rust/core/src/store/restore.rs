//! What a memory had where it comes from, given back to it here.
use super::codec::HeadBlob;
use super::fault::At;
use super::rows::{Micros, NewMemory, Row, Seq};
use super::write::WriteTx;
use crate::error::{Error, Result};
use crate::model::Vector;

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

    /// Makes `new` the successor of `old`, whatever it had, and has each successor name one of its own as the first.
    pub fn set_successor(&self, old: Seq, new: Seq) -> Result<()> {
        let mut older = self.there(old)?;
        let former = older.head.superseded_by.replace(new);
        if old >= new || former.is_none() {
            return Err(Error::Conflict(
                "a memory that is not superseded, or is younger, gets no successor".to_owned(),
            ));
        }
        let newer = self.there(new)?;
        let known = [older.head.superseded_at, newer.head.superseded_at].into_iter().flatten();
        let at = known.fold(newer.head.ts, i64::min);
        older.head.superseded_at = Some(at);
        self.step(|| {
            self.touch(&mut older)?;
            self.superseded_by_then(old, at)?;
            for seq in former.into_iter().filter(|former| *former != 0 && *former != new).chain([new]) {
                self.name_first(seq)?;
            }
            Ok(())
        })
    }

    /// What came before a memory in its chain was superseded by this time, too: at any instant one of a chain is the last that was said.
    pub(super) fn superseded_by_then(&self, seq: Seq, at: Micros) -> Result<()> {
        let mut newer = vec![seq];
        while let Some(seq) = newer.pop() {
            for older in self.predecessors(seq)? {
                let mut entry = self.there(older)?;
                if entry.head.superseded_at.is_some_and(|known| known > at) {
                    entry.head.superseded_at = Some(at);
                    self.touch(&mut entry)?;
                    newer.push(older);
                }
            }
        }
        Ok(())
    }

    /// The first that a memory superseded is one of those that it did supersede.
    fn name_first(&self, seq: Seq) -> Result<()> {
        let mut entry = self.there(seq)?;
        let own = self.predecessors(seq)?;
        if entry.head.supersedes.is_some_and(|first| own.contains(&first)) {
            return Ok(());
        }
        entry.head.supersedes = own.first().copied();
        self.touch(&mut entry)
    }

    /// Stores a memory anew, behind all that there are: a successor has a higher number than what it superseded.
    pub fn renumber(&self, seq: Seq) -> Result<Seq> {
        let found = self.rows_with_vectors(&[seq])?.pop();
        let (row, vectors) = found.ok_or_else(|| self.damaged("memory", seq))?;
        let scope = self.scope(row.user.as_deref(), row.session.as_deref())?;
        let scope = scope.ok_or_else(|| self.damaged("scope", row.head.scope))?;
        let (older, head, feedback) = (self.predecessors(seq)?, row.head.clone(), row.feedback.clone());
        let again = again(row, self.head_blob(seq)?, vectors);
        let first_of_successor = match head.superseded_by.filter(|newer| *newer != 0) {
            Some(newer) => self.there(newer)?.head.supersedes == Some(seq),
            None => false,
        };
        self.erase(&[seq])?;
        let new = self.insert(&scope, &again)?.seq;
        for (outcome, ts) in feedback {
            self.add_feedback(new, outcome, ts)?;
        }
        self.step(|| {
            let mut entry = self.there(new)?;
            entry.head.supersedes = head.supersedes;
            entry.head.superseded_by = head.superseded_by;
            entry.head.superseded_at = head.superseded_at;
            entry.head.cited = head.cited;
            self.touch(&mut entry)?;
            for old in older {
                let mut entry = self.there(old)?;
                entry.head.superseded_by = Some(new);
                self.touch(&mut entry)?;
            }
            if let Some(newer) = head.superseded_by.filter(|_| first_of_successor) {
                let mut entry = self.there(newer)?;
                entry.head.supersedes = Some(new);
                self.touch(&mut entry)?;
            }
            Ok(new)
        })
    }

    /// Those that a memory superseded.
    pub fn superseded_by(&self, seq: Seq) -> Result<Vec<Seq>> {
        self.predecessors(seq)
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

fn again(row: Row, head: HeadBlob, vectors: Vec<Vector>) -> NewMemory {
    NewMemory {
        id: row.id,
        kind: row.head.kind,
        role: row.role,
        name: row.name,
        key: row.key,
        text: row.text,
        metadata: row.metadata,
        turn: row.head.turn,
        ts: row.head.ts,
        expires: row.head.expires,
        tokens: row.head.tokens,
        words: row.head.words,
        question: row.head.question,
        terms: head.terms,
        marks: head.marks,
        vectors,
        consolidated_from: row.consolidated_from,
        cited: Vec::new(),
        judge: row.head.judge,
    }
}
