//! `reembed`, in steps: the caller embeds between them, so that no transaction waits for an embedder.
use super::Engine;
use super::model::{are_models, check, expect_models, new_model};
use super::remember::check_one;
use super::request::BoundModel;
use crate::error::{Error, Result};
use crate::model::Vector;
use crate::store::{Interrupt, Model, ReadTx, Seq, WriteTx};

/// A move that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The number of its first model.
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

/// What came of the wish to end a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The [`model_epoch`](Engine::model_epoch) of the new models; `None`: more was written meanwhile than may be left, go on.
    pub epoch: Option<i64>,
    /// Memories that this call gave their new vectors.
    pub added: u64,
    /// Memories that have their new vectors.
    pub done: u64,
    pub total: u64,
}

/// What to do about the wish for models.
enum Plan {
    /// They are the current ones.
    Nothing,
    /// They are the current ones, and a move away from them was begun.
    Abandon,
    GoOn,
    Begin,
}

impl Plan {
    fn new(tx: &ReadTx, wanted: &[BoundModel]) -> Result<Self> {
        let current = are_models(&tx.models()?, wanted);
        let incoming = tx.incoming_models()?;
        Ok(match current {
            true if incoming.is_empty() => Self::Nothing,
            true => Self::Abandon,
            false if are_models(&incoming, wanted) => Self::GoOn,
            false => Self::Begin,
        })
    }
}

impl Engine {
    /// Begins a move to these models, each with its probe, or goes on with the one that was begun; one to others is given up. `None`:
    /// they are the current ones, and nothing is left to do.
    pub fn begin_reembed(&self, wanted: &[BoundModel], interrupt: Interrupt) -> Result<Option<Move>> {
        check(wanted)?;
        if matches!(self.read(interrupt, |tx: &ReadTx| Plan::new(tx, wanted))?, Plan::Nothing) {
            return Ok(None);
        }
        let (begun, dropped) = self.write(interrupt, |tx| {
            let plan = Plan::new(tx, wanted)?;
            let drops = matches!(plan, Plan::Abandon | Plan::Begin) && !tx.incoming_models()?.is_empty();
            if drops {
                tx.drop_incoming()?;
            }
            if let Plan::Begin = plan {
                tx.begin_incoming(&wanted.iter().map(new_model).collect::<Vec<_>>())?;
            }
            let (done, total) = tx.incoming_progress()?;
            let begun = tx.incoming_models()?.first().map(|model| Move { id: model.id, done, total });
            Ok((begun, drops))
        })?;
        if dropped {
            self.scrub(interrupt);
        }
        Ok(begun)
    }

    /// The next memories after `after` that a move has no vectors of.
    pub fn unembedded(&self, after: Seq, limit: usize, interrupt: Interrupt) -> Result<Vec<Unembedded>> {
        self.read(interrupt, |tx| {
            let seqs = tx.without_incoming(after, limit)?;
            texts_of(tx, &seqs)
        })
    }

    /// The next memories after `after` that have no vectors at all: what was written at the end of a move.
    pub fn without_vectors(&self, after: Seq, limit: usize, interrupt: Interrupt) -> Result<Vec<Unembedded>> {
        self.read(interrupt, |tx| {
            let seqs = tx.without_vectors(after, limit)?;
            texts_of(tx, &seqs)
        })
    }

    /// How many memories have vectors, and how many there are.
    pub fn vectors_progress(&self, interrupt: Interrupt) -> Result<(u64, u64)> {
        self.read(interrupt, |tx: &ReadTx| tx.vectors_progress())
    }

    /// Stores vectors, made for the models of this epoch, for memories that have none. How many had none, and how many memories there
    /// are; another epoch's are refused.
    pub fn add_vectors(
        &self,
        model_epoch: i64,
        rows: &[(Seq, Vec<Vector>)],
        interrupt: Interrupt,
    ) -> Result<(u64, u64)> {
        self.write(interrupt, |tx| {
            expect_models(tx, [Some(model_epoch)])?;
            let models = tx.models()?;
            rows.iter().try_for_each(|(_, vectors)| check_one(&models, vectors))?;
            Ok((tx.add_vectors(rows)?, tx.memory_count()?))
        })
    }

    /// Stores vectors of the move. How many memories had none, and how many memories there are; `None`: the move is over, somebody
    /// else has finished it.
    pub fn store_reembedded(
        &self,
        id: i64,
        rows: &[(Seq, Vec<Vector>)],
        interrupt: Interrupt,
    ) -> Result<Option<(u64, u64)>> {
        self.write(interrupt, |tx| {
            let Some(models) = incoming(tx, id)? else { return Ok(None) };
            let added = add(tx, &models, rows)?;
            Ok(Some((added, tx.memory_count()?)))
        })
    }

    /// Stores the last vectors, and where no more than `most_left` memories are without them, ends the move: the collection has the
    /// new models, and those that are left have no vectors, see [`without_vectors`](Self::without_vectors).
    pub fn finish_reembed(
        &self,
        id: i64,
        rows: &[(Seq, Vec<Vector>)],
        most_left: u64,
        interrupt: Interrupt,
    ) -> Result<Ended> {
        let ended = self.write(interrupt, |tx| {
            let Some(models) = incoming(tx, id)? else {
                let (done, total) = tx.vectors_progress()?;
                return Ok(Ended { epoch: Some(tx.model_epoch()?), added: 0, done, total });
            };
            let added = add(tx, &models, rows)?;
            let (done, total) = tx.incoming_progress()?;
            if total.saturating_sub(done) > most_left {
                expect_missing(tx, rows.is_empty())?;
                return Ok(Ended { epoch: None, added, done, total });
            }
            tx.swap_incoming()?;
            Ok(Ended { epoch: Some(tx.model_epoch()?), added, done, total })
        })?;
        if ended.epoch.is_some() {
            self.scrub(interrupt);
        }
        Ok(ended)
    }
}

fn texts_of(tx: &ReadTx, seqs: &[Seq]) -> Result<Vec<Unembedded>> {
    let rows = tx.rows(seqs)?;
    Ok(rows.into_iter().map(|row| Unembedded { seq: row.head.seq, text: row.text, name: row.name }).collect())
}

/// A caller who found nothing to embed, and is told to go on, finds something: else it would ask for ever.
fn expect_missing(tx: &ReadTx, found_nothing: bool) -> Result<()> {
    if found_nothing && tx.without_incoming(0, 1)?.is_empty() {
        return Err(Error::corrupt(tx.path(), "the counts of memories do not agree with the memories there are"));
    }
    Ok(())
}

fn add(tx: &WriteTx, models: &[Model], rows: &[(Seq, Vec<Vector>)]) -> Result<u64> {
    let mut added = 0;
    for (seq, vectors) in rows {
        check_one(models, vectors)?;
        added += u64::from(tx.add_incoming(models, *seq, vectors)?);
    }
    Ok(added)
}

/// The models of the move; `None`: somebody else has finished it. One that was given up is a conflict.
fn incoming(tx: &ReadTx, id: i64) -> Result<Option<Vec<Model>>> {
    let begins = |models: &[Model]| models.first().is_some_and(|model| model.id == id);
    let models = tx.incoming_models()?;
    if begins(&models) {
        return Ok(Some(models));
    }
    if begins(&tx.models()?) {
        return Ok(None);
    }
    Err(Error::Conflict(
        "this move to another embedder was given up, or replaced by one to a third embedder, by another call of reembed(); \
         nothing of it is left, call reembed(embedder) again if it is still wanted"
            .to_owned(),
    ))
}
