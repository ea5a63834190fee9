//! Days and instants. Proleptic Gregorian, UTC; microseconds since 1970.
//!
//! The arithmetic is that of "chrono-compatible low-level date algorithms": years start in March, so that the leap day is
//! the last, and repeat every 400 years.
mod format;
mod parse;

pub use format::{iso, iso_day};
pub use parse::parse_iso;

/// Microseconds.
pub const SECOND: i64 = 1_000_000;
pub const DAY: i64 = 86_400 * SECOND;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;
const DAYS_IN_400_YEARS: i64 = 146_097;

/// Days from 1970-01-01 to the day of an instant in microseconds.
pub fn day(us: i64) -> i64 {
    us.div_euclid(DAY)
}

/// Year, month and day of a number of days since 1970-01-01.
pub fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (era, day_of_era) = (days.div_euclid(DAYS_IN_400_YEARS), days.rem_euclid(DAYS_IN_400_YEARS));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970-01-01 of a date.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_IN_400_YEARS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - EPOCH
}

pub fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_ten_thousand_years_follows_the_day_before_it() {
        let mut expected = (1, 1, 1);
        for day in -719_162..=2_932_896 {
            assert_eq!(civil(day), expected);
            assert_eq!(days_from_civil(expected.0, expected.1, expected.2), day);
            expected = next_day(expected);
        }
        assert_eq!(expected, (10_000, 1, 1));
    }

    fn next_day((year, month, day): (i64, i64, i64)) -> (i64, i64, i64) {
        match (month, day) {
            (12, 31) => (year + 1, 1, 1),
            _ if day == days_in_month(year, month) => (year, month + 1, 1),
            _ => (year, month, day + 1),
        }
    }

    #[test]
    fn a_day_ends_with_its_last_microsecond() {
        assert_eq!((day(DAY - 1), day(DAY), day(-1), day(-DAY - 1)), (0, 1, -1, -2));
    }
}
