//! The embedders' fingerprint: one collection, one model or two, in an order.
use super::Engine;
use super::request::BoundModel;
use crate::error::{Error, Result};
use crate::model::MOST_MODELS;
use crate::store::{Interrupt, Model, NewModel, ReadTx};
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
    /// Stores the models, in their order, when the collection has none, else compares.
    pub fn bind_models(&self, models: &[BoundModel], interrupt: Interrupt) -> Result<()> {
        check(models)?;
        let found = self.read(interrupt, |tx: &ReadTx| tx.models())?;
        if matches!(self.settled(&found, models)?, Settled::Yes) || self.store.facts().readonly {
            return Ok(());
        }
        self.write(interrupt, |tx| {
            // Another process may have been first.
            let found = tx.models()?;
            match self.settled(&found, models)? {
                Settled::Yes => Ok(()),
                Settled::New => tx.set_models(&models.iter().map(new_model).collect::<Vec<_>>()),
                Settled::Probe => found.iter().zip(models).try_for_each(|(found, model)| match &model.probe {
                    Some(probe) if found.probe.is_empty() => tx.set_probe(found, probe),
                    _ => Ok(()),
                }),
            }
        })
    }

    /// Name and dimension of each model, in order.
    pub fn models(&self, interrupt: Interrupt) -> Result<Vec<(String, usize)>> {
        let models = self.read(interrupt, |tx: &ReadTx| tx.models())?;
        Ok(models.into_iter().map(|model| (model.name, model.dimension as usize)).collect())
    }

    fn settled(&self, found: &[Model], models: &[BoundModel]) -> Result<Settled> {
        if found.is_empty() {
            return Ok(Settled::New);
        }
        if found.len() != models.len() || (found.len() > 1 && !same_names(found, models)) {
            let made = quoted(found.iter().map(|model| model.name.as_str()));
            let given = quoted(models.iter().map(|model| model.name.as_str()));
            return Err(self.other_model(&format!("the collection was made with {made}, not with {given}")));
        }
        let mut settled = Settled::Yes;
        for (found, model) in found.iter().zip(models) {
            if !self.is_same(found, model)? {
                settled = Settled::Probe;
            }
        }
        Ok(settled)
    }

    /// `false`: the probe of a model whose vectors the caller gave so far is to be stored.
    fn is_same(&self, found: &Model, model: &BoundModel) -> Result<bool> {
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
            return Err(self.other_model(&format!(
                "the collection was made with the embedder {:?}, not with {name:?}",
                found.name
            )));
        }
        if found.probe.is_empty() {
            return Ok(false);
        }
        let likeness = cosine(&found.probe, probe);
        if likeness < SAME_MODEL {
            return Err(self.other_model(&format!(
                "the embedder {name:?} gives other vectors than the one the collection was made with (cosine {likeness:.4} of the probe)"
            )));
        }
        Ok(true)
    }

    fn other_model(&self, what: &str) -> Error {
        Error::Fingerprint { path: self.store.facts().path.unwrap_or_default(), message: format!("{what}; {WAY_OUT}") }
    }
}

fn check(models: &[BoundModel]) -> Result<()> {
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

fn new_model(model: &BoundModel) -> NewModel {
    NewModel {
        name: model.name.clone(),
        dimension: model.dimension as u32,
        probe: model.probe.clone().unwrap_or_default(),
    }
}
