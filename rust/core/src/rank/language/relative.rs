//! Times told from a day: last Friday, this summer, next month, two weeks ago.
use super::lexicon::Unit;
use super::periods::{month_from, season, week, weekday, weekend, year, year_and_month};
use crate::model::Period;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Last,
    This,
    Next,
}

impl Direction {
    pub fn sign(self) -> i32 {
        match self {
            Self::Last => -1,
            Self::This => 0,
            Self::Next => 1,
        }
    }
}

/// "last week", "this summer", "next year", told from `day`.
pub fn unit(direction: Direction, unit: Unit, day: i32) -> Period {
    let step = direction.sign();
    match unit {
        Unit::Day | Unit::Night | Unit::PartOfDay => Period::day(day + step),
        Unit::Week => week(day + 7 * step),
        Unit::Weekend => nearby_weekend(direction, day),
        Unit::Fortnight => within(14, step, day),
        Unit::Month => month_from(day, step),
        Unit::Quarter => within(91, step, day),
        Unit::Year => year(year_and_month(day).0 + step),
        Unit::Spring | Unit::Summer | Unit::Autumn | Unit::Winter => nearby_season(direction, unit, day),
    }
}

/// The last weekend is over, the next one is still to come.
fn nearby_weekend(direction: Direction, day: i32) -> Period {
    let own = weekend(day);
    match direction {
        Direction::Last => weekend(day - 7),
        Direction::Next if own.first > day => own,
        Direction::Next => weekend(day + 7),
        Direction::This => own,
    }
}

fn nearby_season(direction: Direction, unit: Unit, day: i32) -> Period {
    let number = match unit {
        Unit::Spring => 0,
        Unit::Summer => 1,
        Unit::Autumn => 2,
        _ => 3,
    };
    let own = year_and_month(day).0;
    let mut near = (own - 2..=own + 1).map(|year| season(year, number));
    let found = match direction {
        Direction::Last => near.rfind(|season| season.last < day),
        Direction::Next => near.find(|season| season.first > day),
        Direction::This => near.find(|season| season.last >= day),
    };
    // This summer, said in autumn, is the one that was.
    match found {
        Some(season) if direction == Direction::This && season.first > day + 183 => super::periods::season(own, number),
        Some(season) => season,
        None => season(own, number),
    }
}

/// "the last three weeks": the days up to `day`, or those after it.
pub fn count_of(direction: Direction, count: i32, unit: Unit, day: i32) -> Option<Period> {
    Some(within(days_of(unit)?.saturating_mul(count), if direction == Direction::Next { 1 } else { -1 }, day))
}

fn within(days: i32, step: i32, day: i32) -> Period {
    let other = day.saturating_add(days.saturating_mul(step));
    Period { first: day.min(other), last: day.max(other) }
}

/// "two weeks ago" (`count` negative) and "in two weeks", as exactly as people mean it.
pub fn away(count: i32, unit: Unit, day: i32) -> Option<Period> {
    let around = |days: i32, slack: i32| {
        let middle = day.saturating_add(count.saturating_mul(days));
        Period { first: middle.saturating_sub(slack), last: middle.saturating_add(slack) }
    };
    match unit {
        Unit::Day | Unit::Night => Some(around(1, count.abs() / 7)),
        Unit::Week | Unit::Fortnight => Some(around(days_of(unit)?, 3)),
        Unit::Weekend => Some(weekend(day.saturating_add(count.saturating_mul(7)))),
        Unit::Month => Some(around(30, 15)),
        Unit::Quarter => Some(around(91, 30)),
        Unit::Year if count.abs() < 1_000 => Some(year(year_and_month(day).0 + count)),
        _ => None,
    }
}

/// The closest such weekday, never the day itself.
pub fn closest_weekday(direction: Direction, wanted: i32, day: i32) -> Period {
    match direction {
        Direction::Last => Period::day(day - 1 - (weekday(day) - 1 - wanted).rem_euclid(7)),
        Direction::Next => Period::day(day + 1 + (wanted - weekday(day) - 1).rem_euclid(7)),
        Direction::This => Period::day(week(day).first + wanted),
    }
}

