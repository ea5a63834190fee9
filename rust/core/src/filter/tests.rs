#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::error::Error;

fn matches(filter: &Value, metadata: &Value) -> bool {
    Filter::parse(filter).unwrap().matches(metadata)
}

fn refusal(filter: &Value) -> String {
    match Filter::parse(filter) {
        Err(Error::InvalidInput(message)) => message,
        other => panic!("{filter} gave {other:?}"),
    }
}

#[test]
fn equality_is_typed() {
    let row = json!({"n": 1, "flag": true, "s": "1", "none": null, "list": [1, "a"], "object": {"a": 1, "b": 2}});
    for yes in [
        json!({}),
        json!({"n": 1}),
        json!({"n": 1.0}),
        json!({"flag": true}),
        json!({"s": "1", "none": null}),
        json!({"list": [1.0, "a"]}),
        json!({"object": {"b": 2, "a": 1}}),
    ] {
        assert!(matches(&yes, &row), "{yes}");
    }
    for no in [
        json!({"n": true}),
        json!({"flag": 1}),
        json!({"n": "1"}),
        json!({"s": 1}),
        json!({"gone": null}),
        json!({"list": "a"}),
        json!({"object": {}}),
    ] {
        assert!(!matches(&no, &row), "{no}");
    }
}

#[test]
fn operators_on_a_missing_field() {
    let row = json!({"a": 1});
    for yes in [json!({"b": {"$ne": 1}}), json!({"b": {"$nin": [1]}}), json!({"b": {"$exists": false}})] {
        assert!(matches(&yes, &row), "{yes}");
    }
    for operator in ["$eq", "$gt", "$gte", "$lt", "$lte", "$contains"] {
        assert!(!matches(&json!({"b": {operator: 1}}), &row), "{operator}");
    }
}

#[test]
fn operators_in_one_object_are_anded() {
    let filter = json!({"n": {"$gte": 2, "$lt": 5, "$nin": [3]}});
    let kept: Vec<i64> = (0..8).filter(|n| matches(&filter, &json!({ "n": n }))).collect();
    assert_eq!(kept, [2, 4]);
}

#[test]
fn order_never_crosses_types() {
    assert!(!matches(&json!({"n": {"$gt": 1}}), &json!({"n": "2"})));
    assert!(!matches(&json!({"n": {"$lte": 1}}), &json!({"n": true})));
    assert!(matches(&json!({"n": {"$gt": "a"}}), &json!({"n": "b"})));
}

#[test]
fn contains_looks_into_lists_and_strings() {
    let row = json!({"tags": ["a", 1], "text": "Berlin"});
    assert!(matches(&json!({"tags": {"$contains": "a"}, "text": {"$contains": "erl"}}), &row));
    assert!(matches(&json!({"tags": {"$contains": 1.0}}), &row));
    assert!(!matches(&json!({"tags": {"$contains": true}}), &row));
    assert!(!matches(&json!({"text": {"$contains": 1}}), &row));
}

#[test]
fn combinators() {
    let filter = json!({"$or": [{"a": 1}, {"$and": [{"b": 2}, {"$not": {"c": 3}}]}]});
    assert!(matches(&filter, &json!({"a": 1})));
    assert!(matches(&filter, &json!({"b": 2})));
    assert!(!matches(&filter, &json!({"b": 2, "c": 3})));
    assert!(!matches(&json!({"$not": {}}), &json!({})));
}

#[test]
fn times_compare_as_instants() {
    let row = json!({"_vx_ts": "2026-03-01T12:00:00.000000+00:00", "_vx_expires": null});
    for yes in [
        json!({"_vx_ts": {"$gt": "2026-03-01T12:30:00+01:00"}}),
        json!({"_vx_ts": "2026-03-01T12:00:00Z"}),
        json!({"_vx_ts": {"$in": ["2026-03-01T04:00:00-08:00"]}}),
        json!({"_vx_ts": {"$gte": "2026-03-01", "$lt": "2026-03-02"}}),
        json!({"_vx_expires": null}),
    ] {
        assert!(matches(&yes, &row), "{yes}");
    }
    assert!(refusal(&json!({"_vx_ts": {"$gt": "yesterday"}})).contains("ISO 8601"));
    assert!(refusal(&json!({"_vx_ts": {"$gt": 5}})).contains("the number 5"));
}

