//! The embedder's fingerprint: one collection, one model.
use super::Engine;
use crate::error::{Error, Result};
use crate::store::{Interrupt, Model, NewModel, ReadTx};
use crate::vector::quantise::cosine;

/// Two machines give nearly the same vector for the same text; two models do not.
const SAME_MODEL: f32 = 0.999;

const WAY_OUT: &str = "open it with the embedder it was made with, or move it to the new one with reembed(embedder)";

impl Engine {
    /// Stores the model when the collection has none, else compares. `probe` is the embedder's vector of a fixed text; `None` when
    /// the caller gives the vectors.
    pub fn bind_model(&self, name: &str, dimension: usize, probe: Option<&[f32]>, interrupt: Interrupt) -> Result<()> {
        if dimension == 0 {
            return Err(Error::invalid("a model needs at least one dimension"));
        }
        let found = self.read(interrupt, |tx: &ReadTx| tx.model())?;
        let settled = self.settled(found.as_ref(), name, dimension, probe)?;
        if settled || self.store.facts().readonly {
            return Ok(());
        }
        self.write(interrupt, |tx| {
            // Another process may have been first.
            if self.settled(tx.model()?.as_ref(), name, dimension, probe)? {
                return Ok(());
            }
            tx.set_model(&NewModel {
                name: name.to_owned(),
                dimension: dimension as u32,
                probe: probe.unwrap_or_default().to_vec(),
            })
        })
    }

    /// Name and dimension of the model.
    pub fn model(&self, interrupt: Interrupt) -> Result<Option<(String, usize)>> {
        let model = self.read(interrupt, |tx: &ReadTx| tx.model())?;
        Ok(model.map(|model| (model.name, model.dimension as usize)))
    }

    /// `false`: there is something to store, a model or the probe of one whose vectors the caller gave so far.
    fn settled(&self, found: Option<&Model>, name: &str, dimension: usize, probe: Option<&[f32]>) -> Result<bool> {
        let Some(found) = found else { return Ok(false) };
        if found.dimension as usize != dimension {
            return Err(Error::Dimension {
                expected: found.dimension as usize,
                got: dimension,
                hint: format!("the collection was made with {:?}: {WAY_OUT}", found.name),
            });
        }
        let Some(probe) = probe else { return Ok(true) };
        if found.name != name {
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
