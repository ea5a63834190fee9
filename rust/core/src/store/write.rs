//! Writing inside a shared transaction.
use std::cell::{Cell, RefCell};
use std::ops::Deref;

use rusqlite::Statement;

use super::codec;
use super::entry::Entry;
use super::fault::{self, At};
use super::filling::{INSERT_CONTENT, INSERT_VECTOR};
use super::group::Mark;
use super::load::{feedback_sum, vector_seed};
use super::models::model_seed;
use super::read::ReadTx;
use super::rows::{Head, Inserted, Micros, Model, NewMemory, NewModel, Scope, Seq};
use super::schema::Meta;
use super::scopes::{Found, ScopeRow};
use crate::error::{Error, Result};
use crate::model::{Kind, Outcome, Vector};

/// The counters that the members of a group share; written back once, at the commit.
#[derive(Debug)]
pub(super) struct Counters {
    pub rev: Cell<i64>,
    pub next_seq: Cell<i64>,
    pub next_vid: Cell<i64>,
    pub next_scope: Cell<i64>,
    pub erased: Cell<i64>,
}

impl Counters {
    pub(super) fn new(meta: &Meta) -> Self {
        Self {
            rev: Cell::new(meta.rev),
            next_seq: Cell::new(meta.next_seq),
            next_vid: Cell::new(meta.next_vid),
            next_scope: Cell::new(meta.next_scope),
            erased: Cell::new(meta.erased),
        }
    }

    pub(super) fn apply(&self, meta: &Meta) -> Meta {
        Meta {
            rev: self.rev.get(),
            next_seq: self.next_seq.get(),
            next_vid: self.next_vid.get(),
            next_scope: self.next_scope.get(),
            erased: self.erased.get(),
            ..*meta
        }
    }
}

/// Jobs for the moment after a commit, of all members.
pub(super) type AfterCommit = RefCell<Vec<Box<dyn FnOnce() + Send>>>;

/// One member's part of a write transaction. Also reads: what it wrote itself is visible.
pub struct WriteTx<'a> {
    read: ReadTx<'a>,
    pub(super) counters: &'a Counters,
    after: &'a AfterCommit,
    /// This member's rev, once taken.
    own_rev: Cell<Option<i64>>,
    /// A step failed half-way: whatever the job answers, it must not be committed.
    broken: Cell<bool>,
}

impl std::fmt::Debug for WriteTx<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WriteTx").field("read", &self.read).finish_non_exhaustive()
    }
}

impl<'a> Deref for WriteTx<'a> {
    type Target = ReadTx<'a>;

    fn deref(&self) -> &Self::Target {
        &self.read
    }
}

impl<'a> WriteTx<'a> {
    pub(super) fn new(read: ReadTx<'a>, counters: &'a Counters, after: &'a AfterCommit) -> Self {
        Self { read, counters, after, own_rev: Cell::new(None), broken: Cell::new(false) }
    }

    /// Has `job` run when this write is committed, before any call that shares the commit returns; never if it is not. It runs under
    /// the writer's lock: it must be short.
    pub fn after_commit(&self, job: impl FnOnce() + Send + 'static) {
        self.after.borrow_mut().push(Box::new(job));
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.get()
    }

