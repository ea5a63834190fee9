//! A conversation about the topic: `mm` of the mean of the sitting's three best, in full from eleven sittings on.
use super::{Signal, Stage};
use crate::rank::min_max::min_max;
use crate::rank::scene::Scene;

#[derive(Debug)]
pub struct Sitting;

impl Signal for Sitting {
    fn name(&self) -> &'static str {
        "sitting"
    }

    fn stage(&self) -> Stage {
        Stage::Thread
    }

    fn default_weight(&self, _dense_weight: f32) -> f32 {
        0.1
    }

    fn is_of_the_turn(&self) -> bool {
        true
    }

    fn contribution(&self, scene: &Scene, sum: &[f32]) -> Vec<f32> {
        let mut best = vec![Best::default(); scene.thread.sittings()];
        for (sitting, value) in scene.thread.sitting().iter().zip(sum) {
            if let Some(best) = best.get_mut(*sitting as usize) {
                best.add(*value);
            }
        }
        let mean = |sitting: &u32| best.get(*sitting as usize).map_or(0.0, Best::mean);
        let mut values: Vec<f32> = scene.thread.sitting().iter().map(mean).collect();
        min_max(&mut values);
        tell_by_number(&mut values, scene.thread.sittings());
        values
    }
}

/// The sittings from which on the best one says all it can.
const ENOUGH: f32 = 10.0;

/// Of two or three sittings one is always the best, whatever the query: `min(1, (sittings - 1) / 10)` of each value.
pub(super) fn tell_by_number(values: &mut [f32], sittings: usize) {
    let share = (sittings.saturating_sub(1) as f32 / ENOUGH).min(1.0);
    for value in values {
        *value *= share;
    }
}

/// The three largest values of a sitting; fewer while it has fewer.
#[derive(Debug, Clone, Copy, Default)]
struct Best {
    first: Option<f32>,
    second: Option<f32>,
    third: Option<f32>,
}

impl Best {
    fn add(&mut self, value: f32) {
        let value = Some(value);
        if value > self.first {
            *self = Self { first: value, second: self.first, third: self.second };
        } else if value > self.second {
            *self = Self { first: self.first, second: value, third: self.second };
        } else if value > self.third {
            self.third = value;
        }
    }

    fn mean(&self) -> f32 {
        let held = [self.first, self.second, self.third].into_iter().flatten();
        let (sum, count) = held.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rank::sample::{Sample, close, textbook_mm};

    fn textbook(sample: &Sample, sum: &[f32]) -> Vec<f64> {
        let mut means = vec![0.0; sample.len()];
        for sitting in sample.textbook_sittings() {
            let mut values: Vec<f64> = sitting.iter().map(|row| f64::from(sum[*row])).collect();
            values.sort_by(|a, b| b.total_cmp(a));
            values.truncate(3);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            for row in sitting {
                means[row] = mean;
            }
        }
        textbook_tell(textbook_mm(&means), sample)
    }

    fn textbook_tell(values: Vec<f64>, sample: &Sample) -> Vec<f64> {
        let share = ((sample.textbook_sittings().len() as f64 - 1.0) / 10.0).min(1.0);
        values.into_iter().map(|value| value * share).collect()
    }

    #[test]
    fn of_few_sittings_the_best_says_little() {
        let told = |sittings: usize| {
            let mut values = [1.0];
            tell_by_number(&mut values, sittings);
            values[0]
        };
        assert!(told(1) == 0.0 && (told(2) - 0.1).abs() < 1e-6 && (told(6) - 0.5).abs() < 1e-6);
        assert!(told(11) >= 1.0 && told(500) <= 1.0);
    }

    #[test]
    fn equal_values_all_count() {
        let mut best = Best::default();
        for value in [2.0, 2.0, 2.0, 1.0] {
            best.add(value);
        }
        assert!((best.mean() - 2.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn sitting_is_its_formula((sample, sum) in Sample::with_sum()) {
            let got = Sitting.contribution(&sample.view().scene(), &sum);
            prop_assert!(close(&got, &textbook(&sample, &sum)));
        }
    }
}