/// Usual length; `None` for what nobody counts in.
fn days_of(unit: Unit) -> Option<i32> {
    match unit {
        Unit::Day | Unit::Night => Some(1),
        Unit::Week | Unit::Weekend => Some(7),
        Unit::Fortnight => Some(14),
        Unit::Month => Some(30),
        Unit::Quarter => Some(91),
        Unit::Year => Some(365),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::periods::date;
    use super::*;

    fn day(year: i32, month: i32, day: i32) -> i32 {
        date(year, month, day).unwrap()
    }

    fn between(a: (i32, i32, i32), b: (i32, i32, i32)) -> Period {
        Period { first: day(a.0, a.1, a.2), last: day(b.0, b.1, b.2) }
    }

    #[test]
    fn units_beside_a_thursday() {
        let thursday = day(2023, 5, 11);
        let last = |of| unit(Direction::Last, of, thursday);
        assert_eq!(last(Unit::Night), Period::day(thursday - 1));
        assert_eq!(last(Unit::Week), between((2023, 5, 1), (2023, 5, 7)));
        assert_eq!(last(Unit::Weekend), between((2023, 5, 6), (2023, 5, 7)));
        assert_eq!(last(Unit::Month), between((2023, 4, 1), (2023, 4, 30)));
        assert_eq!(last(Unit::Year), between((2022, 1, 1), (2022, 12, 31)));
        assert_eq!(last(Unit::Summer), between((2022, 6, 1), (2022, 8, 31)));
        assert_eq!(last(Unit::Winter), between((2022, 12, 1), (2023, 2, 28)));
        assert_eq!(unit(Direction::Next, Unit::Weekend, thursday), between((2023, 5, 13), (2023, 5, 14)));
        assert_eq!(unit(Direction::This, Unit::Summer, thursday), between((2023, 6, 1), (2023, 8, 31)));
        assert_eq!(unit(Direction::This, Unit::Summer, day(2023, 10, 2)), between((2023, 6, 1), (2023, 8, 31)));
    }

    #[test]
    fn the_last_weekend_said_on_one_is_the_one_before() {
        let sunday = day(2023, 5, 14);
        assert_eq!(unit(Direction::Last, Unit::Weekend, sunday), between((2023, 5, 6), (2023, 5, 7)));
        assert_eq!(unit(Direction::Next, Unit::Weekend, sunday), between((2023, 5, 20), (2023, 5, 21)));
    }

    #[test]
    fn weekdays_beside_a_thursday() {
        let thursday = day(2023, 5, 11);
        let closest = |direction, wanted| closest_weekday(direction, wanted, thursday);
        assert_eq!(closest(Direction::Last, 4), Period::day(day(2023, 5, 5)));
        assert_eq!(closest(Direction::Last, 3), Period::day(day(2023, 5, 4)));
        assert_eq!(closest(Direction::Last, 2), Period::day(day(2023, 5, 10)));
        assert_eq!(closest(Direction::Next, 4), Period::day(day(2023, 5, 12)));
        assert_eq!(closest(Direction::Next, 3), Period::day(day(2023, 5, 18)));
        assert_eq!(closest(Direction::This, 0), Period::day(day(2023, 5, 8)));
    }

    #[test]
    fn counted_times() {
        let monday = day(2023, 5, 8);
        assert_eq!(away(-3, Unit::Day, monday), Some(Period::day(day(2023, 5, 5))));
        assert_eq!(away(-2, Unit::Week, monday), Some(between((2023, 4, 21), (2023, 4, 27))));
        assert_eq!(away(-4, Unit::Year, monday), Some(between((2019, 1, 1), (2019, 12, 31))));
        assert_eq!(away(2, Unit::Summer, monday), None);
        assert_eq!(count_of(Direction::Last, 2, Unit::Week, monday), Some(between((2023, 4, 24), (2023, 5, 8))));
    }
}
