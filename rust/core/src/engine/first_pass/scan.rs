//! The one scan of S: each row's relevance is estimated by the signs of its vector, by its words and by what little is marked of it.
use super::super::gather::{Gathered, Part};
use super::super::marks::Marks;
use super::estimate::{Adding, Line, Promising, estimate};
use super::hits::{Eligible, SpokenFor};
use super::nearest::{Largest, Nearest, Place};
use super::words::{BLOCK, ByWords};
use super::{BEST_OF_REST, Direction, FARTHEST, FirstPass, NEAREST, PROMISING, SOON};
use crate::error::Result;
use crate::vector::hamming;
use crate::vector::scan::Rows;
use crate::vector::wide::widely;

/// The rows that were found, before they are compared.
#[derive(Default)]
pub(super) struct Found {
    pub promising: Vec<Promising>,
    pub near: Vec<Place>,
    /// The largest distances, by model.
    pub far: Vec<Place>,
    /// The nearest of those that may not be recalled.
    pub rest: Vec<Place>,
}

pub(super) struct Scan<'a> {
    pub pass: &'a FirstPass<'a>,
    pub gathered: &'a Gathered,
    pub directions: &'a [Direction<'a>],
    /// Of each direction.
    pub lines: &'a [Line],
    pub by_words: &'a ByWords,
    pub adding: &'a Adding<'a>,
}

/// What is found by one direction.
struct ByDirection {
    near: Nearest,
    far: Nearest,
    rest: Nearest,
}

#[derive(Default)]
struct Buffers {
    distances: Vec<u32>,
    found: Vec<u32>,
    /// The least distance of each of the part's rows.
    least: Vec<u32>,
    /// By index in the part, with [`super::estimate::BESIDE`] more at either end.
    base: Vec<f32>,
    totals: Vec<f32>,
}

impl Scan<'_> {
    pub fn run(&self) -> Result<Found> {
        let mut by: Vec<ByDirection> =
            self.directions.iter().map(|direction| ByDirection::of(self.pass, direction.vector.codes.len())).collect();
        let mut promising = Largest::above(f32::MIN_POSITIVE, self.pass.most(PROMISING));
        let (marks, mut buffers) = (self.gathered.marks(), Buffers::default());
        for (number, part) in (0_u32..).zip(self.gathered.parts()) {
            self.prefetch(number as usize);
            let eligible = Eligible::of(part, &self.pass.wanted);
            self.start(part, &mut buffers);
            for ((direction, line), by) in self.directions.iter().zip(self.lines).zip(&mut by) {
                let Some(rows) = part.segment.rows(direction.slot) else { continue };
                rows.distances_into(&direction.signs, &mut buffers.distances)?;
                by.take(number, part, rows, &eligible, &mut buffers);
                buffers.add(part, rows, *line);
            }
            self.judge(number, part, &eligible, marks, &mut buffers, &mut promising);
        }
        let mut found =
            Found { promising: promising.scored().into_iter().map(|(row, _)| row).collect(), ..Found::default() };
        for by in by {
            found.near.extend(by.near.places());
            found.far.extend(by.far.places());
            found.rest.extend(by.rest.places());
        }
        Ok(found)
    }

    fn prefetch(&self, number: usize) {
        let soon = self.gathered.parts().get(number + SOON);
        for direction in self.directions {
            self.gathered.prefetch_rows(number + 2 * SOON, direction.slot);
            soon.and_then(|soon| soon.segment.rows(direction.slot)).into_iter().for_each(Rows::prefetch_signs);
        }
    }

    /// Begins with what the words say.
    fn start(&self, part: &Part, buffers: &mut Buffers) {
        let worth = self.adding.words / if self.by_words.largest > 0.0 { self.by_words.largest } else { 1.0 };
        let own = self.by_words.scores.get(part.base()..part.base() + part.rows.len()).unwrap_or_default();
        buffers.base.clear();
        buffers.base.resize(super::estimate::BESIDE, 0.0);
        buffers.base.extend(own.iter().map(|score| worth * score));
        buffers.base.resize(buffers.base.len() + super::estimate::BESIDE, 0.0);
    }

    fn judge(
        &self,
        number: u32,
        part: &Part,
        eligible: &Eligible,
        marks: &Marks,
        buffers: &mut Buffers,
        promising: &mut Largest<Promising>,
    ) {
        let own = part.base()..part.base() + part.rows.len();
        let (Some(flags), Some(short)) = (marks.flags.get(own.clone()), marks.short.get(own)) else { return };
        buffers.totals.clear();
        buffers.totals.resize(part.rows.len(), 0.0);
        widely(|| estimate(&buffers.base, flags, short, &self.adding.signs, &mut buffers.totals));
        let speaking = self.adding.spoken.of_part(number);
        let more = if speaking.is_some() { self.adding.spoken_for_at_most() } else { 0.0 };
        let base = buffers.base.get(super::estimate::BESIDE..).unwrap_or_default();
        let blocks = buffers.totals.chunks(BLOCK).zip(base.chunks(BLOCK)).zip(part.rows.chunks(BLOCK));
        for ((totals, base), rows) in blocks {
            let most = totals.iter().fold(0.0_f32, |most, total| if *total > most { *total } else { most });
            if most + more <= promising.least() {
                continue;
            }
            for ((total, base), row) in totals.iter().zip(base).zip(rows) {
                if total + more <= promising.least() || !eligible.admits(*row) {
                    continue;
                }
                let total = total + speaking.map_or(0.0, |speaking| self.adding.spoken_for(speaking, part, *row));
                if total > promising.least() {
                    promising.push(total, Promising { place: (number, *row), added: total - base });
                }
            }
        }
    }
}

