//! The rows that were found, compared: the cosine by int8 in place of that by signs.
use std::collections::HashMap;

use super::super::gather::{Gathered, Part};
use super::estimate::{Adding, Promising};
use super::nearest::Place;
use super::scan::Found;
use super::words::ByWords;
use super::{Direction, FirstPass, LEAST, Wanted};
use crate::error::Result;
use crate::model::{MOST_MODELS, Period};
use crate::rank::query::Query;
use crate::rank::signals::date::{may_be_said_between, said_then, spoken_of};

/// A row that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub place: Place,
    pub cosine: f32,
    pub words: f32,
    /// By meaning and words alone, which is what a neighbour has of it.
    pub base: f32,
    /// With all that its role, its speaker and its day add.
    pub total: f32,
}

pub(super) struct Hits {
    /// By rising place.
    pub found: Vec<Hit>,
    /// Kept for the least cosine of S, not for themselves.
    pub far: Vec<Place>,
    /// Kept for the best scores of S, not for themselves.
    pub rest: Vec<Place>,
}

/// Which rows of a part may be recalled.
pub(super) struct Eligible<'p> {
    part: &'p Part,
    wanted: &'p Wanted<'p>,
    /// Every row of the part that is in S.
    all: bool,
    /// Codes of the roles that are recalled; `None`: all.
    roles: Option<Vec<u32>>,
}

impl<'p> Eligible<'p> {
    pub fn of(part: &'p Part, wanted: &'p Wanted) -> Self {
        let codes = |roles: &[String]| roles.iter().filter_map(|role| part.partition.roles().code(role)).collect();
        let all = wanted.roles.is_none()
            && wanted.left_out.is_empty()
            && part.kinds.are_among(wanted.kinds, wanted.least_words);
        Self { part, wanted, all, roles: wanted.roles.map(codes) }
    }

    pub fn admits_all(&self) -> bool {
        self.all
    }

    pub fn admits(&self, row: u32) -> bool {
        if self.all {
            return self.part.holds(row);
        }
        let entry = self.part.segment.entries().get(row as usize);
        entry.is_some_and(|entry| self.wanted.wants(entry, self.roles.as_deref())) && self.part.holds(row)
    }
}

/// The parts in which the query's dates or the one speaker whom it names may count.
pub(super) struct SpokenFor<'q> {
    parts: HashMap<u32, Speaking<'q>>,
    pub names_several: bool,
}

/// What may count in a part.
pub(super) struct Speaking<'q> {
    query: &'q Query,
    by_date: bool,
    /// The code of the speaker; 0: nobody.
    name: u32,
}

impl<'q> SpokenFor<'q> {
    pub fn of(gathered: &Gathered, query: &'q Query) -> Self {
        let mut parts = HashMap::new();
        let mut meant = gathered.speakers().iter().filter(|speaker| query.names(&speaker.name));
        let (named, names_several) = (meant.next(), meant.next().is_some());
        for (number, name) in named.filter(|_| !names_several).into_iter().flat_map(|named| &named.places) {
            parts.insert(*number, Speaking { query, by_date: false, name: *name });
        }
        let dated = if query.periods.is_empty() { &[] } else { gathered.parts() };
        for (number, part) in (0_u32..).zip(dated) {
            let said = part.segment.said().is_some_and(|(first, last)| may_be_said_between(query, first, last));
            if said || !part.segment.periods().is_empty() {
                parts.entry(number).or_insert(Speaking { query, by_date: false, name: 0 }).by_date = true;
            }
        }
        Self { parts, names_several }
    }

    pub fn of_part(&self, number: u32) -> Option<&Speaking<'q>> {
        self.parts.get(&number)
    }
}

impl Speaking<'_> {
    /// Whether the speaker counts for the row, and how much its day does.
    pub fn parts(&self, part: &Part, row: u32) -> (bool, f32) {
        let Some(entry) = part.segment.entries().get(row as usize) else { return (false, 0.0) };
        let day = if self.by_date {
            let own = part.segment.periods();
            let own = own.binary_search_by_key(&row, |(row, _)| *row).ok().and_then(|at| own.get(at));
            let own: &[Period] = own.map_or(&[], |(_, periods)| periods);
            said_then(self.query, entry.ts).max(spoken_of(self.query, own))
        } else {
            0.0
        };
        (self.name != 0 && entry.name == self.name, day)
    }

    /// Above 0 where anything counts.
    pub fn counts(&self, part: &Part, row: u32) -> f32 {
        let (named, day) = self.parts(part, row);
        day + if named { 1.0 } else { 0.0 }
    }
}

