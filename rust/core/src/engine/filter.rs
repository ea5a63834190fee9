//! Filters over what a read reaches. One that uses only what a partition holds costs a look at its columns; any other reads the rows
//! from the store, in the read's own transaction: time linear in what is reached.
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::gather::{Gathered, Part};
use super::record;
use crate::calendar::iso;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::partition::{Entry, NEVER};
use crate::store::{Owners, ReadTx, Seq};

/// Rows read at a time.
const CHUNK: usize = 512;

/// What a partition's columns can answer.
const COLUMNS: [&str; 7] = ["_vx_kind", "_vx_session", "_vx_user", "_vx_role", "_vx_turn", "_vx_ts", "_vx_expires"];

pub(super) struct MetadataFilter {
    filter: Filter,
    /// As it was given.
    json: String,
    in_columns: bool,
    /// Names of users or sessions are asked for.
    by_name: bool,
    /// The caller's own keys alone are asked for: nothing else of a row need be read.
    own_keys: bool,
}

/// User and session of a scope.
type Names = HashMap<i64, (Option<String>, Option<String>)>;

/// `InvalidInput` where `json` is no filter.
pub fn validate_filter(json: &str) -> Result<()> {
    parse(Some(json)).map(drop)
}

pub(super) fn parse(json: Option<&str>) -> Result<Option<MetadataFilter>> {
    let Some(json) = json else { return Ok(None) };
    let value: Value =
        serde_json::from_str(json).map_err(|error| Error::invalid(format!("filter is not JSON: {error}")))?;
    let fields = fields(&value);
    let in_columns = fields.iter().all(|name| COLUMNS.contains(name));
    let by_name = fields.iter().any(|name| ["_vx_session", "_vx_user"].contains(name));
    let own_keys = !fields.iter().any(|name| name.starts_with("_vx_"));
    let filter = Filter::parse(&value)?;
    Ok(Some(MetadataFilter { filter, json: json.to_owned(), in_columns, by_name, own_keys }))
}

impl MetadataFilter {
    /// The session that every match is in, where the filter says so.
    pub fn session(&self) -> Option<&str> {
        self.filter.session_equality()
    }

    /// How many of the rows match.
    pub fn count(&self, tx: &ReadTx, seqs: &[Seq]) -> Result<usize> {
        let mut matches = 0;
        for chunk in seqs.chunks(CHUNK) {
            matches += self.matching(tx, chunk)?.len();
        }
        Ok(matches)
    }

    /// Leaves in the scope what matches.
    pub fn narrow(&self, tx: &ReadTx, gathered: &mut Gathered) -> Result<()> {
        gathered.narrow_once(&self.json, || {
            let names = if self.in_columns && self.by_name { scope_names(tx)? } else { Names::new() };
            Ok(
                move |part: &Part| {
                    if self.in_columns { Ok(self.by_columns(part, &names)) } else { self.by_rows(tx, part) }
                },
            )
        })
    }

    fn by_columns(&self, part: &Part, names: &Names) -> Vec<u32> {
        let admitted = part.entries();
        admitted.filter(|(_, entry)| self.filter.matches(&columns(part, entry, names))).map(|(row, _)| row).collect()
    }

    fn by_rows(&self, tx: &ReadTx, part: &Part) -> Result<Vec<u32>> {
        let admitted: Vec<(u32, Seq)> = part.entries().map(|(row, entry)| (row, entry.seq)).collect();
        let mut kept = Vec::new();
        for chunk in admitted.chunks(CHUNK) {
            let seqs: Vec<Seq> = chunk.iter().map(|(_, seq)| *seq).collect();
            let matching = self.matching(tx, &seqs)?;
            // Both rise together.
            kept.extend(chunk.iter().filter(|(_, seq)| matching.binary_search(seq).is_ok()).map(|(row, _)| *row));
        }
        Ok(kept)
    }

    fn matching(&self, tx: &ReadTx, seqs: &[Seq]) -> Result<Vec<Seq>> {
        let mut matching = Vec::new();
        if self.own_keys {
            for seq in seqs {
                if self.filter.matches(&record::own_object(tx.metadata(*seq)?.as_deref())?) {
                    matching.push(*seq);
                }
            }
            return Ok(matching);
        }
        for row in tx.all_rows(seqs)? {
            let seq = row.head.seq;
            if self.filter.matches(&record::filter_object(&record::memory(row))?) {
                matching.push(seq);
            }
        }
        Ok(matching)
    }
}

/// The fields a filter names, however deep.
fn fields(filter: &Value) -> Vec<&str> {
    match filter {
        Value::Object(object) => object
            .iter()
            .flat_map(|(name, value)| match name.as_str() {
                "$and" | "$or" | "$not" => fields(value),
                _ => vec![name.as_str()],
            })
            .collect(),
        Value::Array(filters) => filters.iter().flat_map(fields).collect(),
        _ => Vec::new(),
    }
}

fn scope_names(tx: &ReadTx) -> Result<Names> {
    Ok(tx.scopes(Owners::Any)?.into_iter().map(|scope| (scope.id, (scope.user, scope.session))).collect())
}

fn columns(part: &Part, entry: &Entry, names: &Names) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(name.to_owned(), value);
        }
    };
    let (user, session) =
        names.get(&entry.scope).map_or((None, None), |(user, session)| (user.as_deref(), session.as_deref()));
    put("_vx_kind", record::kind(entry.kind));
    put("_vx_session", session.map(Value::from));
    put("_vx_user", user.map(Value::from));
    put("_vx_role", part.partition.roles().get(entry.role).map(Value::from));
    put("_vx_turn", (entry.turn >= 0).then(|| entry.turn.into()));
    put("_vx_ts", Some(iso(entry.ts).into()));
    put("_vx_expires", (entry.expires != NEVER).then(|| iso(entry.expires).into()));
    Value::Object(object)
}
