//! Typed equality and order of JSON values. Numbers compare as exact decimals, never through `f64`: `1` equals `1.0`, and
//! `9007199254740993` does not equal `9007199254740992.0`.
use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Equality by type: `true` is not `1`, `"1"` is not `1`; objects regardless of the order of their keys.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b) == Ordering::Equal,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => false,
    }
}

/// Numbers with numbers and strings with strings (by code point); anything else has no order.
pub(super) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(compare_numbers(a, b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    Decimal::of(&a.to_string()).cmp(&Decimal::of(&b.to_string()))
}

/// `± 0.d1d2d3... * 10^magnitude` with neither leading nor trailing zeros, so that equal values are equal structures.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    magnitude: i64,
    digits: Vec<u8>,
}

impl Decimal {
    /// `text` is a JSON number.
    fn of(text: &str) -> Self {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading_zeros = digits.iter().take_while(|d| **d == b'0').count();
        digits.drain(..leading_zeros);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Self { negative: false, magnitude: 0, digits };
        }
        let shift = whole.len() as i64 - leading_zeros as i64;
        Self { negative, magnitude: parse_exponent(exponent).saturating_add(shift), digits }
    }

    /// -1, 0 or 1.
    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let absolute = || self.magnitude.cmp(&other.magnitude).then_with(|| self.digits.cmp(&other.digits));
        self.sign().cmp(&other.sign()).then_with(|| match self.sign() {
            0 => Ordering::Equal,
            1 => absolute(),
            _ => absolute().reverse(),
        })
    }
}

/// An exponent too long for `i64` is as good as infinite.
fn parse_exponent(text: &str) -> i64 {
    let limit = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    text.parse().unwrap_or(limit)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn compare(a: &str, b: &str) -> Ordering {
        order(&serde_json::from_str(a).unwrap(), &serde_json::from_str(b).unwrap()).unwrap()
    }

    #[test]
    fn types_are_kept_apart() {
        assert!(equal(&json!(1), &json!(1.0)));
        assert!(!equal(&json!(true), &json!(1)));
        assert!(!equal(&json!("1"), &json!(1)));
        assert!(!equal(&json!(null), &json!(0)));
        assert!(equal(&json!({"a": [1, {"b": 2}], "c": 3}), &json!({"c": 3.0, "a": [1.0, {"b": 2}]})));
        assert!(!equal(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
        assert_eq!(order(&json!(1), &json!("1")), None);
        assert_eq!(order(&json!(true), &json!(false)), None);
    }

    #[test]
    fn big_integers_and_decimals_are_exact() {
        assert_eq!(compare("9007199254740993", "9007199254740992.0"), Ordering::Greater);
        assert_eq!(compare("123456789012345678901234567890", "123456789012345678901234567891"), Ordering::Less);
        assert_eq!(compare("1e400", "1e399"), Ordering::Greater);
        assert_eq!(compare("-1e400", "-1e399"), Ordering::Less);
        assert_eq!(compare("1e99999999999999999999", "5"), Ordering::Greater);
        assert_eq!(compare("1E+2", "100.00"), Ordering::Equal);
        assert_eq!(compare("0.1", "0.10"), Ordering::Equal);
        assert_eq!(compare("-0.0", "0"), Ordering::Equal);
        assert_eq!(compare("0.05", "0.5"), Ordering::Less);
        assert_eq!(compare("18446744073709551615", "-1"), Ordering::Greater);
    }

    proptest! {
        #[test]
        fn order_agrees_with_integers(a in any::<i128>(), b in any::<i128>()) {
            prop_assert_eq!(compare(&a.to_string(), &b.to_string()), a.cmp(&b));
        }

        #[test]
        fn order_agrees_with_floats(a in -1e9f64..1e9, b in -1e9f64..1e9) {
            prop_assert_eq!(compare(&json!(a).to_string(), &json!(b).to_string()), a.total_cmp(&b));
        }
    }
}
