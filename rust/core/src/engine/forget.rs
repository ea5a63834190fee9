//! Real deletion: `forget`, `delete`, `clear`, `expire`. What goes is overwritten in the file, and the files are scrubbed.
use super::Engine;
use super::admit::{Reached, reached};
use super::request::{Forget, Reach};
use crate::error::Result;
use crate::gate;
use crate::store::{Head, Interrupt, Micros, ReadTx, Scan, Seq, WriteTx};

impl Engine {
    /// Deletes what the request selects; how many.
    pub fn forget(&self, request: &Forget, interrupt: Interrupt) -> Result<usize> {
        self.erase(interrupt, |tx| match &request.ids {
            Some(ids) => named(tx, ids, request),
            None => selected(tx, request),
        })
    }

    /// Deletes what is past its time; how many.
    pub fn expire(&self, now: Micros, interrupt: Interrupt) -> Result<usize> {
        self.erase(interrupt, |tx| {
            let mut seqs = Vec::new();
            tx.heads(Scan::Expired(now), &mut |head| {
                seqs.push(head.seq);
                Ok(())
            })?;
            Ok(seqs)
        })
    }

    /// Deletes by id, whatever it is; how many there were.
    pub fn delete(&self, ids: &[String], interrupt: Interrupt) -> Result<usize> {
        self.erase(interrupt, |tx| {
            let found = ids.iter().map(|id| Ok(tx.find(id)?.map(|head| head.seq))).collect::<Result<Vec<_>>>()?;
            Ok(found.into_iter().flatten().collect())
        })
    }

    /// Deletes everything, what was measured on it too; how many memories.
    pub fn clear(&self, interrupt: Interrupt) -> Result<usize> {
        let gone = self.write(interrupt, |tx: &WriteTx| {
            tx.drop_calibration()?;
            tx.clear()
        })?;
        self.scrub(interrupt);
        Ok(gone)
    }

    /// Takes what was erased out of the log too, when no other process's read prevents it. The write before it stands, so an interrupt
    /// ends only the waiting: what is left goes with a later call, and whoever interrupted hears it from the binding.
    pub(super) fn scrub(&self, interrupt: Interrupt) {
        let _inside = gate::enter();
        let _ = self.store.scrub(interrupt);
    }

    fn erase(&self, interrupt: Interrupt, select: impl FnOnce(&ReadTx) -> Result<Vec<Seq>>) -> Result<usize> {
        let gone = self.write(interrupt, |tx| {
            let mut seqs = select(tx)?;
            seqs.sort_unstable();
            seqs.dedup();
            if seqs.is_empty() { Ok(0) } else { tx.erase(&seqs) }
        })?;
        if gone > 0 {
            self.scrub(interrupt);
        }
        Ok(gone)
    }
}

/// Ids are taken whatever their kind, within the reach, age and state asked for.
fn named(tx: &ReadTx, ids: &[String], request: &Forget) -> Result<Vec<Seq>> {
    let mut seqs = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(head) = tx.find(id)?.filter(|head| takes(request, head)) else { continue };
        if owns(tx, &request.reach, head.seq)? {
            seqs.push(head.seq);
        }
    }
    Ok(seqs)
}

fn owns(tx: &ReadTx, reach: &Reach, seq: Seq) -> Result<bool> {
    let rows = tx.rows(&[seq])?;
    Ok(rows.first().is_some_and(|row| {
        let users = reach.any_user || row.user == reach.user;
        users && (reach.session.is_none() || row.session == reach.session)
    }))
}

fn selected(tx: &ReadTx, request: &Forget) -> Result<Vec<Seq>> {
    let mut seqs = Vec::new();
    for Reached { partition, scope, .. } in reached(tx, &request.reach)? {
        let scan = scope.map_or(Scan::Partition(partition), Scan::Scope);
        tx.heads(scan, &mut |head| {
            if request.kinds.contains(&head.kind) && takes(request, head) {
                seqs.push(head.seq);
            }
            Ok(())
        })?;
    }
    Ok(seqs)
}

fn takes(request: &Forget, head: &Head) -> bool {
    let old_enough = request.before.is_none_or(|before| head.ts < before);
    old_enough && (!request.superseded || head.superseded_by.is_some())
}
