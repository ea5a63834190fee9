//! ISO 8601 instants as microseconds since 1970 in UTC, so that times compare as instants whatever their offset.

use super::{DAY, SECOND, days_from_civil, days_in_month};

/// `2026-03-01`, `2026-03-01T12:30`, `2026-03-01 12:30:15.25+02:00`, `...Z`. Without an offset it means UTC, as everywhere
/// in retentive. Digits beyond microseconds are cut, as Python does. `None`: not such a text.
pub fn parse_iso(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let days = parse_date(date)?;
    if rest.is_empty() {
        return Some(days * DAY);
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset_seconds) = split_offset(rest)?;
    Some(days * DAY - offset_seconds * SECOND + parse_clock(clock)?)
}

fn parse_date(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let (year, month, day) = (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let fits = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day) && year >= 1;
    (fits && parts.next().is_none()).then(|| days_from_civil(year, month, day))
}

fn parse_clock(clock: &str) -> Option<i64> {
    let (whole, fraction) = clock.split_once(['.', ',']).map_or((clock, None), |(whole, part)| (whole, Some(part)));
    let mut parts = whole.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second = parts.next().map_or((fraction.is_none()).then_some(0), |part| digits(part, 2))?;
    let fits = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    let micros = fraction.map_or(Some(0), parse_fraction)?;
    fits.then_some((hour * 3600 + minute * 60 + second) * SECOND + micros)
}

fn parse_fraction(fraction: &str) -> Option<i64> {
    let kept = fraction.get(..fraction.len().min(6))?;
    digits(fraction, fraction.len()).filter(|_| (1..=18).contains(&fraction.len()))?;
    Some(digits(kept, kept.len())? * 10_i64.pow(6 - kept.len() as u32))
}

/// Splits the clock from the offset, which is given in seconds east of UTC.
fn split_offset(rest: &str) -> Option<(&str, i64)> {
    if let Some(clock) = rest.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = rest.find(['+', '-']) else { return Some((rest, 0)) };
    let (clock, offset) = rest.split_at_checked(at)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let offset = offset.get(1..)?;
    let (hours, minutes) = match offset.len() {
        2 => (offset, "00"),
        4 => offset.split_at_checked(2)?,
        5 => offset.split_once(':')?,
        _ => return None,
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some((clock, sign * (hours * 3600 + minutes * 60)))
}

/// Exactly `count` ASCII digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::parse_iso;

    #[test]
    fn one_instant_in_many_spellings() {
        let expected = Some(1_772_368_200_000_000);
        for text in [
            "2026-03-01T12:30:00.000000+00:00",
            "2026-03-01T12:30:00+00:00",
            "2026-03-01T12:30:00Z",
            "2026-03-01T12:30",
            "2026-03-01 12:30:00",
            "2026-03-01T20:30:00+08:00",
            "2026-03-01T04:30:00-0800",
            "2026-03-01T13:30+01",
        ] {
            assert_eq!(parse_iso(text), expected, "{text}");
        }
    }

    #[test]
    fn dates_and_fractions() {
        assert_eq!(parse_iso("1970-01-01"), Some(0));
        assert_eq!(parse_iso("1969-12-31T23:59:59.5Z"), Some(-500_000));
        assert_eq!(parse_iso("2000-02-29"), Some(951_782_400_000_000));
        assert_eq!(parse_iso("1970-01-01T00:00:00.123456789"), Some(123_456));
        assert_eq!(parse_iso("0001-01-01"), Some(-62_135_596_800_000_000));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "yesterday",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-03-01T",
            "2026-03-01T24:00",
            "2026-03-01T12:30:00.",
            "2026-03-01T12:60",
            "2026-03-01T12:30+1",
            "2026-03-01x12:30",
            "2026-03-0é",
            "0000-01-01",
            "+026-03-01",
        ] {
            assert_eq!(parse_iso(text), None, "{text}");
        }
    }
}
