//! `remember`: analysis outside the transaction, then rows, keys, chains and turn numbers in one.
use std::sync::mpsc;
use std::vec::IntoIter;
use std::{iter, mem, thread};

use super::Engine;
use super::ahead::Ahead;
use super::model::expect_models;
use super::request::NewMemory;
use crate::error::{Error, Result};
use crate::lexical::{Analyzer, word_count};
use crate::model::{Kind, Slot, Vector};
use crate::rank::language::Language;
use crate::rank::language::marks::marks;
use crate::rank::language::question::question_share;
use crate::store::{self, Interrupt, Micros, Model, ReadTx, Scope, Seq, WriteTx};
use crate::tokens;

/// How many memories are analysed at a time: fewer are not worth a thread.
const SLICE: usize = 64;

/// A memory with everything that can be known before the transaction.
pub(super) struct Prepared {
    pub row: store::NewMemory,
    pub user: Option<String>,
    pub session: Option<String>,
    pub supersedes: Vec<String>,
    pub replace: bool,
    pub model_epoch: Option<i64>,
}

impl Prepared {
    /// Storing it replaces and supersedes nothing.
    fn is_plain(&self) -> bool {
        !self.replace && self.row.key.is_none() && self.supersedes.is_empty() && self.row.cited.is_empty()
    }
}

/// A memory in its place.
pub(super) struct Stored {
    pub id: String,
    /// Something was erased to make room for it.
    pub erased: bool,
}

impl Engine {
    /// Stores all of `memories` in one transaction. Ids in order; a keyed fact with the value it has already gives the id it has.
    pub fn remember(&self, mut memories: Vec<NewMemory>, now: Micros, interrupt: Interrupt) -> Result<Vec<String>> {
        let (count, bytes) = (memories.len(), memories.iter().map(NewMemory::bytes).sum());
        let made_for: Vec<Option<i64>> = memories.iter().map(|new| new.model_epoch).collect();
        let vectors: Vec<Vec<Vector>> = memories.iter_mut().map(|new| mem::take(&mut new.vectors)).collect();
        let stored = self.prepared(memories, |prepared| {
            self.write_new(bytes, interrupt, |tx| {
                expect_models(tx, made_for.iter().copied())?;
                check_vectors(tx, vectors.iter().map(Vec::as_slice))?;
                let each = prepared.into_iter().zip(vectors).map(|(mut new, vectors)| {
                    new.row.vectors = vectors;
                    new
                });
                let mut ahead = Ahead::new(&self.cache);
                let stored = store_all(tx, each, now, &mut ahead)?;
                // A panic in the analysis goes on when its thread is joined.
                if stored.len() != count {
                    return Err(Error::invalid("the analysis of the texts broke off"));
                }
                ahead.prepare(tx)?;
                Ok(stored)
            })
        })?;
        if stored.iter().any(|one| one.erased) {
            self.scrub(interrupt);
        }
        Ok(stored.into_iter().map(|one| one.id).collect())
    }

    /// Hands on what becomes of `memories`, in order. Many are analysed in a thread of its own while the first are stored.
    fn prepared<T>(&self, memories: Vec<NewMemory>, store: impl FnOnce(Slices) -> Result<T>) -> Result<T> {
        let (sender, rest) = mpsc::channel();
        let mut memories = memories.into_iter();
        let slice = |memories: &mut IntoIter<NewMemory>| -> Vec<Prepared> {
            memories.take(SLICE).map(|new| prepare(&self.analyzer, new)).collect()
        };
        let slices = Slices { slice: slice(&mut memories).into_iter(), rest };
        if memories.len() == 0 {
            drop(sender);
            return store(slices);
        }
        thread::scope(|scope| {
            let analyse = move || while memories.len() > 0 && sender.send(slice(&mut memories)).is_ok() {};
            thread::Builder::new().spawn_scoped(scope, analyse).map_err(|error| self.store.no_thread(&error))?;
            store(slices)
        })
    }
}

/// Memories as their analysis is done.
struct Slices {
    slice: IntoIter<Prepared>,
    rest: mpsc::Receiver<Vec<Prepared>>,
}

impl Iterator for Slices {
    type Item = Prepared;