impl Hits {
    /// Compares what was found.
    pub fn of(
        pass: &FirstPass,
        gathered: &Gathered,
        directions: &[Direction],
        found: Found,
        words: ByWords,
        adding: &Adding,
    ) -> Result<Self> {
        let ByWords { best, scores, largest, rest: rest_by_words } = words;
        let Found { mut promising, near, far, mut rest } = found;
        rest.extend(rest_by_words);
        let alone = near.into_iter().chain(best.into_iter().map(|(place, _)| place));
        promising.extend(alone.map(|place| Promising { place, added: 0.0 }));
        // Of the same row the one that knows more stands first.
        promising.sort_by_key(|row| row.place);
        promising.dedup_by_key(|row| row.place);
        let places: Vec<Place> = promising.iter().map(|row| row.place).collect();
        let dense = Dense::of(pass, gathered, directions, &places, &far)?;
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let mut hits = Vec::with_capacity(promising.len());
        for (at, row) in promising.iter().enumerate() {
            let Some(part) = gathered.parts().get(row.place.0 as usize) else { continue };
            let Some(index) = part.index_of_row(row.place.1) else { continue };
            let words = scores.get(index as usize).copied().unwrap_or_default() / largest;
            let base = adding.dense * dense.value(at) + adding.words * words;
            hits.push(Hit { place: row.place, cosine: dense.first(at), words, base, total: base + row.added });
        }
        Ok(Self { found: hits, far: dense.least, rest })
    }
}

/// Cosines of rows by each model, with their ranges.
struct Dense {
    cosines: Vec<Vec<f32>>,
    ranges: Vec<(f32, f32)>,
    shares: [f32; MOST_MODELS],
    /// Those of the least cosines, by each model.
    least: Vec<Place>,
}

impl Dense {
    fn of(
        pass: &FirstPass,
        gathered: &Gathered,
        directions: &[Direction],
        places: &[Place],
        far: &[Place],
    ) -> Result<Self> {
        let share = if pass.asked.vectors.len() > 1 { pass.asked.second_share } else { 0.0 };
        let mut dense = Self { cosines: Vec::new(), ranges: Vec::new(), shares: [0.0; MOST_MODELS], least: Vec::new() };
        for direction in directions {
            let cosines = gathered.cosines(direction.slot, &direction.vector, places)?;
            let others = gathered.cosines(direction.slot, &direction.vector, far)?;
            let finite = cosines.iter().chain(&others).copied().filter(|cosine| cosine.is_finite());
            let range = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
            if let Some(slot) = dense.shares.get_mut(dense.cosines.len()) {
                *slot = if direction.slot == 0 { 1.0 - share } else { share };
            }
            let mut far: Vec<(f32, Place)> =
                others.into_iter().zip(far.iter().copied()).filter(|(cosine, _)| cosine.is_finite()).collect();
            let order = |a: &(f32, Place), b: &(f32, Place)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if far.len() > LEAST {
                far.select_nth_unstable_by(LEAST, order);
            }
            dense.least.extend(far.into_iter().take(LEAST).map(|(_, place)| place));
            dense.cosines.push(cosines);
            dense.ranges.push(range);
        }
        Ok(dense)
    }

    /// The first model's that was asked; negative infinity for none.
    fn first(&self, at: usize) -> f32 {
        self.cosines.first().and_then(|cosines| cosines.get(at)).copied().unwrap_or(f32::NEG_INFINITY)
    }

    fn value(&self, at: usize) -> f32 {
        let models = self.cosines.iter().zip(&self.ranges).zip(self.shares);
        models
            .map(|((cosines, (low, high)), share)| {
                let cosine = cosines.get(at).copied().filter(|cosine| cosine.is_finite());
                cosine.filter(|_| high > low).map_or(0.0, |cosine| share * (cosine - low) / (high - low))
            })
            .sum()
    }
}