    /// Runs a step of several statements; when it fails in the middle, the member as a whole fails.
    pub(super) fn step<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let done = run();
        self.broken.set(self.broken.get() || done.is_err());
        done
    }

    /// This write's number: taken once a job, rising over the file.
    pub fn rev(&self) -> Result<i64> {
        if let Some(rev) = self.own_rev.get() {
            return Ok(rev);
        }
        let rev = next(&self.counters.rev, self)? + 1;
        self.own_rev.set(Some(rev));
        Ok(rev)
    }

    pub(super) fn note_erasure(&self) -> Result<()> {
        self.counters.erased.set(self.rev()?);
        Ok(())
    }

    /// The large write that was marked is complete: what the log holds of it is stored.
    pub(super) fn unmark(&self, mark: Mark) {
        if self.counters.erased.get() == mark.rev {
            self.counters.erased.set(mark.before);
        }
    }

    /// The scope of these names, made if need be, with its partition.
    pub fn ensure_scope(&self, user: Option<&str>, session: Option<&str>) -> Result<Scope> {
        self.step(|| {
            let own_partition = user.is_none() || session.is_none();
            let partition = if own_partition { None } else { Some(self.scope_id(user, None, None)?) };
            self.scope_id(user, session, partition)?;
            self.scope(user, session)?.ok_or_else(|| fault::store(self.path(), "a scope was made and is not there"))
        })
    }

    fn scope_id(&self, user: Option<&str>, session: Option<&str>, partition: Option<i64>) -> Result<i64> {
        match self.look_up(user, session)? {
            Some(Found::Named(row)) => Ok(row.id),
            Some(Found::Nameless(row)) => {
                self.overwrite(c"names", c"data", row.id, &codec::encode_names(user, session, row.id))?;
                Ok(row.id)
            }
            None => self.new_scope(user, session, partition),
        }
    }

    fn new_scope(&self, user: Option<&str>, session: Option<&str>, partition: Option<i64>) -> Result<i64> {
        let id = next(&self.counters.next_scope, self)?;
        let row = ScopeRow {
            id,
            hash: self.hash_key().scope(&codec::name_bytes(user, session)),
            partition: partition.unwrap_or(id),
            has_user: i64::from(user.is_some()),
            next_turn: 0,
            rev: 0,
            held: 0,
            owned: 0,
            tombstones: 0,
            pruned_below: 0,
        };
        row.insert(self.sql()).at(self.path())?;
        self.sql()
            .prepare_cached("INSERT INTO names VALUES (?1, ?2)")
            .and_then(|mut statement| statement.execute((id, codec::encode_names(user, session, id))))
            .at(self.path())?;
        Ok(id)
    }

    /// Stores one memory with everything that belongs to it, and hands out its turn number. An id in use is a conflict.
    pub fn insert(&self, scope: &Scope, new: &NewMemory) -> Result<Inserted> {
        if self.find_entry(&new.id)?.is_some() {
            return Err(in_use(&new.id));
        }
        self.step(|| self.insert_all(scope, new))
    }

    fn insert_all(&self, scope: &Scope, new: &NewMemory) -> Result<Inserted> {
        let rev = self.rev()?;
        let seq = next(&self.counters.next_seq, self)?;
        let mut row = self.known_scope(scope.id)?;
        let turn = take_turn(&mut row, new)?;
        self.restore_names(&row, scope.user.as_deref(), scope.session.as_deref())?;
        row.held += 1;
        if row.partition == row.id {
            row.owned += 1;
            row.rev = rev;
        } else {
            let mut partition = self.known_scope(row.partition)?;
            self.restore_names(&partition, scope.user.as_deref(), None)?;
            partition.owned += 1;
            partition.rev = rev;
            partition.update(self.sql()).at(self.path())?;
        }
        row.update(self.sql()).at(self.path())?;
        let entry = Entry {
            id: self.hash_key().id(&new.id),
            key: new.key.as_deref().map(|key| self.hash_key().key(key)),
            vid: self.counters.next_vid.get(),
            parts: new.vectors.len() as i64,
            feedbacks: 0,
            head: head_of(seq, &row, turn, new, rev),
        };
        entry.insert(self.sql()).at(self.path())?;
        self.insert_content(seq, new)?;
        self.insert_vectors(seq, new)?;
        for cited in &new.cited {
            self.mark_cited(*cited)?;
        }
        Ok(Inserted { seq, turn })
    }

    /// The scope may have been emptied, and so lost its names, since the caller got it.
    pub(super) fn restore_names(&self, row: &ScopeRow, user: Option<&str>, session: Option<&str>) -> Result<()> {
        if !row.is_empty() {
            return Ok(());
        }
        self.overwrite(c"names", c"data", row.id, &codec::encode_names(user, session, row.id))
    }

    fn insert_content(&self, seq: Seq, new: &NewMemory) -> Result<()> {
        let (head, body) = codec::encode_content(new, seq);
        self.sql()
            .prepare_cached(INSERT_CONTENT)
            .and_then(|mut statement| statement.execute((seq, head, body)))
            .at(self.path())?;
        Ok(())
    }

    fn insert_vectors(&self, seq: Seq, new: &NewMemory) -> Result<()> {
        if new.vectors.is_empty() {
            return Ok(());
        }
        self.append_vectors(seq, &self.model_ids()?, &new.vectors)
    }

    /// Stores a memory's vectors of these models in one run, model by model.
    pub(super) fn append_vectors(&self, seq: Seq, models: &[i64], vectors: &[Vector]) -> Result<()> {
        let mut statement = self.sql().prepare_cached(INSERT_VECTOR).at(self.path())?;
        self.append_vectors_by(&mut statement, seq, models, vectors)
    }

    pub(super) fn append_vectors_by(
        &self,
        statement: &mut Statement<'_>,
        seq: Seq,
        models: &[i64],
        vectors: &[Vector],
    ) -> Result<()> {
        let mut stored = 0;
        for (slot, model) in models.iter().enumerate() {
            let own = vectors.iter().filter(|vector| vector.slot == slot);
            for (part, vector) in (0_i64..).zip(own) {
                let data = codec::encode_floats(&vector.values, vector_seed(seq, *model, part));
                let vid = next(&self.counters.next_vid, self)?;
                statement.execute((vid, seq, *model, part, data.as_slice())).at(self.path())?;
                stored += 1;
            }
        }
        if stored == vectors.len() {
            return Ok(());
        }
        Err(Error::invalid("a vector is of a model that the collection does not have"))
    }

    fn mark_cited(&self, seq: Seq) -> Result<()> {
        if let Some(mut entry) = self.entry(seq)?.filter(|entry| !entry.head.cited) {
            entry.head.cited = true;
            self.touch(&mut entry)?;
        }
        Ok(())
    }

    /// Links `old` to its successor. A conflict when it has one that lives. Where that one was forgotten, the earlier of their times counts.
    pub fn supersede(&self, old: Seq, new: Seq, at: Micros) -> Result<()> {
        let missing = |seq: Seq| Error::Conflict(format!("memory number {seq} is gone; read the chain again"));
        let mut older = self.entry(old)?.ok_or_else(|| missing(old))?;
        let mut newer = self.entry(new)?.ok_or_else(|| missing(new))?;
        if older.head.superseded_by.is_some_and(|successor| successor != 0) {
            return Err(Error::Conflict(
                "this memory has just been superseded by another one; read the chain again and correct its tip".into(),
            ));
        }
        if old >= new {
            return Err(Error::Conflict("a memory cannot be superseded by an older one, or by itself".into()));
        }
        self.step(|| {
            older.head.superseded_by = Some(new);
            let at = [older.head.superseded_at, newer.head.superseded_at].into_iter().flatten().fold(at, i64::min);
            older.head.superseded_at = Some(at);
            self.touch(&mut older)?;
            self.superseded_by_then(old, at)?;
            newer.head.supersedes = newer.head.supersedes.or(Some(old));
            self.touch(&mut newer)
        })
    }

    pub fn add_feedback(&self, seq: Seq, outcome: Outcome, ts: Micros) -> Result<()> {
        let Some(mut entry) = self.entry(seq)? else {
            return Err(Error::Conflict(format!("memory number {seq} is gone")));
        };
        self.step(|| {
            let code = outcome as i64;
            self.sql()
                .prepare_cached("INSERT INTO feedback(seq, outcome, ts, sum) VALUES (?1, ?2, ?3, ?4)")
                .and_then(|mut statement| statement.execute((seq, code, ts, feedback_sum(seq, code, ts))))
                .at(self.path())?;
            entry.feedbacks += 1;
            self.touch(&mut entry)
        })
    }

    /// Makes these the current models, in order: those of the vectors stored from now on. Vectors of others are not read any more.
    pub fn set_models(&self, models: &[NewModel]) -> Result<()> {
        self.step(|| {
            self.forget_model_ids();
            self.sql().execute("UPDATE model SET current = 0 WHERE current > 0", []).at(self.path())?;
            for (place, model) in (1_i64..).zip(models) {
                let probe = codec::encode_floats(&model.probe, model_seed(&model.name, model.dimension));
                self.sql()
                    .execute(
                        "INSERT INTO model(name, dimension, probe, current) VALUES (?1, ?2, ?3, ?4)",
                        (&model.name, model.dimension, probe, place),
                    )
                    .at(self.path())?;
            }
            Ok(())
        })
    }

    /// Adds what was not known of a model whose vectors the caller gave: its vector for the fixed probe text.
    pub fn set_probe(&self, model: &Model, probe: &[f32]) -> Result<()> {
        let probe = codec::encode_floats(probe, model_seed(&model.name, model.dimension));
        self.step(|| {
            self.sql().execute("UPDATE model SET probe = ?2 WHERE id = ?1", (model.id, probe)).at(self.path())?;
            Ok(())
        })
    }

    /// Writes a changed row under this write's rev, and tells its partition.
    pub(super) fn touch(&self, entry: &mut Entry) -> Result<()> {
        let rev = self.rev()?;
        entry.head.rev = rev;
        entry.update(self.sql()).at(self.path())?;
        let mut partition = self.known_scope(entry.head.partition)?;
        if partition.rev != rev {
            partition.rev = rev;
            partition.update(self.sql()).at(self.path())?;
        }
        Ok(())
    }
}

