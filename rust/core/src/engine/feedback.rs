//! `feedback`: what became of a memory, and the text that corrects it.
use super::Engine;
use super::model::expect_models;
use super::remember::{Prepared, check_vectors, is_live, prepare, store_one};
use super::request::{Correction, NewMemory};
use crate::error::{Error, Result};
use crate::model::{Judge, Kind, Outcome};
use crate::store::{Head, Interrupt, Micros, ReadTx, Row};

impl Engine {
    /// Notes the outcome at the memory itself. A correction is stored as the successor of the tip of the memory's chain; its id comes
    /// back.
    pub fn feedback(
        &self,
        id: &str,
        outcome: Outcome,
        ts: Micros,
        correction: Option<Correction>,
        now: Micros,
        interrupt: Interrupt,
    ) -> Result<Option<String>> {
        if correction.is_some() && outcome != Outcome::Corrected {
            return Err(Error::invalid(format!(
                "a correction needs the outcome \"corrected\", got {:?}",
                outcome.as_str()
            )));
        }
        // Analysed before the transaction; what is inherited of the tip does not change its terms.
        let expiries = correction.as_ref().map(|correction| correction.expires.clone()).unwrap_or_default();
        let draft = correction.map(|correction| prepare(&self.analyzer, bare(correction)));
        self.write(interrupt, move |tx| {
            let head = living(tx, id, now)?;
            tx.add_feedback(head.seq, outcome, ts)?;
            let Some(draft) = draft else { return Ok(None) };
            expect_models(tx, [draft.model_epoch])?;
            check_vectors(tx, std::iter::once(draft.row.vectors.as_slice()))?;
            let tip = tip(tx, &head, id)?;
            let tip_seq = tip.head.seq;
            let heir = inherit(draft, tip, &expiries);
            let stored = store_one(tx, &heir, now)?;
            if stored.id != heir.row.id {
                // The key has this value already.
                return Ok(Some(stored.id));
            }
            let new = tx.find(&stored.id)?.ok_or_else(|| Error::NotFound { id: stored.id.clone() })?;
            // The key's holder, when the tip is it, was superseded with the insertion.
            if new.supersedes != Some(tip_seq) {
                tx.supersede(tip_seq, new.seq, heir.row.ts)?;
            }
            Ok(Some(stored.id))
        })
    }
}

/// The memory with this id, which has not expired.
pub(super) fn living(tx: &ReadTx, id: &str, now: Micros) -> Result<Head> {
    let head = tx.find(id)?.filter(|head| is_live(head.expires, now));
    head.ok_or_else(|| Error::NotFound { id: id.to_owned() })
}

/// The newest of the chain.
fn tip(tx: &ReadTx, head: &Head, id: &str) -> Result<Row> {
    let last = tx.chain(head.seq)?.last().copied().unwrap_or(head.seq);
    let row = tx.rows(&[last])?.into_iter().next();
    row.ok_or_else(|| Error::NotFound { id: id.to_owned() })
}

fn bare(correction: Correction) -> NewMemory {
    NewMemory {
        id: correction.id,
        text: correction.text,
        kind: Kind::Fact,
        user: None,
        session: None,
        role: None,
        name: None,
        key: None,
        turn: None,
        ts: correction.ts,
        expires: None,
        metadata: None,
        vectors: correction.vectors,
        model_epoch: correction.model_epoch,
        judge: Judge::None,
        supersedes: Vec::new(),
        replace: false,
    }
}

/// A fact stays a fact, a pin a pin; the correction of a turn is a fact, so that the turn can stay what was said.
fn inherit(mut draft: Prepared, tip: Row, expiries: &[(Kind, Option<Micros>)]) -> Prepared {
    let kind = if tip.head.kind == Kind::Turn { Kind::Fact } else { tip.head.kind };
    draft.user = tip.user;
    draft.session = tip.session;
    let row = &mut draft.row;
    row.kind = kind;
    row.role = tip.role;
    row.key = tip.key;
    row.metadata = tip.metadata;
    row.expires = expiries.iter().find(|(of, _)| *of == kind).and_then(|(_, expires)| *expires);
    draft
}
