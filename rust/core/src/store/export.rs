//! The collection as it is without what has expired: links go past that, as they do when it is deleted.
use super::fault::At;
use super::read::ReadTx;
use super::rows::{Head, Micros, Seq};
use crate::error::Result;

/// A session whose next turn number is higher than its turns say, because its last ones are no more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unused {
    pub user: Option<String>,
    pub session: Option<String>,
    pub next_turn: i64,
}

/// By whom a memory was superseded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Successor {
    /// By nobody.
    Never,
    /// By one that is no more.
    Gone,
    Memory(Seq),
}

fn lives(head: &Head, now: Micros) -> bool {
    head.expires.is_none_or(|at| at > now)
}

impl ReadTx<'_> {
    /// The next memories after `after`, expired ones too, in seq order.
    pub fn seqs_after(&self, after: Seq, limit: usize) -> Result<Vec<Seq>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.numbers("SELECT seq FROM memory WHERE seq > ?1 ORDER BY seq LIMIT ?2", (after, limit))
    }

    /// The next one of the chain that is left.
    pub fn live_successor(&self, head: &Head, now: Micros) -> Result<Successor> {
        let Some(mut next) = head.superseded_by else { return Ok(Successor::Never) };
        let mut below = head.seq;
        while next != 0 {
            let newer =
                self.head(next)?.filter(|newer| newer.seq > below).ok_or_else(|| self.damaged("memory", below))?;
            if lives(&newer, now) {
                return Ok(Successor::Memory(newer.seq));
            }
            (below, next) = (newer.seq, newer.superseded_by.unwrap_or(0));
        }
        Ok(Successor::Gone)
    }

    /// The first memory that this one superseded, of those that are left.
    pub fn live_predecessor(&self, head: &Head, now: Micros) -> Result<Option<Seq>> {
        let mut candidate = head.supersedes;
        let mut below = head.seq;
        while let Some(seq) = candidate {
            let older =
                self.head(seq)?.filter(|older| older.seq < below).ok_or_else(|| self.damaged("memory", below))?;
            if lives(&older, now) {
                return Ok(Some(seq));
            }
            (below, candidate) = (older.seq, older.supersedes);
        }
        if head.supersedes.is_some() { self.oldest_live(head.seq, now) } else { Ok(None) }
    }

    fn oldest_live(&self, seq: Seq, now: Micros) -> Result<Option<Seq>> {
        let mut found: Option<Seq> = None;
        let mut unexplored = vec![seq];
        while let Some(successor) = unexplored.pop() {
            for older in self.predecessors(successor)? {
                let older = self.head(older)?.filter(|older| older.seq < successor);
                let older = older.ok_or_else(|| self.damaged("memory", successor))?;
                if lives(&older, now) {
                    found = Some(found.map_or(older.seq, |found| found.min(older.seq)));
                } else {
                    unexplored.push(older.seq);
                }
            }
        }
        Ok(found)
    }

    /// Is there a turn of this number, expired or not?
    pub fn has_turn(&self, scope: i64, turn: i64) -> Result<bool> {
        let select = "SELECT seq FROM memory WHERE scope = ?1 AND turn = ?2 LIMIT 1";
        Ok(!self.numbers(select, (scope, turn))?.is_empty())
    }

    /// The sessions of what has not expired whose numbers go on higher than behind their last turn, by their names.
    pub fn unused_turns(&self, now: Micros) -> Result<Vec<Unused>> {
        let select = "SELECT id, next_turn FROM scope s WHERE held > 0 AND next_turn > coalesce((SELECT max(turn) + 1 FROM memory \
                      WHERE scope = s.id AND turn >= 0 AND (expires IS NULL OR expires > ?1)), 0) AND EXISTS (SELECT 1 FROM memory \
                      WHERE scope = s.id AND (expires IS NULL OR expires > ?1)) ORDER BY id";
        let mut statement = self.sql().prepare_cached(select).at(self.path())?;
        let found = statement.query_map([now], |row| Ok((row.get(0)?, row.get(1)?))).at(self.path())?;
        let found: Vec<(i64, i64)> = found.collect::<rusqlite::Result<_>>().at(self.path())?;
        let mut unused = Vec::with_capacity(found.len());
        for (id, _) in found {
            let row = self.known_scope(id)?;
            let names = self.names(id)?;
            unused.push(Unused { user: names.user, session: names.session, next_turn: row.next_turn });
        }
        unused.sort_unstable();
        Ok(unused)
    }
}
