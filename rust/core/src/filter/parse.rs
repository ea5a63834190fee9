//! From JSON to a [`Node`]. Whatever is not understood is an error, never a wider result.
use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{Node, Test, Time};
use crate::calendar::parse_iso;
use crate::error::{Error, Result};

/// Levels of `$and`, `$or`, `$not`, and of lists and objects inside an operand.
const MAX_DEPTH: usize = 64;
/// These hold times: their operands are ISO 8601 and compare as instants.
const TIME_FIELDS: [&str; 2] = ["_vx_ts", "_vx_expires"];
const OPERATORS: &str = "$eq $ne $gt $gte $lt $lte $in $nin $exists $contains";

pub(super) fn parse_node(json: &Value, depth: usize) -> Result<Node> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    let Value::Object(object) = json else {
        return Err(Error::invalid(format!(
            "a filter is an object such as {{\"topic\": \"travel\"}}, got {}",
            describe(json)
        )));
    };
    let parts = object.iter().map(|(key, value)| parse_entry(key, value, depth)).collect::<Result<Vec<_>>>()?;
    Ok(Node::All(parts))
}

fn parse_entry(key: &str, value: &Value, depth: usize) -> Result<Node> {
    match key {
        "$and" => Ok(Node::All(parse_list(key, value, depth)?)),
        "$or" => Ok(Node::Any(parse_list(key, value, depth)?)),
        "$not" => Ok(Node::Not(Box::new(parse_node(value, depth + 1)?))),
        _ if key.starts_with('$') => Err(Error::invalid(format!(
            "unknown operator {key:?} where a field name was expected; $and, $or and $not stand there, \
             and {OPERATORS} stand under a field: {{\"field\": {{\"$gt\": 1}}}}"
        ))),
        field => parse_field(field, value),
    }
}

fn parse_list(key: &str, value: &Value, depth: usize) -> Result<Vec<Node>> {
    match value {
        Value::Array(items) if !items.is_empty() => items.iter().map(|item| parse_node(item, depth + 1)).collect(),
        other => Err(Error::invalid(format!("{key} takes a list of one or more filters, got {}", describe(other)))),
    }
}

fn parse_field(field: &str, value: &Value) -> Result<Node> {
    let tests = match value {
        Value::Object(object) if object.keys().any(|key| key.starts_with('$')) => parse_operators(field, object)?,
        plain => vec![parse_test(field, "$eq", plain)?],
    };
    Ok(Node::Field { name: field.to_owned(), tests })
}

fn parse_operators(field: &str, object: &Map<String, Value>) -> Result<Vec<Test>> {
    if let Some(plain) = object.keys().find(|key| !key.starts_with('$')) {
        return Err(Error::invalid(format!(
            "field {field:?} mixes operators with the plain key {plain:?}; give either operators ({OPERATORS}) \
             or an object to be equal to"
        )));
    }
    object.iter().map(|(operator, operand)| parse_test(field, operator, operand)).collect()
}

fn parse_test(field: &str, operator: &str, operand: &Value) -> Result<Test> {
    check_depth(operand, 0)?;
    let is_time = TIME_FIELDS.contains(&field);
    match operator {
        "$eq" => parse_any_of(field, operator, std::slice::from_ref(operand), is_time),
        "$ne" => parse_any_of(field, operator, std::slice::from_ref(operand), is_time).map(negate),
        "$in" => parse_any_of(field, operator, list(field, operator, operand)?, is_time),
        "$nin" => parse_any_of(field, operator, list(field, operator, operand)?, is_time).map(negate),
        "$gt" => parse_order(field, operator, operand, is_time, &[Ordering::Greater]),
        "$gte" => parse_order(field, operator, operand, is_time, &[Ordering::Greater, Ordering::Equal]),
        "$lt" => parse_order(field, operator, operand, is_time, &[Ordering::Less]),
        "$lte" => parse_order(field, operator, operand, is_time, &[Ordering::Less, Ordering::Equal]),
        "$exists" => {
            operand.as_bool().map(Test::Exists).ok_or_else(|| wrong_operand(field, operator, "true or false", operand))
        }
        "$contains" => Ok(Test::Contains(operand.clone())),
        unknown => Err(Error::invalid(format!(
            "unknown operator {unknown:?} for field {field:?}; the operators are {OPERATORS}"
        ))),
    }
}

fn negate(test: Test) -> Test {
    Test::Not(Box::new(test))
}

fn parse_any_of(field: &str, operator: &str, operands: &[Value], is_time: bool) -> Result<Test> {
    if !is_time {
        return Ok(Test::AnyOf(operands.to_vec()));
    }
    let times = operands.iter().map(|operand| match operand {
        Value::Null => Ok(Time::Null),
        other => parse_instant(field, operator, other).map(Time::At),
    });
    Ok(Test::AnyTime(times.collect::<Result<_>>()?))
}

fn parse_order(
    field: &str,
    operator: &str,
    operand: &Value,
    is_time: bool,
    accepted: &'static [Ordering],
) -> Result<Test> {
    match operand {
        _ if is_time => Ok(Test::TimeOrder { accepted, at: parse_instant(field, operator, operand)? }),
        Value::Number(_) | Value::String(_) => Ok(Test::Order { accepted, than: operand.clone() }),
        other => Err(wrong_operand(field, operator, "a number or a string", other)),
    }
}

fn parse_instant(field: &str, operator: &str, operand: &Value) -> Result<i64> {
    let expected = "an ISO 8601 time such as \"2026-03-01T12:30:00+00:00\"";
    operand.as_str().and_then(parse_iso).ok_or_else(|| wrong_operand(field, operator, expected, operand))
}

fn list<'a>(field: &str, operator: &str, operand: &'a Value) -> Result<&'a [Value]> {
    match operand {
        Value::Array(items) => Ok(items),
        other => Err(wrong_operand(field, operator, "a list", other)),
    }
}

fn check_depth(operand: &Value, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    match operand {
        Value::Array(items) => items.iter().try_for_each(|item| check_depth(item, depth + 1)),
        Value::Object(object) => object.values().try_for_each(|item| check_depth(item, depth + 1)),
        _ => Ok(()),
    }
}

fn too_deep() -> Error {
    Error::invalid(format!("the filter is nested more than {MAX_DEPTH} levels deep; flatten its $and, $or and $not"))
}

fn wrong_operand(field: &str, operator: &str, expected: &str, got: &Value) -> Error {
    Error::invalid(format!("{operator} on field {field:?} takes {expected}, got {}", describe(got)))
}

/// The type and, where it is short, the value.
fn describe(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "the boolean",
        Value::Number(_) => "the number",
        Value::String(_) => "the string",
        Value::Array(_) => "the list",
        Value::Object(_) => "the object",
    };
    let mut text: String = value.to_string();
    if let Some((cut, _)) = text.char_indices().nth(60) {
        text.truncate(cut);
        text.push('…');
    }
    format!("{kind} {text}")
}
