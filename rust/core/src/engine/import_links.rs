//! Chains of corrections across an import: what the file says, and what the collection knew of what was replaced.
use std::collections::{HashMap, HashSet};

use super::import::Import;
use crate::error::{Error, Result};
use crate::model::Kind;
use crate::store::{Head, Micros, Seq, Spool, Staged};

/// How a memory that is replaced was linked here.
#[derive(Debug)]
pub(super) struct Bond {
    pub partition: i64,
    /// What it had superseded, of what was here before.
    predecessors: Vec<Seq>,
    successor: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Bonds {
    /// Successors here of what was replaced, by its id.
    successors: HashMap<String, String>,
    /// Numbers of what was here and stands behind the import now.
    moved: HashSet<Seq>,
    /// Numbers of what was imported and stands behind the rest of it now.
    late: HashSet<Seq>,
}

impl Bonds {
    pub fn keep(&mut self, id: String, bond: Bond) {
        self.successors.extend(bond.successor.map(|successor| (id, successor)));
    }
}

impl Import<'_, '_> {
    pub(super) fn bond(&self, old: &Head) -> Result<Bond> {
        let predecessors = self.tx.superseded_by(old.seq)?.into_iter().filter(|seq| *seq < self.first).collect();
        let successor = match old.superseded_by.filter(|seq| *seq != 0) {
            Some(seq) => self.tx.ids(&[seq])?.pop(),
            None => None,
        };
        Ok(Bond { partition: old.partition, predecessors, successor })
    }

    /// What a memory had superseded here, it has superseded still when it is replaced.
    pub(super) fn restore_predecessors(&self, seq: Seq, bond: &Bond) -> Result<()> {
        bond.predecessors.iter().try_for_each(|older| self.tx.set_successor(*older, seq))
    }

    fn is_imported(&self, seq: Seq) -> bool {
        seq >= self.first && !self.bonds.moved.contains(&seq)
    }

    /// Chains, when everything is in its place: a successor comes later in the file. Predecessors after all successors, for what
    /// stands between two that were here is found by where it leads.
    pub(super) fn link(&mut self, spool: &mut Spool) -> Result<()> {
        let mut chained = false;
        spool.each(&mut |staged| {
            let known = self.bonds.successors.get(&staged.row.id).cloned();
            if staged.superseded.is_none() && staged.supersedes.is_none() && known.is_none() {
                return Ok(());
            }
            chained = true;
            self.go_on()?;
            self.link_on(&staged, known.as_deref()).map_err(|error| self.request.at(staged.line, error))
        })?;
        if !chained {
            return Ok(());
        }
        spool.each(&mut |staged| {
            self.go_on()?;
            self.link_back(&staged).map_err(|error| self.request.at(staged.line, error))
        })
    }

    /// To its successor.
    fn link_on(&mut self, staged: &Staged, known: Option<&str>) -> Result<()> {
        let Some(own) = self.tx.find(&staged.row.id)? else { return Ok(()) };
        let told = staged.superseded.as_ref().map(|superseded| (superseded.by.as_deref(), superseded.at));
        if !self.is_imported(own.seq) {
            return told.map_or(Ok(()), |(by, at)| self.catch_up(&own, by, at));
        }
        let told = told.and_then(|(by, _)| by);
        if !told.map_or(Ok(false), |id| self.link_successor(own.seq, id, true))? {
            known.map_or(Ok(false), |id| self.link_successor(own.seq, id, false))?;
        }
        Ok(())
    }

    /// To what it superseded; and from what stays here to what the file knows between that and its successor here.
    fn link_back(&self, staged: &Staged) -> Result<()> {
        let by = staged.superseded.as_ref().and_then(|superseded| superseded.by.as_deref());
        if by.is_none() && staged.supersedes.is_none() {
            return Ok(());
        }
        let Some(own) = self.tx.find(&staged.row.id)? else { return Ok(()) };
        if !self.is_imported(own.seq) {
            let newer = by.map_or(Ok(None), |id| self.tx.find(id))?;
            return newer.map_or(Ok(()), |newer| self.insert_between(&own, &newer));
        }
        let Some(id) = &staged.supersedes else { return Ok(()) };
        let Some(older) = self.tx.find(id)? else { return Ok(()) };
        if !self.is_imported(older.seq) {
            return self.insert_between(&older, &own);
        }
        if older.seq < own.seq && self.tx.restore_predecessor(own.seq, older.seq)? {
            return Ok(());
        }
        Err(Error::invalid(format!("supersedes is {id:?}, whose line does not say that it is superseded by this one")))
    }

    fn insert_between(&self, older: &Head, newer: &Head) -> Result<()> {
        let Some(successor) = older.superseded_by.filter(|seq| *seq != 0 && *seq != newer.seq) else { return Ok(()) };
        if !self.is_imported(newer.seq) || newer.seq <= older.seq || newer.partition != older.partition {
            return Ok(());
        }
        let mut next = newer.superseded_by.unwrap_or(0);
        while next != 0 && next != successor {
            next = self.tx.head(next)?.and_then(|head| head.superseded_by).unwrap_or(0);
        }
        if next == successor { self.tx.set_successor(older.seq, newer.seq) } else { Ok(()) }
    }

    /// One that stays here, and is live or without its successor: the file knows what came after it.
    fn catch_up(&mut self, own: &Head, by: Option<&str>, at: Micros) -> Result<()> {
        let Some(newer) = by.map_or(Ok(None), |id| self.tx.find(id))? else { return Ok(()) };
        if !self.is_imported(newer.seq) || own.superseded_by.unwrap_or(0) != 0 || newer.partition != own.partition {
            return Ok(());
        }
        let newer = self.behind(own.seq, newer.seq)?;
        newer.map_or(Ok(()), |newer| self.tx.supersede(own.seq, newer, at))
    }

    /// Whether there is such a successor. One that is nowhere is as good as forgotten.
    fn link_successor(&mut self, own: Seq, id: &str, told: bool) -> Result<bool> {
        let Some(newer) = self.tx.find(id)? else { return Ok(false) };
        let imported = self.is_imported(newer.seq);
        if !imported && newer.kind == Kind::Document {
            return Ok(false);
        }
        let later = newer.seq > own || !imported || self.bonds.late.contains(&own);
        let same_owner = self.tx.head(own)?.is_some_and(|own| own.partition == newer.partition);
        if !(later && same_owner) {
            if !(imported && told) {
                return Ok(false);
            }
            let what = if later { "has another owner" } else { "does not come later in the file" };
            return Err(Error::invalid(format!("superseded_by is {id:?}, which {what}")));
        }
        let Some(newer) = self.behind(own, newer.seq)? else { return Ok(false) };
        self.tx.set_successor(own, newer)?;
        Ok(true)
    }

    /// The number of a successor that was here, and of those after it, when they stand behind `own`; `None` where that is one of them.
    fn behind(&mut self, own: Seq, successor: Seq) -> Result<Option<Seq>> {
        if successor > own {
            return Ok(Some(successor));
        }
        let mut tail = Vec::new();
        let mut next = successor;
        while next != 0 {
            if next == own {
                return Ok(None);
            }
            tail.push(next);
            next = self.tx.head(next)?.and_then(|head| head.superseded_by).unwrap_or(0);
        }
        let mut moved = Vec::with_capacity(tail.len());
        for seq in tail {
            let new = self.tx.renumber(seq)?;
            let set = if self.is_imported(seq) { &mut self.bonds.late } else { &mut self.bonds.moved };
            set.insert(new);
            moved.push(new);
        }
        self.counts.erased = true;
        Ok(moved.first().copied())
    }
}