impl ByDirection {
    fn of(pass: &FirstPass, longest: usize) -> Self {
        Self {
            near: Nearest::new(pass.most(NEAREST), longest),
            far: Nearest::new(FARTHEST, longest),
            rest: Nearest::new(BEST_OF_REST, longest),
        }
    }

    fn take(&mut self, number: u32, part: &Part, rows: &Rows, eligible: &Eligible, buffers: &mut Buffers) {
        let Buffers { distances, found, .. } = buffers;
        let longest = self.far.longest();
        found.clear();
        let farthest = hamming::nearer(distances, self.near.bound(), found);
        for (distance, row) in found.iter().filter_map(|at| found_at(distances, rows, *at)) {
            if distance >= self.near.bound() {
                continue;
            }
            if eligible.admits(row) {
                self.near.push(distance, (number, row));
            } else if distance < self.rest.bound() && part.holds(row) {
                self.rest.push(distance, (number, row));
            }
        }
        let from_far = |distance: u32| longest.saturating_sub(distance);
        if from_far(farthest) < self.far.bound() {
            found.clear();
            hamming::farther(distances, (longest + 1).saturating_sub(self.far.bound()), found);
            for (distance, row) in found.iter().filter_map(|at| found_at(distances, rows, *at)) {
                if from_far(distance) < self.far.bound() && part.holds(row) {
                    self.far.push(from_far(distance), (number, row));
                }
            }
        }
    }
}

impl Buffers {
    /// Adds what the distances say.
    fn add(&mut self, part: &Part, rows: &Rows, line: Line) {
        let base = self.base.get_mut(super::estimate::BESIDE..).unwrap_or_default();
        if part.is_whole() && rows.is_one_each() {
            widely(|| base.iter_mut().zip(&self.distances).for_each(|(base, distance)| *base += line.at(*distance)));
            return;
        }
        self.least.clear();
        self.least.resize(part.segment.entries().len(), u32::MAX);
        for (distance, owner) in self.distances.iter().zip(rows.owners()) {
            if let Some(least) = self.least.get_mut(*owner as usize) {
                *least = (*least).min(*distance);
            }
        }
        for (base, row) in base.iter_mut().zip(part.rows.iter()) {
            let distance = self.least.get(*row as usize).filter(|distance| **distance != u32::MAX);
            *base += distance.map_or(0.0, |distance| line.at(*distance));
        }
    }
}

/// The distance at a place of a scan, and the memory that it is of.
fn found_at(distances: &[u32], rows: &Rows, at: u32) -> Option<(u32, u32)> {
    Some((*distances.get(at as usize)?, *rows.owners().get(at as usize)?))
}

/// Of a read by words alone, what the query's dates or names speak for: the last of it.
pub(super) fn latest_spoken_for(pass: &FirstPass, gathered: &Gathered, spoken: &SpokenFor) -> Vec<Place> {
    let mut largest = Largest::above(0.0, pass.most(NEAREST) / 2);
    for (number, part) in (0_u32..).zip(gathered.parts()) {
        let Some(speaking) = spoken.of_part(number) else { continue };
        let eligible = Eligible::of(part, &pass.wanted);
        for row in part.rows.iter().copied().filter(|row| eligible.admits(*row)) {
            let counts = speaking.counts(part, row);
            if counts > 0.0 && counts >= largest.least() {
                largest.push(counts, (number, row));
            }
        }
    }
    largest.scored().into_iter().map(|(place, _)| place).collect()
}
