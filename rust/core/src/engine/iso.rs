//! Instants as ISO 8601 text. Proleptic Gregorian, years 1 to 9999, always UTC.
//!
//! Civil from days: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
use std::fmt::Write;

use crate::store::Micros;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// `2024-05-08T13:56:00.000000+00:00`
pub fn format(instant: Micros) -> String {
    let (year, month, day) = civil(instant.div_euclid(DAY));
    let rest = instant.rem_euclid(DAY);
    let (seconds, micros) = (rest / SECOND, rest % SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = String::with_capacity(32);
    // Writing to a String cannot fail.
    let _ = write!(text, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}+00:00");
    text
}

/// Year, month and day of a number of days since 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_of_known_instants_is_iso_8601() {
        assert_eq!(format(0), "1970-01-01T00:00:00.000000+00:00");
        assert_eq!(format(-1), "1969-12-31T23:59:59.999999+00:00");
        assert_eq!(format(1_709_210_096_789_012), "2024-02-29T12:34:56.789012+00:00");
        assert_eq!(format(-62_135_596_800 * SECOND), "0001-01-01T00:00:00.000000+00:00");
        assert_eq!(format(253_402_300_800 * SECOND - 1), "9999-12-31T23:59:59.999999+00:00");
    }

    #[test]
    fn every_day_of_ten_thousand_years_follows_the_day_before_it() {
        let (first, last) = (-719_162, 2_932_896);
        let mut expected = (1, 1, 1);
        for day in first..=last {
            assert_eq!(civil(day), expected);
            expected = next_day(expected);
        }
        assert_eq!(expected, (10_000, 1, 1));
    }

    fn next_day((year, month, day): (i64, i64, i64)) -> (i64, i64, i64) {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        match (month, day) {
            (12, 31) => (year + 1, 1, 1),
            _ if day == length => (year, month + 1, 1),
            _ => (year, month, day + 1),
        }
    }

    #[test]
    fn what_is_formatted_reads_back_as_the_same_instant() {
        for instant in [-62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1, 0, -1, 1_709_210_096_789_012] {
            assert_eq!(crate::filter::parse_iso_micros(&format(instant)), Some(instant));
        }
    }
}