    fn next(&mut self) -> Option<Prepared> {
        self.slice.next().or_else(|| {
            self.slice = self.rest.recv().ok()?.into_iter();
            self.slice.next()
        })
    }
}

/// Stores memories in order: those that need nothing but their scope in one go.
fn store_all(
    tx: &WriteTx,
    memories: impl Iterator<Item = Prepared>,
    now: Micros,
    ahead: &mut Ahead,
) -> Result<Vec<Stored>> {
    let mut memories = memories.peekable();
    let mut stored = Vec::new();
    while let Some(first) = memories.peek() {
        if first.is_plain() {
            fill(tx, iter::from_fn(|| memories.next_if(Prepared::is_plain)), now, ahead, &mut stored)?;
        } else if let Some(new) = memories.next() {
            ahead.abandon();
            stored.push(store_one(tx, &new, now)?);
        }
    }
    Ok(stored)
}

fn fill(
    tx: &WriteTx,
    memories: impl Iterator<Item = Prepared>,
    now: Micros,
    ahead: &mut Ahead,
    stored: &mut Vec<Stored>,
) -> Result<()> {
    tx.fill(|filling| {
        for new in memories {
            let mut row = new.row;
            let filled = filling.insert(new.user.as_deref(), new.session.as_deref(), &row);
            let filled = filled.map_err(|error| in_use(tx, &row.id, now, error))?;
            stored.push(Stored { id: mem::take(&mut row.id), erased: false });
            ahead.add(filled, row);
        }
        Ok(())
    })
}

/// Analysis, estimate and counts, of the text as it is indexed: with the speaker's name where there is one. Marks are of its own words.
pub(super) fn prepare(analyzer: &Analyzer, new: NewMemory) -> Prepared {
    let indexed = match &new.name {
        Some(name) => format!("{name}: {}", new.text),
        None => String::new(),
    };
    let indexed = if new.name.is_some() { &indexed } else { &new.text };
    let row = store::NewMemory {
        tokens: tokens::estimate(indexed),
        words: word_count(&new.text) as u32,
        question: (question_share(&new.text) * 255.0).round() as u8,
        terms: analyzer.counts(indexed),
        marks: marks(&new.text, new.ts, Language::of(analyzer.language())),
        id: new.id,
        kind: new.kind,
        role: new.role,
        name: new.name,
        key: new.key,
        text: new.text,
        metadata: new.metadata,
        turn: new.turn,
        ts: new.ts,
        expires: new.expires,
        vectors: new.vectors,
        consolidated_from: Vec::new(),
        cited: Vec::new(),
        judge: new.judge,
    };
    Prepared {
        row,
        user: new.user,
        session: new.session,
        supersedes: new.supersedes,
        replace: new.replace,
        model_epoch: new.model_epoch,
    }
}

/// Vectors of a length or of models that the collection does not have are refused before anything is stored.
pub(super) fn check_vectors<'a>(tx: &ReadTx, memories: impl Iterator<Item = &'a [Vector]>) -> Result<()> {
    let mut memories = memories.filter(|vectors| !vectors.is_empty()).peekable();
    if memories.peek().is_none() {
        return Ok(());
    }
    let models = tx.models()?;
    memories.try_for_each(|vectors| check_one(&models, vectors))
}

pub(super) fn check_one(models: &[Model], vectors: &[Vector]) -> Result<()> {
    let made_by = |slot: Slot| vectors.iter().any(|vector| vector.slot == slot);
    if models.is_empty() {
        let dimensions = vectors.first().map_or(0, |vector| vector.values.len());
        return Err(Error::Configuration {
            message: format!("a vector of {dimensions} dimensions came before the collection knew its embedder"),
            hint: "bind the models first".to_owned(),
        });
    }
    if let Some(missing) = (0..models.len()).find(|slot| !made_by(*slot)).and_then(|slot| models.get(slot)) {
        return Err(Error::Configuration {
            message: format!("a memory came without a vector of the collection's model {:?}", missing.name),
            hint: "open the collection with the embedder it has now".to_owned(),
        });
    }
    for vector in vectors {
        let Some(model) = models.get(vector.slot) else {
            return Err(Error::Configuration {
                message: format!("a vector is of model {}, the collection has {}", vector.slot + 1, models.len()),
                hint: "open the collection with the embedder it has now".to_owned(),
            });
        };
        let (expected, got) = (model.dimension as usize, vector.values.len());
        if expected != got {
            return Err(Error::Dimension {
                expected,
                got,
                hint: format!("all vectors of the model {:?} have one length", model.name),
            });
        }
    }
    Ok(())
}

