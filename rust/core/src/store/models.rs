//! Whose vectors these are: the models that are current, and those that the collection is being moved to.
use std::rc::Rc;

use rusqlite::Row;

use super::codec;
use super::fault::At;
use super::read::ReadTx;
use super::rows::Model;
use super::walk::is_damage;
use crate::error::Result;

const SELECT: &str = "SELECT id, name, dimension, probe, current, incoming FROM model ORDER BY id";

/// A model and its place, from 1, among the current and among the incoming ones; 0: it is not among them.
struct Placed {
    model: Model,
    current: i64,
    incoming: i64,
}

impl Placed {
    /// `None`: the row is damaged.
    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (id, name, dimension): (i64, String, u32) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let probe = codec::decode_floats(row.get_ref(3)?.as_blob()?, model_seed(&name, dimension));
        let (current, incoming) = (row.get(4)?, row.get(5)?);
        Ok(probe.map(|probe| Self { model: Model { id, name, dimension, probe }, current, incoming }))
    }
}

impl ReadTx<'_> {
    /// The current models, whose vectors are stored now, by slot. Empty: none was set.
    pub fn models(&self) -> Result<Vec<Model>> {
        self.in_place(|model| model.current)
    }

    /// The models that the collection is being moved to, by slot. Empty: it is not.
    pub fn incoming_models(&self) -> Result<Vec<Model>> {
        self.in_place(|model| model.incoming)
    }

    /// Differs between sets of current models, and between files: vectors made for one are not for the other.
    pub fn model_epoch(&self) -> Result<i64> {
        let bytes: Vec<u8> = self.model_ids()?.iter().flat_map(|id| id.to_le_bytes()).collect();
        Ok(xxhash_rust::xxh3::xxh3_64_with_seed(&bytes, self.epoch()) as i64)
    }

    /// Ids of the current models by slot; 0 alone where none was set.
    pub(super) fn model_ids(&self) -> Result<Rc<[i64]>> {
        if let Some(ids) = &*self.models.borrow() {
            return Ok(Rc::clone(ids));
        }
        let ids: Vec<i64> = self.models()?.iter().map(|model| model.id).collect();
        let ids: Rc<[i64]> = if ids.is_empty() { Rc::new([0]) } else { ids.into() };
        Ok(Rc::clone(self.models.borrow_mut().insert(ids)))
    }

    pub(super) fn forget_model_ids(&self) {
        self.models.replace(None);
    }

    /// One of them, current or not.
    pub(super) fn model(&self, id: i64) -> Result<Option<Model>> {
        Ok(self.placed()?.into_iter().map(|placed| placed.model).find(|model| model.id == id))
    }

    /// No memory has vectors yet that a model made: a model that would be the first one is.
    pub fn expect_no_model(&self) -> Result<()> {
        let first = self.numbers("SELECT seq FROM memory WHERE parts > 0 ORDER BY seq LIMIT 1", [])?;
        first.first().map_or(Ok(()), |seq| self.vectors(*seq).map(drop))
    }

    fn in_place(&self, place: impl Fn(&Placed) -> i64) -> Result<Vec<Model>> {
        let mut found = self.placed()?;
        found.retain(|model| place(model) != 0);
        found.sort_by_key(&place);
        if let Some((_, wrong)) = (1..).zip(&found).find(|(expected, model)| place(model) != *expected) {
            return Err(self.damaged("model", wrong.model.id));
        }
        Ok(found.into_iter().map(|placed| placed.model).collect())
    }

    /// Every row is read and verified: a condition in SQL would pass over a damaged one as over one that does not apply.
    fn placed(&self) -> Result<Vec<Placed>> {
        let mut statement = self.sql().prepare_cached(SELECT).at(self.path())?;
        let mut rows = statement.query([]).at(self.path())?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().at(self.path())? {
            let id = row.get(0).at(self.path())?;
            let damaged = || self.damaged("model", id);
            match Placed::read(row) {
                Ok(model) => found.push(model.ok_or_else(damaged)?),
                Err(error) if is_damage(&error) => return Err(damaged()),
                Err(error) => return Err(error).at(self.path()),
            }
        }
        Ok(found)
    }
}

/// Ties a model's probe to its name and dimension.
pub(super) fn model_seed(name: &str, dimension: u32) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(name.as_bytes(), u64::from(dimension))
}
