//! The embedders' fingerprint: one collection, one model or two, in an order.
use super::Engine;
use super::request::BoundModel;
use crate::error::{Error, Result};
use crate::model::MOST_MODELS;
use crate::store::{Interrupt, Model, NewModel, ReadTx, WriteTx};
use crate::vector::quantise::cosine;

/// Two machines give nearly the same vector for the same text; two models do not.
const SAME_MODEL: f32 = 0.999;

const WAY_OUT: &str = "open it with the embedder it was made with, or move it to the new one with reembed(embedder)";

/// What is to be written when the models are those of the collection.
enum Settled {
    Yes,
    /// The collection has no model yet.
    New,
    /// The caller gave the vectors so far, and now its embedder is known.
    Probe,
}

impl Engine {
    /// Stores the models, in their order, when the collection has none, else compares. The answer goes with every vector of these
    /// models: see [`model_epoch`](Self::model_epoch).
    pub fn bind_models(&self, models: &[BoundModel], interrupt: Interrupt) -> Result<i64> {
        check(models)?;
        let (found, epoch) = self.read(interrupt, |tx: &ReadTx| Ok((settled(tx, models)?, tx.model_epoch()?)))?;
        if matches!(found, Settled::Yes) || self.store.facts().readonly {
            return Ok(epoch);
        }
        self.write(interrupt, |tx| {
            // Another process may have been first.
            match settled(tx, models)? {
                Settled::Yes => {}
                Settled::New => {
                    tx.expect_no_model()?;
                    tx.set_models(&models.iter().map(new_model).collect::<Vec<_>>())?;
                }
                Settled::Probe => add_probes(tx, models)?,
            }
            tx.model_epoch()
        })
    }

    /// Name and dimension of each model, in order.
    pub fn models(&self, interrupt: Interrupt) -> Result<Vec<(String, usize)>> {
        let models = self.read(interrupt, |tx: &ReadTx| tx.models())?;
        Ok(models.into_iter().map(|model| (model.name, model.dimension as usize)).collect())
    }

    /// Changes when the collection is moved to other models, or gets its first. Vectors come with the epoch that they were made in,
    /// and are refused in any other.
    pub fn model_epoch(&self, interrupt: Interrupt) -> Result<i64> {
        self.read(interrupt, |tx: &ReadTx| tx.model_epoch())
    }
}

fn add_probes(tx: &WriteTx, models: &[BoundModel]) -> Result<()> {
    tx.models()?.iter().zip(models).try_for_each(|(found, model)| match &model.probe {
        Some(probe) if found.probe.is_empty() => tx.set_probe(found, probe),
        _ => Ok(()),
    })
}

/// Vectors that were made for other models than the collection has now are neither stored nor compared with. `None`: not known, of
/// a caller who did not bind.
pub(super) fn expect_models(tx: &ReadTx, made_for: impl IntoIterator<Item = Option<i64>>) -> Result<()> {
    let mut made_for = made_for.into_iter().flatten().peekable();
    if made_for.peek().is_none() {
        return Ok(());
    }
    let now = tx.model_epoch()?;
    if made_for.all(|epoch| epoch == now) {
        return Ok(());
    }
    let has = match tx.models()?.as_slice() {
        [] => "no embedder".to_owned(),
        models => quoted(models.iter().map(|model| model.name.as_str())),
    };
    Err(refused(
        tx,
        format!(
            "these vectors are not of the collection's embedder: it was moved since this one was compared, and has {has} now. \
             Nothing was read or stored; {WAY_OUT}"
        ),
    ))
}

/// Whether these are the models wanted, by their probes. One whose vectors the caller gave so far has no probe, and is not.
pub(super) fn are_models(found: &[Model], wanted: &[BoundModel]) -> bool {
    found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| is_model(found, wanted))
}