/// Stores one memory and what follows from it.
pub(super) fn store_one(tx: &WriteTx, new: &Prepared, now: Micros) -> Result<Stored> {
    let mut erased = false;
    if new.replace {
        // Before the scope is asked for: one that becomes empty loses its names.
        match replace(tx, new)? {
            Replaced::Same => return Ok(Stored { id: new.row.id.clone(), erased: false }),
            Replaced::Erased => erased = true,
            Replaced::Nothing => {}
        }
    }
    let scope = tx.ensure_scope(new.user.as_deref(), new.session.as_deref())?;
    let holder = match &new.row.key {
        Some(key) => tx.keyed(scope.partition, key)?,
        None => None,
    };
    if let Some(holder) = &holder
        && is_live(holder.expires, now)
        && let Some(same) = same_value(tx, holder.seq, &new.row.text)?
    {
        return Ok(Stored { id: same, erased });
    }
    let inserted = tx.insert(&scope, &new.row).map_err(|error| in_use(tx, &new.row.id, now, error))?;
    let mut superseded: Vec<Seq> = holder.iter().map(|holder| holder.seq).collect();
    superseded.extend(judged(tx, &scope, new, now)?);
    superseded.sort_unstable();
    superseded.dedup();
    for old in superseded {
        tx.supersede(old, inserted.seq, new.row.ts)?;
    }
    Ok(Stored { id: new.row.id.clone(), erased })
}

/// A conflict with what no read shows any more says so.
fn in_use(tx: &ReadTx, id: &str, now: Micros, error: Error) -> Error {
    let holder = if matches!(error, Error::Conflict(_)) { tx.find(id).ok().flatten() } else { None };
    match holder {
        Some(holder) if !is_live(holder.expires, now) => Error::Conflict(format!(
            "the id {id:?} is in use by a memory that has expired but is not deleted yet; call expire() first"
        )),
        _ => error,
    }
}

pub(super) fn is_live(expires: Option<Micros>, now: Micros) -> bool {
    expires.is_none_or(|at| at > now)
}

/// The id of the memory, when it has this text already.
fn same_value(tx: &ReadTx, seq: Seq, text: &str) -> Result<Option<String>> {
    let rows = tx.rows(&[seq])?;
    Ok(rows.into_iter().find(|row| row.text == text).map(|row| row.id))
}

/// Those the judge named that are still live, and the same owner's.
fn judged(tx: &ReadTx, scope: &Scope, new: &Prepared, now: Micros) -> Result<Vec<Seq>> {
    let mut live = Vec::new();
    for id in &new.supersedes {
        let Some(head) = tx.find(id)? else { continue };
        let same_owner = head.partition == scope.partition;
        if same_owner && head.kind != Kind::Document && head.superseded_by.is_none() && is_live(head.expires, now) {
            live.push(head.seq);
        }
    }
    Ok(live)
}

enum Replaced {
    Nothing,
    Same,
    Erased,
}

/// Makes room for a document whose id is in use. One that is the same in everything stays as it is.
fn replace(tx: &WriteTx, new: &Prepared) -> Result<Replaced> {
    let Some(head) = tx.find(&new.row.id)? else { return Ok(Replaced::Nothing) };
    if head.kind != Kind::Document {
        return Err(Error::Conflict(format!(
            "id {:?} is in use by a {}; give the document another id",
            new.row.id,
            head.kind.as_str()
        )));
    }
    let old = tx.rows(&[head.seq])?;
    let same = old.first().is_some_and(|old| old.text == new.row.text && old.metadata == new.row.metadata);
    if same && tx.vectors(head.seq)? == new.row.vectors {
        return Ok(Replaced::Same);
    }
    tx.erase(&[head.seq])?;
    Ok(Replaced::Erased)
}
