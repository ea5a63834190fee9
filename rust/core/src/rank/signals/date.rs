//! A question that names a day is answered by what was said on it, or by what speaks of it. Today is named by those who plan ("what
//! to cook tonight"), and what was said today is new anyway: there, only what speaks of it counts.
use super::{Signal, Stage};
use crate::model::Period;
use crate::rank::language::periods::day_of;
use crate::rank::query::Query;
use crate::rank::scene::Scene;

/// How much a memory counts that was said in the period: the shorter the period, the more that tells.
const DAY: f32 = 1.0;
const MONTH: f32 = 0.5;
const YEAR: f32 = 0.3;
/// The longest periods that count as a day, and as a month (a season).
const DAY_DAYS: i32 = 10;
const MONTH_DAYS: i32 = 100;
/// People talk about a day for another week: from this to that.
const DAY_AFTER: f32 = 0.75;
const WEEK_AFTER: f32 = 0.5;
const WEEK: i32 = 7;
/// A memory whose own words mean the period counts more than one that was said then.
const SPOKEN: f32 = 1.3;

#[derive(Debug)]
pub struct Date;

impl Signal for Date {
    fn name(&self) -> &'static str {
        "date"
    }

    fn stage(&self) -> Stage {
        Stage::Added
    }

    fn default_weight(&self, _dense_weight: f32) -> f32 {
        0.6
    }

    fn is_of_the_turn(&self) -> bool {
        true
    }

    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        let asked = &scene.query.periods;
        if asked.is_empty() {
            return vec![0.0; scene.len()];
        }
        let mut values: Vec<f32> = scene.ts.iter().map(|ts| said_then(scene.query, *ts)).collect();
        for (row, periods) in scene.periods {
            let meant = spoken_of(scene.query, periods);
            if let Some(value) = values.get_mut(*row as usize) {
                *value = value.max(meant);
            }
        }
        values
    }
}

/// What a memory of this time counts for what the query asks about.
#[must_use]
pub fn said_then(query: &Query, ts: i64) -> f32 {
    let today = Period::day(query.today);
    best(query, |period| if period == today { 0.0 } else { said(day_of(ts), period) })
}

/// What a memory counts whose own words mean these days.
#[must_use]
pub fn spoken_of(query: &Query, own: &[Period]) -> f32 {
    own.iter().map(|own| best(query, |period| spoken(*own, period))).fold(0.0, f32::max)
}

/// Whether something said from one instant to another, the last included, may count by when it was said.
#[must_use]
pub fn may_be_said_between(query: &Query, first: i64, last: i64) -> bool {
    let (first, last) = (day_of(first), day_of(last));
    query.periods.iter().any(|period| period.first <= last && first <= period.last + WEEK)
}

fn best(query: &Query, of: impl Fn(Period) -> f32) -> f32 {
    query.periods.iter().copied().map(of).fold(0.0, f32::max)
}

fn level(days: i32) -> f32 {
    if days <= DAY_DAYS {
        DAY
    } else if days <= MONTH_DAYS {
        MONTH
    } else {
        YEAR
    }
}

/// What a memory counts that was said on the day.
fn said(day: i32, period: Period) -> f32 {
    let after = day - period.last;
    if (period.first..=period.last).contains(&day) {
        level(period.days())
    } else if (1..=WEEK).contains(&after) && period.days() <= DAY_DAYS {
        DAY_AFTER - (DAY_AFTER - WEEK_AFTER) * (after - 1) as f32 / (WEEK - 1) as f32
    } else {
        0.0
    }
}

/// What a memory counts whose own words mean a period: by the longer of the two.
fn spoken(own: Period, period: Period) -> f32 {
    if own.overlaps(period) { SPOKEN * level(own.days().max(period.days())) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::language::ENGLISH;
    use crate::rank::language::periods::{date, month, year};
    use crate::rank::sample::{Sample, close};

    fn on(year: i32, month: i32, day: i32) -> i64 {
        i64::from(date(year, month, day).unwrap_or_default()) * crate::calendar::DAY
    }

    fn parts(text: &str, ts: &[i64], periods: Vec<(u32, Vec<Period>)>) -> Vec<f32> {
        let sample = Sample {
            text: text.to_owned(),
            language: Some(&ENGLISH),
            ts: ts.to_vec(),
            now: on(2023, 10, 1),
            periods,
            ..Sample::of_turns(&vec![0.0; ts.len()])
        };
        Date.contribution(&sample.view().scene(), &[])
    }

    #[test]
    fn a_day_is_talked_about_on_it_and_for_a_week() {
        let days = [on(2023, 5, 7), on(2023, 5, 8), on(2023, 5, 9), on(2023, 5, 12), on(2023, 5, 15), on(2023, 5, 16)];
        let got = parts("what happened on 8 May 2023?", &days, Vec::new());
        assert!(close(&got, &[0.0, 1.0, 0.75, 0.625, 0.5, 0.0]), "{got:?}");
    }

    #[test]
    fn months_and_years_say_less() {
        let days = [on(2023, 5, 31), on(2023, 6, 1)];
        assert!(close(&parts("in May 2023", &days, Vec::new()), &[0.5, 0.0]));
        assert!(close(&parts("in 2023", &days, Vec::new()), &[0.3, 0.3]));
    }

    #[test]
    fn what_speaks_of_the_period_counts_more() {
        let far = on(2020, 1, 1);
        let day = Period::day(date(2023, 5, 8).unwrap_or_default());
        let own = vec![(0, vec![day]), (1, vec![month(2023, 5)]), (2, vec![year(2023), day]), (3, vec![year(2022)])];
        let got = parts("what happened on 8 May 2023?", &[far; 4], own.clone());
        assert!(close(&got, &[1.3, 0.65, 1.3, 0.0]), "{got:?}");
        assert!(close(&parts("in May 2023", &[far; 4], own), &[0.65, 0.65, 0.65, 0.0]));
    }

    #[test]
    fn what_was_said_today_needs_to_speak_of_it() {
        let today = Period::day(date(2023, 10, 1).unwrap_or_default());
        let now = [on(2023, 10, 1), on(2023, 10, 1), on(2023, 9, 30)];
        let got = parts("what is there to do today?", &now, vec![(1, vec![today])]);
        assert!(close(&got, &[0.0, 1.3, 0.0]), "{got:?}");
    }

    #[test]
    fn a_query_without_a_date_says_nothing() {
        assert!(close(&parts("what happened?", &[0, 1], Vec::new()), &[0.0, 0.0]));
    }
}
