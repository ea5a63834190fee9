//! Any bytes as a filter and the metadata that it is asked about.
use retentive_core::filter::Filter;
use serde_json::{Value, json};

/// The filter, a zero byte, the metadata.
pub fn check(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (Some(filter), Some(metadata)) = (parts.next(), parts.next()) else { return };
    let (Ok(json), Ok(metadata)) = (serde_json::from_slice::<Value>(filter), serde_json::from_slice::<Value>(metadata))
    else {
        return;
    };
    let Ok(parsed) = Filter::parse(&json) else { return };
    let answer = parsed.matches(&metadata);
    let _ = (parsed.session_equality(), parsed.reserved_only());
    // Filters nest 64 deep at most, and these add one level.
    for (around, expected) in [
        (json!({"$not": json}), !answer),
        (json!({"$and": [json, {}]}), answer),
        (json!({"$or": [json, json]}), answer),
    ] {
        if let Ok(around) = Filter::parse(&around) {
            assert_eq!(around.matches(&metadata), expected, "{json} of {metadata}");
        }
    }
    if let Some(session) = parsed.session_equality() {
        assert!(!answer || metadata.get("_vx_session").and_then(Value::as_str) == Some(session));
    }
}
