//! How relevant a row is, near enough to tell which are worth a closer look.
use std::cmp::Ordering;

use super::super::gather::{Gathered, Part};
use super::super::marks::{AFTER_QUESTION, ALONE, NAMES_PROPER, NAMES_TIME, ONLY_ASKS, USER_WORDS};
use super::hits::{Speaking, SpokenFor};
use super::nearest::Place;
use super::{Direction, FirstPass};
use crate::error::Result;
use crate::rank::language::asks::Asks;
use crate::rank::signals::{cues, neighbours};

/// So many rows either side lend to a row.
pub(super) const BESIDE: usize = 2;

/// A row that the estimate is in favour of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Promising {
    pub place: Place,
    /// What it has beyond its own meaning and words.
    pub added: f32,
}

impl PartialEq for Promising {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl Eq for Promising {}

impl PartialOrd for Promising {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Promising {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place.cmp(&other.place)
    }
}

/// What a distance of signs is worth as a part of `dense`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Line {
    at_zero: f32,
    slope: f32,
}

/// Parts by which a line is told, and rows of each.
const TOLD_BY: usize = 64;
const ROWS: usize = 8;

impl Line {
    #[inline]
    pub fn at(self, distance: u32) -> f32 {
        // A signed number becomes a float in one instruction.
        larger(self.at_zero + self.slope * distance.cast_signed() as f32, 0.0)
    }

    /// The line through the cosines of rows that lie evenly in S, and what it is worth: `share` over the range from the least of these to the
    /// largest of these and of `best`.
    pub fn of(gathered: &Gathered, direction: &Direction, best: &[Place], share: f32) -> Result<Self> {
        let (mut places, mut of_places, mut distances) = (Vec::new(), Vec::new(), Vec::new());
        let step = (gathered.parts().len() / TOLD_BY).max(1);
        for (number, part) in (0_u32..).zip(gathered.parts()).step_by(step) {
            let Some(rows) = part.segment.rows(direction.slot).filter(|rows| !rows.is_empty()) else { continue };
            rows.distances_into(&direction.signs, &mut distances)?;
            let nearest = (0..).zip(&distances).min_by_key(|(_, distance)| **distance).map(|(at, _)| at);
            let farthest = (0..).zip(&distances).max_by_key(|(_, distance)| **distance).map(|(at, _)| at);
            let evenly = (0..distances.len()).step_by((distances.len() / ROWS).max(1));
            for at in evenly.chain(nearest).chain(farthest) {
                if let (Some(distance), Some(row)) = (distances.get(at), rows.owners().get(at)) {
                    of_places.push(*distance as f32);
                    places.push((number, *row));
                }
            }
        }
        let cosines = gathered.cosines(direction.slot, &direction.vector, &places)?;
        let best = gathered.cosines(direction.slot, &direction.vector, best)?;
        let finite = cosines.iter().chain(&best).copied().filter(|cosine| cosine.is_finite());
        let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let worth = if high > low { share / (high - low) } else { 0.0 };
        let (at_zero, slope) = through(&of_places, &cosines);
        Ok(Self { at_zero: worth * (at_zero - low), slope: worth * slope })
    }
}

/// The line of the least squares, as its value at 0 and its slope.
fn through(xs: &[f32], ys: &[f32]) -> (f32, f32) {
    let points = || xs.iter().zip(ys).filter(|(_, y)| y.is_finite()).map(|(x, y)| (f64::from(*x), f64::from(*y)));
    let number = points().count().max(1) as f64;
    let (x, y) = points().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x / number, sum.1 + y / number));
    let (xy, xx) = points().fold((0.0, 0.0), |sum, (a, b)| (sum.0 + (a - x) * (b - y), sum.1 + (a - x) * (a - x)));
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    ((y - slope * x) as f32, slope as f32)
}

/// What the signals add to a row beyond its own meaning and words.
pub(super) struct Adding<'a> {
    pub spoken: &'a SpokenFor<'a>,
    pub signs: Signs,
    pub dense: f32,
    pub words: f32,
    pub date: f32,
    pub named: f32,
}

/// What its marks add.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Signs {
    neighbours: f32,
    role: f32,
    /// The mark of what the query asks for, and what that is worth.
    held: u8,
    worth: f32,
    only_asks: f32,
}

impl<'a> Adding<'a> {
    pub fn of(pass: &FirstPass, spoken: &'a SpokenFor) -> Self {
        let weight = |name: &str| pass.weights.get(name).unwrap_or_default();
        let (held, worth) = match pass.query.asks {
            Some(Asks::Time) => (NAMES_TIME, cues::TIME),
            Some(Asks::Name) => (NAMES_PROPER, cues::NAME),
            _ => (0, 0.0),
        };
        let signs = Signs {
            neighbours: weight("neighbours"),
            role: if pass.query.names_earlier_talk { 0.0 } else { weight("role") },
            held,
            worth: weight("cues") * worth,
            only_asks: weight("cues") * cues::ONLY_ASKS,
        };
        Self {
            spoken,
            signs,
            dense: weight("dense"),
            words: weight("window") + weight("lexical"),
            date: weight("date"),
            named: weight("named"),
        }
    }

    /// What the query's dates and the one speaker that it names say of a row.
    pub fn spoken_for(&self, speaking: &Speaking, part: &Part, row: u32) -> f32 {
        let (named, day) = speaking.parts(part, row);
        self.date * day + if named { self.named } else { 0.0 }
    }

    /// What that is at most.
    pub fn spoken_for_at_most(&self) -> f32 {
        MOST_BY_DATE * self.date + self.named
    }
}

/// No date counts more.
const MOST_BY_DATE: f32 = 1.3;

/// The relevance of rows; `base` has [`BESIDE`] more at either end. Rows stand in the order of their turns, mostly.
#[inline]
pub(super) fn estimate(base: &[f32], flags: &[u8], short: &[u8], signs: &Signs, totals: &mut [f32]) {
    let len = totals.len();
    let of = |from: usize| base.get(from..from + len);
    let (Some(b), Some(before), Some(own), Some(next), Some(a)) = (of(0), of(1), of(2), of(3), of(4)) else { return };
    let beside = b.iter().zip(before).zip(next).zip(a).zip(own);
    for (((total, flags), short), ((((b, before), next), a), own)) in
        totals.iter_mut().zip(flags).zip(short).zip(beside)
    {
        let is = |flag: u8, worth: f32| if flags & flag != 0 { worth } else { 0.0 };
        let asked = is(AFTER_QUESTION, neighbours::QUESTION) * before;
        let lent = neighbours::NEXT * larger(*before, *next) + neighbours::AFTER * larger(*b, *a) + asked;
        let lent = if flags & ALONE != 0 { neighbours::ITSELF * own } else { lent };
        // Of 80 tokens what the marks have of 40.
        let owed = f32::from(*short) * (2.0 / 255.0);
        let owed = if owed < 1.0 { owed } else { 1.0 };
        *total = own
            + signs.neighbours * owed * lent
            + is(USER_WORDS, signs.role)
            + is(signs.held, signs.worth)
            + is(ONLY_ASKS, signs.only_asks);
    }
}

/// As `f32::max` of what is a number, in one instruction.
#[inline]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}
