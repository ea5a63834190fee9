//! `replace_turns`: other turns in a session's place, all in one transaction.
use super::Engine;
use super::model::expect_models;
use super::remember::{Prepared, check_vectors, prepare, store_one};
use super::request::NewMemory;
use crate::error::Result;
use crate::model::Kind;
use crate::store::{Interrupt, Micros, ReadTx, Scan, Seq};

impl Engine {
    /// Deletes the turns of a session for good and stores `memories` instead: no reader sees the session half-way, and what fails
    /// changes nothing. Facts stay. Ids of the new ones, in order.
    pub fn replace_turns(
        &self,
        user: Option<&str>,
        session: &str,
        memories: Vec<NewMemory>,
        now: Micros,
        interrupt: Interrupt,
    ) -> Result<Vec<String>> {
        let bytes = memories.iter().map(NewMemory::bytes).sum();
        let prepared: Vec<Prepared> = memories.into_iter().map(|new| prepare(&self.analyzer, new)).collect();
        let (ids, gone) = self.write_new(bytes, interrupt, |tx| {
            expect_models(tx, prepared.iter().map(|new| new.model_epoch))?;
            check_vectors(tx, prepared.iter().map(|new| new.row.vectors.as_slice()))?;
            let old = turns(tx, user, session)?;
            // Before the new ones are stored: an id among the old may be given again.
            let gone = if old.is_empty() { 0 } else { tx.erase(&old)? };
            let ids = prepared.iter().map(|new| Ok(store_one(tx, new, now)?.id)).collect::<Result<Vec<String>>>()?;
            Ok((ids, gone))
        })?;
        if gone > 0 {
            self.scrub(interrupt);
        }
        Ok(ids)
    }
}

/// Every turn of the session, the superseded and the expired too.
fn turns(tx: &ReadTx, user: Option<&str>, session: &str) -> Result<Vec<Seq>> {
    let Some(scope) = tx.scope(user, Some(session))? else { return Ok(Vec::new()) };
    let mut seqs = Vec::new();
    tx.heads(Scan::Scope(scope.id), &mut |head| {
        if head.kind == Kind::Turn {
            seqs.push(head.seq);
        }
        Ok(())
    })?;
    seqs.sort_unstable();
    Ok(seqs)
}