#[test]
fn refusals_say_what_came_and_what_was_expected() {
    for (filter, expected) in [
        (json!([]), "a filter is an object"),
        (json!({"$nor": [{}]}), "unknown operator \"$nor\""),
        (json!({"n": {"$regex": "x"}}), "unknown operator \"$regex\""),
        (json!({"n": {"$gt": 1, "x": 2}}), "mixes operators"),
        (json!({"n": {"$gt": true}}), "takes a number or a string, got the boolean true"),
        (json!({"n": {"$lt": null}}), "got null"),
        (json!({"n": {"$in": "abc"}}), "takes a list"),
        (json!({"n": {"$nin": {"a": 1}}}), "takes a list"),
        (json!({"n": {"$exists": 1}}), "takes true or false"),
        (json!({"$and": []}), "one or more filters, got the list []"),
        (json!({"$or": {"a": 1}}), "one or more filters"),
        (json!({"$and": [1]}), "a filter is an object"),
        (json!({"$not": [{}]}), "a filter is an object"),
    ] {
        let message = refusal(&filter);
        assert!(message.contains(expected), "{filter}: {message}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let nest = |levels: usize| (0..levels).fold(json!({"a": 1}), |inner, _| json!({ "$not": inner }));
    assert!(Filter::parse(&nest(64)).is_ok());
    assert!(refusal(&nest(65)).contains("64 levels"));
    let operand = (0..66).fold(json!(1), |inner, _| json!([inner]));
    assert!(refusal(&json!({"a": operand})).contains("64 levels"));
}

#[test]
fn session_equality_is_found_only_where_it_must_hold() {
    let session = |filter: Value| Filter::parse(&filter).unwrap().session_equality().map(str::to_owned);
    assert_eq!(session(json!({"a": 1, "_vx_session": "x"})).as_deref(), Some("x"));
    assert_eq!(session(json!({"$and": [{"a": 1}, {"_vx_session": {"$eq": "x"}}]})).as_deref(), Some("x"));
    assert_eq!(session(json!({"_vx_session": {"$in": ["x"]}})).as_deref(), Some("x"));
    assert_eq!(session(json!({"$or": [{"_vx_session": "x"}]})), None);
    assert_eq!(session(json!({"$not": {"_vx_session": "x"}})), None);
    assert_eq!(session(json!({"_vx_session": {"$ne": "x"}})), None);
    assert_eq!(session(json!({"_vx_session": {"$in": ["x", "y"]}})), None);
    assert_eq!(session(json!({"_vx_session": null})), None);
}

#[test]
fn reserved_only_means_no_metadata_is_read() {
    let reserved = |filter: Value| Filter::parse(&filter).unwrap().reserved_only();
    assert!(reserved(json!({})));
    assert!(reserved(json!({"$or": [{"_vx_kind": "fact"}, {"$not": {"_vx_turn": {"$gt": 3}}}]})));
    assert!(!reserved(json!({"$or": [{"_vx_kind": "fact"}, {"topic": 1}]})));
}

/// The textbook reading of a valid filter, straight from its JSON. Small integers only, so plain comparison will do.
fn naive(filter: &Value, row: &Value) -> bool {
    filter.as_object().unwrap().iter().all(|(key, value)| match key.as_str() {
        "$and" => value.as_array().unwrap().iter().all(|f| naive(f, row)),
        "$or" => value.as_array().unwrap().iter().any(|f| naive(f, row)),
        "$not" => !naive(value, row),
        field => match value.as_object() {
            Some(operators) => {
                operators.iter().all(|(operator, operand)| naive_test(row.get(field), operator, operand))
            }
            None => row.get(field) == Some(value),
        },
    })
}

fn naive_test(value: Option<&Value>, operator: &str, operand: &Value) -> bool {
    let order = || match (value?, operand) {
        (Value::Number(a), Value::Number(b)) => a.as_i64()?.partial_cmp(&b.as_i64()?),
        (Value::String(a), Value::String(b)) => a.partial_cmp(b),
        _ => None,
    };
    match operator {
        "$eq" => value == Some(operand),
        "$ne" => value != Some(operand),
        "$in" => value.is_some_and(|v| operand.as_array().unwrap().contains(v)),
        "$nin" => !value.is_some_and(|v| operand.as_array().unwrap().contains(v)),
        "$gt" => order().is_some_and(Ordering::is_gt),
        "$gte" => order().is_some_and(Ordering::is_ge),
        "$lt" => order().is_some_and(Ordering::is_lt),
        "$lte" => order().is_some_and(Ordering::is_le),
        "$exists" => value.is_some() == (operand == &json!(true)),
        "$contains" => match (value, operand) {
            (Some(Value::Array(items)), _) => items.contains(operand),
            (Some(Value::String(a)), Value::String(b)) => a.contains(b.as_str()),
            _ => false,
        },
        other => panic!("{other}"),
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-2i64..3).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
        Just(Value::Null),
    ]
}

fn ordered() -> impl Strategy<Value = Value> {
    prop_oneof![(-2i64..3).prop_map(Value::from), "[ab]{0,2}".prop_map(Value::from)]
}

fn field() -> impl Strategy<Value = String> {
    "[xyz]"
}

fn leaf() -> impl Strategy<Value = Value> {
    let list = || proptest::collection::vec(scalar(), 0..3).prop_map(Value::from);
    let test = prop_oneof![
        (prop_oneof![Just("$eq"), Just("$ne"), Just("$contains")], scalar().boxed()),
        (prop_oneof![Just("$in"), Just("$nin")], list().boxed()),
        (prop_oneof![Just("$gt"), Just("$gte"), Just("$lt"), Just("$lte")], ordered().boxed()),
        (prop_oneof![Just("$exists")], any::<bool>().prop_map(Value::from).boxed()),
    ];
    let tests = proptest::collection::vec(test, 1..3);
    prop_oneof![
        (field(), scalar()).prop_map(|(name, value)| json!({ name: value })),
        (field(), tests)
            .prop_map(|(name, tests)| json!({ name: tests.into_iter().collect::<std::collections::BTreeMap<_, _>>() })),
    ]
}

fn any_filter() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 3, |inner| {
        let list = proptest::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            list.clone().prop_map(|items| json!({ "$and": items })),
            list.prop_map(|items| json!({ "$or": items })),
            inner.prop_map(|item| json!({ "$not": item })),
        ]
    })
}

fn any_row() -> impl Strategy<Value = Value> {
    let value = prop_oneof![scalar(), proptest::collection::vec(scalar(), 0..3).prop_map(Value::from)];
    proptest::collection::btree_map(field(), value, 0..4).prop_map(|map| json!(map))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn agrees_with_the_naive_reading(filter in any_filter(), row in any_row()) {
        prop_assert_eq!(matches(&filter, &row), naive(&filter, &row));
    }

    #[test]
    fn junk_is_an_error_or_a_filter_never_a_panic(text in "[\\[\\]{}\",:$a-z0-9 ]{0,40}") {
        if let Ok(value) = serde_json::from_str(&text) {
            let _ = Filter::parse(&value);
        }
    }
}
