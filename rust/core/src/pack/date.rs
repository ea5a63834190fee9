//! The calendar day of an instant.

const MICROSECONDS_A_DAY: i64 = 86_400_000_000;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;
const DAYS_IN_400_YEARS: i64 = 146_097;

/// Days from 1970-01-01 to the UTC day of an instant in microseconds.
pub fn day(us: i64) -> i64 {
    us.div_euclid(MICROSECONDS_A_DAY)
}

/// The UTC day of an instant in microseconds, as `2023-05-08`. Years start in March here, so that the leap day is the
/// last (H. Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`).
pub fn iso_day(us: i64) -> String {
    let days = day(us) + EPOCH;
    let (era, day_of_era) = (days.div_euclid(DAYS_IN_400_YEARS), days.rem_euclid(DAYS_IN_400_YEARS));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_485, "2023-05-08"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (19_783, "2024-03-01"),
            (-719_528, "0000-01-01"),
            (2_932_896, "9999-12-31"),
        ] {
            assert_eq!(iso_day(days * MICROSECONDS_A_DAY), expected);
        }
    }

    #[test]
    fn a_day_ends_with_its_last_microsecond() {
        assert_eq!(iso_day(MICROSECONDS_A_DAY - 1), "1970-01-01");
        assert_eq!(iso_day(-MICROSECONDS_A_DAY - 1), "1969-12-30");
    }

    #[test]
    fn every_instant_has_a_day() {
        assert!(iso_day(i64::MIN).starts_with('-'));
        assert_eq!(iso_day(i64::MAX), "294247-01-10");
    }
}
