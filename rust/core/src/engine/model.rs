//! The embedder's fingerprint: one collection, one model at a time.
use super::Engine;
use crate::error::{Error, Result};
use crate::store::{Interrupt, Model, NewModel, ReadTx};
use crate::vector::quantise::cosine;

/// Two machines give nearly the same vector for the same text; two models do not.
const SAME_MODEL: f32 = 0.999;

const WAY_OUT: &str = "open it with the embedder it was made with, or move it to the new one with reembed(embedder)";

/// Whether this is what `wanted` describes. A model whose vectors the caller gave so far has no probe, and is not.
pub(super) fn is_model(model: &Model, wanted: &NewModel) -> bool {
    model.name == wanted.name
        && model.dimension == wanted.dimension
        && model.probe.len() == wanted.probe.len()
        && cosine(&model.probe, &wanted.probe) >= SAME_MODEL
}

/// Vectors that were made for other models than the collection has now are neither stored nor compared with. `None`: unknown, for
/// whoever did not bind.
pub(super) fn expect_models(tx: &ReadTx, made_for: impl IntoIterator<Item = Option<i64>>) -> Result<()> {
    let mut made_for = made_for.into_iter().flatten().peekable();
    if made_for.peek().is_none() {
        return Ok(());
    }
    let now = tx.model_epoch()?;
    if made_for.all(|epoch| epoch == now) {
        return Ok(());
    }
    let name = tx.model()?.map_or_else(|| "none".to_owned(), |model| format!("{:?}", model.name));
    let message = format!(
        "these vectors are not of the collection's embedder: it was moved since this one was compared, and has the embedder {name} now. \
         Nothing was read or stored; {WAY_OUT}"
    );
    Err(Error::Fingerprint { path: tx.path().to_path_buf(), message })
}

impl Engine {
    /// Stores the model when the collection has none, else compares. `probe` is the embedder's vector of a fixed text; `None` when
    /// the caller gives the vectors. The answer goes with every vector of this model: see [`model_epoch`](Self::model_epoch).
    pub fn bind_model(&self, name: &str, dimension: usize, probe: Option<&[f32]>, interrupt: Interrupt) -> Result<i64> {
        if dimension == 0 {
            return Err(Error::invalid("a model needs at least one dimension"));
        }
        let (is_settled, epoch) =
            self.read(interrupt, |tx: &ReadTx| Ok((settled(tx, name, dimension, probe)?, tx.model_epoch()?)))?;
        if is_settled || self.store.facts().readonly {
            return Ok(epoch);
        }
        self.write(interrupt, |tx| {
            // Another process may have been first.
            if !settled(tx, name, dimension, probe)? {
                tx.set_model(&NewModel {
                    name: name.to_owned(),
                    dimension: dimension as u32,
                    probe: probe.unwrap_or_default().to_vec(),
                })?;
            }
            tx.model_epoch()
        })
    }

    /// Name and dimension of the model.
    pub fn model(&self, interrupt: Interrupt) -> Result<Option<(String, usize)>> {
        let model = self.read(interrupt, |tx: &ReadTx| tx.model())?;
        Ok(model.map(|model| (model.name, model.dimension as usize)))
    }

    /// Changes when the collection is moved to another model, or gets its first one. Vectors come with the epoch that they were made
    /// in, and are refused in any other.
    pub fn model_epoch(&self, interrupt: Interrupt) -> Result<i64> {
        self.read(interrupt, |tx: &ReadTx| tx.model_epoch())
    }
}

/// `false`: there is something to store, a model or the probe of one whose vectors the caller gave so far.
fn settled(tx: &ReadTx, name: &str, dimension: usize, probe: Option<&[f32]>) -> Result<bool> {
    let Some(found) = tx.model()? else { return Ok(false) };
    let refused = |message: String| Error::Fingerprint { path: tx.path().to_path_buf(), message };
    if let Some(message) = begun(tx, &found, name, dimension, probe)? {
        return Err(refused(message));
    }
    if found.dimension as usize != dimension {
        return Err(Error::Dimension {
            expected: found.dimension as usize,
            got: dimension,
            hint: format!("the collection was made with {:?}: {WAY_OUT}", found.name),
        });
    }
    let Some(probe) = probe else { return Ok(true) };
    if found.name != name {
        return Err(refused(format!(
            "the collection was made with the embedder {:?}, not with {name:?}; {WAY_OUT}",
            found.name
        )));
    }
    if found.probe.is_empty() {
        return Ok(false);
    }
    let likeness = cosine(&found.probe, probe);
    if likeness < SAME_MODEL {
        return Err(refused(format!(
            "the embedder {name:?} gives other vectors than the one the collection was made with (cosine {likeness:.4} of the probe); {WAY_OUT}"
        )));
    }
    Ok(true)
}

/// What to say of an embedder that the collection is on its way to.
fn begun(tx: &ReadTx, found: &Model, name: &str, dimension: usize, probe: Option<&[f32]>) -> Result<Option<String>> {
    let Some(probe) = probe else { return Ok(None) };
    let wanted = NewModel { name: name.to_owned(), dimension: dimension as u32, probe: probe.to_vec() };
    if is_model(found, &wanted) || !tx.incoming_model()?.is_some_and(|incoming| is_model(&incoming, &wanted)) {
        return Ok(None);
    }
    let (done, total) = tx.incoming_progress()?;
    Ok(Some(format!(
        "a move from the embedder {:?} to {name:?} was begun and is not finished: {done} of {total} memories are embedded. \
         reembed(embedder) finishes it; until then open the collection with {:?}",
        found.name, found.name
    )))
}
