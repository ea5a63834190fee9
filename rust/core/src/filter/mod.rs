//! Which memories a read admits: a condition on metadata, decided before anything is ranked.
//!
//! `{"field": value}` is equality, `{"field": {"$op": operand}}` one or more operators that must all hold, and `$and`, `$or`,
//! `$not` combine filters. Choices where other stores differ:
//! - Types are kept apart: `true` is not `1`, `"1"` is not `1`; `1` equals `1.0`, and integers of any size are exact.
//! - A missing field equals nothing, not even `null`; so `$ne` and `$nin`, the negations of `$eq` and `$in`, match it, as in
//!   `MongoDB`. `$exists` tells a missing field from a `null`.
//! - A list equals a list; what a list holds is `$contains`. On a string, `$contains` is a substring, case and all.
//! - An object without `$` keys is a value to be equal to, regardless of the order of its keys.
//! - `_vx_ts` and `_vx_expires` compare as instants with any ISO 8601 time; one without an offset is UTC.
mod compare;
mod parse;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::calendar::parse_iso;
use crate::error::Result;

const RESERVED_PREFIX: &str = "_vx_";
const SESSION_FIELD: &str = "_vx_session";

/// A parsed filter. `{}` admits everything.
#[derive(Debug, Clone)]
pub struct Filter {
    root: Node,
}

#[derive(Debug, Clone)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Field { name: String, tests: Vec<Test> },
}

/// What one field must satisfy.
#[derive(Debug, Clone)]
enum Test {
    AnyOf(Vec<Value>),
    AnyTime(Vec<Time>),
    Order { accepted: &'static [Ordering], than: Value },
    TimeOrder { accepted: &'static [Ordering], at: i64 },
    Exists(bool),
    Contains(Value),
    Not(Box<Test>),
}

/// An operand of a time field, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Time {
    Null,
    At(i64),
}

impl Filter {
    /// Errors: `InvalidInput` for an unknown operator, an operand of the wrong type, or nesting over 64 levels.
    pub fn parse(json: &Value) -> Result<Self> {
        Ok(Self { root: parse::parse_node(json, 0)? })
    }

    /// `metadata` is an object: the caller's own keys and the reserved `_vx_` ones. Anything else has no fields.
    #[must_use]
    pub fn matches(&self, metadata: &Value) -> bool {
        self.root.matches(metadata.as_object())
    }

    /// The session that every match must be in, where the filter says so at its top: it picks the partition.
    #[must_use]
    pub fn session_equality(&self) -> Option<&str> {
        self.root.session_equality()
    }

    /// Only `_vx_` fields are used, so no caller metadata need be read.
    #[must_use]
    pub fn reserved_only(&self) -> bool {
        self.root.reserved_only()
    }
}

impl Node {
    fn matches(&self, metadata: Option<&Map<String, Value>>) -> bool {
        match self {
            Self::All(nodes) => nodes.iter().all(|node| node.matches(metadata)),
            Self::Any(nodes) => nodes.iter().any(|node| node.matches(metadata)),
            Self::Not(node) => !node.matches(metadata),
            Self::Field { name, tests } => {
                let value = metadata.and_then(|object| object.get(name));
                tests.iter().all(|test| test.holds(value))
            }
        }
    }

    fn session_equality(&self) -> Option<&str> {
        match self {
            Self::All(nodes) => nodes.iter().find_map(Self::session_equality),
            Self::Field { name, tests } if name == SESSION_FIELD => tests.iter().find_map(Test::only_string),
            _ => None,
        }
    }

    fn reserved_only(&self) -> bool {
        match self {
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().all(Self::reserved_only),
            Self::Not(node) => node.reserved_only(),
            Self::Field { name, .. } => name.starts_with(RESERVED_PREFIX),
        }
    }
}

impl Test {
    /// `None` is a missing field.
    fn holds(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Not(test), _) => !test.holds(value),
            (Self::Exists(wanted), _) => value.is_some() == *wanted,
            (_, None) => false,
            (Self::AnyOf(operands), Some(value)) => operands.iter().any(|operand| compare::equal(value, operand)),
            (Self::AnyTime(operands), Some(value)) => stored_time(value).is_some_and(|time| operands.contains(&time)),
            (Self::Order { accepted, than }, Some(value)) => {
                compare::order(value, than).is_some_and(|order| accepted.contains(&order))
            }
            (Self::TimeOrder { accepted, at }, Some(value)) => match stored_time(value) {
                Some(Time::At(time)) => accepted.contains(&time.cmp(at)),
                _ => false,
            },
            (Self::Contains(operand), Some(value)) => contains(value, operand),
        }
    }

    fn only_string(&self) -> Option<&str> {
        match self {
            Self::AnyOf(operands) => match operands.as_slice() {
                [Value::String(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }
}

fn stored_time(value: &Value) -> Option<Time> {
    match value {
        Value::Null => Some(Time::Null),
        other => other.as_str().and_then(parse_iso).map(Time::At),
    }
}

fn contains(value: &Value, operand: &Value) -> bool {
    match (value, operand) {
        (Value::Array(items), _) => items.iter().any(|item| compare::equal(item, operand)),
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        _ => false,
    }
}
