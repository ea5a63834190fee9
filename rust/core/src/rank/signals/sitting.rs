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
        let mut rest = sum;
        for run in scene.thread.sitting().chunk_by(|a, b| a == b) {
            let (values, behind) = rest.split_at(run.len().min(rest.len()));
            rest = behind;
            let Some(best) = run.first().and_then(|sitting| best.get_mut(*sitting as usize)) else { continue };
            // In registers while the rows are of one sitting, as they mostly are.
            let mut of_run = *best;
            for value in values {
                of_run.add(*value);
            }
            *best = of_run;
        }
        told(scene, best.iter().map(Best::mean).collect())
    }
}

/// Each row's value from those of the sittings: `mm`, by how many there are. Every sitting has a row, so `mm` over S is that over them.
pub(super) fn told(scene: &Scene, mut sittings: Vec<f32>) -> Vec<f32> {
    min_max(&mut sittings);
    let share = share_by_number(sittings.len());
    for value in &mut sittings {
        *value *= share;
    }
    let of = |sitting: &u32| sittings.get(*sitting as usize).copied().unwrap_or(0.0);
    scene.thread.sitting().iter().map(of).collect()
}

/// The sittings from which on the best one says all it can.
const ENOUGH: f32 = 10.0;

/// Of two or three sittings one is always the best, whatever the query: `min(1, (sittings - 1) / 10)` of each value counts.
fn share_by_number(sittings: usize) -> f32 {
    (sittings.saturating_sub(1) as f32 / ENOUGH).min(1.0)
}

/// The three largest values of a sitting; fewer while it has fewer.
#[derive(Debug, Clone, Copy)]
struct Best([f32; 3]);

/// Below every value.
const NOTHING: f32 = f32::NEG_INFINITY;

impl Default for Best {
    fn default() -> Self {
        Self([NOTHING; 3])
    }
}

impl Best {
    fn add(&mut self, value: f32) {
        let [first, second, third] = self.0;
        if value > third {
            self.0 = [first.max(value), first.min(value).max(second), second.min(value)];
        }
    }

    fn mean(&self) -> f32 {
        let held = self.0.into_iter().filter(|value| *value > NOTHING);
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
        for sitting in sample.textbook_seats() {
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
        let share = ((sample.textbook_seats().len() as f64 - 1.0) / 10.0).min(1.0);
        values.into_iter().map(|value| value * share).collect()
    }

    #[test]
    fn of_few_sittings_the_best_says_little() {
        let told = share_by_number;
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
