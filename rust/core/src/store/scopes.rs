//! Scopes: who holds what. The numbers are in `scope`; the names are in `names`, whose rows are only ever appended and overwritten
//! in place, so that erasing them leaves no copy behind.
use rusqlite::{Connection, OptionalExtension, Row};

use super::codec::{self, NamesBlob, SUM, sum_numbers};
use super::fault::At;
use super::read::ReadTx;
use super::rows::{Nameless, OwnerRef, Owners, Scope};
use crate::error::{Error, Result};

pub(super) const COLUMNS: &str =
    "id, hash, partition, has_user, next_turn, rev, held, owned, tombstones, pruned_below, sum";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScopeRow {
    pub id: i64,
    pub hash: i64,
    pub partition: i64,
    pub has_user: i64,
    pub next_turn: i64,
    pub rev: i64,
    pub held: i64,
    pub owned: i64,
    pub tombstones: i64,
    pub pruned_below: i64,
}

impl ScopeRow {
    fn numbers(&self) -> [i64; 10] {
        let Self { id, hash, partition, has_user, next_turn, rev, held, owned, tombstones, pruned_below } = *self;
        [id, hash, partition, has_user, next_turn, rev, held, owned, tombstones, pruned_below]
    }

    fn sum(&self) -> i64 {
        sum_numbers(&self.numbers().map(Some))
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        Self::read_at(row, 0)
    }

    /// `None`: the row is damaged. The columns begin at `first`.
    pub(super) fn read_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Self>> {
        let found = Self {
            id: row.get(first)?,
            hash: row.get(first + 1)?,
            partition: row.get(first + 2)?,
            has_user: row.get(first + 3)?,
            next_turn: row.get(first + 4)?,
            rev: row.get(first + 5)?,
            held: row.get(first + 6)?,
            owned: row.get(first + 7)?,
            tombstones: row.get(first + 8)?,
            pruned_below: row.get(first + 9)?,
        };
        Ok((found.sum() == row.get::<_, i64>(first + 10)?).then_some(found))
    }

    pub(super) fn insert(&self, sql: &Connection) -> rusqlite::Result<()> {
        let mut statement = sql.prepare_cached("INSERT INTO scope VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for (index, number) in self.numbers().into_iter().chain([self.sum()]).enumerate() {
            statement.raw_bind_parameter(index + 1, number)?;
        }
        statement.raw_execute()?;
        Ok(())
    }

    /// Writes what can change: everything but id, hash and owner.
    pub(super) fn update(&self, sql: &Connection) -> rusqlite::Result<()> {
        sql.prepare_cached(
            "UPDATE scope SET next_turn = ?2, rev = ?3, held = ?4, owned = ?5, tombstones = ?6, pruned_below = ?7, sum = ?8 \
             WHERE id = ?1",
        )?
        .execute((
            self.id,
            self.next_turn,
            self.rev,
            self.held,
            self.owned,
            self.tombstones,
            self.pruned_below,
            self.sum(),
        ))?;
        Ok(())
    }

    /// Nothing is left in it that needs its names.
    pub(super) fn is_empty(&self) -> bool {
        self.held == 0 && self.owned == 0
    }

    fn with_names(self, names: NamesBlob) -> Scope {
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        Scope {
            id: self.id,
            partition: self.partition,
            user: names.user,
            session: names.session,
            next_turn: self.next_turn,
            held: count(self.held),
            owned: count(self.owned),
            rev: self.rev,
        }
    }
}

/// What a scope's hash leads to.
pub(super) enum Found {
    Named(ScopeRow),
    /// Emptied: its names are zeroes of the same length. Its turn numbers go on under the names that hash to it.
    Nameless(ScopeRow),
}

