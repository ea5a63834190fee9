//! Many memories into a few scopes: each scope is looked up once and written back once, and statements are kept at hand.
use std::collections::HashMap;
use std::collections::hash_map::Entry::Vacant;

use rusqlite::CachedStatement;

use super::codec;
use super::entry::{self, Entry};
use super::fault::At;
use super::rows::{Head, NewMemory, Seq};
use super::scopes::ScopeRow;
use super::write::{WriteTx, head_of, in_use, next, take_turn};
use crate::error::{Error, Result};

const FIND: &str = "SELECT 1 FROM memory WHERE id = ?1";
pub(super) const INSERT_CONTENT: &str = "INSERT INTO content VALUES (?1, ?2, ?3)";
pub(super) const INSERT_VECTOR: &str = "INSERT INTO vector VALUES (?1, ?2, ?3, ?4, ?5)";

/// A memory in its place.
#[derive(Debug)]
pub struct Filled {
    pub head: Head,
    /// As [`super::rows::IndexRow::lone_vid`].
    pub lone_vid: i64,
    /// The rev of its partition before it was there: this write's own, where it put others there.
    pub partition_was: i64,
}

/// Inserts under way. Nothing else may write in between: the rows of the scopes are behind until they are written back.
pub struct Filling<'t> {
    tx: &'t WriteTx<'t>,
    /// Ids by names.
    scopes: HashMap<Vec<u8>, i64>,
    rows: HashMap<i64, ScopeRow>,
    find: CachedStatement<'t>,
    memory: CachedStatement<'t>,
    content: CachedStatement<'t>,
    vector: CachedStatement<'t>,
}

impl std::fmt::Debug for Filling<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Filling").field("scopes", &self.scopes.len()).finish_non_exhaustive()
    }
}

impl WriteTx<'_> {
    /// Runs inserts that need nothing but their scope, and stores what they came to in each scope. When one fails, the member does.
    pub fn fill<T>(&self, job: impl FnOnce(&mut Filling<'_>) -> Result<T>) -> Result<T> {
        self.step(|| {
            let mut filling = Filling::new(self)?;
            let answer = job(&mut filling)?;
            filling.rows.values().try_for_each(|row| row.update(self.sql())).at(self.path())?;
            Ok(answer)
        })
    }
}

impl<'t> Filling<'t> {
    fn new(tx: &'t WriteTx<'_>) -> Result<Self> {
        let statement = |sql: &str| tx.sql().prepare_cached(sql).at(tx.path());
        Ok(Self {
            tx,
            scopes: HashMap::new(),
            rows: HashMap::new(),
            find: statement(FIND)?,
            memory: statement(entry::INSERT)?,
            content: statement(INSERT_CONTENT)?,
            vector: statement(INSERT_VECTOR)?,
        })
    }

    /// As [`WriteTx::insert`], but for turns that the memory cites: it has none.
    pub fn insert(&mut self, user: Option<&str>, session: Option<&str>, new: &NewMemory) -> Result<Filled> {
        let hash = self.tx.hash_key().id(&new.id);
        // Two ids can have one hash: then both are read.
        if self.find.exists([hash]).at(self.tx.path())? && self.tx.find_entry(&new.id)?.is_some() {
            return Err(in_use(&new.id));
        }
        let (rev, seq) = (self.tx.rev()?, next(&self.tx.counters.next_seq, self.tx)?);
        let scope = self.scope(user, session)?;
        let row = self.row(scope)?;
        let turn = take_turn(row, new)?;
        row.held += 1;
        let row = *row;
        let partition = self.row(row.partition)?;
        partition.owned += 1;
        let partition_was = std::mem::replace(&mut partition.rev, rev);
        let entry = Entry {
            id: hash,
            key: new.key.as_deref().map(|key| self.tx.hash_key().key(key)),
            vid: self.tx.counters.next_vid.get(),
            parts: new.vectors.len() as i64,
            feedbacks: 0,
            head: head_of(seq, &row, turn, new, rev),
        };
        entry.insert_by(&mut self.memory).at(self.tx.path())?;
        let (head, body) = codec::encode_content(new, seq);
        self.content.execute((seq, head.as_slice(), body.as_slice())).at(self.tx.path())?;
        self.vectors(seq, new)?;
        Ok(Filled { lone_vid: entry.lone_vid(), head: entry.head, partition_was })
    }

    /// Also makes it, and gives an emptied one its names back.
    fn scope(&mut self, user: Option<&str>, session: Option<&str>) -> Result<i64> {
        let names = codec::name_bytes(user, session);
        if let Some(id) = self.scopes.get(&names) {
            return Ok(*id);
        }
        let scope = self.tx.ensure_scope(user, session)?;
        self.read(scope.id, user, session)?;
        self.read(scope.partition, user, if scope.id == scope.partition { session } else { None })?;
        self.scopes.insert(names, scope.id);
        Ok(scope.id)
    }

    fn read(&mut self, id: i64, user: Option<&str>, session: Option<&str>) -> Result<()> {
        if let Vacant(place) = self.rows.entry(id) {
            let row = self.tx.known_scope(id)?;
            self.tx.restore_names(&row, user, session)?;
            place.insert(row);
        }
        Ok(())
    }

    fn row(&mut self, id: i64) -> Result<&mut ScopeRow> {
        let path = self.tx.path();
        self.rows.get_mut(&id).ok_or_else(|| Error::corrupt(path, format!("scope {id} is missing")))
    }

    fn vectors(&mut self, seq: Seq, new: &NewMemory) -> Result<()> {
        if new.vectors.is_empty() {
            return Ok(());
        }
        self.tx.append_vectors_by(&mut self.vector, seq, &self.tx.model_ids()?, &new.vectors)
    }
}