pub(super) fn in_use(id: &str) -> Error {
    Error::Conflict(format!("the id {id:?} is in use; give another one, or none to have one made"))
}

pub(super) fn take_turn(row: &mut ScopeRow, new: &NewMemory) -> Result<Option<i64>> {
    if new.kind != Kind::Turn {
        return Ok(None);
    }
    let turn = new.turn.unwrap_or(row.next_turn);
    let after = turn.checked_add(1).filter(|_| turn >= 0);
    let after =
        after.ok_or_else(|| Error::invalid(format!("turn numbers are 0 or more and fit 63 bits, got {turn}")))?;
    row.next_turn = row.next_turn.max(after);
    Ok(Some(turn))
}

pub(super) fn head_of(seq: Seq, row: &ScopeRow, turn: Option<i64>, new: &NewMemory, rev: i64) -> Head {
    Head {
        seq,
        scope: row.id,
        partition: row.partition,
        kind: new.kind,
        turn,
        ts: new.ts,
        expires: new.expires,
        tokens: new.tokens,
        words: new.words,
        question: new.question,
        supersedes: None,
        superseded_by: None,
        superseded_at: None,
        keyed: new.key.is_some(),
        judge: new.judge,
        cited: false,
        rev,
    }
}

/// Takes a number from a counter.
pub(super) fn next(counter: &Cell<i64>, tx: &WriteTx<'_>) -> Result<i64> {
    let number = counter.get();
    let after = number.checked_add(1).ok_or_else(|| fault::store(tx.path(), "the file has run out of numbers"))?;
    counter.set(after);
    Ok(number)
}
