//! `reembed`, in steps: the caller embeds between them, so that no transaction waits for an embedder.
use super::Engine;
use super::model::is_model;
use crate::error::{Error, Result};
use crate::store::{Interrupt, NewModel, ReadTx, Seq, WriteTx};

/// A move that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The number of its model.
    pub id: i64,
    /// Memories that have their new vectors.
    pub done: u64,
    pub total: u64,
}

/// What is embedded of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    pub seq: Seq,
    pub text: String,
    /// The speaker's.
    pub name: Option<String>,
}

/// What to do about the wish for a model.
enum Plan {
    /// It is the current one.
    Nothing,
    /// It is the current one, and a move away from it was begun.
    Abandon,
    GoOn(i64),
    Begin,
}

impl Plan {
    fn new(tx: &ReadTx, wanted: &NewModel) -> Result<Self> {
        let current = tx.model()?.is_some_and(|model| is_model(&model, wanted));
        Ok(match (current, tx.incoming_model()?) {
            (true, None) => Self::Nothing,
            (true, Some(_)) => Self::Abandon,
            (false, Some(incoming)) if is_model(&incoming, wanted) => Self::GoOn(incoming.id),
            (false, _) => Self::Begin,
        })
    }
}

impl Engine {
    /// Begins a move to this model, or goes on with the one that was begun; one to another model is given up. `None`: the model is
    /// the current one, and nothing is left to do.
    pub fn begin_reembed(&self, wanted: &NewModel, interrupt: Interrupt) -> Result<Option<Move>> {
        if matches!(self.read(interrupt, |tx: &ReadTx| Plan::new(tx, wanted))?, Plan::Nothing) {
            return Ok(None);
        }
        let (begun, dropped) = self.write(interrupt, |tx| {
            let plan = Plan::new(tx, wanted)?;
            let drops = matches!(plan, Plan::Abandon | Plan::Begin) && tx.incoming_model()?.is_some();
            if drops {
                tx.drop_incoming()?;
            }
            let id = match plan {
                Plan::Nothing | Plan::Abandon => return Ok((None, drops)),
                Plan::GoOn(id) => id,
                Plan::Begin => tx.begin_incoming(wanted)?,
            };
            let (done, total) = tx.incoming_progress()?;
            Ok((Some(Move { id, done, total }), drops))
        })?;
        if dropped {
            self.scrub();
        }
        Ok(begun)
    }

    /// The next memories after `after` that a move has no vectors of.
    pub fn unembedded(&self, after: Seq, limit: usize, interrupt: Interrupt) -> Result<Vec<Unembedded>> {
        self.read(interrupt, |tx| {
            let rows = tx.rows(&tx.without_incoming(after, limit)?)?;
            Ok(rows.into_iter().map(|row| Unembedded { seq: row.head.seq, text: row.text, name: row.name }).collect())
        })
    }

    /// Stores vectors of the move. How many memories had none, and how many memories there are; `None`: the move is over, somebody
    /// else has finished it.
    pub fn store_reembedded(
        &self,
        id: i64,
        rows: &[(Seq, Vec<Vec<f32>>)],
        interrupt: Interrupt,
    ) -> Result<Option<(u64, u64)>> {
        self.write(interrupt, |tx| {
            if is_over(tx, id)? {
                return Ok(None);
            }
            let added = add(tx, id, rows)?;
            Ok(Some((added, tx.incoming_progress()?.1)))
        })
    }

    /// Stores the last vectors, and where no memory is without them any more, ends the move: the collection has the new model. Its
    /// [`model_epoch`](Engine::model_epoch); `None`: something was written meanwhile, go on.
    pub fn finish_reembed(&self, id: i64, rows: &[(Seq, Vec<Vec<f32>>)], interrupt: Interrupt) -> Result<Option<i64>> {
        let finished = self.write(interrupt, |tx| {
            if !is_over(tx, id)? {
                add(tx, id, rows)?;
                let (done, total) = tx.incoming_progress()?;
                if done < total {
                    return Ok(None);
                }
                tx.swap_incoming()?;
            }
            tx.model_epoch().map(Some)
        })?;
        if finished.is_some() {
            self.scrub();
        }
        Ok(finished)
    }
}

fn add(tx: &WriteTx, id: i64, rows: &[(Seq, Vec<Vec<f32>>)]) -> Result<u64> {
    let mut added = 0;
    for (seq, vectors) in rows {
        added += u64::from(tx.add_incoming(id, *seq, vectors)?);
    }
    Ok(added)
}

/// Whether somebody else has finished the move. One that was given up is a conflict.
fn is_over(tx: &ReadTx, id: i64) -> Result<bool> {
    if tx.incoming_model()?.is_some_and(|model| model.id == id) {
        return Ok(false);
    }
    if tx.model()?.is_some_and(|model| model.id == id) {
        return Ok(true);
    }
    Err(Error::Conflict(
        "this move to another embedder was given up, or replaced by one to a third embedder, by another call of reembed(); \
         nothing of it is left, call reembed(embedder) again if it is still wanted"
            .to_owned(),
    ))
}