impl ReadTx<'_> {
    /// `None` where nothing is stored, and nothing has been since it was emptied.
    pub fn scope(&self, user: Option<&str>, session: Option<&str>) -> Result<Option<Scope>> {
        match self.look_up(user, session)? {
            Some(Found::Named(row)) => {
                let names = NamesBlob { user: user.map(str::to_owned), session: session.map(str::to_owned) };
                Ok(Some(row.with_names(names)))
            }
            Some(Found::Nameless(_)) | None => Ok(None),
        }
    }

    /// The partition that owns what this user, else this session, else the collection has; also where this session is not stored yet.
    pub fn owner(&self, user: Option<&str>, session: Option<&str>) -> Result<Option<OwnerRef>> {
        let session = if user.is_some() { None } else { session };
        Ok(self.scope(user, session)?.map(|scope| scope.id))
    }

    /// Newest rev that touched the partition; 0 for one that does not exist.
    pub fn partition_rev(&self, partition: i64) -> Result<i64> {
        Ok(self.scope_row(partition)?.map_or(0, |row| row.rev))
    }

    /// How many memories the partition holds, expired and superseded ones included.
    pub fn owned(&self, partition: i64) -> Result<i64> {
        Ok(self.scope_row(partition)?.map_or(0, |row| row.owned))
    }

    /// The partitions that hold something.
    pub fn partitions(&self, owners: Owners<'_>) -> Result<Vec<Scope>> {
        self.list(owners, |row| row.id == row.partition && row.owned > 0)
    }

    /// As [`Self::partitions`] without their names: of thousands these take as long to read as everything else of a reading.
    pub fn nameless_partitions(&self, owners: Owners<'_>) -> Result<Vec<Nameless>> {
        let everything = codec::name_bytes(None, None);
        let nobody = self.hash_key().scope(&everything);
        let rows = self.rows_of(owners)?.into_iter().filter(|row| row.id == row.partition && row.owned > 0);
        let nameless = rows.map(|row| {
            // What belongs to no user is a session's, but for the one scope without either name.
            let has_session = row.has_user == 0 && (row.hash != nobody || self.names(row.id)?.session.is_some());
            Ok(Nameless { id: row.id, has_session, owned: u64::try_from(row.owned).unwrap_or(0), rev: row.rev })
        });
        nameless.collect()
    }

    /// The scopes that hold something, those without a session too.
    pub fn scopes(&self, owners: Owners<'_>) -> Result<Vec<Scope>> {
        self.list(owners, |row| row.held > 0)
    }

    /// Users who own something, in the order they came.
    pub fn users(&self) -> Result<Vec<String>> {
        let owners = self.list(Owners::Any, |row| row.id == row.partition && row.has_user != 0 && row.owned > 0)?;
        Ok(owners.into_iter().filter_map(|scope| scope.user).collect())
    }

    fn list(&self, owners: Owners<'_>, keep: impl Fn(&ScopeRow) -> bool) -> Result<Vec<Scope>> {
        let kept = self.rows_of(owners)?.into_iter().filter(keep);
        kept.map(|row| Ok(row.with_names(self.names(row.id)?))).collect()
    }

    fn rows_of(&self, owners: Owners<'_>) -> Result<Vec<ScopeRow>> {
        let rows = match owners {
            Owners::User(user) => match self.owner(Some(user), None)? {
                Some(partition) => self.scopes_where("partition = ?1 ORDER BY id", partition)?,
                None => Vec::new(),
            },
            Owners::Any | Owners::WithoutUser => self.every_scope()?,
        };
        Ok(rows.into_iter().filter(|row| owners != Owners::WithoutUser || row.has_user == 0).collect())
    }

    fn every_scope(&self) -> Result<Vec<ScopeRow>> {
        let rows = self.scopes_where("id >= ?1 ORDER BY id", 0)?;
        if self.alone && rows.len() as i64 != self.meta.next_scope - 1 {
            let message = format!("there should be {} scopes, {} were found", self.meta.next_scope - 1, rows.len());
            return Err(Error::corrupt(self.path(), message));
        }
        Ok(rows)
    }

    pub(super) fn scope_row(&self, id: i64) -> Result<Option<ScopeRow>> {
        self.scopes_where("id = ?1", id)?.into_iter().next().map_or(Ok(None), |row| Ok(Some(row)))
    }

    /// The row, where there has to be one.
    pub(super) fn known_scope(&self, id: i64) -> Result<ScopeRow> {
        self.scope_row(id)?.ok_or_else(|| Error::corrupt(self.path(), format!("scope {id} is missing")))
    }

    fn scopes_where(&self, condition: &str, number: i64) -> Result<Vec<ScopeRow>> {
        let select = format!("SELECT {COLUMNS} FROM scope WHERE {condition}");
        let mut statement = self.sql().prepare_cached(&select).at(self.path())?;
        let mut rows = statement.query([number]).at(self.path())?;
        let mut found = Vec::with_capacity(1);
        while let Some(row) = rows.next().at(self.path())? {
            found.push(ScopeRow::read(row).at(self.path())?.ok_or_else(|| self.damaged("scope", number))?);
        }
        Ok(found)
    }

    pub(super) fn look_up(&self, user: Option<&str>, session: Option<&str>) -> Result<Option<Found>> {
        let wanted = codec::name_bytes(user, session);
        let hash = self.hash_key().scope(&wanted);
        let mut nameless = None;
        for row in self.scopes_where("hash = ?1", hash)? {
            let blob = self.names_blob(row.id)?;
            if row.hash != hash {
                return Err(self.damaged("scope", row.id));
            }
            if row.is_empty() && blob.iter().all(|byte| *byte == 0) {
                if blob.len() == wanted.len() + SUM {
                    nameless = Some(Found::Nameless(row));
                }
            } else if codec::open(&blob, row.id as u64).ok_or_else(|| self.damaged("names", row.id))? == wanted {
                return Ok(Some(Found::Named(row)));
            }
        }
        Ok(nameless)
    }

    pub(super) fn names(&self, scope: i64) -> Result<NamesBlob> {
        codec::decode_names(&self.names_blob(scope)?, scope).ok_or_else(|| self.damaged("names", scope))
    }

    fn names_blob(&self, scope: i64) -> Result<Vec<u8>> {
        let blob = self
            .sql()
            .prepare_cached("SELECT data FROM names WHERE scope = ?1")
            .and_then(|mut statement| statement.query_row([scope], |row| row.get(0)).optional())
            .at(self.path())?;
        blob.ok_or_else(|| Error::corrupt(self.path(), format!("the names of scope {scope} are missing")))
    }
}
