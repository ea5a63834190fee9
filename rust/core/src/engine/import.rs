//! `import`: memories are analysed and staged as they come; when the last one is known to be right, one transaction stores them all.
use std::collections::HashMap;

use super::Engine;
use super::import_links::Bonds;
use super::model::{are_models, check, expect_models, new_model};
use super::remember::{Prepared, check_one, is_live, prepare};
use super::request::{BoundModel, NewMemory};
use crate::error::{Error, Result};
use crate::model::{Kind, Outcome};
use crate::store::{
    Calibration, Head, Interrupt, Micros, Model, ReadTx, Scope, Seq, Spool, Staged, Superseded, Unused, WriteTx,
};

/// What to do where the collection has an id, or a key's live fact, already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    Error,
    Skip,
    Replace,
}

impl OnConflict {
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "error" => Ok(Self::Error),
            "skip" => Ok(Self::Skip),
            "replace" => Ok(Self::Replace),
            _ => Err(Error::invalid(format!("there is no on_conflict {word:?}"))),
        }
    }
}

/// What a memory of a file has beside what a new one has.
#[derive(Debug, Clone, Default)]
pub struct Restored {
    pub line: u64,
    pub supersedes: Option<String>,
    /// Its successor's id, where that is known, and the successor's time.
    pub superseded: Option<(Option<String>, Micros)>,
    pub cited: bool,
    pub consolidated_from: Vec<String>,
    pub feedback: Vec<(Outcome, Micros)>,
}

/// What a file says beside its memories.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    pub unused: Vec<Unused>,
    /// The models where the file comes from.
    pub models: Vec<BoundModel>,
    /// Vectors without a model epoch are of these models, which are the collection's or become its first.
    pub with_vectors: bool,
    /// Of these models; kept where the collection was empty.
    pub calibration: Option<Calibration>,
}

/// What a file's memories are counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbered {
    /// Lines of an export.
    Lines,
    /// Of any other source.
    Items,
}

#[derive(Debug, Clone)]
pub struct ImportRequest {
    pub on_conflict: OnConflict,
    pub numbered: Numbered,
    pub extras: Extras,
    pub now: Micros,
}

impl ImportRequest {
    fn place(&self, number: u64) -> String {
        match self.numbered {
            Numbered::Lines => format!("line {number}"),
            Numbered::Items => format!("items[{number}]"),
        }
    }

    fn noun(&self) -> &'static str {
        match self.numbered {
            Numbered::Lines => "line",
            Numbered::Items => "item",
        }
    }

    /// Another program's ids know nothing of the memories here: its document takes the place of a document alone, as in `add`.
    fn is_of_another_sort(&self, staged: &Staged, there: &Head) -> bool {
        let document = |kind: Kind| kind == Kind::Document;
        self.numbered == Numbered::Items && document(staged.row.kind) && !document(there.kind)
    }

    /// The same error, with the place where it arose.
    pub(super) fn at(&self, number: u64, error: Error) -> Error {
        let place = self.place(number);
        let at = |message: String| {
            if message.starts_with(&place) { message } else { format!("{place}: {message}") }
        };
        match error {
            Error::InvalidInput(message) => Error::InvalidInput(at(message)),
            Error::Conflict(message) => Error::Conflict(at(message)),
            other => other,
        }
    }
}

/// How many memories became what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    pub stored: u64,
    pub skipped: u64,
    /// Of those stored: in the place of one that was here.
    pub replaced: u64,
    /// Of those stored: turns that got another number.
    pub renumbered: u64,
    /// Something was erased to make room.
    pub erased: bool,
}

/// Memories of a file that were checked and wait for the others.
#[derive(Debug)]
pub struct Staging(Spool);