fn is_model(found: &Model, wanted: &BoundModel) -> bool {
    let probe = wanted.probe.as_deref().unwrap_or_default();
    let alike = found.name == wanted.name && found.dimension as usize == wanted.dimension;
    alike && found.probe.len() == probe.len() && cosine(&found.probe, probe) >= SAME_MODEL
}

fn settled(tx: &ReadTx, models: &[BoundModel]) -> Result<Settled> {
    let found = tx.models()?;
    if found.is_empty() {
        return Ok(Settled::New);
    }
    expect_not_begun(tx, &found, models)?;
    if found.len() != models.len() || (found.len() > 1 && !same_names(&found, models)) {
        let made = quoted(found.iter().map(|model| model.name.as_str()));
        let given = quoted(models.iter().map(|model| model.name.as_str()));
        return Err(other_model(tx, &format!("the collection was made with {made}, not with {given}")));
    }
    let mut settled = Settled::Yes;
    for (found, model) in found.iter().zip(models) {
        if !is_same(tx, found, model)? {
            settled = Settled::Probe;
        }
    }
    Ok(settled)
}

/// An embedder that the collection is on its way to is told how to get there.
fn expect_not_begun(tx: &ReadTx, found: &[Model], models: &[BoundModel]) -> Result<()> {
    if are_models(found, models) || !are_models(&tx.incoming_models()?, models) {
        return Ok(());
    }
    let (done, total) = tx.incoming_progress()?;
    let made = quoted(found.iter().map(|model| model.name.as_str()));
    let given = quoted(models.iter().map(|model| model.name.as_str()));
    Err(refused(
        tx,
        format!(
            "a move from {made} to {given} was begun and is not finished: {done} of {total} memories are embedded. \
             reembed(embedder) finishes it; until then open the collection with {made}"
        ),
    ))
}

/// `false`: the probe of a model whose vectors the caller gave so far is to be stored.
fn is_same(tx: &ReadTx, found: &Model, model: &BoundModel) -> Result<bool> {
    let name = &model.name;
    if found.dimension as usize != model.dimension {
        return Err(Error::Dimension {
            expected: found.dimension as usize,
            got: model.dimension,
            hint: format!("the collection was made with {:?}: {WAY_OUT}", found.name),
        });
    }
    let Some(probe) = &model.probe else { return Ok(true) };
    if found.name != *name {
        let message = format!("the collection was made with the embedder {:?}, not with {name:?}", found.name);
        return Err(other_model(tx, &message));
    }
    if found.probe.is_empty() {
        return Ok(false);
    }
    let likeness = cosine(&found.probe, probe);
    if likeness < SAME_MODEL {
        return Err(other_model(
            tx,
            &format!(
                "the embedder {name:?} gives other vectors than the one the collection was made with (cosine {likeness:.4} of the probe)"
            ),
        ));
    }
    Ok(true)
}

fn other_model(tx: &ReadTx, what: &str) -> Error {
    refused(tx, format!("{what}; {WAY_OUT}"))
}

fn refused(tx: &ReadTx, message: String) -> Error {
    Error::Fingerprint { path: tx.path().to_path_buf(), message }
}

pub(super) fn check(models: &[BoundModel]) -> Result<()> {
    if models.is_empty() || models.len() > MOST_MODELS {
        return Err(Error::invalid(format!("a collection has one model or two, got {}", models.len())));
    }
    if models.iter().any(|model| model.dimension == 0) {
        return Err(Error::invalid("a model needs at least one dimension"));
    }
    Ok(())
}

fn same_names(found: &[Model], models: &[BoundModel]) -> bool {
    found.iter().zip(models).all(|(found, model)| found.name == model.name)
}

/// `the embedder "a"`, or `the embedders "a" and "b"`.
fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
    format!("the embedder{} {}", if names.len() == 1 { "" } else { "s" }, names.join(" and "))
}

pub(super) fn new_model(model: &BoundModel) -> NewModel {
    NewModel {
        name: model.name.clone(),
        dimension: model.dimension as u32,
        probe: model.probe.clone().unwrap_or_default(),
    }
}
