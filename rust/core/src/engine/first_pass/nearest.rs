//! The rows that come nearest, collected in one pass over a scope: those of the least distance, or of the largest score.

/// A row of a scope: the number of its part, and its own there.
pub(super) type Place = (u32, u32);

/// Rows by distance, the `most` least; of the same distance the later ones. They come in rising order.
#[derive(Debug)]
pub(super) struct Nearest {
    most: usize,
    found: Vec<(u32, Place)>,
    /// How many of `found` are at each distance up to the bound.
    counts: Vec<usize>,
    within: usize,
    bound: u32,
}

impl Nearest {
    /// Distances go from 0 to `longest`.
    pub fn new(most: usize, longest: usize) -> Self {
        let bound = if most == 0 { 0 } else { longest as u32 + 1 };
        Self { most, found: Vec::new(), counts: vec![0; longest + 1], within: 0, bound }
    }

    /// Only rows nearer than this are still of use.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    pub fn longest(&self) -> u32 {
        self.counts.len() as u32 - 1
    }

    /// Takes a row whose distance is below the bound.
    pub fn push(&mut self, distance: u32, place: Place) {
        let Some(count) = self.counts.get_mut(distance as usize) else { return };
        *count += 1;
        self.within += 1;
        self.found.push((distance, place));
        // The bound falls as long as enough lie below it without its last distance.
        while let Some(last) = self.counts.get((self.bound as usize).wrapping_sub(1)) {
            if self.within - last < self.most {
                break;
            }
            self.within -= last;
            self.bound -= 1;
        }
    }

    /// Their places in the order in which they came.
    pub fn places(self) -> Vec<Place> {
        let Self { most, found, within, bound, .. } = self;
        // What is too many goes from the last distance that is of use, the earliest first.
        let mut too_many = within.saturating_sub(most);
        let mut is_kept = |distance: u32| {
            let goes = distance + 1 == bound && too_many > 0;
            too_many -= usize::from(goes);
            distance < bound && !goes
        };
        found.into_iter().filter(|(distance, _)| is_kept(*distance)).map(|(_, place)| place).collect()
    }
}

/// Rows by score, the `most` largest; of the same score the later ones.
#[derive(Debug)]
pub(super) struct Largest<T> {
    most: usize,
    found: Vec<(f32, T)>,
    least: f32,
}

impl<T: Copy + Ord> Largest<T> {
    /// Of scores above `least`.
    pub fn above(least: f32, most: usize) -> Self {
        Self { most, found: Vec::new(), least }
    }

    /// Only rows that score more, or as much once there are enough, are still of use.
    pub fn least(&self) -> f32 {
        self.least
    }

    pub fn push(&mut self, score: f32, row: T) {
        self.found.push((score, row));
        if self.found.len() >= self.most.saturating_mul(4).max(64) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.found.len() <= self.most {
            return;
        }
        let order = |a: &(f32, T), b: &(f32, T)| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1));
        let Some(kth) = self.most.checked_sub(1) else { return self.found.clear() };
        let (_, (least, _), _) = self.found.select_nth_unstable_by(kth, order);
        self.least = *least;
        self.found.truncate(self.most);
    }

    /// Them with their scores, by rising row.
    pub fn scored(mut self) -> Vec<(T, f32)> {
        self.cut();
        let mut scored: Vec<(T, f32)> = self.found.into_iter().map(|(score, row)| (row, score)).collect();
        scored.sort_unstable_by_key(|(row, _)| *row);
        scored
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use std::cmp::Reverse;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_nearest_are_the_head_of_a_full_sort(distances in prop::collection::vec(0_u32..9, 0..200), most in 0_usize..60) {
            let mut nearest = Nearest::new(most, 8);
            for (row, distance) in (0_u32..).zip(&distances) {
                if *distance < nearest.bound() {
                    nearest.push(*distance, (row / 7, row % 7));
                }
            }
            let mut sorted: Vec<(u32, Reverse<Place>)> =
                (0_u32..).zip(&distances).map(|(row, distance)| (*distance, Reverse((row / 7, row % 7)))).collect();
            sorted.sort_unstable();
            sorted.truncate(most);
            let mut expected: Vec<Place> = sorted.into_iter().map(|(_, place)| place.0).collect();
            expected.sort_unstable();
            let got = nearest.places();
            // Of the bound's own distance an early row may stand for a later one that came when enough were found.
            prop_assert_eq!(got.len(), expected.len());
            let of = |places: &[Place]| {
                let mut all: Vec<u32> = places.iter().filter_map(|place| distances.get((place.0 * 7 + place.1) as usize)).copied().collect();
                all.sort_unstable();
                all
            };
            prop_assert_eq!(of(&got), of(&expected));
        }

        #[test]
        fn the_largest_are_the_head_of_a_full_sort(scores in prop::collection::vec(0_u8..9, 0..600), most in 1_usize..60) {
            let mut largest = Largest::above(0.0, most);
            for (row, score) in (0_u32..).zip(&scores) {
                if f32::from(*score) > largest.least() {
                    largest.push(f32::from(*score), (0_u32, row));
                }
            }
            let mut expected: Vec<u8> = scores.iter().copied().filter(|score| *score > 0).collect();
            expected.sort_unstable();
            let expected = expected.split_off(expected.len().saturating_sub(most));
            let got = largest.scored();
            prop_assert!(got.iter().all(|(place, score)| scores.get(place.1 as usize).is_some_and(|own| f32::from(*own) == *score)));
            let mut got: Vec<u8> = got.into_iter().map(|(_, score)| score as u8).collect();
            got.sort_unstable();
            prop_assert_eq!(got, expected);
        }
    }
}
