//! Instants as text.
use std::fmt::Write;

use super::{DAY, SECOND, civil, day};

/// What ISO 8601 can say of an instant: the years 1 to 9999. Nothing beyond is taken in; older releases did.
const FIRST: i64 = -62_135_596_800 * SECOND;
const LAST: i64 = 253_402_300_800 * SECOND - 1;

/// `2024-05-08T13:56:00.000000+00:00`; of an instant beyond the years 1 to 9999, their first or last.
pub fn iso(instant: i64) -> String {
    let instant = instant.clamp(FIRST, LAST);
    let mut text = iso_day(instant);
    let rest = instant.rem_euclid(DAY);
    let (seconds, micros) = (rest / SECOND, rest % SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    // Writing to a String cannot fail.
    let _ = write!(text, "T{hour:02}:{minute:02}:{second:02}.{micros:06}+00:00");
    text
}

/// The day of an instant, `2024-05-08`; clamped as [`iso`] is.
pub fn iso_day(instant: i64) -> String {
    let (year, month, day) = civil(day(instant.clamp(FIRST, LAST)));
    let mut text = String::with_capacity(32);
    let _ = write!(text, "{year:04}-{month:02}-{day:02}");
    text
}

#[cfg(test)]
mod tests {
    use super::super::parse_iso;
    use super::*;

    #[test]
    fn known_instants_are_iso_8601() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000000+00:00");
        assert_eq!(iso(-1), "1969-12-31T23:59:59.999999+00:00");
        assert_eq!(iso(1_709_210_096_789_012), "2024-02-29T12:34:56.789012+00:00");
        assert_eq!(iso(-62_135_596_800 * SECOND), "0001-01-01T00:00:00.000000+00:00");
        assert_eq!(iso(253_402_300_800 * SECOND - 1), "9999-12-31T23:59:59.999999+00:00");
    }

    #[test]
    fn what_no_iso_date_can_say_becomes_the_first_or_last_that_one_can() {
        for (before, after) in [(i64::MIN, i64::MAX), (FIRST - 1, LAST + 1)] {
            assert_eq!((iso(before), iso_day(before)), (iso(FIRST), "0001-01-01".to_owned()));
            assert_eq!((iso(after), iso_day(after)), (iso(LAST), "9999-12-31".to_owned()));
        }
    }

    #[test]
    fn what_is_formatted_reads_back_as_the_same_instant() {
        for instant in [-62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1, 0, -1, 1_709_210_096_789_012] {
            assert_eq!(parse_iso(&iso(instant)), Some(instant));
        }
    }
}
