//! From stored rows to what a read returns, and to the JSON object that filters see.
use serde_json::{Map, Value, json};

use super::request::{FORGOTTEN, Memory};
use crate::calendar::iso;
use crate::error::{Error, Result};
use crate::model::{Judge, Kind};
use crate::partition::{Entry, NEVER};
use crate::store::{Content, Micros, Row};

/// A row as a memory without a score.
pub(super) fn memory(row: Row) -> Memory {
    let head = row.head;
    let superseded_by = head.superseded_by.map(|_| row.superseded_by_id.unwrap_or_else(|| FORGOTTEN.to_owned()));
    Memory {
        id: row.id,
        text: row.text,
        kind: head.kind,
        user: row.user,
        session: row.session,
        role: row.role,
        name: row.name,
        key: row.key,
        turn: head.turn,
        ts: head.ts,
        expires: head.expires,
        supersedes: row.supersedes_id,
        superseded_by,
        feedback: row.feedback,
        consolidated_from: row.consolidated_from,
        judge: head.judge,
        metadata: row.metadata,
        score: 0.0,
        similarity: None,
        scoring: None,
        tokens: head.tokens,
    }
}

/// What a partition knows of a memory, and its content, as a memory without a score: one whose [`Entry::lone_vid`] says that there is
/// nothing more.
pub(super) fn plain_memory(entry: &Entry, content: Content) -> Memory {
    Memory {
        id: content.id,
        text: content.text,
        kind: entry.kind,
        user: content.user,
        session: content.session,
        role: content.role,
        name: content.name,
        key: content.key,
        turn: (entry.turn >= 0).then_some(entry.turn),
        ts: entry.ts,
        expires: (entry.expires != NEVER).then_some(entry.expires),
        supersedes: None,
        superseded_by: None,
        feedback: Vec::new(),
        consolidated_from: content.consolidated_from,
        judge: Judge::None,
        metadata: content.metadata,
        score: 0.0,
        similarity: None,
        scoring: None,
        tokens: entry.tokens,
    }
}

/// What filters see of a memory: the caller's own keys and the reserved ones, a reserved key only where it has a value.
pub(super) fn filter_object(memory: &Memory) -> Result<Value> {
    let mut object = own_keys(memory.metadata.as_deref())?;
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(name.to_owned(), value);
        }
    };
    put("_vx_kind", kind(memory.kind));
    put("_vx_session", memory.session.as_deref().map(Value::from));
    put("_vx_user", memory.user.as_deref().map(Value::from));
    put("_vx_role", memory.role.as_deref().map(Value::from));
    put("_vx_name", memory.name.as_deref().map(Value::from));
    put("_vx_key", memory.key.as_deref().map(Value::from));
    put("_vx_turn", memory.turn.map(Value::from));
    put("_vx_ts", Some(iso(memory.ts).into()));
    put("_vx_expires", memory.expires.map(|at| iso(at).into()));
    put("_vx_supersedes", memory.supersedes.as_deref().map(Value::from));
    put("_vx_superseded_by", memory.superseded_by.as_deref().map(Value::from));
    put("_vx_judge", judge(memory.judge));
    let given = memory.feedback.iter().map(|(outcome, ts)| feedback(outcome.as_str(), *ts)).collect::<Vec<_>>();
    put("_vx_feedback", (!given.is_empty()).then(|| given.into()));
    let sources = &memory.consolidated_from;
    put("_vx_consolidated_from", (!sources.is_empty()).then(|| sources.clone().into()));
    Ok(Value::Object(object))
}

/// What filters see of a memory when they name no reserved key.
pub(super) fn own_object(metadata: Option<&str>) -> Result<Value> {
    own_keys(metadata).map(Value::Object)
}

fn own_keys(metadata: Option<&str>) -> Result<Map<String, Value>> {
    match metadata.map(serde_json::from_str) {
        None => Ok(Map::new()),
        Some(Ok(Value::Object(object))) => Ok(object),
        Some(_) => Err(Error::invalid("metadata must be a JSON object")),
    }
}

/// A document has no kind.
pub(super) fn kind(kind: Kind) -> Option<Value> {
    (kind != Kind::Document).then(|| kind.as_str().into())
}

pub(super) fn feedback(outcome: &str, ts: Micros) -> Value {
    json!({ "outcome": outcome, "ts": iso(ts) })
}

fn judge(judge: Judge) -> Option<Value> {
    match judge {
        Judge::None => None,
        Judge::Ok => Some("ok".into()),
        Judge::Failed => Some("failed".into()),
    }
}