impl Staging {
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Engine {
    /// Nothing is written to the collection until [`import`](Self::import).
    pub fn stage(&self) -> Result<Staging> {
        self.store.spool().map(Staging)
    }

    /// Analyses memories and puts them behind those that are staged.
    pub fn add_staged(&self, staging: &mut Staging, memories: Vec<(NewMemory, Restored)>) -> Result<()> {
        memories.into_iter().try_for_each(|(new, restored)| {
            let prepared = prepare(&self.analyzer, new);
            staging.0.push(&staged(prepared, restored))
        })
    }

    /// Stores all that is staged in one transaction.
    pub fn import(&self, staging: &mut Staging, request: &ImportRequest, interrupt: Interrupt) -> Result<Imported> {
        let _inside = crate::gate::enter();
        let imported = self.store.write_aside(interrupt, |tx, stopped| {
            if request.extras.with_vectors {
                check(&request.extras.models)?;
            }
            let mut import = Import::new(tx, request, stopped)?;
            import.plan(&mut staging.0)?;
            import.store(&mut staging.0)?;
            import.link(&mut staging.0)?;
            import.finish()
        })?;
        if imported.erased {
            self.scrub(interrupt);
        }
        Ok(imported)
    }

    /// Are these the collection's models, in order? Those whose vectors the caller gave are told by name and dimension.
    pub fn has_models(&self, models: &[BoundModel], interrupt: Interrupt) -> Result<bool> {
        let found = self.read(interrupt, |tx: &ReadTx| tx.models())?;
        Ok(same_models(&found, models))
    }
}

fn same_models(found: &[Model], models: &[BoundModel]) -> bool {
    let told = |model: &BoundModel| model.probe.as_ref().is_some_and(|probe| !probe.is_empty());
    are_models(found, models)
        || (found.len() == models.len()
            && found.iter().zip(models).all(|(found, model)| {
                let alike = found.name == model.name && found.dimension as usize == model.dimension;
                alike && (found.probe.is_empty() || !told(model))
            }))
}

fn staged(prepared: Prepared, restored: Restored) -> Staged {
    let mut row = prepared.row;
    row.consolidated_from = restored.consolidated_from;
    Staged {
        line: restored.line,
        user: prepared.user,
        session: prepared.session,
        row,
        model_epoch: prepared.model_epoch,
        supersedes: restored.supersedes,
        superseded: restored.superseded.map(|(by, at)| Superseded { by, at }),
        cited: restored.cited,
        feedback: restored.feedback,
    }
}

/// The collection's models; its first are those of the file's vectors.
fn models(tx: &WriteTx, extras: &Extras) -> Result<Vec<Model>> {
    let found = tx.models()?;
    if !extras.with_vectors || same_models(&found, &extras.models) {
        return Ok(found);
    }
    if !found.is_empty() {
        return Err(Error::Fingerprint {
            path: tx.path().to_path_buf(),
            message:
                "the collection got another embedder while the file was read; nothing was imported, import it again"
                    .to_owned(),
        });
    }
    tx.set_models(&extras.models.iter().map(new_model).collect::<Vec<_>>())?;
    tx.models()
}

type Names = (Option<String>, Option<String>);

/// What a file's turns are for a session that has turns already.
#[derive(Debug, Default, Clone, Copy)]
struct Numbers {
    /// The lowest one that comes.
    lowest: i64,
    /// One of them is taken.
    taken: bool,
    next_turn: i64,
}

impl Numbers {
    fn shift(self) -> i64 {
        if self.taken { self.next_turn.saturating_sub(self.lowest) } else { 0 }
    }
}

pub(super) struct Import<'a, 'tx> {
    pub(super) tx: &'a WriteTx<'tx>,
    pub(super) request: &'a ImportRequest,
    stopped: Interrupt<'a>,
    models: Vec<Model>,
    /// Memories of this import have this number or a higher one.
    pub(super) first: Seq,
    /// There was nothing in the collection.
    into_empty: bool,
    sessions: HashMap<Names, Numbers>,
    pub(super) bonds: Bonds,
    pub(super) counts: Imported,
}

impl<'a, 'tx> Import<'a, 'tx> {
    fn new(tx: &'a WriteTx<'tx>, request: &'a ImportRequest, stopped: Interrupt<'a>) -> Result<Self> {
        Ok(Self {
            tx,
            request,
            stopped,
            models: models(tx, &request.extras)?,
            first: tx.next_seq(),
            into_empty: tx.memory_count()? == 0,
            sessions: HashMap::new(),
            bonds: Bonds::default(),
            counts: Imported::default(),
        })
    }

