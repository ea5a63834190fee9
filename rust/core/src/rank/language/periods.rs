//! The months, years, weeks and seasons that days make up, as periods. Whole days in UTC, counted from 1 January 1970.
use crate::calendar;
use crate::model::Period;

/// The day of an instant in microseconds.
#[must_use]
pub fn day_of(ts_us: i64) -> i32 {
    calendar::day(ts_us) as i32
}

/// Year and month (1 to 12) of a day.
pub fn year_and_month(day: i32) -> (i32, i32) {
    let (year, month, _) = calendar::civil(i64::from(day));
    (year as i32, month as i32)
}

fn month_start(year: i32, month: i32) -> i32 {
    calendar::days_from_civil(i64::from(year), i64::from(month), 1) as i32
}

pub fn month(year: i32, month: i32) -> Period {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    Period { first: month_start(year, month), last: month_start(next_year, next) - 1 }
}

/// The month so many months after (before, if negative) that of the day.
pub fn month_from(day: i32, months: i32) -> Period {
    let (year, of_year) = year_and_month(day);
    let count = year.saturating_mul(12).saturating_add(of_year - 1).saturating_add(months);
    month(count.div_euclid(12), count.rem_euclid(12) + 1)
}

pub fn year(year: i32) -> Period {
    Period { first: month_start(year, 1), last: month_start(year + 1, 1) - 1 }
}

/// `None` for a day that the month does not have.
pub fn date(year: i32, of_year: i32, day: i32) -> Option<i32> {
    let month = month(year, of_year);
    (1..=month.days()).contains(&day).then(|| month.first + day - 1)
}

/// 0 is Monday.
pub fn weekday(day: i32) -> i32 {
    day.saturating_add(3).rem_euclid(7)
}

/// From Monday to Sunday.
pub fn week(day: i32) -> Period {
    let first = day - weekday(day);
    Period { first, last: first + 6 }
}

/// Saturday and Sunday of the day's week.
pub fn weekend(day: i32) -> Period {
    let last = week(day).last;
    Period { first: last - 1, last }
}

/// Three months; 0 is spring, from March. Winter belongs to the year that it begins in.
pub fn season(year: i32, season: i32) -> Period {
    let first = month_start(year, 3 + 3 * season);
    let last = if season == 3 { month(year + 1, 2).last } else { month(year, 5 + 3 * season).last };
    Period { first, last }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_days() {
        assert_eq!(date(1970, 1, 1), Some(0));
        assert_eq!(date(2023, 5, 8), Some(19_485));
        assert_eq!(date(2000, 2, 29), Some(11_016));
        assert_eq!(date(1900, 2, 29), None);
        assert_eq!(date(2023, 4, 31), None);
        assert_eq!((weekday(0), weekday(19_485), weekday(-4)), (3, 0, 6));
        assert_eq!((day_of(-1), day_of(0), day_of(calendar::DAY)), (-1, 0, 1));
    }

    #[test]
    fn winter_ends_in_the_next_year() {
        let winter = season(2023, 3);
        assert_eq!((Some(winter.first), Some(winter.last)), (date(2023, 12, 1), date(2024, 2, 29)));
        assert_eq!(season(2023, 1), Period { first: month_start(2023, 6), last: month(2023, 8).last });
    }

    #[test]
    fn a_week_ends_with_its_weekend() {
        let monday = 19_485;
        assert_eq!(week(monday + 6), Period { first: monday, last: monday + 6 });
        assert_eq!(weekend(monday), Period { first: monday + 5, last: monday + 6 });
    }

    proptest! {
        #[test]
        fn a_day_lies_in_its_month_and_months_follow_each_other(day in -800_000..3_000_000) {
            let (of, number) = year_and_month(day);
            prop_assert!((month(of, number).first..=month(of, number).last).contains(&day));
            prop_assert_eq!(month_from(day, 1).first, month(of, number).last + 1);
            prop_assert_eq!(month_from(day, -12), month(of - 1, number));
            prop_assert_eq!(date(of, number, day - month(of, number).first + 1), Some(day));
        }
    }
}
