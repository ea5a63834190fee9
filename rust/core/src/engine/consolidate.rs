//! Consolidation in steps: a batch of turns to summarise, then its facts and the turns' deletion in one transaction.
use std::collections::HashSet;

use super::Engine;
use super::model::expect_models;
use super::read::memories;
use super::remember::{Prepared, check_vectors, is_live, prepare, store_one};
use super::request::{BatchRequest, Memory, NewMemory};
use crate::error::Result;
use crate::model::Kind;
use crate::store::{Head, Interrupt, Micros, ReadTx, Scope, Seq};

impl Engine {
    /// The oldest turns that no fact cites yet, without the session's last `keep_recent`. Superseded turns are left out: what they
    /// said is no longer so. Empty: done.
    pub fn consolidation_batch(&self, request: &BatchRequest, interrupt: Interrupt) -> Result<Vec<Memory>> {
        self.read(interrupt, |tx| {
            let Some(scope) = tx.scope(request.user.as_deref(), Some(&request.session))? else { return Ok(Vec::new()) };
            memories(tx, &batch(tx, &scope, request)?)
        })
    }

    /// Stores the facts, with the ids of the turns each came from, and deletes the turns. `None`, and nothing stored, when a turn is
    /// gone, was superseded or was cited by another consolidation meanwhile. Ids of the facts, and how many turns went.
    pub fn commit_consolidation(
        &self,
        turn_ids: &[String],
        facts: Vec<(NewMemory, Vec<String>)>,
        delete: bool,
        now: Micros,
        interrupt: Interrupt,
    ) -> Result<Option<(Vec<String>, usize)>> {
        let prepared: Vec<(Prepared, Vec<String>)> =
            facts.into_iter().map(|(fact, sources)| (prepare(&self.analyzer, fact), sources)).collect();
        let committed = self.write(interrupt, |tx| {
            let Some(turns) = unchanged(tx, turn_ids, now)? else { return Ok(None) };
            expect_models(tx, prepared.iter().map(|(fact, _)| fact.model_epoch))?;
            check_vectors(tx, prepared.iter().map(|(fact, _)| fact.row.vectors.as_slice()))?;
            let mut ids = Vec::with_capacity(prepared.len());
            for (mut fact, sources) in prepared {
                fact.row.cited = cited(tx, &sources)?;
                fact.row.consolidated_from = sources;
                ids.push(store_one(tx, &fact, now)?.id);
            }
            let removed = if delete && !turns.is_empty() { tx.erase(&turns)? } else { 0 };
            Ok(Some((ids, removed)))
        })?;
        if committed.as_ref().is_some_and(|(_, removed)| *removed > 0) {
            self.scrub(interrupt);
        }
        Ok(committed)
    }
}

fn batch(tx: &ReadTx, scope: &Scope, request: &BatchRequest) -> Result<Vec<Seq>> {
    let skipped = request.skip.iter().map(|id| Ok(tx.find(id)?.map(|head| head.seq))).collect::<Result<Vec<_>>>()?;
    let skipped: HashSet<Seq> = skipped.into_iter().flatten().collect();
    let turns = tx.turns(scope.id, None, request.now)?;
    let (old, _) = turns.split_at(turns.len().saturating_sub(request.keep_recent));
    let mut chosen = Vec::new();
    for seq in old {
        if chosen.len() == request.batch_turns {
            break;
        }
        let Some(head) = tx.head(*seq)? else { continue };
        let old_enough = request.before.is_none_or(|before| head.ts < before);
        if old_enough && head.superseded_by.is_none() && !skipped.contains(seq) && !head.cited {
            chosen.push(*seq);
        }
    }
    Ok(chosen)
}

/// The turns, when each is still what was summarised.
fn unchanged(tx: &ReadTx, ids: &[String], now: Micros) -> Result<Option<Vec<Seq>>> {
    let mut seqs = Vec::with_capacity(ids.len());
    for id in ids {
        let same = |head: &Head| {
            head.kind == Kind::Turn && !head.cited && head.superseded_by.is_none() && is_live(head.expires, now)
        };
        let Some(head) = tx.find(id)?.filter(same) else { return Ok(None) };
        seqs.push(head.seq);
    }
    Ok(Some(seqs))
}

fn cited(tx: &ReadTx, ids: &[String]) -> Result<Vec<Seq>> {
    let found = ids.iter().map(|id| Ok(tx.find(id)?.map(|head| head.seq))).collect::<Result<Vec<_>>>()?;
    Ok(found.into_iter().flatten().collect())
}