    pub(super) fn go_on(&self) -> Result<()> {
        if (self.stopped)() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Finds conflicts, and the sessions in which numbers of turns are taken.
    fn plan(&mut self, spool: &mut Spool) -> Result<()> {
        if self.into_empty {
            return Ok(());
        }
        let mut sessions = std::mem::take(&mut self.sessions);
        spool.each(&mut |staged| {
            self.go_on()?;
            if let Some(there) = self.living(&staged.row.id)? {
                return if self.request.on_conflict == OnConflict::Error {
                    Err(self.in_use(&staged, &there))
                } else {
                    Ok(())
                };
            }
            self.take_note(&mut sessions, staged)
        })?;
        self.sessions = sessions;
        Ok(())
    }

    fn take_note(&self, sessions: &mut HashMap<Names, Numbers>, staged: Staged) -> Result<()> {
        let Some(turn) = staged.row.turn else { return Ok(()) };
        let Some(scope) = self.tx.scope(staged.user.as_deref(), staged.session.as_deref())? else { return Ok(()) };
        let taken = self.tx.has_turn(scope.id, turn)?;
        let numbers = sessions.entry((staged.user, staged.session)).or_insert(Numbers {
            lowest: turn,
            taken,
            next_turn: scope.next_turn,
        });
        numbers.lowest = numbers.lowest.min(turn);
        numbers.taken |= taken;
        Ok(())
    }

    /// Who has this id here, and has not expired.
    fn living(&self, id: &str) -> Result<Option<Head>> {
        Ok(self.tx.find(id)?.filter(|there| is_live(there.expires, self.request.now)))
    }

    fn in_use(&self, staged: &Staged, there: &Head) -> Error {
        Error::Conflict(format!(
            "{}: the id {:?} is in use here by a {}; nothing was imported. Pass on_conflict=\"skip\" to keep what is here, or \
             \"replace\" to take what is in the file",
            self.request.place(staged.line),
            staged.row.id,
            there.kind.as_str()
        ))
    }

    fn store(&mut self, spool: &mut Spool) -> Result<()> {
        spool.each(&mut |staged| {
            self.go_on()?;
            let line = staged.line;
            self.store_one(staged).map_err(|error| self.request.at(line, error))
        })
    }

    fn store_one(&mut self, mut staged: Staged) -> Result<()> {
        let tx = self.tx;
        expect_models(tx, [staged.model_epoch])?;
        check_one(&self.models, &staged.row.vectors)?;
        let there = tx.find(&staged.row.id)?;
        if there.as_ref().is_some_and(|there| there.seq >= self.first) {
            return Err(Error::invalid(format!(
                "the id {:?} is that of an earlier {}",
                staged.row.id,
                self.request.noun()
            )));
        }
        // One that has expired is as good as deleted.
        let gone = there.as_ref().filter(|there| !is_live(there.expires, self.request.now)).map(|there| there.seq);
        let old = match (there.filter(|_| gone.is_none()), self.request.on_conflict) {
            (Some(_), OnConflict::Skip) => {
                self.counts.skipped += 1;
                return Ok(());
            }
            (Some(there), OnConflict::Error) => return Err(self.in_use(&staged, &there)),
            (Some(there), OnConflict::Replace) if self.request.is_of_another_sort(&staged, &there) => {
                return Err(Error::Conflict(format!(
                    "the id {:?} is in use here by a {}; nothing was imported. Give the document another id",
                    staged.row.id,
                    there.kind.as_str()
                )));
            }
            (there, _) => there,
        };
        stay_as_known(&mut staged, old.as_ref());
        let known = tx.scope(staged.user.as_deref(), staged.session.as_deref())?;
        self.number(&mut staged, old.as_ref(), known.as_ref());
        let held = match &staged.row.key {
            Some(key) if staged.superseded.is_none() => self.holder(key, &staged, old.as_ref())?,
            _ => Holder::Nobody,
        };
        if matches!(held, Holder::Kept) {
            self.counts.skipped += 1;
            return Ok(());
        }
        let bond = old.as_ref().map(|old| self.bond(old)).transpose()?;
        if let Some(seq) = gone.or(old.as_ref().map(|old| old.seq)) {
            tx.erase(&[seq])?;
            self.counts.erased = true;
            self.counts.replaced += u64::from(old.is_some());
        }
        // After the erasure: a scope that becomes empty loses its names.
        let scope = tx.ensure_scope(staged.user.as_deref(), staged.session.as_deref())?;
        let id = staged.row.id.clone();
        let seq = self.insert(&scope, staged, &held)?;
        if let Some(bond) = bond.filter(|bond| bond.partition == scope.partition) {
            self.restore_predecessors(seq, &bond)?;
            self.bonds.keep(id, bond);
        }
        Ok(())
    }

    /// A turn that replaces one of the same session keeps the number that that one has here; others are moved where one is taken.
    fn number(&mut self, staged: &mut Staged, old: Option<&Head>, scope: Option<&Scope>) {
        let here = old.filter(|old| scope.is_some_and(|scope| scope.id == old.scope)).and_then(|old| old.turn);
        let Some(turn) = staged.row.turn else {
            staged.row.turn = here.filter(|_| staged.row.kind == Kind::Turn);
            return;
        };
        let names = (staged.user.clone(), staged.session.clone());
        let shift = self.sessions.get(&names).map_or(0, |numbers| numbers.shift());
        let number = here.unwrap_or_else(|| if old.is_some() { turn } else { turn.saturating_add(shift) });
        self.counts.renumbered += u64::from(number != turn);
        staged.row.turn = Some(number);
    }

    /// Who has the key, and what is to become of it.
    fn holder(&self, key: &str, staged: &Staged, old: Option<&Head>) -> Result<Holder> {
        let owner = self.tx.owner(staged.user.as_deref(), staged.session.as_deref())?;
        let holder = owner.map_or(Ok(None), |owner| self.tx.keyed(owner, key))?;
        let Some(holder) = holder else { return Ok(Holder::Nobody) };
        if holder.seq >= self.first {
            return Err(Error::invalid(format!(
                "the key {key:?} is held by an earlier {} that is not superseded; a key has one fact that is live",
                self.request.noun()
            )));
        }
        if old.is_some_and(|old| old.seq == holder.seq) {
            return Ok(Holder::Nobody);
        }
        let named = match &staged.supersedes {
            Some(older) => self.tx.find(older)?.is_some_and(|older| older.seq == holder.seq),
            None => false,
        };
        match self.request.on_conflict {
            _ if named || !is_live(holder.expires, self.request.now) => Ok(Holder::Superseded(holder.seq)),
            OnConflict::Replace => Ok(Holder::Superseded(holder.seq)),
            OnConflict::Skip => Ok(Holder::Kept),
            OnConflict::Error => Err(Error::Conflict(format!(
                "the key {key:?} has another fact here; nothing was imported. Pass on_conflict=\"skip\" to keep the one that is here, \
                 or \"replace\" to have it superseded by the one in the file"
            ))),
        }
    }

    fn insert(&mut self, scope: &Scope, staged: Staged, held: &Holder) -> Result<Seq> {
        let tx = self.tx;
        let mut row = staged.row;
        for id in &row.consolidated_from {
            row.cited.extend(tx.find(id)?.map(|turn| turn.seq));
        }
        let seq = tx.insert(scope, &row)?.seq;
        let superseded_at = staged.superseded.as_ref().map(|superseded| superseded.at);
        if superseded_at.is_some() || staged.cited {
            tx.restore(seq, superseded_at, staged.cited)?;
        }
        for (outcome, ts) in &staged.feedback {
            tx.add_feedback(seq, *outcome, *ts)?;
        }
        if let Holder::Superseded(holder) = held {
            tx.supersede(*holder, seq, row.ts)?;
        }
        if let Some(older) = &staged.supersedes
            && let Some(older) = tx.find(older)?
            && older.seq < self.first
            && older.superseded_by.unwrap_or(0) == 0
            && older.partition == scope.partition
            && older.kind != Kind::Document
        {
            // It was here, and live or without its successor; the file knows what came after it.
            tx.supersede(older.seq, seq, row.ts)?;
        }
        self.counts.stored += 1;
        Ok(seq)
    }

    fn finish(&self) -> Result<Imported> {
        for unused in &self.request.extras.unused {
            let Some(scope) = self.tx.scope(unused.user.as_deref(), unused.session.as_deref())? else { continue };
            let names = (unused.user.clone(), unused.session.clone());
            let shift = self.sessions.get(&names).map_or(0, |numbers| numbers.shift());
            self.tx.raise_next_turn(scope.id, unused.next_turn.saturating_add(shift))?;
        }
        let extras = &self.request.extras;
        if let Some(calibration) = &extras.calibration
            && self.into_empty
            && same_models(&self.models, &extras.models)
            && let Some(model) = self.models.first()
        {
            self.tx.set_calibration(model.id, calibration)?;
        }
        Ok(self.counts)
    }
}

/// What was superseded here never comes back to life, also when it is replaced; what a fact was made from stays so.
fn stay_as_known(staged: &mut Staged, old: Option<&Head>) {
    let Some(old) = old else { return };
    staged.cited |= old.cited;
    if staged.superseded.is_none() {
        staged.superseded = old.superseded_at.map(|at| Superseded { by: None, at });
    }
}

/// The fact that holds a key here.
enum Holder {
    Nobody,
    /// By what is imported.
    Superseded(Seq),
    /// What is imported is left out.
    Kept,
}
